package io.github.libsampler;

/** What a bitmask says of ids that it has no bit for. */
public enum MaskRule {
  /** They may be drawn. */
  LEAVES,
  /** They must not be drawn. */
  FORBIDS
}
