package io.github.libsampler;

/** A session's memory, apart from the object, so that a cleaner can release it. */
final class SessionMemory implements Runnable {
  final Handle handle;
  final int maxSequences;
  final int maxDrafts;
  final int vocabularySize;
  final ElementType logitsType;

  /** 0 when closed; under the handle's lock. */
  long address;

  SessionMemory(Handle handle, long address, SessionOptions options) {
    this.handle = handle;
    this.address = address;
    this.maxSequences = options.maxSequences;
    this.maxDrafts = options.maxDrafts;
    this.vocabularySize = options.vocabularySize;
    this.logitsType = options.logitsType;
  }

  @Override
  public void run() {
    handle.closeSession(this);
  }
}
