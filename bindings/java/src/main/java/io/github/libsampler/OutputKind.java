package io.github.libsampler;

/** What a filter writes of a row. */
public enum OutputKind {
  /** Those of the kept tokens, renormalised, and 0 elsewhere; 0 throughout a bad row. */
  PROBABILITIES,
  /** The kept logits, unchanged, and -inf elsewhere; a bad row is copied as it is. */
  VALUES
}
