package io.github.libsampler;

/**
 * How the penalties are computed for a token x that occurs c times. The forms differ in the last
 * bit, the last one in its order too.
 */
public enum PenaltyForm {
  /** x / repetition; then x - (c * frequency + presence). */
  DIVIDE,
  /** x * (1 / repetition); then x - c * frequency - presence. */
  RECIPROCAL,
  /** As DIVIDE, repetition last. */
  COUNTS_FIRST
}
