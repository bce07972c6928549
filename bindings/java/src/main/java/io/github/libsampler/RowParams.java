package io.github.libsampler;

/**
 * Parameters by slot, by row where the call has no slots: [number of slots] each. Those left out
 * are of {@link Params} for all. Arrays or buffers on a CUDA sampler with {@code hostParameters}.
 */
public final class RowParams {
  Array temperature;
  Array topP;
  Array minP;
  Array topK;
  Array guidanceScale;
  Array repetitionPenalty;
  Array frequencyPenalty;
  Array presencePenalty;
  Array penaltyWindow;
  Array exponentialDecayStart;
  Array exponentialDecayFactor;
  Array dryMultiplier;
  Array dryBase;
  Array dryAllowedLength;
  Array dryWindow;
  Array noRepeatNgramSize;
  Array minNewTokens;
  Array dynamicTemperatureRange;
  Array dynamicTemperatureExponent;
  Array typicalP;
  Array topNSigma;
  Array epsilonCutoff;
  Array etaCutoff;
  Array topH;
  Array pLess;
  Array minK;
  Array topA;
  Array xtcProbability;
  Array xtcThreshold;
  Array minKeep;
  Array forcedTokenId;
  Array adaptiveKind;
  Array adaptiveTarget;
  Array adaptiveRate;
  Array topPDecay;
  Array topPLeast;
  Array topPResetTokenId;

  /** Creates none. */
  public RowParams() {}

  /**
   * Sets the temperatures.
   *
   * @param temperature [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams temperature(Array temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Sets the values of topP.
   *
   * @param topP [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topP(Array topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Sets the values of minP.
   *
   * @param minP [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams minP(Array minP) {
    this.minP = minP;
    return this;
  }

  /**
   * Sets the values of topK.
   *
   * @param topK [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams topK(Array topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Sets the values of guidanceScale.
   *
   * @param guidanceScale [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams guidanceScale(Array guidanceScale) {
    this.guidanceScale = guidanceScale;
    return this;
  }

  /**
   * Sets the values of repetitionPenalty.
   *
   * @param repetitionPenalty [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams repetitionPenalty(Array repetitionPenalty) {
    this.repetitionPenalty = repetitionPenalty;
    return this;
  }

  /**
   * Sets the values of frequencyPenalty.
   *
   * @param frequencyPenalty [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams frequencyPenalty(Array frequencyPenalty) {
    this.frequencyPenalty = frequencyPenalty;
    return this;
  }

  /**
   * Sets the values of presencePenalty.
   *
   * @param presencePenalty [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams presencePenalty(Array presencePenalty) {
    this.presencePenalty = presencePenalty;
    return this;
  }

  /**
   * Sets the values of penaltyWindow.
   *
   * @param penaltyWindow [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams penaltyWindow(Array penaltyWindow) {
    this.penaltyWindow = penaltyWindow;
    return this;
  }

  /**
   * Sets the values of exponentialDecayStart.
   *
   * @param exponentialDecayStart [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams exponentialDecayStart(Array exponentialDecayStart) {
    this.exponentialDecayStart = exponentialDecayStart;
    return this;
  }

  /**
   * Sets the values of exponentialDecayFactor.
   *
   * @param exponentialDecayFactor [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams exponentialDecayFactor(Array exponentialDecayFactor) {
    this.exponentialDecayFactor = exponentialDecayFactor;
    return this;
  }

  /**
   * Sets the values of dryMultiplier.
   *
   * @param dryMultiplier [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams dryMultiplier(Array dryMultiplier) {
    this.dryMultiplier = dryMultiplier;
    return this;
  }

  /**
   * Sets the values of dryBase.
   *
   * @param dryBase [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams dryBase(Array dryBase) {
    this.dryBase = dryBase;
    return this;
  }

  /**
   * Sets the values of dryAllowedLength.
   *
   * @param dryAllowedLength [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams dryAllowedLength(Array dryAllowedLength) {
    this.dryAllowedLength = dryAllowedLength;
    return this;
  }

  /**
   * Sets the values of dryWindow.
   *
   * @param dryWindow [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams dryWindow(Array dryWindow) {
    this.dryWindow = dryWindow;
    return this;
  }

  /**
   * Sets the values of noRepeatNgramSize.
   *
   * @param noRepeatNgramSize [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams noRepeatNgramSize(Array noRepeatNgramSize) {
    this.noRepeatNgramSize = noRepeatNgramSize;
    return this;
  }

  /**
   * Sets the values of minNewTokens.
   *
   * @param minNewTokens [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams minNewTokens(Array minNewTokens) {
    this.minNewTokens = minNewTokens;
    return this;
  }

  /**
   * Sets the values of dynamicTemperatureRange.
   *
   * @param dynamicTemperatureRange [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams dynamicTemperatureRange(Array dynamicTemperatureRange) {
    this.dynamicTemperatureRange = dynamicTemperatureRange;
    return this;
  }

  /**
   * Sets the values of dynamicTemperatureExponent.
   *
   * @param dynamicTemperatureExponent [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams dynamicTemperatureExponent(Array dynamicTemperatureExponent) {
    this.dynamicTemperatureExponent = dynamicTemperatureExponent;
    return this;
  }

  /**
   * Sets the values of typicalP.
   *
   * @param typicalP [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams typicalP(Array typicalP) {
    this.typicalP = typicalP;
    return this;
  }

  /**
   * Sets the values of topNSigma.
   *
   * @param topNSigma [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topNSigma(Array topNSigma) {
    this.topNSigma = topNSigma;
    return this;
  }

  /**
   * Sets the values of epsilonCutoff.
   *
   * @param epsilonCutoff [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams epsilonCutoff(Array epsilonCutoff) {
    this.epsilonCutoff = epsilonCutoff;
    return this;
  }

  /**
   * Sets the values of etaCutoff.
   *
   * @param etaCutoff [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams etaCutoff(Array etaCutoff) {
    this.etaCutoff = etaCutoff;
    return this;
  }

  /**
   * Sets the values of topH.
   *
   * @param topH [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topH(Array topH) {
    this.topH = topH;
    return this;
  }

  /**
   * Sets the values of pLess.
   *
   * @param pLess [number of slots] I32, the ordinals of {@link PLessKind}; another number makes the
   *     row bad; null, the default: none
   * @return this
   */
  public RowParams pLess(Array pLess) {
    this.pLess = pLess;
    return this;
  }

