package io.github.libsampler;

/** What happened to a row's token: its ordinal is the byte of outChanges. */
public enum UnmaskChange {
  /** Nothing: masked still, or a token as before. */
  KEPT,
  /** The candidate took the mask's place. */
  COMMITTED,
  /** The candidate took another token's place. */
  EDITED
}
