package io.github.libsampler;

import java.util.List;

/**
 * The temperature, the filters, how they combine, and the numbers of the edits before them, for
 * which a {@link Pipeline} has the lists.
 */
public final class Params {
  /** How many stages {@link #stages} takes at most. */
  public static final int MAX_STAGES = 32;

  private static final int[] NO_STAGES = new int[MAX_STAGES];

  float temperature = 1;
  float topP = 1;
  float minP;
  int topK;
  TieRule topKTies = TieRule.EXACT;
  TieRule topPTies = TieRule.EXACT;
  SumRule topPSum = SumRule.REACHES;
  FilterOrder filterOrder = FilterOrder.SEQUENTIAL;
  TemperatureOrder temperatureOrder = TemperatureOrder.FIRST;
  float guidanceScale;
  float repetitionPenalty;
  float frequencyPenalty;
  float presencePenalty;
  int penaltyWindow;
  PenaltyScope penaltyScope = PenaltyScope.STANDARD;
  PenaltyForm penaltyForm = PenaltyForm.DIVIDE;
  int exponentialDecayStart;
  float exponentialDecayFactor;
  float dryMultiplier;
  float dryBase;
  int dryAllowedLength;
  int dryWindow;
  int noRepeatNgramSize;
  int minNewTokens;
  PenaltyScope badWordScope = PenaltyScope.STANDARD;
  float dynamicTemperatureRange;
  float dynamicTemperatureExponent;
  float typicalP;
  float topNSigma;
  float epsilonCutoff;
  float etaCutoff;
  float topH;
  PLessKind pLess = PLessKind.NONE;
  float minK;
  float topA;
  float xtcProbability;
  float xtcThreshold;
  TieRule typicalPTies = TieRule.EXACT;
  SumRule typicalPSum = SumRule.REACHES;
  TieRule cutoffTies = TieRule.EXACT;
  int minKeep;
  int[] stages = NO_STAGES;
  AdaptiveKind adaptiveKind = AdaptiveKind.NONE;
  float adaptiveTarget;
  float adaptiveRate;
  float topPDecay;
  float topPLeast;

  /** Whether any of the edits, windows and stages was set. */
  boolean hasMore;

  /** Creates temperature 1 and no filter. */
  public Params() {}

  /**
   * Creates parameters by an engine's name: its order of stages, its rules of ties, scopes and
   * forms, and its own defaults. They give the engine's distribution, not its random numbers; what
   * the engine does not do is not among the stages, and an error where it is on.
   * docs/coming-from.md has what differs all the same. The names are
   *
   * <ul>
   *   <li>llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
   *   <li>vllm_v2: vLLM's second model runner, whose top-k has k tokens, whatever ties
   *   <li>hf_vllm_aligned: temperature, top-k with ties and top-p, greedy at 0: what small engines
   *       do
   *   <li>nano_vllm: the temperature alone. Its draw is {@link DrawMethod#GUMBEL}
   * </ul>
   *
   * @param name the newest version that is known, or another one, as in {@code vllm@0.33}: {@link
   *     #presetNames} lists them
   * @return parameters that may be changed
   * @throws InvalidArgumentException when no preset has that name
   */
  public static Params preset(String name) {
    return Presets.find(Arguments.required("name", name));
  }

  /**
   * Lists the presets.
   *
   * @return their names, with their versions where they have one
   */
  public static List<String> presetNames() {
    return Presets.names();
  }

