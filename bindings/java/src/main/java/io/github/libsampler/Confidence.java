package io.github.libsampler;

/** What orders a block's candidates: the most confident first. */
public enum Confidence {
  /** The candidate's probability. Scores are outLogprobs. */
  PROBABILITY,
  /** The largest probability less the second. Scores are outTopLogprobs of at least two tokens. */
  MARGIN,
  /** Minus the entropy. Scores are outEntropies. */
  ENTROPY,
  /** The score as it is. */
  GIVEN,
  /** A uniform random number. No scores. */
  RANDOM,
  /** From the block's first row on. No scores. */
  POSITION
}
