package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
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

  /** The options at {@code options}, as C has read them. */
  SessionMemory(Handle handle, long address, ByteBuffer memory, int options, Object[] kept) {
    this.handle = handle;
    this.address = address;
    this.maxSequences = (int) memory.getLong(options + Layout.SESSION_OPTIONS_MAX_SEQUENCES);
    this.maxDrafts = (int) memory.getLong(options + Layout.SESSION_OPTIONS_MAX_DRAFTS);
    this.vocabularySize = (int) memory.getLong(options + Layout.SESSION_OPTIONS_VOCABULARY_SIZE);
    this.logitsType =
        ElementType.values()[memory.getInt(options + Layout.SESSION_OPTIONS_LOGITS_DTYPE)];
    this.hasDraftTrees = memory.getInt(options + Layout.SESSION_OPTIONS_HAS_DRAFT_TREES) != 0;
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
