package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.function.LongUnaryOperator;

/**
 * What n-grams own outside the Java heap. Apart from the object, since a cleaner lets go of it when
 * that is no longer reachable; sessions hold it, too.
 */
final class NgramMemory implements Runnable {
  /** 0 when nobody holds it any more. */
  private long address;

  private int holds = 1;
  private boolean isClosed;

  NgramMemory(ByteBuffer options, boolean isLookup) {
    address = Raw.shimNgramCreate(Raw.javaAddress(options), isLookup ? 1 : 0);
    Reference.reachabilityFence(options);
    if (address == 0) {
      throw new NativeMemoryException("no memory for n-grams");
    }
    if (Status.of(Raw.shimNgramStatus(address)) != Status.OK) {
      try {
        throw failure();
      } finally {
        run();
      }
    }
  }

  private SamplerException failure() {
    return SamplerException.of(
        Status.of(Raw.shimNgramStatus(address)), Raw.shimNgramError(address));
  }

  private void checkOpen() {
    if (isClosed) {
      throw new IllegalStateException("the n-grams are closed");
    }
  }

  /** Makes a call with the address. Returns what it returns, or throws where that is negative. */
  synchronized long call(LongUnaryOperator made) {
    checkOpen();
    final long result = made.applyAsLong(address);
    if (result < 0) {
      throw failure();
    }
    return result;
  }

  /** Holds it for a session. Returns where C's interface is. */
  synchronized long hold() {
    checkOpen();
    ++holds;
    return Raw.shimNgramInterface(address);
  }

  synchronized void letGo() {
    if (--holds == 0) {
      Raw.shimNgramDestroy(address);
      address = 0;
    }
  }

  /** Closes it; the second time it does nothing. */
  @Override
  public synchronized void run() {
    if (!isClosed) {
      isClosed = true;
      letGo();
    }
  }
}
