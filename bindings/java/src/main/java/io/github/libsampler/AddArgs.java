package io.github.libsampler;

/** Arguments of {@link Session#add}. */
public final class AddArgs {
  int[] tokenIds = {};
  int promptLength;
  int cacheLength;
  int drafterCacheLength;
  Params params;
  long seed;
  int maxNewTokens;
  int[] endTokenIds = {};
  TokenLists stopSequences = TokenLists.NONE;
  DraftSource draftSource = DraftSource.NONE;
  Acceptance acceptance = Acceptance.DEFAULT;
  int numDrafts;
  int minMatch;
  Ngram ngram;
  boolean draftUnknown;
  long ngramLeastCount;
  float ngramLeastShare;
  float leastDraftProbability;
  int draftTopK;
  GammaRule adaptiveGamma = GammaRule.FIXED;
  float emaBeta;
  int gammaMin;
  boolean ngramHasText;
  Sequence resumed;
  UnmaskParams unmask;

  /** Creates arguments at their defaults. */
  public AddArgs() {}

  /**
   * Sets the text so far.
   *
   * @param tokenIds at least one token. Required
   * @return this
   */
  public AddArgs tokenIds(int[] tokenIds) {
    this.tokenIds = Arguments.required("tokenIds", tokenIds);
    return this;
  }

  /**
   * Sets how many tokens are the prompt; the others are new ones, as of a sequence that goes on.
   *
   * @param promptLength 0, the default: all
   * @return this
   */
  public AddArgs promptLength(int promptLength) {
    this.promptLength = promptLength;
    return this;
  }

  /**
   * Sets how many of the tokens the target's cache holds already.
   *
   * @param cacheLength fewer than there are
   * @return this
   */
  public AddArgs cacheLength(int cacheLength) {
    this.cacheLength = cacheLength;
    return this;
  }

  /**
   * Sets how many of the tokens the drafter's cache holds already.
   *
   * @param drafterCacheLength at most as many as there are
   * @return this
   */
  public AddArgs drafterCacheLength(int drafterCacheLength) {
    this.drafterCacheLength = drafterCacheLength;
    return this;
  }

  /**
   * Sets its numbers; its rules, orders and stages must be the session's.
   *
   * @param params null, the default: the session's
   * @return this
   */
  public AddArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets the seed of its draws.
   *
   * @param seed 64 bits without a sign
   * @return this
   */
  public AddArgs seed(long seed) {
    this.seed = seed;
    return this;
  }

  /**
   * Sets how many new tokens there are at most.
   *
   * @param maxNewTokens 0, the default: as many as the context leaves
   * @return this
   */
  public AddArgs maxNewTokens(int maxNewTokens) {
    this.maxNewTokens = maxNewTokens;
    return this;
  }

  /**
   * Sets the tokens that end the text.
   *
   * @param endTokenIds may be empty
   * @return this
   */
  public AddArgs endTokenIds(int[] endTokenIds) {
    this.endTokenIds = Arguments.required("endTokenIds", endTokenIds);
    return this;
  }

  /**
   * Sets sequences of tokens that end the text where its new tokens end in one.
   *
   * @param stopSequences of I32, none of them empty; arrays or direct buffers on every sampler;
   *     null, the default: none
   * @return this
   */
  public AddArgs stopSequences(TokenLists stopSequences) {
    this.stopSequences = stopSequences == null ? TokenLists.NONE : stopSequences;
    return this;
  }

  /**
   * Sets where its drafts come from.
   *
   * @param draftSource NONE by default
   * @return this
   */
  public AddArgs draftSource(DraftSource draftSource) {
    this.draftSource = Arguments.required("draftSource", draftSource);
    return this;
  }

  /**
   * Sets how drafts are verified.
   *
   * @param acceptance DEFAULT by default: that of the session
   * @return this
   */
  public AddArgs acceptance(Acceptance acceptance) {
    this.acceptance = Arguments.required("acceptance", acceptance);
    return this;
  }

  /**
   * Sets how many drafts a step has at most.
   *
   * @param numDrafts 0, the default: as many as the session allows
   * @return this
   */
  public AddArgs numDrafts(int numDrafts) {
    this.numDrafts = numDrafts;
    return this;
  }

  /**
   * Sets the shortest match of a prompt lookup.
   *
   * @param minMatch 0, the default: 1
   * @return this
   */
  public AddArgs minMatch(int minMatch) {
    this.minMatch = minMatch;
    return this;
  }

