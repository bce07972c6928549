package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#unmask}: a step of a diffusion language model, for blocks of rows.
 */
public final class UnmaskArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private int numRows;
  private Array blockOffsets;
  private int numBlocks;
  private UnmaskParams params;
  private Array candidateTokenIds;
  private Array candidateStatus;
  private Array scores;
  private int scoreStride;
  private Array tokenIds;
  private Array slots;
  private int numSlots;
  private Randomness random = Randomness.DEFAULT;
  private Array blockNumCommitted;
  private Array blockNumStepsLeft;
  private Array outChanges;
  private Array outConfidences;
  private Array outCommittedCounts;
  private Array outEditedCounts;
  private Array outMaskedCounts;
  private Array outBlockStatus;

  /** Creates arguments at their defaults. */
  public UnmaskArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public UnmaskArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets how many positions all blocks have.
   *
   * @param numRows 0, the default: as many as there are candidates, which device memory
   *     does not tell
   * @return this
   */
  public UnmaskArgs numRows(int numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets where blocks lie: block b has the rows from blockOffsets[b] up to blockOffsets[b + 1].
   *
   * @param blockOffsets [numBlocks + 1] I64; null, the default: numRows / numBlocks each
   * @return this
   */
  public UnmaskArgs blockOffsets(Array blockOffsets) {
    this.blockOffsets = blockOffsets;
    return this;
  }

  /**
   * Sets how many blocks there are.
   *
   * @param numBlocks at most 65536
   * @return this
   */
  public UnmaskArgs numBlocks(int numBlocks) {
    this.numBlocks = numBlocks;
    return this;
  }

  /**
   * Sets the rules by which candidates stand.
   *
   * @param params null, the default: none stands
   * @return this
   */
  public UnmaskArgs params(UnmaskParams params) {
    this.params = params;
    return this;
  }

  /**
   * Sets a candidate for each row, as {@link Sampler#sample} drew it. A negative one never
   * stands.
   *
   * @param candidateTokenIds [numRows] I32 or I64. Required
   * @return this
   */
  public UnmaskArgs candidateTokenIds(Array candidateTokenIds) {
    this.candidateTokenIds = candidateTokenIds;
    return this;
  }

  /**
   * Sets bits of {@link RowStatus}. The candidate of a bad row never stands.
   *
   * @param candidateStatus [numRows] I32; null, the default: none is bad
   * @return this
   */
  public UnmaskArgs candidateStatus(Array candidateStatus) {
    this.candidateStatus = candidateStatus;
    return this;
  }

  /**
   * Sets what the confidence is made of: one number a row, or two.
   *
   * @param scores [numRows, scoreStride] F32
   * @return this
   */
  public UnmaskArgs scores(Array scores) {
    this.scores = scores;
    return this;
  }

  /**
   * Sets the distance of two rows' scores.
   *
   * @param scoreStride 0, the default: side by side
   * @return this
   */
  public UnmaskArgs scoreStride(int scoreStride) {
    this.scoreStride = scoreStride;
    return this;
  }

  /**
   * Sets the tokens, which are read and written; those that are the mask token are masked.
   *
   * @param tokenIds [numRows] I32 or I64, in and out; null, the default: all rows are masked
   * @return this
   */
  public UnmaskArgs tokenIds(Array tokenIds) {
    this.tokenIds = tokenIds;
    return this;
  }

  /**
   * Sets the slot of each row, for random numbers alone.
   *
   * @param slots [numRows] I32; null, the default: none
   * @return this
   */
  public UnmaskArgs slots(Array slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Sets how many slots there are.
   *
   * @param numSlots set with the slots
   * @return this
   */
  public UnmaskArgs numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets what random numbers, of {@code RANDOM} and the order, follow from.
   *
   * @param random null, the default: seed 0 and offset 0
   * @return this
   */
  public UnmaskArgs random(Randomness random) {
    this.random = random == null ? Randomness.DEFAULT : random;
    return this;
  }

  /**
   * Sets the number to commit for each block.
   *
   * @param blockNumCommitted [numBlocks] I32; null, the default: that of the rules
   * @return this
   */
  public UnmaskArgs blockNumCommitted(Array blockNumCommitted) {
    this.blockNumCommitted = blockNumCommitted;
    return this;
  }

  /**
   * Sets the steps left for each block.
   *
   * @param blockNumStepsLeft [numBlocks] I32; null, the default: those of the rules
   * @return this
   */
  public UnmaskArgs blockNumStepsLeft(Array blockNumStepsLeft) {
    this.blockNumStepsLeft = blockNumStepsLeft;
    return this;
  }

  /**
   * Sets where it goes what happened to each row: a number of {@link UnmaskChange}.
   *
   * @param outChanges [numRows] I8; null, the default: none
   * @return this
   */
  public UnmaskArgs outChanges(Array outChanges) {
    this.outChanges = outChanges;
    return this;
  }

  /**
   * Sets where the confidences go; NaN where there is none.
   *
   * @param outConfidences [numRows] F32; null, the default: none
   * @return this
   */
  public UnmaskArgs outConfidences(Array outConfidences) {
    this.outConfidences = outConfidences;
    return this;
  }

  /**
   * Sets where the numbers of rows committed go.
   *
   * @param outCommittedCounts [numBlocks] I32; null, the default: none
   * @return this
   */
  public UnmaskArgs outCommittedCounts(Array outCommittedCounts) {
    this.outCommittedCounts = outCommittedCounts;
    return this;
  }

  /**
   * Sets where the numbers of rows edited go.
   *
   * @param outEditedCounts [numBlocks] I32; null, the default: none
   * @return this
   */
  public UnmaskArgs outEditedCounts(Array outEditedCounts) {
    this.outEditedCounts = outEditedCounts;
    return this;
  }

  /**
   * Sets where the numbers of rows that are masked still go.
   *
   * @param outMaskedCounts [numBlocks] I32; null, the default: none
   * @return this
   */
  public UnmaskArgs outMaskedCounts(Array outMaskedCounts) {
    this.outMaskedCounts = outMaskedCounts;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} of each block go.
   *
   * @param outBlockStatus [numBlocks] I32; null, the default: none
   * @return this
   */
  public UnmaskArgs outBlockStatus(Array outBlockStatus) {
    this.outBlockStatus = outBlockStatus;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array candidateTokenIds = this.candidateTokenIds;
    final Array tokenIds = this.tokenIds;
    final long numBlocks = this.numBlocks;
    final long scoreStride = this.scoreStride;
    call.put(at + Layout.UNMASK_ARGS_STRUCT_SIZE, (long) Layout.UNMASK_ARGS_SIZE);
    call.exec(at + Layout.UNMASK_ARGS_EXEC, exec);
    final long numRows =
        call.count(at + Layout.UNMASK_ARGS_NUM_ROWS, candidateTokenIds, this.numRows);
    call.in(at + Layout.UNMASK_ARGS_BLOCK_OFFSETS, "", "block_offsets", blockOffsets, Call.I64,
        numBlocks + 1);
    call.put(at + Layout.UNMASK_ARGS_NUM_BLOCKS, numBlocks);
    call.put(at + Layout.UNMASK_ARGS_RESERVED, 0);
    final Confidence confidence = call.unmask(at + Layout.UNMASK_ARGS_PARAMS, params);
    final int width = confidence == Confidence.MARGIN ? 2 : 1;
    call.beginIds(at + Layout.UNMASK_ARGS_TOKEN_ID_TYPE);
    call.inIds(at + Layout.UNMASK_ARGS_CANDIDATE_TOKEN_IDS, "candidate_token_ids",
        candidateTokenIds, numRows);
    call.in(at + Layout.UNMASK_ARGS_CANDIDATE_STATUS, "", "candidate_status", candidateStatus,
        Call.I32, numRows);
    call.in(at + Layout.UNMASK_ARGS_SCORES, "", "scores", scores, Call.F32,
        Lengths.rows(numRows, width, scoreStride));
    call.put(at + Layout.UNMASK_ARGS_SCORE_STRIDE, scoreStride);
    call.outIds(at + Layout.UNMASK_ARGS_TOKEN_IDS, "token_ids", tokenIds, numRows);
    final long numSlots = call.slots(at + Layout.UNMASK_ARGS_SLOTS,
        at + Layout.UNMASK_ARGS_NUM_SLOTS, slots, this.numSlots, numRows);
    call.random(at + Layout.UNMASK_ARGS_RANDOM, random, numSlots);
    call.parameter(at + Layout.UNMASK_ARGS_BLOCK_NUM_COMMITTED, "", "block_num_committed",
        blockNumCommitted, Call.I32, numBlocks);
    call.parameter(at + Layout.UNMASK_ARGS_BLOCK_NUM_STEPS_LEFT, "", "block_num_steps_left",
        blockNumStepsLeft, Call.I32, numBlocks);
    call.out(at + Layout.UNMASK_ARGS_OUT_CHANGES, "out_changes", outChanges, Call.I8, numRows);
    call.out(at + Layout.UNMASK_ARGS_OUT_CONFIDENCES, "out_confidences", outConfidences,
        Call.F32, numRows);
    call.out(at + Layout.UNMASK_ARGS_OUT_COMMITTED_COUNTS, "out_committed_counts",
        outCommittedCounts, Call.I32, numBlocks);
    call.out(at + Layout.UNMASK_ARGS_OUT_EDITED_COUNTS, "out_edited_counts", outEditedCounts,
        Call.I32, numBlocks);
    call.out(at + Layout.UNMASK_ARGS_OUT_MASKED_COUNTS, "out_masked_counts", outMaskedCounts,
        Call.I32, numBlocks);
    call.out(at + Layout.UNMASK_ARGS_OUT_BLOCK_STATUS, "out_block_status", outBlockStatus,
        Call.I32, numBlocks);
    return RawConstants.SHIM_UNMASK;
  }
}
