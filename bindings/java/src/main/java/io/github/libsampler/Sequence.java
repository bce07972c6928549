package io.github.libsampler;

/** What a {@link Session} knows of a sequence. */
public final class Sequence {
  final int[] tokenIds;
  final int promptLength;
  final int cacheLength;
  final int drafterCacheLength;
  final FinishReason finishReason;
  final int rowStatus;
  final int stopSequence;
  final long numSteps;
  final long numDrafted;
  final long numAccepted;
  final boolean isDrafting;
  final float[] adaptiveValues;
  final double drafterEntropy;

  Sequence(int[] tokenIds, int promptLength, int cacheLength, int drafterCacheLength,
      FinishReason finishReason, int rowStatus, int stopSequence, long numSteps, long numDrafted,
      long numAccepted, boolean isDrafting, float[] adaptiveValues, double drafterEntropy) {
    this.tokenIds = tokenIds;
    this.promptLength = promptLength;
    this.cacheLength = cacheLength;
    this.drafterCacheLength = drafterCacheLength;
    this.finishReason = finishReason;
    this.rowStatus = rowStatus;
    this.stopSequence = stopSequence;
    this.numSteps = numSteps;
    this.numDrafted = numDrafted;
    this.numAccepted = numAccepted;
    this.isDrafting = isDrafting;
    this.adaptiveValues = adaptiveValues;
    this.drafterEntropy = drafterEntropy;
  }

  /**
   * Returns the text, its prompt first.
   *
   * @return a copy
   */
  public int[] tokenIds() {
    return tokenIds;
  }

  /**
   * Returns how many of the tokens are the prompt.
   *
   * @return a number of tokens
   */
  public int promptLength() {
    return promptLength;
  }

  /**
   * Returns how many of the tokens the target's cache holds.
   *
   * @return a number of tokens
   */
  public int cacheLength() {
    return cacheLength;
  }

  /**
   * Returns how many of the tokens the drafter's cache holds.
   *
   * @return a number of tokens
   */
  public int drafterCacheLength() {
    return drafterCacheLength;
  }

  /**
   * Returns why it has ended.
   *
   * @return NONE: it runs
   */
  public FinishReason finishReason() {
    return finishReason;
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
   * Returns which stop sequence has ended it.
   *
   * @return a number from 0, or -1
   */
  public int stopSequence() {
    return stopSequence;
  }

  /**
   * Returns how many steps gave a token.
   *
   * @return a number
   */
  public long numSteps() {
    return numSteps;
  }

  /**
   * Returns how many drafts were verified.
   *
   * @return a number
   */
  public long numDrafted() {
    return numDrafted;
  }

  /**
   * Returns how many drafts became text.
   *
   * @return a number
   */
  public long numAccepted() {
    return numAccepted;
  }

  /**
   * Returns whether there are drafts still: its text has room.
   *
   * @return false: none any more
   */
  public boolean isDrafting() {
    return isDrafting;
  }

  /**
   * Returns the values of its adaptive stages, as in {@link Pipeline}, which {@link
   * AddArgs#resumed} takes.
   *
   * @return NaN where a stage has not begun
   */
  public float[] adaptiveValues() {
    return adaptiveValues.clone();
  }

  /**
   * Returns the smoothed entropy by which BY_ENTROPY goes, which {@link AddArgs#resumed} takes.
   *
   * @return in nats; NaN before the first step
   */
  public double drafterEntropy() {
    return drafterEntropy;
  }
}
