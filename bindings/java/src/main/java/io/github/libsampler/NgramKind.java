package io.github.libsampler;

/** Which n-grams an {@link NgramStorage} keeps. */
public enum NgramKind {
  /**
   * N-grams of 2 to {@code order} tokens. After an unknown context the longest known end of it
   * counts, down to its last token alone.
   */
  ALL_ORDERS,
  /** N-grams of {@code order} tokens only. A context of fewer than order - 1 tokens is unknown. */
  ONE_LEVEL
}
