package io.github.libsampler;

/** How a {@link Session} verifies drafts. */
public enum DraftVerification {
  /** Drafts are kept while they are the target's own token: the text is the one without drafts. */
  SAMPLE_MATCH,
  /** Of a drafter model: a draft x is kept when u * q(x) &lt; p(x). */
  STANDARD
}
