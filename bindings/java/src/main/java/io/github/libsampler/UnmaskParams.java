package io.github.libsampler;

import io.github.libsampler.internal.Layout;

/** The rules by which candidates stand. */
public final class UnmaskParams {
  private long maskTokenId;
  private int blockLength;
  private Confidence confidence = Confidence.PROBABILITY;
  private float orderTemperature;
  private float threshold;
  private float entropyBound;
  private float editThreshold;
  private int numCommitted;
  private int numStepsLeft;
  private boolean blocksAfterPrompt;

  /** Creates rules by which none stands; of the text of a {@link Session} one a step. */
  public UnmaskParams() {}

  /**
   * Sets the mask token: tokens that are it are masked, and a candidate that is it never stands.
   *
   * @param maskTokenId at least 0; 0, the default, where there are no tokens
   * @return this
   */
  public UnmaskParams maskTokenId(long maskTokenId) {
    this.maskTokenId = maskTokenId;
    return this;
  }

  /**
   * Sets how many positions a whole block has. For the text of a {@link Session} only.
   *
   * @param blockLength in [1, maxDrafts + 1]; 0, the default, in {@link UnmaskArgs}
   * @return this
   */
  public UnmaskParams blockLength(int blockLength) {
    this.blockLength = blockLength;
    return this;
  }

  /**
   * Sets what orders the candidates.
   *
   * @param confidence PROBABILITY by default; GIVEN is not for sessions
   * @return this
   */
  public UnmaskParams confidence(Confidence confidence) {
    this.confidence = Arguments.required("confidence", confidence);
    return this;
  }

  /**
   * Draws the order by the softmax of confidence / orderTemperature.
   *
   * @param orderTemperature 0, the default: strictly by confidence
   * @return this
   */
  public UnmaskParams orderTemperature(float orderTemperature) {
    this.orderTemperature = orderTemperature;
    return this;
  }

  /**
   * Commits every row whose confidence is above it (entropy: below it).
   *
   * @param threshold 0, the default: off
   * @return this
   */
  public UnmaskParams threshold(float threshold) {
    this.threshold = threshold;
    return this;
  }

  /**
   * Commits rows as long as the entropies before them sum to at most this.
   *
   * @param entropyBound 0, the default: off
   * @return this
   */
  public UnmaskParams entropyBound(float entropyBound) {
    this.entropyBound = entropyBound;
    return this;
  }

  /**
   * Puts candidates in the place of other tokens where the confidence is above it.
   *
   * @param editThreshold 0, the default: off
   * @return this
   */
  public UnmaskParams editThreshold(float editThreshold) {
    this.editThreshold = editThreshold;
    return this;
  }

  /**
   * Commits at least {@code numCommitted} rows.
   *
   * @param numCommitted 0, the default: off
   * @return this
   */
  public UnmaskParams numCommitted(int numCommitted) {
    this.numCommitted = numCommitted;
    return this;
  }

  /**
   * Commits at least enough rows that {@code numStepsLeft} steps fill the block. In a {@link
   * Session}: the steps of each block.
   *
   * @param numStepsLeft 0, the default: off
   * @return this
   */
  public UnmaskParams numStepsLeft(int numStepsLeft) {
    this.numStepsLeft = numStepsLeft;
    return this;
  }

  /**
   * Sets where blocks begin. For the text of a {@link Session} only.
   *
   * @param blocksAfterPrompt true: the first one begins after the prompt; false, the default: at
   *     multiples of blockLength, so that the first one may have prompt tokens
   * @return this
   */
  public UnmaskParams blocksAfterPrompt(boolean blocksAfterPrompt) {
    this.blocksAfterPrompt = blocksAfterPrompt;
    return this;
  }

  /** Writes the struct to {@code to}, whose bytes are 0. Returns the confidence that it has. */
  Confidence write(Call call, int to) {
    final Confidence confidence = this.confidence;
    call.put(to + Layout.UNMASK_PARAMS_STRUCT_SIZE, (long) Layout.UNMASK_PARAMS_SIZE);
    call.put(to + Layout.UNMASK_PARAMS_MASK_TOKEN_ID, maskTokenId);
    call.put(to + Layout.UNMASK_PARAMS_BLOCK_LENGTH, (long) blockLength);
    call.put(to + Layout.UNMASK_PARAMS_CONFIDENCE, confidence.ordinal());
    call.put(to + Layout.UNMASK_PARAMS_ORDER_TEMPERATURE, orderTemperature);
    call.put(to + Layout.UNMASK_PARAMS_THRESHOLD, threshold);
    call.put(to + Layout.UNMASK_PARAMS_ENTROPY_BOUND, entropyBound);
    call.put(to + Layout.UNMASK_PARAMS_EDIT_THRESHOLD, editThreshold);
    call.put(to + Layout.UNMASK_PARAMS_NUM_COMMITTED, numCommitted);
    call.put(to + Layout.UNMASK_PARAMS_NUM_STEPS_LEFT, numStepsLeft);
    call.put(to + Layout.UNMASK_PARAMS_BLOCKS_AFTER_PROMPT, blocksAfterPrompt ? 1 : 0);
    return confidence;
  }
}
