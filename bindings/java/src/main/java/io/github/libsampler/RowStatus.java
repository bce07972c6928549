package io.github.libsampler;

/**
 * Bits of an element of {@code outRowStatus}. A bad row never makes a call fail and never changes
 * another row: it yields token -1, or the sampler's fallback token, and a bit that says why.
 */
public final class RowStatus {
  /** The row is good: no bit. */
  public static final int OK = 0;

  /** A NaN, a +inf logit, or a negative or infinite probability. */
  public static final int INVALID_VALUE = 1;

  /** No token to choose: every logit is -inf, every probability 0, or there is no candidate. */
  public static final int EMPTY = 2;

  /** A parameter of this row is NaN, or a temperature that probabilities cannot have. */
  public static final int INVALID_PARAMETER = 4;

  /**
   * The row's element of {@code rowIndices} names no input row, or that of {@code
   * tokenBitmaskIndices} no mask.
   */
  public static final int INVALID_INDEX = 8;

  /**
   * An element of {@code candidateCounts} is outside [0, numCols], or a candidate id is outside [0,
   * 2^20) or listed twice.
   */
  public static final int INVALID_CANDIDATE = 16;

  /**
   * A draft token id is outside the vocabulary, or a draft count outside [0, numDrafts]. Such a
   * draft is rejected; the row is otherwise good and has its tokens.
   */
  public static final int INVALID_DRAFT = 32;

  /** The row's element of {@code slots} is outside [0, numSlots). */
  public static final int INVALID_SLOT = 64;

  /**
   * A list of the row's slot, in the {@link Pipeline}, has offsets that fall or lie outside of its
   * ids, or breaks another rule of the pipeline.
   */
  public static final int INVALID_LIST = 128;

  /** The tokens do not fit in the slot of the {@link State}, which is as it was. */
  public static final int STATE_FULL = 256;

  /** The sequence's drafts hang together in a way that no tree does. */
  public static final int INVALID_TREE = 512;

  /** The ranks that a row lies on disagree about it. Not of calls of this package. */
  public static final int INVALID_SHARD = 1024;

  private RowStatus() {}
}
