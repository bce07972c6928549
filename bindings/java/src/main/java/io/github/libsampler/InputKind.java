package io.github.libsampler;

/** What the numbers of a row mean. */
public enum InputKind {
  /** Logits. */
  LOGITS,
  /** Probabilities: at least 0, of any sum. */
  PROBABILITIES
}