  /**
   * Sets the values of minK.
   *
   * @param minK [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams minK(Array minK) {
    this.minK = minK;
    return this;
  }

  /**
   * Sets the values of topA.
   *
   * @param topA [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topA(Array topA) {
    this.topA = topA;
    return this;
  }

  /**
   * Sets the values of xtcProbability.
   *
   * @param xtcProbability [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams xtcProbability(Array xtcProbability) {
    this.xtcProbability = xtcProbability;
    return this;
  }

  /**
   * Sets the values of xtcThreshold.
   *
   * @param xtcThreshold [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams xtcThreshold(Array xtcThreshold) {
    this.xtcThreshold = xtcThreshold;
    return this;
  }

  /**
   * Sets the values of minKeep.
   *
   * @param minKeep [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams minKeep(Array minKeep) {
    this.minKeep = minKeep;
    return this;
  }

  /**
   * Sets the token that a slot yields whatever the rest says; negative: none. One that is no
   * element of the row makes it bad (INVALID_PARAMETER). {@link Sampler#sample} only.
   *
   * @param forcedTokenId [number of slots] I64; null, the default: none
   * @return this
   */
  public RowParams forcedTokenId(Array forcedTokenId) {
    this.forcedTokenId = forcedTokenId;
    return this;
  }

  /**
   * Sets the values of adaptiveKind.
   *
   * @param adaptiveKind [number of slots] I32, the ordinals of {@link AdaptiveKind}; another number
   *     makes the row bad; null, the default: none
   * @return this
   */
  public RowParams adaptiveKind(Array adaptiveKind) {
    this.adaptiveKind = adaptiveKind;
    return this;
  }

  /**
   * Sets the values of adaptiveTarget.
   *
   * @param adaptiveTarget [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams adaptiveTarget(Array adaptiveTarget) {
    this.adaptiveTarget = adaptiveTarget;
    return this;
  }

  /**
   * Sets the values of adaptiveRate.
   *
   * @param adaptiveRate [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams adaptiveRate(Array adaptiveRate) {
    this.adaptiveRate = adaptiveRate;
    return this;
  }

  /**
   * Sets the values of topPDecay.
   *
   * @param topPDecay [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topPDecay(Array topPDecay) {
    this.topPDecay = topPDecay;
    return this;
  }

  /**
   * Sets the values of topPLeast.
   *
   * @param topPLeast [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topPLeast(Array topPLeast) {
    this.topPLeast = topPLeast;
    return this;
  }

  /**
   * Sets the token after which the running top-p is top-p again; negative: none.
   *
   * @param topPResetTokenId [number of slots] I64; null, the default: none
   * @return this
   */
  public RowParams topPResetTokenId(Array topPResetTokenId) {
    this.topPResetTokenId = topPResetTokenId;
    return this;
  }
}
