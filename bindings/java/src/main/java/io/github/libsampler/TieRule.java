package io.github.libsampler;

/** What a filter does with tokens that equal the last kept one in value. */
public enum TieRule {
  /** Lower ids first, so that top-k keeps exactly k. */
  EXACT,
  /** All of them are kept. */
  KEEP
}
