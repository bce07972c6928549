package io.github.libsampler;

/**
 * A state's memory outside the Java heap. Apart from it, since the cleaner destroys it when the
 * state is no longer reachable. What it has is guarded by the lock of its handle.
 */
final class StateMemory implements Runnable {
  final Handle handle;
  final long numSlots;

  /** 0 when closed. */
  long address;

  StateMemory(Handle handle, long address, long numSlots) {
    this.handle = handle;
    this.address = address;
    this.numSlots = numSlots;
  }

  @Override
  public void run() {
    handle.closeState(this);
  }
}
