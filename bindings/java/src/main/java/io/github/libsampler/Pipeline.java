package io.github.libsampler;

/**
 * What edits of logits know of tokens: lists, and a sequence's tokens so far. The numbers of the
 * edits are in {@link Params} and {@link RowParams}.
 *
 * <p>Logits are edited before the temperature, by: guidance; biases; bans (allowed and banned
 * tokens, bad words, stop tokens, the bitmask); penalties; DRY; n-grams. Each sees what the one
 * before left. They work in floats; -inf stays -inf. Ids that are no element of a row are edited by
 * nothing. Rows of probabilities are not edited.
 */
public final class Pipeline {
  TokenLists history = TokenLists.NONE;
  Array promptLengths;
  long maxHistoryTokens;
  Array guidanceLogits;
  int numGuidanceRows;
  Array guidanceRowIndices;
  TokenLists biased = TokenLists.NONE;
  Array biases;
  TokenLists biasContexts = TokenLists.NONE;
  Array denseBias;
  int numDenseBiases;
  long denseBiasStride;
  TokenLists allowed = TokenLists.NONE;
  TokenLists banned = TokenLists.NONE;
  TokenLists stop = TokenLists.NONE;
  TokenLists unpenalized = TokenLists.NONE;
  TokenLists badWords = TokenLists.NONE;
  Array badWordOffsets;
  TokenLists dryBreakers = TokenLists.NONE;
  Array tokenBitmasks;
  int numTokenBitmasks;
  long tokenBitmaskStride;
  Array tokenBitmaskIndices;
  MaskRule tokenBitmaskRule = MaskRule.LEAVES;
  State state;
  Array adaptiveValues;

  /** Creates what edits nothing. */
  public Pipeline() {}

  /**
   * Sets the tokens of each slot so far, by slot, the oldest token first: the prompt, then the
   * output. Penalties, DRY, n-grams, bad words and {@code minNewTokens} need it.
   *
   * @param history null, the default: none
   * @return this
   */
  public Pipeline history(TokenLists history) {
    this.history = history == null ? TokenLists.NONE : history;
    return this;
  }

  /**
   * Sets how many tokens of each history are the prompt, in [0, its length].
   *
   * @param promptLengths [number of slots] I32; null, the default: 0, all is output
   * @return this
   */
  public Pipeline promptLengths(Array promptLengths) {
    this.promptLengths = promptLengths;
    return this;
  }

  /**
   * Sets a length that no history exceeds; rows of a longer one are bad (INVALID_LIST). DRY and
   * n-grams take 4 bytes of workspace for each token of it.
   *
   * @param maxHistoryTokens 0, the default: as many as the history has token ids, or the
   *     {@code maxTokens} of the state
   * @return this
   */
  public Pipeline maxHistoryTokens(long maxHistoryTokens) {
    this.maxHistoryTokens = maxHistoryTokens;
    return this;
  }

  /**
   * Sets classifier-free guidance: rows of logits u of the same tokens, as after another prompt,
   * laid out like the call's logits x and of their type, which become u + guidanceScale * (x - u).
   * Not for sessions, where {@link AdvanceArgs} has them.
   *
   * @param guidanceLogits [numGuidanceRows, numCols] F32, F16 or BF16; null, the default: none
   * @return this
   */
  public Pipeline guidanceLogits(Array guidanceLogits) {
    this.guidanceLogits = guidanceLogits;
    return this;
  }

  /**
   * Sets how many rows of guidance there are.
   *
   * @param numGuidanceRows 0, the default: as many as the array has, which device memory does not
   *     tell
   * @return this
   */
  public Pipeline numGuidanceRows(int numGuidanceRows) {
    this.numGuidanceRows = numGuidanceRows;
    return this;
  }

  /**
   * Sets the guidance row of each output row; negative: none; numGuidanceRows or more: the row is
   * bad (INVALID_INDEX).
   *
   * @param guidanceRowIndices [output rows] I32; null, the default: row i has row i
   * @return this
   */
  public Pipeline guidanceRowIndices(Array guidanceRowIndices) {
    this.guidanceRowIndices = guidanceRowIndices;
    return this;
  }

  /**
   * Sets the tokens, by slot, to whose logits something is added.
   *
   * @param biased null, the default: none
   * @return this
   */
  public Pipeline biased(TokenLists biased) {
    this.biased = biased == null ? TokenLists.NONE : biased;
    return this;
  }

  /**
   * Sets what is added to the logits of the biased tokens: finite or -inf. Both biases of an id
   * that a list has twice are added.
   *
   * @param biases [ids of biased] F32; null, the default: none
   * @return this
   */
  public Pipeline biases(Array biases) {
    this.biases = biases;
    return this;
  }

  /**
   * Sets a list for each biased token: its bias is added only where the history ends in these
   * tokens; with an empty list always.
   *
   * @param biasContexts null, the default: always, for all
   * @return this
   */
  public Pipeline biasContexts(TokenLists biasContexts) {
    this.biasContexts = biasContexts == null ? TokenLists.NONE : biasContexts;
    return this;
  }

  /**
   * Sets what is added by id: one row for all slots, or one each. Ids from denseBiasStride on get
   * none.
   *
   * @param denseBias [numDenseBiases, denseBiasStride] F32; null, the default: none
   * @return this
   */
  public Pipeline denseBias(Array denseBias) {
    this.denseBias = denseBias;
    return this;
  }

  /**
   * Sets how many rows the dense bias has.
   *
   * @param numDenseBiases 1 or the number of slots; 0, the default: as many as the array has, which
   *     device memory does not tell
   * @return this
   */
  public Pipeline numDenseBiases(int numDenseBiases) {
    this.numDenseBiases = numDenseBiases;
    return this;
  }

