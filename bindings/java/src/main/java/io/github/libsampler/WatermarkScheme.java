package io.github.libsampler;

/** What marks a text, of {@link WatermarkParams}. */
public enum WatermarkScheme {
  /** Green lists by the last token. */
  LEFTHASH,
  /** Green lists by the last tokens, the drawn one among them. */
  SELFHASH,
  /** SynthID-Text. */
  TOURNAMENT
}
