package io.github.libsampler;

import java.util.List;

/** Arguments of {@link Session#advance}. */
public final class AdvanceArgs {
  List<Span> spans = List.of();
  Array logits;
  long logitsRowStride;
  List<Span> drafterSpans = List.of();
  Array drafterLogits;
  long drafterRowStride;
  LogprobKind logprobKind = LogprobKind.RAW;
  int numTopLogprobs;
  int[] tokenBitmaskIndices;
  int[] forcedTokenIds;
  Array guidanceLogits;
  int numGuidanceRows;
  int[] guidanceRowIndices;

  /** Creates arguments at their defaults. */
  public AdvanceArgs() {}

  /**
   * Sets which spans the target ran, as planned last: any of them, in any order.
   *
   * @param spans empty by default
   * @return this
   */
  public AdvanceArgs spans(List<Span> spans) {
    this.spans = Arguments.required("spans", spans);
    return this;
  }

  /**
   * Sets their rows of logits, span after span.
   *
   * @param logits [sum of numLogits, vocabularySize] of the session's type
   * @return this
   */
  public AdvanceArgs logits(Array logits) {
    this.logits = logits;
    return this;
  }

  /**
   * Sets the distance of two rows in elements.
   *
   * @param logitsRowStride 0, the default: the vocabulary's size
   * @return this
   */
  public AdvanceArgs logitsRowStride(long logitsRowStride) {
    this.logitsRowStride = logitsRowStride;
    return this;
  }

  /**
   * Sets which spans the drafter ran.
   *
   * @param drafterSpans empty by default
   * @return this
   */
  public AdvanceArgs drafterSpans(List<Span> drafterSpans) {
    this.drafterSpans = Arguments.required("drafterSpans", drafterSpans);
    return this;
  }

  /**
   * Sets their rows of logits.
   *
   * @param drafterLogits [sum of numLogits, vocabularySize] of the session's type
   * @return this
   */
  public AdvanceArgs drafterLogits(Array drafterLogits) {
    this.drafterLogits = drafterLogits;
    return this;
  }

  /**
   * Sets the distance of two rows of the drafter in elements.
   *
   * @param drafterRowStride 0, the default: the vocabulary's size
   * @return this
   */
  public AdvanceArgs drafterRowStride(long drafterRowStride) {
    this.drafterRowStride = drafterRowStride;
    return this;
  }

  /**
   * Sets of which distribution the log-probabilities are.
   *
   * @param logprobKind RAW by default
   * @return this
   */
  public AdvanceArgs logprobKind(LogprobKind logprobKind) {
    this.logprobKind = Arguments.required("logprobKind", logprobKind);
    return this;
  }

  /**
   * Sets how many first tokens are reported.
   *
   * @param numTopLogprobs at most as many as the options say; 0, the default: none
   * @return this
   */
  public AdvanceArgs numTopLogprobs(int numTopLogprobs) {
    this.numTopLogprobs = numTopLogprobs;
    return this;
  }

  /**
   * Sets the mask of each row of the target's logits, which follows the text and the drafts before
   * it, where the session's pipeline has masks.
   *
   * @param tokenBitmaskIndices [rows of logits] negative: none; null, the default, without masks
   * @return this
   */
  public AdvanceArgs tokenBitmaskIndices(int[] tokenBitmaskIndices) {
    this.tokenBitmaskIndices = tokenBitmaskIndices;
    return this;
  }

  /**
   * Sets the token that is decided at each row of the target's logits whatever they are, as where a
   * thinking budget runs out among the drafts.
   *
   * @param forcedTokenIds [rows of logits] negative, as of a block's rows: none; null, the default:
   *     none
   * @return this
   */
  public AdvanceArgs forcedTokenIds(int[] forcedTokenIds) {
    this.forcedTokenIds = forcedTokenIds;
    return this;
  }

  /**
   * Sets classifier-free guidance: rows of logits as in {@link Pipeline}, of a cache with another
   * prompt, which the caller feeds each span's new tokens and drafts.
   *
   * @param guidanceLogits [numGuidanceRows, vocabularySize] of the session's type, laid out like
   *     the target's logits; null, the default, where no sequence with rows has guidance
   * @return this
   */
  public AdvanceArgs guidanceLogits(Array guidanceLogits) {
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
  public AdvanceArgs numGuidanceRows(int numGuidanceRows) {
    this.numGuidanceRows = numGuidanceRows;
    return this;
  }

  /**
   * Sets the guidance row of each row of the target's logits; negative: none; numGuidanceRows or
   * more: the row is bad (INVALID_INDEX).
   *
   * @param guidanceRowIndices [rows of logits] null, the default: row i has row i
   * @return this
   */
  public AdvanceArgs guidanceRowIndices(int[] guidanceRowIndices) {
    this.guidanceRowIndices = guidanceRowIndices;
    return this;
  }
}
