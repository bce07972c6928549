package io.github.libsampler;

import io.github.libsampler.internal.Raw;

/**
 * What a sampler owns outside the Java heap. Apart from it, since the cleaner destroys it when the
 * sampler is no longer reachable. Its lock lets in one call at a time, and none after closing.
 */
final class Handle implements Runnable {
  final boolean arraysOnDevice;
  final boolean parametersOnDevice;

  /** 0 when closed. */
  long address;

  Handle(long address, boolean arraysOnDevice, boolean parametersOnDevice) {
    this.address = address;
    this.arraysOnDevice = arraysOnDevice;
    this.parametersOnDevice = parametersOnDevice;
  }

  /** Returns what {@link Arguments#run} returns, or throws what the library has to say. */
  synchronized long call(Arguments args, boolean onlySize) {
    if (address == 0) {
      throw new IllegalStateException("the sampler is closed");
    }
    final long result;
    try {
      result = args.run(this, onlySize);
    } catch (InvalidArgumentException refused) {
      // An array may seem too short because a number breaks a rule: then the library names it.
      checked(args.run(this, true));
      throw refused;
    }
    return checked(result);
  }

  private long checked(long result) {
    if (result < 0) {
      throw SamplerException.of(Status.of(-result), Raw.shimError(address));
    }
    return result;
  }

  /** Destroys, after the call that is running; the second time it does nothing. */
  @Override
  public synchronized void run() {
    Raw.shimDestroy(address);
    address = 0;
  }
}
