package io.github.libsampler;

/** Why a sequence of a {@link Session} has ended. */
public enum FinishReason {
  /** It has not. */
  NONE,
  /** The last token is an end token. */
  END_TOKEN,
  /** It has as many new tokens as it may. */
  LENGTH,
  /** It is as long as a text may be. */
  CONTEXT,
  /** Never given by a session. */
  CANCELLED,
  /** The logits gave no token: NaN, +inf, all -inf. */
  BAD_ROW,
  /** The last tokens are a stop sequence. */
  STOP_SEQUENCE
}
