package io.github.libsampler;

/** How a {@link Session} verifies drafts: by the {@link Acceptance} of the same name. */
public enum DraftVerification {
  /**
   * The target's own token is drawn at each position, and drafts are kept while they are that
   * token: the text is, token by token, the one without drafts.
   */
  SAMPLE_MATCH,
  /** Lossless: the text follows the target's distribution; its tokens depend on the drafts, too. */
  STANDARD,
  /** Lossless, all drafts of a step together. */
  BLOCK,
  /** Lossy, as the others below. */
  TYPICAL,
  /** Of the target's likeliest tokens, or of nearly their probability. */
  RELAXED,
  /** Of at least a probability. */
  THRESHOLD,
  /** A mismatch is let pass where the target itself is in doubt. */
  DEFERRED,
  /** At given rates. Needs {@link SessionOptions#syntheticRates}. */
  SYNTHETIC
}
