package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;

/** A session's memory, apart from the object, so that a cleaner can release it. */
final class SessionMemory implements Runnable {
  final Handle handle;
  final int maxSequences;
  final int maxDrafts;
  final int vocabularySize;
  final ElementType logitsType;
  final boolean hasDraftTrees;

  /** What drafts for its sequences. */
  final Set<NgramMemory> ngrams = new HashSet<>();

  /** The sequences that grow by blocks; under the handle's lock. */
  final BitSet blocks = new BitSet();

  /** Buffers of its pipeline, which must stay reachable. */
  final Object[] kept;

  /** 0 when closed; under the handle's lock. */
  long address;

  SessionMemory(Handle handle, long address, SessionOptions options, Object[] kept) {
    this.handle = handle;
    this.address = address;
    this.maxSequences = options.maxSequences;
    this.maxDrafts = options.maxDrafts;
    this.vocabularySize = options.vocabularySize;
    this.logitsType = options.logitsType;
    this.hasDraftTrees = options.hasDraftTrees;
    this.kept = kept;
  }

  /** Destroys it, under the handle's lock. */
  void destroy() {
    Raw.shimSessionDestroy(address);
    address = 0;
    ngrams.forEach(NgramMemory::letGo);
    ngrams.clear();
  }

  @Override
  public void run() {
    handle.closeSession(this);
  }
}
