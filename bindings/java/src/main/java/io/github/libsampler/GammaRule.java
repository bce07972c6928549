package io.github.libsampler;

/** How many drafts a step of a {@link Session}'s sequence gets. */
public enum GammaRule {
  /** As many as {@link AddArgs#numDrafts} says. */
  FIXED,
  /** By the entropy of the drafter's distribution. */
  BY_ENTROPY,
  /** The number of most tokens a second, by the time that drafts take. */
  MEASURED
}
