package io.github.libsampler;

/**
 * Where the drafts of a {@link Session}'s sequence come from. The first new token is never drafted.
 */
public enum DraftSource {
  /** There are none. */
  NONE,
  /** A drafter model, which the caller runs. */
  MODEL,
  /** An {@link Ngram}, which sequences may share. */
  NGRAM,
  /** A lookup of the sequence's own text, in the session's memory. */
  PROMPT_LOOKUP
}
