package io.github.libsampler;

/**
 * When a draft x is accepted, to which the target gives p(x) and the drafter gave q(x). u is
 * uniform in [0, 1).
 */
public enum Acceptance {
  /** The rule of the context: STANDARD of {@link Sampler#verify}, SAMPLE_MATCH of a session. */
  DEFAULT,
  /** Lossless: u q(x) &lt; p(x). */
  STANDARD,
  /** Lossless block verification, Sun et al. 2024: all drafts of a chain are judged together. */
  BLOCK,
  /**
   * Lossless: the target's own token is drawn as {@link Sampler#sample} draws it, at the offset + i
   * behind i drafts, and drafts are accepted while they are that token.
   */
  SAMPLE_MATCH,
  /** Lossy: p(x) &gt; min(typicalThreshold, typicalScale * exp(-H(p))), Cai et al. 2024. */
  TYPICAL,
  /**
   * Lossy: x is one of the relaxedTopK first tokens and p(x) &gt;= p_max - relaxedDelta; where no
   * draft of a position is, as STANDARD (TensorRT-LLM).
   */
  RELAXED,
  /**
   * Lossy: p(x) &gt;= thresholdSingle, or u * thresholdTotal &lt; the sum of p of x and the
   * siblings tried before it (SGLang).
   */
  THRESHOLD,
  /**
   * Lossy: as STANDARD, but a rejected draft of a chain is kept where the target is in doubt and
   * the next deferredWindow drafts would be accepted (FLy; vLLM).
   */
  DEFERRED,
  /** u &lt; syntheticRates[i], whatever the rows say: for benchmarks. */
  SYNTHETIC
}
