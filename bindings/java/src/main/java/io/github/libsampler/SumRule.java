package io.github.libsampler;

/** What the probability of the tokens that top-p or typical-p keeps must do. */
public enum SumRule {
  /** Be at least the share. */
  REACHES,
  /** Be more than the share. */
  EXCEEDS
}
