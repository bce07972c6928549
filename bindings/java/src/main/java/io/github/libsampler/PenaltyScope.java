package io.github.libsampler;

/** Which tokens of a history count. */
public enum PenaltyScope {
  /** For the repetition penalty all; for the others the output. */
  STANDARD,
  /** Prompt and output. */
  ALL,
  /** The output. */
  OUTPUT
}
