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
  int[][] stopSequences = {};
  DraftSource draftSource = DraftSource.NONE;
  DraftVerification verification = DraftVerification.SAMPLE_MATCH;
  int numDrafts;
  int minMatch;

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
   * @param stopSequences none of them empty
   * @return this
   */
  public AddArgs stopSequences(int[][] stopSequences) {
    this.stopSequences = Arguments.required("stopSequences", stopSequences);
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
   * @param verification SAMPLE_MATCH by default
   * @return this
   */
  public AddArgs verification(DraftVerification verification) {
    this.verification = Arguments.required("verification", verification);
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
}