  /**
   * Sets the length of a row of the dense bias.
   *
   * @param denseBiasStride 0, the default: numCols; with candidate ids it must be given
   * @return this
   */
  public Pipeline denseBiasStride(long denseBiasStride) {
    this.denseBiasStride = denseBiasStride;
    return this;
  }

  /**
   * Sets the only tokens that may be drawn, by slot, where a slot's list has any. Ids may come
   * twice.
   *
   * @param allowed null, the default: all are allowed
   * @return this
   */
  public Pipeline allowed(TokenLists allowed) {
    this.allowed = allowed == null ? TokenLists.NONE : allowed;
    return this;
  }

  /**
   * Sets tokens, by slot, that must not be drawn.
   *
   * @param banned null, the default: none
   * @return this
   */
  public Pipeline banned(TokenLists banned) {
    this.banned = banned == null ? TokenLists.NONE : banned;
    return this;
  }

  /**
   * Sets tokens, by slot, that must not be drawn before the output has {@code minNewTokens} tokens,
   * and that the exponential decay makes likelier.
   *
   * @param stop null, the default: none
   * @return this
   */
  public Pipeline stop(TokenLists stop) {
    this.stop = stop == null ? TokenLists.NONE : stop;
    return this;
  }

  /**
   * Sets tokens, by slot, that repetition, frequency and presence penalties leave as they are.
   *
   * @param unpenalized null, the default: none
   * @return this
   */
  public Pipeline unpenalized(TokenLists unpenalized) {
    this.unpenalized = unpenalized == null ? TokenLists.NONE : unpenalized;
    return this;
  }

  /**
   * Sets words of one or more tokens. A word's last token is banned where the history ends in the
   * others. A word without tokens makes its rows bad (INVALID_LIST).
   *
   * @param badWords null, the default: none
   * @return this
   */
  public Pipeline badWords(TokenLists badWords) {
    this.badWords = badWords == null ? TokenLists.NONE : badWords;
    return this;
  }

  /**
   * Sets which bad words each slot has: slot s has those from badWordOffsets[s] to badWordOffsets[s
   * + 1] - 1.
   *
   * @param badWordOffsets [number of slots + 1] I64; null, the default: every slot has all
   * @return this
   */
  public Pipeline badWordOffsets(Array badWordOffsets) {
    this.badWordOffsets = badWordOffsets;
    return this;
  }

  /**
   * Sets DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in
   * lexicographic order. Others make rows with DRY bad (INVALID_LIST).
   *
   * @param dryBreakers null, the default: none
   * @return this
   */
  public Pipeline dryBreakers(TokenLists dryBreakers) {
    this.dryBreakers = dryBreakers == null ? TokenLists.NONE : dryBreakers;
    return this;
  }

  /**
   * Sets masks of tokens: bit i of word j is 1 where id 32 j + i may be drawn.
   *
   * @param tokenBitmasks [numTokenBitmasks, tokenBitmaskStride] I32, taken as bits; null, the
   *     default: none
   * @return this
   */
  public Pipeline tokenBitmasks(Array tokenBitmasks) {
    this.tokenBitmasks = tokenBitmasks;
    return this;
  }

  /**
   * Sets how many masks there are.
   *
   * @param numTokenBitmasks 0, the default: as many as the array has, which device memory does not
   *     tell
   * @return this
   */
  public Pipeline numTokenBitmasks(int numTokenBitmasks) {
    this.numTokenBitmasks = numTokenBitmasks;
    return this;
  }

  /**
   * Sets the length of a mask in words.
   *
   * @param tokenBitmaskStride 0, the default: numCols / 32, rounded up; with candidate ids it must
   *     be given
   * @return this
   */
  public Pipeline tokenBitmaskStride(long tokenBitmaskStride) {
    this.tokenBitmaskStride = tokenBitmaskStride;
    return this;
  }

  /**
   * Sets the mask of each output row; negative: none; numTokenBitmasks or more: the row is bad
   * (INVALID_INDEX).
   *
   * @param tokenBitmaskIndices [output rows] I32; null, the default: row i has mask i, and there
   *     must be one for each
   * @return this
   */
  public Pipeline tokenBitmaskIndices(Array tokenBitmaskIndices) {
    this.tokenBitmaskIndices = tokenBitmaskIndices;
    return this;
  }

  /**
   * Sets what a mask says of ids that it has no bit for.
   *
   * @param tokenBitmaskRule LEAVES by default
   * @return this
   */
  public Pipeline tokenBitmaskRule(MaskRule tokenBitmaskRule) {
    this.tokenBitmaskRule = Arguments.required("token_bitmask_rule", tokenBitmaskRule);
    return this;
  }

  /**
   * Sets what is remembered of the slots, in place of history, promptLengths and adaptiveValues,
   * which must be null then: slot s of the call is slot s of the state, and the call's slots are at
   * most those of the state. The call reads it and changes nothing.
   *
   * @param state of the same sampler; null, the default: none
   * @return this
   */
  public Pipeline state(State state) {
    this.state = state;
    return this;
  }

  /**
   * Sets the values of adaptive stages where there is no state: the caller moves them on from
   * outObservations by section 14.2 of docs/contract.md. A NaN is the start of its stage; an
   * infinity makes the row bad (INVALID_PARAMETER).
   *
   * @param adaptiveValues [number of slots, {@link State#NUM_ADAPTIVE_VALUES}] F32; null, the
   *     default: all start
   * @return this
   */
  public Pipeline adaptiveValues(Array adaptiveValues) {
    this.adaptiveValues = adaptiveValues;
    return this;
  }
}
