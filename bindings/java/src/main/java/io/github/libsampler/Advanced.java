package io.github.libsampler;

/** What a step gave to one span of the target. */
public final class Advanced {
  final int sequence;
  final int[] tokenIds;
  final FinishReason finishReason;
  final long cacheLength;
  final long drafterCacheLength;
  final long acceptedCount;
  final int rowStatus;
  final float[] logprobs;
  final int[][] topTokenIds;
  final float[][] topLogprobs;

  Advanced(int sequence, int[] tokenIds, FinishReason finishReason, long cacheLength,
      long drafterCacheLength, long acceptedCount, int rowStatus, float[] logprobs,
      int[][] topTokenIds, float[][] topLogprobs) {
    this.sequence = sequence;
    this.tokenIds = tokenIds;
    this.finishReason = finishReason;
    this.cacheLength = cacheLength;
    this.drafterCacheLength = drafterCacheLength;
    this.acceptedCount = acceptedCount;
    this.rowStatus = rowStatus;
    this.logprobs = logprobs;
    this.topTokenIds = topTokenIds;
    this.topLogprobs = topLogprobs;
  }

  /**
   * Returns whose span it was.
   *
   * @return the number of a sequence
   */
  public int sequence() {
    return sequence;
  }

  /**
   * Returns the new tokens.
   *
   * @return none of a span without logits, or whose block is not complete
   */
  public int[] tokenIds() {
    return tokenIds;
  }

  /**
   * Returns whether the sequence has ended.
   *
   * @return NONE: it runs
   */
  public FinishReason finishReason() {
    return finishReason;
  }

  /**
   * Returns to which length to cut the target's cache.
   *
   * @return a number of tokens
   */
  public long cacheLength() {
    return cacheLength;
  }

  /**
   * Returns to which length to cut the drafter's cache.
   *
   * @return a number of tokens
   */
  public long drafterCacheLength() {
    return drafterCacheLength;
  }

  /**
   * Returns how many drafts became text.
   *
   * @return a number
   */
  public long acceptedCount() {
    return acceptedCount;
  }

  /**
   * Returns why a row was bad.
   *
   * @return bits of {@link RowStatus}
   */
  public int rowStatus() {
    return rowStatus;
  }

  /**
   * Returns the log-probabilities of the new tokens.
   *
   * @return one for each
   */
  public float[] logprobs() {
    return logprobs;
  }

  /**
   * Returns the first tokens in rank order at each new one.
   *
   * @return as many as were asked for
   */
  public int[][] topTokenIds() {
    return topTokenIds;
  }

  /**
   * Returns their log-probabilities.
   *
   * @return as many as were asked for
   */
  public float[][] topLogprobs() {
    return topLogprobs;
  }
}
