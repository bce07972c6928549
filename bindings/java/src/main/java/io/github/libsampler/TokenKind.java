package io.github.libsampler;

/** What tokens that are appended to a {@link State} are. */
public enum TokenKind {
  /** Tokens of the output. */
  OUTPUT,
  /** Tokens of the prompt. */
  PROMPT
}
