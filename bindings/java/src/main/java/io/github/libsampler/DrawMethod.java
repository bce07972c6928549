package io.github.libsampler;

/** How a token is drawn from what the filters kept. All follow the same distribution. */
public enum DrawMethod {
  /** One uniform number per row; exact in integers, tails of any size. */
  INVERSE_CDF,
  /**
   * The largest of logit / temperature + Gumbel noise per token: a small change of the logits
   * rarely changes the token. Tails below 2^-30 of the likeliest token are not resolved.
   */
  GUMBEL,
  /** GUMBEL by the numbers of {@link Watermark#random}. {@link Sampler#sample} alone. */
  WATERMARK
}
