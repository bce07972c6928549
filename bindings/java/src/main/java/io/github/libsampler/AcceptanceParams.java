package io.github.libsampler;

import io.github.libsampler.internal.Layout;

/**
 * The rule that drafts are accepted by, and the numbers of the rules, which are not NaN and not
 * negative.
 */
public final class AcceptanceParams {
  private Acceptance rule = Acceptance.DEFAULT;
  private SiblingRule siblingRule = SiblingRule.INDEPENDENT;
  private DrawMethod drawMethod = DrawMethod.INVERSE_CDF;
  private int relaxedTopK;
  private float relaxedDelta;
  private float typicalThreshold;
  private float typicalScale;
  private float thresholdSingle;
  private float thresholdTotal;
  private float deferredEntropy;
  private int deferredTopK;
  private int deferredWindow;
  private Array syntheticRates;

  /** Creates numbers at their defaults. */
  public AcceptanceParams() {}

  /**
   * Sets when a draft is accepted.
   *
   * @param rule DEFAULT by default: STANDARD in {@link VerifyArgs}, SAMPLE_MATCH in
   *     {@link SessionOptions}
   * @return this
   */
  public AcceptanceParams rule(Acceptance rule) {
    this.rule = Arguments.required("rule", rule);
    return this;
  }

  /**
   * Sets how siblings of a tree were drafted. {@link VerifyArgs} only.
   *
   * @param siblingRule INDEPENDENT by default
   * @return this
   */
  public AcceptanceParams siblingRule(SiblingRule siblingRule) {
    this.siblingRule = Arguments.required("sibling_rule", siblingRule);
    return this;
  }

  /**
   * Sets how SAMPLE_MATCH draws. {@link VerifyArgs} only.
   *
   * @param drawMethod INVERSE_CDF by default, and of the other rules
   * @return this
   */
  public AcceptanceParams drawMethod(DrawMethod drawMethod) {
    this.drawMethod = Arguments.required("draw_method", drawMethod);
    return this;
  }

  /**
   * Sets of how many first tokens a draft is one for RELAXED.
   *
   * @param relaxedTopK 0, the default: 1
   * @return this
   */
  public AcceptanceParams relaxedTopK(int relaxedTopK) {
    this.relaxedTopK = relaxedTopK;
    return this;
  }

  /**
   * Sets how much less likely than the likeliest token a draft is for RELAXED at most.
   *
   * @param relaxedDelta 0 by default
   * @return this
   */
  public AcceptanceParams relaxedDelta(float relaxedDelta) {
    this.relaxedDelta = relaxedDelta;
    return this;
  }

  /**
   * Sets the threshold of TYPICAL.
   *
   * @param typicalThreshold 0, the default: 0.09
   * @return this
   */
  public AcceptanceParams typicalThreshold(float typicalThreshold) {
    this.typicalThreshold = typicalThreshold;
    return this;
  }

  /**
   * Sets the scale of TYPICAL.
   *
   * @param typicalScale 0, the default: 0.3
   * @return this
   */
  public AcceptanceParams typicalScale(float typicalScale) {
    this.typicalScale = typicalScale;
    return this;
  }

  /**
   * Sets from which probability on THRESHOLD accepts.
   *
   * @param thresholdSingle 0, the default: 1
   * @return this
   */
  public AcceptanceParams thresholdSingle(float thresholdSingle) {
    this.thresholdSingle = thresholdSingle;
    return this;
  }

  /**
   * Sets what THRESHOLD's coin is multiplied with.
   *
   * @param thresholdTotal 0, the default: 1
   * @return this
   */
  public AcceptanceParams thresholdTotal(float thresholdTotal) {
    this.thresholdTotal = thresholdTotal;
    return this;
  }

  /**
   * Sets which entropy at least is doubt for DEFERRED.
   *
   * @param deferredEntropy in nats; 0, the default: 0.3
   * @return this
   */
  public AcceptanceParams deferredEntropy(float deferredEntropy) {
    this.deferredEntropy = deferredEntropy;
    return this;
  }

  /**
   * Sets of how many first tokens DEFERRED takes the entropy.
   *
   * @param deferredTopK 0, the default: 3
   * @return this
   */
  public AcceptanceParams deferredTopK(int deferredTopK) {
    this.deferredTopK = deferredTopK;
    return this;
  }

  /**
   * Sets how many next drafts would have to be accepted for DEFERRED.
   *
   * @param deferredWindow 0, the default: min(6, the most drafts of a sequence - 1), at least 1
   * @return this
   */
  public AcceptanceParams deferredWindow(int deferredWindow) {
    this.deferredWindow = deferredWindow;
    return this;
  }

  /**
   * Sets how often SYNTHETIC accepts.
   *
   * @param syntheticRates [the most drafts of a sequence] F32 in [0, 1], an array or a direct
   *     buffer on every sampler; null, the default: none. Required by SYNTHETIC
   * @return this
   */
  public AcceptanceParams syntheticRates(Array syntheticRates) {
    this.syntheticRates = syntheticRates;
    return this;
  }

  /**
   * Writes the struct to {@code to}, whose bytes are 0.
   *
   * @param buffers copies rates in a Java array, where they must not move; null: they are pinned
   */
  void write(Call call, int to, long numDrafts, Buffers buffers) {
    call.put(to + Layout.ACCEPTANCE_PARAMS_STRUCT_SIZE, (long) Layout.ACCEPTANCE_PARAMS_SIZE);
    call.put(to + Layout.ACCEPTANCE_PARAMS_RULE, rule.ordinal());
    call.put(to + Layout.ACCEPTANCE_PARAMS_SIBLING_RULE, siblingRule.ordinal());
    call.put(to + Layout.ACCEPTANCE_PARAMS_DRAW_METHOD, drawMethod.ordinal());
    call.put(to + Layout.ACCEPTANCE_PARAMS_RELAXED_TOP_K, relaxedTopK);
    call.put(to + Layout.ACCEPTANCE_PARAMS_RELAXED_DELTA, relaxedDelta);
    call.put(to + Layout.ACCEPTANCE_PARAMS_TYPICAL_THRESHOLD, typicalThreshold);
    call.put(to + Layout.ACCEPTANCE_PARAMS_TYPICAL_SCALE, typicalScale);
    call.put(to + Layout.ACCEPTANCE_PARAMS_THRESHOLD_SINGLE, thresholdSingle);
    call.put(to + Layout.ACCEPTANCE_PARAMS_THRESHOLD_TOTAL, thresholdTotal);
    call.put(to + Layout.ACCEPTANCE_PARAMS_DEFERRED_ENTROPY, deferredEntropy);
    call.put(to + Layout.ACCEPTANCE_PARAMS_DEFERRED_TOP_K, deferredTopK);
    call.put(to + Layout.ACCEPTANCE_PARAMS_DEFERRED_WINDOW, deferredWindow);
    final Array rates = syntheticRates;
    call.onHost(to + Layout.ACCEPTANCE_PARAMS_SYNTHETIC_RATES, "acceptance->", "synthetic_rates",
        buffers == null ? rates : buffers.fixed(rates), Call.F32, numDrafts);
  }
}
