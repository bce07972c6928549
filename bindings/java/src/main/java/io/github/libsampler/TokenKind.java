package io.github.libsampler;

/** What tokens that are appended to a {@link State} are. */
public enum TokenKind {
  /** What a model said. */
  OUTPUT,
  /** What it was asked. */
  PROMPT
}
