package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#verify}.
 */
public final class VerifyArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows target = Rows.NONE;
  private Rows draft = Rows.NONE;
  private long targetSequenceStride;
  private long draftSequenceStride;
  private Array draftTokenIds;
  private int numDrafts;
  private Array draftCounts;
  private Array slots;
  private int numSlots;
  private Params params;
  private RowParams rowParams;
  private Random random = Random.DEFAULT;
  private boolean accumulateCounts;
  private Array outTokenIds;
  private Array outAcceptedCounts;
  private Array outEmittedCounts;
  private Array outRowStatus;

  /** Creates arguments at their defaults. */
  public VerifyArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public VerifyArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the target's row at each draft position, then the one after the last draft: [sequences,
   * numDrafts + 1, numCols], its numRows the product of the first two.
   *
   * @param target required
   * @return this
   */
  public VerifyArgs target(Rows target) {
    this.target = target == null ? Rows.NONE : target;
    return this;
  }

  /**
   * Sets the rows that the drafts were drawn from: [sequences, numDrafts, numCols].
   *
   * @param draft null, the default: the drafter was deterministic
   * @return this
   */
  public VerifyArgs draft(Rows draft) {
    this.draft = draft == null ? Rows.NONE : draft;
    return this;
  }

  /**
   * Sets the distance in elements from one sequence's first row of the target to the next one's.
   *
   * @param targetSequenceStride 0, the default: contiguous
   * @return this
   */
  public VerifyArgs targetSequenceStride(long targetSequenceStride) {
    this.targetSequenceStride = targetSequenceStride;
    return this;
  }

  /**
   * Sets the distance in elements from one sequence's first row of the draft to the next one's.
   *
   * @param draftSequenceStride 0, the default: contiguous
   * @return this
   */
  public VerifyArgs draftSequenceStride(long draftSequenceStride) {
    this.draftSequenceStride = draftSequenceStride;
    return this;
  }

  /**
   * Sets the draft tokens.
   *
   * @param draftTokenIds [sequences, numDrafts] of the type of outTokenIds. Required, unless
   *     there are no drafts
   * @return this
   */
  public VerifyArgs draftTokenIds(Array draftTokenIds) {
    this.draftTokenIds = draftTokenIds;
    return this;
  }

  /**
   * Sets how many drafts a sequence has at most.
   *
   * @param numDrafts in [0, 65535]
   * @return this
   */
  public VerifyArgs numDrafts(int numDrafts) {
    this.numDrafts = numDrafts;
    return this;
  }

  /**
   * Sets how many drafts each sequence has, in [0, numDrafts].
   *
   * @param draftCounts [sequences] I32; null, the default: none
   * @return this
   */
  public VerifyArgs draftCounts(Array draftCounts) {
    this.draftCounts = draftCounts;
    return this;
  }

  /**
   * Sets the slot of each sequence; any value outside [0, numSlots) makes it bad. Parameters,
   * seeds, offsets and streams are indexed by slot, in arrays of numSlots elements. Without, the
   * slot is the number of the sequence.
   *
   * @param slots [sequences] I32; null, the default: none
   * @return this
   */
  public VerifyArgs slots(Array slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Sets how many slots there are.
   *
   * @param numSlots set with the slots
   * @return this
   */
  public VerifyArgs numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets the temperature and the filters of the rows that are logits, target and draft alike.
   * When neither is, the filters must be off and the temperature 1 or greedy.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public VerifyArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets parameters by slot.
   *
   * @param rowParams null, the default: the same for all
   * @return this
   */
  public VerifyArgs rowParams(RowParams rowParams) {
    this.rowParams = rowParams;
    return this;
  }

  /**
   * Sets what random numbers follow from.
   *
   * @param random null, the default: seed 0 and offset 0
   * @return this
   */
  public VerifyArgs random(Random random) {
    this.random = random == null ? Random.DEFAULT : random;
    return this;
  }

  /**
   * Sets whether the counts are added to what the two arrays hold.
   *
   * @param accumulateCounts false, the default: they overwrite it
   * @return this
   */
  public VerifyArgs accumulateCounts(boolean accumulateCounts) {
    this.accumulateCounts = accumulateCounts;
    return this;
  }

  /**
   * Sets where the accepted drafts, then one token of the target, then -1 go.
   *
   * @param outTokenIds [sequences, numDrafts + 1] I32 or I64. Required
   * @return this
   */
  public VerifyArgs outTokenIds(Array outTokenIds) {
    this.outTokenIds = outTokenIds;
    return this;
  }

  /**
   * Sets where the number of drafts that would be accepted each on its own goes.
   *
   * @param outAcceptedCounts [sequences] I32; null, the default: none
   * @return this
   */
  public VerifyArgs outAcceptedCounts(Array outAcceptedCounts) {
    this.outAcceptedCounts = outAcceptedCounts;
    return this;
  }

  /**
   * Sets where the number of drafts kept before the first rejection goes: outTokenIds has one
   * token more.
   *
   * @param outEmittedCounts [sequences] I32; null, the default: none
   * @return this
   */
  public VerifyArgs outEmittedCounts(Array outEmittedCounts) {
    this.outEmittedCounts = outEmittedCounts;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [sequences] I32; null, the default: none
   * @return this
   */
  public VerifyArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Rows target = this.target;
    final Rows draft = this.draft;
    final int numDrafts = this.numDrafts;
    call.put(at + Layout.VERIFY_ARGS_STRUCT_SIZE, (long) Layout.VERIFY_ARGS_SIZE);
    call.exec(at + Layout.VERIFY_ARGS_EXEC, exec);
    final long numPositions = numDrafts + 1L;
    final long numSequences = call.sequences(at + Layout.VERIFY_ARGS_TARGET, "target.", target,
        -1, numPositions, at + Layout.VERIFY_ARGS_TARGET_SEQUENCE_STRIDE, targetSequenceStride);
    call.sequences(at + Layout.VERIFY_ARGS_DRAFT, "draft.", draft, numSequences, numDrafts,
        at + Layout.VERIFY_ARGS_DRAFT_SEQUENCE_STRIDE, draftSequenceStride);
    call.beginIds(at + Layout.VERIFY_ARGS_TOKEN_ID_TYPE);
    call.inIds(at + Layout.VERIFY_ARGS_DRAFT_TOKEN_IDS, "draft_token_ids", draftTokenIds,
        Lengths.product(numSequences, numDrafts));
    call.put(at + Layout.VERIFY_ARGS_NUM_DRAFTS, (long) numDrafts);
    call.in(at + Layout.VERIFY_ARGS_DRAFT_COUNTS, "", "draft_counts", draftCounts, Call.I32,
        numSequences);
    final long numSlots = call.slots(at + Layout.VERIFY_ARGS_SLOTS,
        at + Layout.VERIFY_ARGS_NUM_SLOTS, slots, this.numSlots, numSequences);
    call.params(at + Layout.VERIFY_ARGS_PARAMS, params);
    call.rowParams(at + Layout.VERIFY_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.random(at + Layout.VERIFY_ARGS_RANDOM, random, numSlots);
    call.put(at + Layout.VERIFY_ARGS_ACCUMULATE_COUNTS, accumulateCounts ? 1 : 0);
    call.outIds(at + Layout.VERIFY_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds,
        Lengths.product(numSequences, numPositions));
    call.out(at + Layout.VERIFY_ARGS_OUT_ACCEPTED_COUNTS, "out_accepted_counts",
        outAcceptedCounts, Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_EMITTED_COUNTS, "out_emitted_counts", outEmittedCounts,
        Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numSequences);
    return RawConstants.SHIM_VERIFY;
  }
}
