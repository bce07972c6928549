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
  private Array draftTokenIds;
  private int numDrafts;
  private Array draftCounts;
  private Array slots;
  private int numSlots;
  private Params params;
  private RowParams rowParams;
  private Randomness random = Randomness.DEFAULT;
  private boolean accumulateCounts;
  private Array outTokenIds;
  private Array outAcceptedCounts;
  private Array outEmittedCounts;
  private Array outRowStatus;
  private AcceptanceParams acceptance;
  private Array acceptances;
  private Params draftParams;
  private RowParams draftRowParams;
  private Pipeline pipeline;
  private Array forcedTokenIds;
  private DraftLayout layout;
  private ReportArgs reports;
  private Array outPositions;
  private Array kvIndices;
  private Array outKvIndices;

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
   * numDrafts + 1, numCols], its numRows the product of the first two, unless rows are packed or
   * indexed.
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
  public VerifyArgs random(Randomness random) {
    this.random = random == null ? Randomness.DEFAULT : random;
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
   * Sets where the number of drafts that would be accepted each on its own goes. For trees, and
   * rules but STANDARD it is that of outEmittedCounts.
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

  /**
   * Sets when a draft is accepted. What follows from here on is off by default.
   *
   * @param acceptance null, the default: {@link Acceptance#STANDARD}
   * @return this
   */
  public VerifyArgs acceptance(AcceptanceParams acceptance) {
    this.acceptance = acceptance;
    return this;
  }

  /**
   * Sets the acceptance by slot. A number that is no such ordinal, or does not go with what the
   * call has, makes its sequence bad (INVALID_PARAMETER).
   *
   * @param acceptances [number of slots] I32, the ordinals of {@link Acceptance}; null, the
   *     default: the same for all
   * @return this
   */
  public VerifyArgs acceptances(Array acceptances) {
    this.acceptances = acceptances;
    return this;
  }

  /**
   * Sets the temperature and the filters of the draft.
   *
   * @param draftParams null, the default: those of the target, which must then have no other stage
   *     where the draft is logits
   * @return this
   */
  public VerifyArgs draftParams(Params draftParams) {
    this.draftParams = draftParams;
    return this;
  }

  /**
   * Sets parameters of the draft by slot.
   *
   * @param draftRowParams null, the default: those of the target, or the same for all
   * @return this
   */
  public VerifyArgs draftRowParams(RowParams draftRowParams) {
    this.draftRowParams = draftRowParams;
    return this;
  }

  /**
   * Sets the stages of the target's rows. At each position the text, and what adaptive stages
   * remember, are as if the drafts before it had been accepted; nothing is changed. The
   * tokenBitmaskIndices are [sequences, numDrafts + 1].
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public VerifyArgs pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  /**
   * Sets tokens that are decided by position, whatever the row and the rule, as at the end of a
   * thinking budget; negative: none.
   *
   * @param forcedTokenIds [sequences, numDrafts + 1] I32 or I64; null, the default: none
   * @return this
   */
  public VerifyArgs forcedTokenIds(Array forcedTokenIds) {
    this.forcedTokenIds = forcedTokenIds;
    return this;
  }

  /**
   * Sets where the positions that the emitted tokens were decided at go, 0 first: the rows of a KV
   * cache to keep. Then -1.
   *
   * @param outPositions [sequences, numDrafts + 1] I32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outPositions(Array outPositions) {
    this.outPositions = outPositions;
    return this;
  }

  /**
   * Sets a number for each position.
   *
   * @param kvIndices [sequences, numDrafts + 1] I64; null, the default: none
   * @return this
   */
  public VerifyArgs kvIndices(Array kvIndices) {
    this.kvIndices = kvIndices;
    return this;
  }

  /**
   * Sets where those of outPositions go.
   *
   * @param outKvIndices [sequences, numDrafts + 1] I64; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outKvIndices(Array outKvIndices) {
    this.outKvIndices = outKvIndices;
    return this;
  }

  /**
   * Sets where drafts and rows lie.
   *
   * @param layout null, the default: dense chains, one sequence after the other
   * @return this
   */
  public VerifyArgs layout(DraftLayout layout) {
    this.layout = layout;
    return this;
  }

  /**
   * Sets what else is reported of each position.
   *
   * @param reports null, the default: nothing
   * @return this
   */
  public VerifyArgs reports(ReportArgs reports) {
    this.reports = reports;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final int numDrafts = this.numDrafts;
    final long numPositions = numDrafts + 1L;
    call.put(at + Layout.VERIFY_ARGS_STRUCT_SIZE, (long) Layout.VERIFY_ARGS_SIZE);
    call.exec(at + Layout.VERIFY_ARGS_EXEC, exec);
    call.beginIds(at + Layout.VERIFY_ARGS_TOKEN_ID_TYPE);
    final DraftLayout given = this.layout;
    final DraftLayout layout = given == null ? DraftLayout.DENSE : given;
    final int layoutAt = call.layout(at + Layout.VERIFY_ARGS_LAYOUT, given != null);
    final long numSequences = writeLayout(call, layout, layoutAt, numDrafts);
    final long numTokens = Lengths.product(numSequences, numPositions);
    call.put(at + Layout.VERIFY_ARGS_NUM_DRAFTS, (long) numDrafts);
    call.in(at + Layout.VERIFY_ARGS_DRAFT_COUNTS, "", "draft_counts", draftCounts, Call.I32,
        numSequences);
    final long numSlots = call.slots(at + Layout.VERIFY_ARGS_SLOTS,
        at + Layout.VERIFY_ARGS_NUM_SLOTS, slots, this.numSlots, numSequences);
    call.params(at + Layout.VERIFY_ARGS_PARAMS, params);
    call.rowParams(at + Layout.VERIFY_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.random(at + Layout.VERIFY_ARGS_RANDOM, random, numSlots);
    call.put(at + Layout.VERIFY_ARGS_ACCUMULATE_COUNTS, accumulateCounts ? 1 : 0);
    call.inIds(at + Layout.VERIFY_ARGS_FORCED_TOKEN_IDS, "forced_token_ids", forcedTokenIds,
        numTokens);
    call.outIds(at + Layout.VERIFY_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds, numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_ACCEPTED_COUNTS, "out_accepted_counts",
        outAcceptedCounts, Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_EMITTED_COUNTS, "out_emitted_counts", outEmittedCounts,
        Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numSequences);
    writeRules(call, numDrafts, numSlots);
    writeTrees(call, layout, layoutAt, numSequences, numDrafts);
    call.reports(at + Layout.VERIFY_ARGS_REPORTS, reports, numTokens,
        call.numCols(at + Layout.VERIFY_ARGS_TARGET));
    call.out(at + Layout.VERIFY_ARGS_OUT_POSITIONS, "out_positions", outPositions, Call.I32,
        numTokens);
    call.in(at + Layout.VERIFY_ARGS_KV_INDICES, "", "kv_indices", kvIndices, Call.I64, numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_KV_INDICES, "out_kv_indices", outKvIndices, Call.I64,
        numTokens);
    call.draftParams(at + Layout.VERIFY_ARGS_DRAFT_PARAMS, draftParams);
    call.draftRowParams(at + Layout.VERIFY_ARGS_DRAFT_ROW_PARAMS, draftRowParams, numSlots);
    call.pipeline(at + Layout.VERIFY_ARGS_PIPELINE, pipeline, at + Layout.VERIFY_ARGS_TARGET,
        numSlots, numTokens);
    return RawConstants.SHIM_VERIFY;
  }

  /** Which rows and draft tokens belong to each sequence. Returns how many sequences there are. */
  private long writeLayout(Call call, DraftLayout layout, int to, int numDrafts) {
    final int at = Call.ARGS;
    final Packing packing = layout.packing;
    final Array draftTokenIds = this.draftTokenIds;
    final Array targetRowIndices = layout.targetRowIndices;
    final Array bonusRowIndices = layout.bonusRowIndices;
    final Array draftRowIndices = layout.draftRowIndices;
    final boolean draftRowsBySlot = layout.draftRowsBySlot;
    final String of = "layout->";
    final boolean isPacked = packing != Packing.DENSE;
    final long numPositions = numDrafts + 1L;
    // Rows that are packed or indexed are any number, and do not give that of the sequences.
    final long given = call.putLong(to + Layout.DRAFT_LAYOUT_NUM_SEQUENCES, layout.numSequences);
    final boolean hasAnyRows = isPacked || targetRowIndices != null || bonusRowIndices != null;
    final long numSequences = call.sequences(at + Layout.VERIFY_ARGS_TARGET, "target.", target,
        hasAnyRows ? Math.max(given, 0) : -1, numPositions, hasAnyRows,
        to + Layout.DRAFT_LAYOUT_TARGET_SEQUENCE_STRIDE, layout.targetSequenceStride);
    call.sequences(at + Layout.VERIFY_ARGS_DRAFT, "draft.", draft, numSequences, numDrafts,
        isPacked || draftRowIndices != null || draftRowsBySlot,
        to + Layout.DRAFT_LAYOUT_DRAFT_SEQUENCE_STRIDE, layout.draftSequenceStride);

    final long stride =
        call.putLong(to + Layout.DRAFT_LAYOUT_DRAFT_TOKEN_STRIDE, layout.draftTokenStride);
    final int numDraftsAt = to + Layout.DRAFT_LAYOUT_NUM_PACKED_DRAFTS;
    final int numPositionsAt = to + Layout.DRAFT_LAYOUT_NUM_PACKED_POSITIONS;
    final long numTokens;
    final long numDraftRows;
    long numTargetRows = layout.numPackedPositions;
    if (packing == Packing.DENSE) {
      numTokens = Lengths.rows(numSequences, numDrafts, stride);
      numDraftRows = Lengths.product(numSequences, numDrafts);
      call.put(numDraftsAt, (long) layout.numPackedDrafts);
      call.put(numPositionsAt, numTargetRows);
      numTargetRows = Lengths.product(numSequences, numPositions);
    } else if (packing == Packing.POSITIONS) { // draft tokens are laid out like positions
      numTokens = call.count(numPositionsAt, draftTokenIds, numTargetRows);
      numDraftRows = numTokens;
      call.put(numDraftsAt, (long) layout.numPackedDrafts);
      numTargetRows = numTokens;
    } else {
      numTokens = call.count(numDraftsAt, draftTokenIds, layout.numPackedDrafts);
      numDraftRows = numTokens;
      if (numTargetRows == 0 && targetRowIndices != null && bonusRowIndices == null) {
        numTargetRows = numTokens + numSequences;
      }
      call.put(numPositionsAt, numTargetRows);
    }
    call.inIds(at + Layout.VERIFY_ARGS_DRAFT_TOKEN_IDS, "draft_token_ids", draftTokenIds,
        numTokens);
    call.put(to + Layout.DRAFT_LAYOUT_PACKING, packing.ordinal());
    call.in(to + Layout.DRAFT_LAYOUT_PACKING_OFFSETS, of, "packing_offsets", layout.packingOffsets,
        Call.I32, packing == Packing.DRAFT_ENDS ? numSequences : numSequences + 1);
    call.in(to + Layout.DRAFT_LAYOUT_TARGET_ROW_INDICES, of, "target_row_indices",
        targetRowIndices, Call.I32, bonusRowIndices == null ? numTargetRows : numDraftRows);
    call.in(to + Layout.DRAFT_LAYOUT_BONUS_ROW_INDICES, of, "bonus_row_indices", bonusRowIndices,
        Call.I32, numSequences);
    call.in(to + Layout.DRAFT_LAYOUT_DRAFT_ROW_INDICES, of, "draft_row_indices", draftRowIndices,
        Call.I32, numDraftRows);
    call.put(to + Layout.DRAFT_LAYOUT_DRAFT_ROWS_BY_SLOT, draftRowsBySlot ? 1 : 0);
    return numSequences;
  }

  private void writeRules(Call call, int numDrafts, long numSlots) {
    final int at = Call.ARGS;
    call.acceptance(at + Layout.VERIFY_ARGS_ACCEPTANCE, acceptance, numDrafts, null);
    call.parameter(at + Layout.VERIFY_ARGS_ACCEPTANCES, "", "acceptances", acceptances, Call.I32,
        numSlots);
  }

  private static void writeTrees(Call call, DraftLayout layout, int to, long numSequences,
      int numDrafts) {
    final String of = "layout->";
    final long given = call.putLong(to + Layout.DRAFT_LAYOUT_TREE_ROWS, layout.treeRows);
    final long numTrees = given == 0 ? numSequences : given;
    final long ofPositions = Lengths.product(numTrees, numDrafts + 1L);
    call.in(to + Layout.DRAFT_LAYOUT_PARENTS, of, "parents", layout.parents, Call.I32,
        Lengths.product(numTrees, numDrafts));
    call.in(to + Layout.DRAFT_LAYOUT_FIRST_CHILDREN, of, "first_children", layout.firstChildren,
        Call.I32, ofPositions);
    call.in(to + Layout.DRAFT_LAYOUT_NEXT_SIBLINGS, of, "next_siblings", layout.nextSiblings,
        Call.I32, ofPositions);
  }
}