  /**
   * Sets what drafts for NGRAM. It learns the text now, and later each new token; closing it waits
   * for that of the session. A call of it that runs beside one of the session fails, or ends the
   * drafting.
   *
   * @param ngram null, the default, for other sources
   * @return this
   */
  public AddArgs ngram(Ngram ngram) {
    this.ngram = ngram;
    return this;
  }

  /**
   * Sets whether a context that is unknown to the n-grams is followed by what they give for it.
   *
   * @param draftUnknown false, the default: by no draft
   * @return this
   */
  public AddArgs draftUnknown(boolean draftUnknown) {
    this.draftUnknown = draftUnknown;
    return this;
  }

  /**
   * Ends the drafts of n-grams before one that was counted fewer times after its context.
   *
   * @param ngramLeastCount 0, the default: off
   * @return this
   */
  public AddArgs ngramLeastCount(long ngramLeastCount) {
    this.ngramLeastCount = ngramLeastCount;
    return this;
  }

  /**
   * Ends the drafts of n-grams before one whose share of what followed there is lower.
   *
   * @param ngramLeastShare in [0, 1]; 0, the default: off
   * @return this
   */
  public AddArgs ngramLeastShare(float ngramLeastShare) {
    this.ngramLeastShare = ngramLeastShare;
    return this;
  }

  /**
   * Ends the drafts of a model with one to which its row gives less than this probability.
   *
   * @param leastDraftProbability in [0, 1]; 0, the default: off
   * @return this
   */
  public AddArgs leastDraftProbability(float leastDraftProbability) {
    this.leastDraftProbability = leastDraftProbability;
    return this;
  }

  /**
   * Makes the drafts of a model trees of its {@code draftTopK} likeliest tokens of each position,
   * as {@link Span#parents} says; for sessions with {@link SessionOptions#hasDraftTrees}.
   *
   * @param draftTopK 0, the default: drafts are drawn, one a position
   * @return this
   */
  public AddArgs draftTopK(int draftTopK) {
    this.draftTopK = draftTopK;
    return this;
  }

  /**
   * Sets how many drafts a step gets, for sessions with {@link SessionOptions#hasAdaptiveGamma}.
   *
   * @param adaptiveGamma FIXED by default; BY_ENTROPY is of MODEL without draftTopK
   * @return this
   */
  public AddArgs adaptiveGamma(GammaRule adaptiveGamma) {
    this.adaptiveGamma = Arguments.required("adaptiveGamma", adaptiveGamma);
    return this;
  }

  /**
   * Sets how much the entropy is smoothed by which BY_ENTROPY goes.
   *
   * @param emaBeta in [0, 1); 0 by default
   * @return this
   */
  public AddArgs emaBeta(float emaBeta) {
    this.emaBeta = emaBeta;
    return this;
  }

  /**
   * Sets the least number of drafts of BY_ENTROPY.
   *
   * @param gammaMin in [0, numDrafts]; 0 by default
   * @return this
   */
  public AddArgs gammaMin(int gammaMin) {
    this.gammaMin = gammaMin;
    return this;
  }

  /**
   * Sets whether the n-grams have learned these tokens, as those of a sequence that was removed.
   *
   * @param ngramHasText false, the default: they learn them
   * @return this
   */
  public AddArgs ngramHasText(boolean ngramHasText) {
    this.ngramHasText = ngramHasText;
    return this;
  }

  /**
   * Lets a sequence go on, of this session or of another one. Its adaptive values and its drafter's
   * entropy go on, without which the next tokens may be others, and its numbers of steps and drafts;
   * of the rest nothing is read.
   *
   * @param resumed what {@link Session#get} gave before it was removed; null, the default: a new one
   * @return this
   */
  public AddArgs resumed(Sequence resumed) {
    this.resumed = resumed;
    return this;
  }

  /**
   * Lets the text grow by blocks, as that of a diffusion language model, for sessions with {@link
   * SessionOptions#hasBlocks}. The draft source must be NONE.
   *
   * <p>A span ends with the block, masked positions included, and has a row for each position of it
   * after the text. {@link Session#advance} draws their candidates, of which the rules commit some.
   * The text grows once no position is masked; with an editThreshold once a later step changes
   * nothing, the 16th at the latest. Caches hold whole blocks: each is fed again with the next one.
   *
   * <p>Stages see the text before the block. DRY, no-repeat n-grams, minNewTokens, the exponential
   * decay, mirostat, adaptive-p and top-p decay must be off. There are no log-probabilities.
   *
   * @param unmask the rules by which candidates stand; null, the default: the text grows by tokens
   * @return this
   */
  public AddArgs unmask(UnmaskParams unmask) {
    this.unmask = unmask;
    return this;
  }
}