  /**
   * Sets what logits are divided by. At most 1e-5: greedy. With probabilities it must be 1, or
   * greedy.
   *
   * @param temperature 1 by default
   * @return this
   */
  public Params temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Keeps the fewest first tokens whose probability is at least topP.
   *
   * @param topP &gt;= 1, the default: off; &lt;= 0: one token
   * @return this
   */
  public Params topP(float topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Keeps the tokens at least minP times as likely as the likeliest one.
   *
   * @param minP &lt;= 0, the default: off
   * @return this
   */
  public Params minP(float minP) {
    this.minP = minP;
    return this;
  }

  /**
   * Keeps the first topK tokens by value, then id.
   *
   * @param topK &lt;= 0, the default, or &gt;= numCols: off
   * @return this
   */
  public Params topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Sets what top-k does with tokens that equal the last kept one.
   *
   * @param topKTies EXACT by default
   * @return this
   */
  public Params topKTies(TieRule topKTies) {
    this.topKTies = Arguments.required("top_k_ties", topKTies);
    return this;
  }

  /**
   * Sets what top-p does with tokens that equal the last kept one.
   *
   * @param topPTies EXACT by default
   * @return this
   */
  public Params topPTies(TieRule topPTies) {
    this.topPTies = Arguments.required("top_p_ties", topPTies);
    return this;
  }

  /**
   * Sets whether what top-p keeps must reach its share or exceed it.
   *
   * @param topPSum REACHES by default
   * @return this
   */
  public Params topPSum(SumRule topPSum) {
    this.topPSum = Arguments.required("top_p_sum", topPSum);
    return this;
  }

  /**
   * Sets which filter sees what.
   *
   * @param filterOrder SEQUENTIAL by default
   * @return this
   */
  public Params filterOrder(FilterOrder filterOrder) {
    this.filterOrder = Arguments.required("filter_order", filterOrder);
    return this;
  }

  /**
   * Sets when the temperature applies.
   *
   * @param temperatureOrder FIRST by default
   * @return this
   */
  public Params temperatureOrder(TemperatureOrder temperatureOrder) {
    this.temperatureOrder = Arguments.required("temperature_order", temperatureOrder);
    return this;
  }

  /**
   * Sets how far {@link Pipeline#guidanceLogits} lead the logits away from themselves.
   *
   * @param guidanceScale 0, the default, and 1: off
   * @return this
   */
  public Params guidanceScale(float guidanceScale) {
    this.guidanceScale = guidanceScale;
    return more();
  }

  /**
   * Sets what positive logits of tokens in the history are divided by, and others multiplied with.
   *
   * @param repetitionPenalty not negative; 0, the default, and 1: off
   * @return this
   */
  public Params repetitionPenalty(float repetitionPenalty) {
    this.repetitionPenalty = repetitionPenalty;
    return more();
  }

  /**
   * Sets what is subtracted from the logit of a token for each time that it is in the history.
   *
   * @param frequencyPenalty 0, the default: off
   * @return this
   */
  public Params frequencyPenalty(float frequencyPenalty) {
    this.frequencyPenalty = frequencyPenalty;
    return more();
  }

  /**
   * Sets what is subtracted from the logits of tokens in the history, once.
   *
   * @param presencePenalty 0, the default: off
   * @return this
   */
  public Params presencePenalty(float presencePenalty) {
    this.presencePenalty = presencePenalty;
    return more();
  }

  /**
   * Sets how many of the history's last tokens count for the penalties.
   *
   * @param penaltyWindow &lt;= 0, the default: all
   * @return this
   */
  public Params penaltyWindow(int penaltyWindow) {
    this.penaltyWindow = penaltyWindow;
    return more();
  }

  /**
   * Sets which tokens of the history count for the penalties.
   *
   * @param penaltyScope STANDARD by default
   * @return this
   */
  public Params penaltyScope(PenaltyScope penaltyScope) {
    this.penaltyScope = Arguments.required("penalty_scope", penaltyScope);
    return more();
  }

  /**
   * Sets how the penalties are computed.
   *
   * @param penaltyForm DIVIDE by default
   * @return this
   */
  public Params penaltyForm(PenaltyForm penaltyForm) {
    this.penaltyForm = Arguments.required("penalty_form", penaltyForm);
    return more();
  }

  /**
   * Sets after how many tokens of the output the exponential decay begins.
   *
   * @param exponentialDecayStart negative: 0
   * @return this
   */
  public Params exponentialDecayStart(int exponentialDecayStart) {
    this.exponentialDecayStart = exponentialDecayStart;
    return more();
  }

  /**
   * Sets the factor of the exponential decay length penalty: at its n-th token the logits x of
   * {@link Pipeline#stop} become x + |x| * (factor^n - 1).
   *
   * @param exponentialDecayFactor 0, the default, and 1: off; not negative
   * @return this
   */
  public Params exponentialDecayFactor(float exponentialDecayFactor) {
    this.exponentialDecayFactor = exponentialDecayFactor;
    return more();
  }

  /**
   * Sets the penalty of tokens that would continue a repeat: of n tokens dryMultiplier * dryBase^(n
   * - dryAllowedLength), from the allowed length on.
   *
   * @param dryMultiplier &lt;= 0, the default: off
   * @return this
   */
  public Params dryMultiplier(float dryMultiplier) {
    this.dryMultiplier = dryMultiplier;
    return more();
  }

  /**
   * Sets what the penalty of repeats grows by with each token.
   *
   * @param dryBase 0, the default: 1.75; below 1: off
   * @return this
   */
  public Params dryBase(float dryBase) {
    this.dryBase = dryBase;
    return more();
  }

  /**
   * Sets from which length on repeats are penalised.
   *
   * @param dryAllowedLength 0, the default: 2; negative: 0
   * @return this
   */
  public Params dryAllowedLength(int dryAllowedLength) {
    this.dryAllowedLength = dryAllowedLength;
    return more();
  }

  /**
   * Sets in how many last tokens of the history repeats are sought.
   *
   * @param dryWindow &lt;= 0, the default: in all
   * @return this
   */
  public Params dryWindow(int dryWindow) {
    this.dryWindow = dryWindow;
    return more();
  }

  /**
   * Bans tokens that would complete an n-gram of the history.
   *
   * @param noRepeatNgramSize the n; &lt;= 0, the default: off
   * @return this
   */
  public Params noRepeatNgramSize(int noRepeatNgramSize) {
    this.noRepeatNgramSize = noRepeatNgramSize;
    return more();
  }

  /**
   * Bans {@link Pipeline#stop} before the output has {@code minNewTokens} tokens.
   *
   * @param minNewTokens &lt;= 0, the default: no minimum
   * @return this
   */
  public Params minNewTokens(int minNewTokens) {
    this.minNewTokens = minNewTokens;
    return more();
  }

  /**
   * Sets what bad words are looked for in.
   *
   * @param badWordScope OUTPUT: the output; the others, STANDARD by default: all
   * @return this
   */
  public Params badWordScope(PenaltyScope badWordScope) {
    this.badWordScope = Arguments.required("bad_word_scope", badWordScope);
    return more();
  }

  /**
   * Lets the temperature follow the entropy of what it sees, from max(0, temperature - range) to
   * temperature + range. Logits only.
   *
   * @param dynamicTemperatureRange &lt;= 0, the default: off
   * @return this
   */
  public Params dynamicTemperatureRange(float dynamicTemperatureRange) {
    this.dynamicTemperatureRange = dynamicTemperatureRange;
    return more();
  }

  /**
   * Sets the power, of the entropy's share of the largest, that the temperature follows.
   *
   * @param dynamicTemperatureExponent 0, the default: 1; negative: 0
   * @return this
   */
  public Params dynamicTemperatureExponent(float dynamicTemperatureExponent) {
    this.dynamicTemperatureExponent = dynamicTemperatureExponent;
    return more();
  }

  /**
   * Keeps tokens whose surprise is nearest the entropy, of so much probability: locally typical
   * sampling.
   *
   * @param typicalP &lt;= 0, the default, and &gt;= 1: off
   * @return this
   */
  public Params typicalP(float typicalP) {
    this.typicalP = typicalP;
    return more();
  }

  /**
   * Keeps tokens within {@code topNSigma} standard deviations of the largest logit.
   *
   * @param topNSigma &lt;= 0, the default: off
   * @return this
   */
  public Params topNSigma(float topNSigma) {
    this.topNSigma = topNSigma;
    return more();
  }

  /**
   * Keeps tokens of at least this probability.
   *
   * @param epsilonCutoff &lt;= 0, the default, and &gt;= 1: off
   * @return this
   */
  public Params epsilonCutoff(float epsilonCutoff) {
    this.epsilonCutoff = epsilonCutoff;
    return more();
  }

  /**
   * Keeps tokens of at least this probability, or less where the entropy is high.
   *
   * @param etaCutoff &lt;= 0, the default, and &gt;= 1: off
   * @return this
   */
  public Params etaCutoff(float etaCutoff) {
    this.etaCutoff = etaCutoff;
    return more();
  }

  /**
   * Keeps the first tokens that have this share of the entropy.
   *
   * @param topH &lt;= 0, the default, and &gt;= 1: off
   * @return this
   */
  public Params topH(float topH) {
    this.topH = topH;
    return more();
  }

  /**
   * Keeps tokens of a probability of at least the sum of squared probabilities.
   *
   * @param pLess NONE by default: off
   * @return this
   */
  public Params pLess(PLessKind pLess) {
    this.pLess = Arguments.required("p_less", pLess);
    return more();
  }

  /**
   * Sets min-k's tau: keeps the tokens before the steepest fall of the logits, and tau divided by
   * their range of a flat row.
   *
   * @param minK &lt;= 0, the default: off; 3 is usual
   * @return this
   */
  public Params minK(float minK) {
    this.minK = minK;
    return more();
  }

  /**
   * Keeps tokens of a probability of at least topA times the largest one squared.
   *
   * @param topA &lt;= 0, the default: off
   * @return this
   */
  public Params topA(float topA) {
    this.topA = topA;
    return more();
  }

  /**
   * Sets how often top choices are excluded: of those above the threshold only the last is kept.
   * {@link Sampler#sample} only.
   *
   * @param xtcProbability &lt;= 0, the default: off
   * @return this
   */
  public Params xtcProbability(float xtcProbability) {
    this.xtcProbability = xtcProbability;
    return more();
  }

  /**
   * Sets from which probability on a token is a top choice.
   *
   * @param xtcThreshold 0, the default: 0.1; negative: 0; above 0.5: off
   * @return this
   */
  public Params xtcThreshold(float xtcThreshold) {
    this.xtcThreshold = xtcThreshold;
    return more();
  }

  /**
   * Sets what typical-p does with tokens that equal the last kept one.
   *
   * @param typicalPTies EXACT by default
   * @return this
   */
  public Params typicalPTies(TieRule typicalPTies) {
    this.typicalPTies = Arguments.required("typical_p_ties", typicalPTies);
    return more();
  }

  /**
   * Sets whether what typical-p keeps must reach its share or exceed it.
   *
   * @param typicalPSum REACHES by default
   * @return this
   */
  public Params typicalPSum(SumRule typicalPSum) {
    this.typicalPSum = Arguments.required("typical_p_sum", typicalPSum);
    return more();
  }

  /**
   * Sets what epsilon and eta do with tokens that equal the last one of those that {@link
   * #minKeep} asks for.
   *
   * @param cutoffTies EXACT by default
   * @return this
   */
  public Params cutoffTies(TieRule cutoffTies) {
    this.cutoffTies = Arguments.required("cutoff_ties", cutoffTies);
    return more();
  }

  /**
   * Sets how many tokens each window keeps at least, top-k, top-p and min-p among them, where there
   * are enough.
   *
   * @param minKeep &lt;= 1, the default: one
   * @return this
   */
  public Params minKeep(int minKeep) {
    this.minKeep = minKeep;
    return more();
  }

  /**
   * Sets the order of all stages. Edits come first, ADAPTIVE last. A stage that is on must be
   * listed, none twice. The filter order must be SEQUENTIAL, whatever it means without a list, or
   * JOINT: then the listed ones of top-k, top-p and min-p stand side by side. The temperature order
   * must be FIRST.
   *
   * @param stages at most {@link #MAX_STAGES}; none, the default: the order of {@link Stage}, in
   *     which the filter order and the temperature order have their meaning
   * @return this
   * @throws InvalidArgumentException when there are more
   */
  public Params stages(Stage... stages) {
    if (Arguments.required("stages", stages).length > MAX_STAGES) {
      throw new InvalidArgumentException("params->stages has " + stages.length
          + " elements; it must have at most " + MAX_STAGES);
    }
    final int[] numbers = new int[MAX_STAGES];
    for (int i = 0; i < stages.length; ++i) {
      numbers[i] = Arguments.required("stages[" + i + "]", stages[i]).number();
    }
    this.stages = numbers;
    return more();
  }

  /**
   * Turns mirostat, adaptive-p or smoothing on. It changes nothing in a greedy row; what is drawn moves it on:
   * see {@link Pipeline#adaptiveValues} and {@link State#accept}.
   *
   * @param adaptiveKind NONE by default
   * @return this
   */
  public Params adaptiveKind(AdaptiveKind adaptiveKind) {
    this.adaptiveKind = Arguments.required("adaptive_kind", adaptiveKind);
    return more();
  }

  /**
   * Sets the target of the adaptive stage.
   *
   * @param adaptiveTarget mirostat's surprise in bits (0, the default: 5; not negative), or
   *     adaptive-p's probability (negative: off; above 1: 1), or smoothing's factor (0: off; not
   *     negative); finite
   * @return this
   */
  public Params adaptiveTarget(float adaptiveTarget) {
    this.adaptiveTarget = adaptiveTarget;
    return more();
  }

  /**
   * Sets how fast the adaptive stage moves.
   *
   * @param adaptiveRate mirostat's learning rate (0, the default: 0.1), or adaptive-p's decay (0:
   *     0.9; above 0.99: 0.99), both 0 where negative, or smoothing's curve (0: 1; from 1 to 3);
   *     finite
   * @return this
   */
  public Params adaptiveRate(float adaptiveRate) {
    this.adaptiveRate = adaptiveRate;
    return more();
  }

  /**
   * Sets what the running top-p, which begins as topP, is multiplied by after each token.
   *
   * @param topPDecay &lt;= 0, the default, and &gt;= 1: off
   * @return this
   */
  public Params topPDecay(float topPDecay) {
    this.topPDecay = topPDecay;
    return more();
  }

  /**
   * Sets what the running top-p does not fall below.
   *
   * @param topPLeast finite; 0 by default
   * @return this
   */
  public Params topPLeast(float topPLeast) {
    this.topPLeast = topPLeast;
    return more();
  }

  private Params more() {
    hasMore = true;
    return this;
  }
}
