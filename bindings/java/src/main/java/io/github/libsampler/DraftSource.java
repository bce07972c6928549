package io.github.libsampler;

/**
 * Where the drafts of a {@link Session}'s sequence come from. The first new token is never drafted.
 */
public enum DraftSource {
  /** There are none. */
  NONE(0),
  /** A drafter model, which the caller runs. */
  MODEL(1),
  /** A lookup of the sequence's own text, in the session's memory. */
  PROMPT_LOOKUP(3);

  final int number;

  DraftSource(int number) {
    this.number = number;
  }
}
