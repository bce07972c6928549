package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;

/**
 * What a sampler owns outside the Java heap. Apart from it, since the cleaner destroys it when the
 * sampler is no longer reachable. Its lock lets in one call at a time, and none after closing.
 */
final class Handle implements Runnable {
  private final ByteBuffer memory;
  private final Call call;

  /** 0 when closed. */
  private long address;

  /** Takes over the sampler at {@code address} and {@code memory}, of {@link Call#SIZE} bytes. */
  Handle(long address, ByteBuffer memory, boolean arraysOnDevice, boolean parametersOnDevice) {
    this.address = address;
    this.memory = memory;
    this.call = new Call(memory, arraysOnDevice, parametersOnDevice);
  }

  /** Returns what {@link Call#run} returns, or throws what the library has to say. */
  synchronized long call(Arguments args, boolean onlySize) {
    if (address == 0) {
      throw new IllegalStateException("the sampler is closed");
    }
    final long result = call.run(address, args, onlySize);
    if (result < 0) {
      throw SamplerException.of(Status.of(-result), Raw.shimError(address));
    }
    return result;
  }

  /** Destroys, after the call that is running; the second time it does nothing. */
  @Override
  public synchronized void run() {
    if (address != 0) {
      Raw.shimDestroy(address);
      Raw.javaFree(memory);
      address = 0;
    }
  }
}
