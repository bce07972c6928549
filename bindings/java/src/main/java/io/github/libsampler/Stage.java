package io.github.libsampler;

/**
 * What happens between logits and the draw, in the order in which it does where {@link
 * Params#stages} lists nothing. Each stage sees what the one before it left.
 */
public enum Stage {
  /** An edit: biases of tokens, and the dense bias. */
  BIAS,
  /** An edit: allowed and banned tokens, bad words, stop tokens, the bitmask. */
  MASK,
  /** An edit: repetition, frequency and presence penalties. */
  PENALTIES,
  /** An edit: repeats of sequences. */
  DRY,
  /** An edit: bans what completes an n-gram of the history. */
  NO_REPEAT_NGRAM,
  /** The temperature. */
  TEMPERATURE,
  /** Keeps tokens whose surprise is nearest the entropy. */
  TYPICAL_P,
  /** Keeps tokens within n standard deviations of the largest logit. */
  TOP_N_SIGMA,
  /** Keeps tokens of a probability of at least epsilon. */
  EPSILON,
  /** The same, and lower where the entropy is high. */
  ETA,
  /** Keeps tokens that have a share of the entropy. */
  TOP_H,
  /** Keeps tokens of a probability of at least the sum of squared probabilities. */
  P_LESS,
  /** Keeps the tokens before the steepest fall of the logits. */
  MIN_K,
  /** Keeps tokens of a probability of at least a share of the largest one squared. */
  TOP_A,
  /** By a coin, keeps not those above a threshold, but the last of them. */
  XTC,
  /** Keeps the first tokens. */
  TOP_K,
  /** Keeps the fewest first tokens of a probability. */
  TOP_P,
  /** Keeps tokens by how likely they are beside the likeliest one. */
  MIN_P,
  /** Mirostat, adaptive-p or smoothing; the last one. */
  ADAPTIVE;

  /** C's constant: 0 is the end of a list. */
  int number() {
    return ordinal() + 1;
  }
}
