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
  private Acceptance acceptance = Acceptance.STANDARD;
  private SiblingRule siblingRule = SiblingRule.INDEPENDENT;
  private Array acceptances;
  private float typicalThreshold;
  private float typicalScale;
  private int relaxedTopK;
  private float relaxedDelta;
  private float thresholdSingle;
  private float thresholdTotal;
  private int deferredWindow;
  private int deferredTopK;
  private float deferredEntropy;
  private DrawMethod drawMethod = DrawMethod.INVERSE_CDF;
  private Array syntheticRates;
  private Packing packing = Packing.DENSE;
  private Array packingOffsets;
  private int numSequences;
  private int numPackedDrafts;
  private int numPackedPositions;
  private long draftTokenStride;
  private Array targetRowIndices;
  private Array bonusRowIndices;
  private Array draftRowIndices;
  private boolean draftRowsBySlot;
  private Array parents;
  private Array firstChildren;
  private Array nextSiblings;
  private int treeRows;
  private Params draftParams;
  private RowParams draftRowParams;
  private Pipeline pipeline;
  private LogprobKind logprobKind = LogprobKind.RAW;
  private Array outKeptCounts;
  private Array outLogprobs;
  private Array outRanks;
  private Array outEntropies;
  private Array outObservations;
  private int numTopLogprobs;
  private Array outTopTokenIds;
  private Array outTopLogprobs;
  private Array outKeptBitmask;
  private long keptBitmaskStride;
  private long keptCapacity;
  private Array outKeptTokenIds;
  private Array outKeptProbabilities;
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
   * Sets where the number of drafts that would be accepted each on its own goes. Of trees and of
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
   * @param acceptance STANDARD by default
   * @return this
   */
  public VerifyArgs acceptance(Acceptance acceptance) {
    this.acceptance = Arguments.required("acceptance", acceptance);
    return this;
  }

  /**
   * Sets how siblings of a tree were drafted.
   *
   * @param siblingRule INDEPENDENT by default
   * @return this
   */
  public VerifyArgs siblingRule(SiblingRule siblingRule) {
    this.siblingRule = Arguments.required("sibling_rule", siblingRule);
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
   * Sets the threshold of TYPICAL. Like all numbers of the rules it is not NaN and not negative.
   *
   * @param typicalThreshold 0, the default: 0.09
   * @return this
   */
  public VerifyArgs typicalThreshold(float typicalThreshold) {
    this.typicalThreshold = typicalThreshold;
    return this;
  }

  /**
   * Sets the scale of TYPICAL.
   *
   * @param typicalScale 0, the default: 0.3
   * @return this
   */
  public VerifyArgs typicalScale(float typicalScale) {
    this.typicalScale = typicalScale;
    return this;
  }

  /**
   * Sets of how many first tokens a draft is one for RELAXED.
   *
   * @param relaxedTopK 0, the default: 1
   * @return this
   */
  public VerifyArgs relaxedTopK(int relaxedTopK) {
    this.relaxedTopK = relaxedTopK;
    return this;
  }

  /**
   * Sets how much less likely than the likeliest token a draft is for RELAXED at most.
   *
   * @param relaxedDelta 0 by default
   * @return this
   */
  public VerifyArgs relaxedDelta(float relaxedDelta) {
    this.relaxedDelta = relaxedDelta;
    return this;
  }

  /**
   * Sets from which probability on THRESHOLD accepts.
   *
   * @param thresholdSingle 0, the default: 1
   * @return this
   */
  public VerifyArgs thresholdSingle(float thresholdSingle) {
    this.thresholdSingle = thresholdSingle;
    return this;
  }

  /**
   * Sets what THRESHOLD's coin is multiplied with.
   *
   * @param thresholdTotal 0, the default: 1
   * @return this
   */
  public VerifyArgs thresholdTotal(float thresholdTotal) {
    this.thresholdTotal = thresholdTotal;
    return this;
  }

  /**
   * Sets how many next drafts would have to be accepted for DEFERRED.
   *
   * @param deferredWindow 0, the default: min(6, numDrafts - 1), at least 1
   * @return this
   */
  public VerifyArgs deferredWindow(int deferredWindow) {
    this.deferredWindow = deferredWindow;
    return this;
  }

  /**
   * Sets of how many first tokens DEFERRED takes the entropy.
   *
   * @param deferredTopK 0, the default: 3
   * @return this
   */
  public VerifyArgs deferredTopK(int deferredTopK) {
    this.deferredTopK = deferredTopK;
    return this;
  }

  /**
   * Sets which entropy at least is doubt for DEFERRED.
   *
   * @param deferredEntropy in nats; 0, the default: 0.3
   * @return this
   */
  public VerifyArgs deferredEntropy(float deferredEntropy) {
    this.deferredEntropy = deferredEntropy;
    return this;
  }

  /**
   * Sets how SAMPLE_MATCH draws.
   *
   * @param drawMethod INVERSE_CDF by default, and of the other rules
   * @return this
   */
  public VerifyArgs drawMethod(DrawMethod drawMethod) {
    this.drawMethod = Arguments.required("draw_method", drawMethod);
    return this;
  }

  /**
   * Sets how often SYNTHETIC accepts.
   *
   * @param syntheticRates [numDrafts] F32, an array or a direct buffer on every sampler; null, the
   *     default: none. Required by SYNTHETIC
   * @return this
   */
  public VerifyArgs syntheticRates(Array syntheticRates) {
    this.syntheticRates = syntheticRates;
    return this;
  }

  /**
   * Sets how the drafts of several sequences lie in memory.
   *
   * @param packing DENSE by default
   * @return this
   */
  public VerifyArgs packing(Packing packing) {
    this.packing = Arguments.required("packing", packing);
    return this;
  }

  /**
   * Sets where the drafts, or positions, of each sequence are. One whose offsets fall, lie outside,
   * or are further apart than numDrafts is bad (INVALID_LIST).
   *
   * @param packingOffsets I32, as many as {@link Packing} tells; null, the default: none. Required
   *     where batches are packed, which must have no draftCounts
   * @return this
   */
  public VerifyArgs packingOffsets(Array packingOffsets) {
    this.packingOffsets = packingOffsets;
    return this;
  }

  /**
   * Sets how many sequences there are.
   *
   * @param numSequences 0, the default: what the target's numRows tells. Required with packing and
   *     with targetRowIndices
   * @return this
   */
  public VerifyArgs numSequences(int numSequences) {
    this.numSequences = numSequences;
    return this;
  }

  /**
   * Sets how many drafts all sequences of a packed batch have: elements of draftTokenIds, unless
   * packing is POSITIONS.
   *
   * @param numPackedDrafts 0, the default: as many as the array has, which device memory does not
   *     tell
   * @return this
   */
  public VerifyArgs numPackedDrafts(int numPackedDrafts) {
    this.numPackedDrafts = numPackedDrafts;
    return this;
  }

  /**
   * Sets how many positions all sequences of a packed batch have: elements of draftTokenIds where
   * packing is POSITIONS.
   *
   * @param numPackedPositions 0, the default: as many as the array has, which device memory does
   *     not tell
   * @return this
   */
  public VerifyArgs numPackedPositions(int numPackedPositions) {
    this.numPackedPositions = numPackedPositions;
    return this;
  }

  /**
   * Sets the distance in elements from one sequence's first draft token to the next one's. Not of
   * packed batches.
   *
   * @param draftTokenStride at least numDrafts; 0, the default: numDrafts
   * @return this
   */
  public VerifyArgs draftTokenStride(long draftTokenStride) {
    this.draftTokenStride = draftTokenStride;
    return this;
  }

  /**
   * Sets the row of the target that each position reads; the target has any number of rows then.
   * With bonusRowIndices they are laid out like draftTokenIds. One outside makes its sequence bad
   * (INVALID_INDEX) when it is read.
   *
   * @param targetRowIndices [sequences, numDrafts + 1], packed: [positions] I32; null, the
   *     default: position after position
   * @return this
   */
  public VerifyArgs targetRowIndices(Array targetRowIndices) {
    this.targetRowIndices = targetRowIndices;
    return this;
  }

  /**
   * Sets the row of the target that each sequence's last position reads.
   *
   * @param bonusRowIndices [sequences] I32; null, the default: targetRowIndices has them
   * @return this
   */
  public VerifyArgs bonusRowIndices(Array bonusRowIndices) {
    this.bonusRowIndices = bonusRowIndices;
    return this;
  }

  /**
   * Sets the row of the draft that each draft was drawn from; the draft has any number of rows
   * then.
   *
   * @param draftRowIndices [sequences, numDrafts], packed: like draftTokenIds, I32; null, the
   *     default: draft after draft
   * @return this
   */
  public VerifyArgs draftRowIndices(Array draftRowIndices) {
    this.draftRowIndices = draftRowIndices;
    return this;
  }

  /**
   * Sets whether the row of the draft that belongs to draft i is slot * numDrafts + i.
   *
   * @param draftRowsBySlot false by default
   * @return this
   */
  public VerifyArgs draftRowsBySlot(boolean draftRowsBySlot) {
    this.draftRowsBySlot = draftRowsBySlot;
    return this;
  }

  /**
   * Sets trees: the draft that each hangs on, a lower number, -1 the root. Siblings are tried in
   * their order. What is no tree makes its sequence bad (INVALID_TREE).
   *
   * @param parents [treeRows, numDrafts] I32; null, the default, as are firstChildren: chains
   * @return this
   */
  public VerifyArgs parents(Array parents) {
    this.parents = parents;
    return this;
  }

  /**
   * Sets trees by the position of each position's first child, in place of parents.
   *
   * @param firstChildren [treeRows, numDrafts + 1] I32, -1 or 0 for none; null, the default: chains
   * @return this
   */
  public VerifyArgs firstChildren(Array firstChildren) {
    this.firstChildren = firstChildren;
    return this;
  }

  /**
   * Sets the position of each position's next sibling, with firstChildren.
   *
   * @param nextSiblings [treeRows, numDrafts + 1] I32, -1 or 0 for none; null, the default: chains
   * @return this
   */
  public VerifyArgs nextSiblings(Array nextSiblings) {
    this.nextSiblings = nextSiblings;
    return this;
  }

  /**
   * Sets how many trees there are.
   *
   * @param treeRows 1: one for all; 0, the default: one for each sequence
   * @return this
   */
  public VerifyArgs treeRows(int treeRows) {
    this.treeRows = treeRows;
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
   * Sets of which distribution the reports below are. They are of every emitted token, in the order
   * of outTokenIds, as in {@link SampleArgs}: of the target's distribution at its position; as for
   * a bad row where no token stands.
   *
   * @param logprobKind RAW by default
   * @return this
   */
  public VerifyArgs logprobKind(LogprobKind logprobKind) {
    this.logprobKind = Arguments.required("logprob_kind", logprobKind);
    return this;
  }

  /**
   * Sets where the number of tokens that the filters kept goes.
   *
   * @param outKeptCounts [sequences, numDrafts + 1] I32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outKeptCounts(Array outKeptCounts) {
    this.outKeptCounts = outKeptCounts;
    return this;
  }

  /**
   * Sets where the natural logarithm of each token's probability goes.
   *
   * @param outLogprobs [sequences, numDrafts + 1] F32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outLogprobs(Array outLogprobs) {
    this.outLogprobs = outLogprobs;
    return this;
  }

  /**
   * Sets where the place of each token by value, then id, goes: the first is 1.
   *
   * @param outRanks [sequences, numDrafts + 1] I32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outRanks(Array outRanks) {
    this.outRanks = outRanks;
    return this;
  }

  /**
   * Sets where the entropies in nats go.
   *
   * @param outEntropies [sequences, numDrafts + 1] F32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outEntropies(Array outEntropies) {
    this.outEntropies = outEntropies;
    return this;
  }

  /**
   * Sets where what moves the adaptive stage on goes.
   *
   * @param outObservations [sequences, numDrafts + 1] F32; null, the default: nowhere
   * @return this
   */
  public VerifyArgs outObservations(Array outObservations) {
    this.outObservations = outObservations;
    return this;
  }

  /**
   * Sets how many first tokens are reported, and what goes with them.
   *
   * @param numTopLogprobs in [0, numCols]; 0, the default: none
   * @return this
   */
  public VerifyArgs numTopLogprobs(int numTopLogprobs) {
    this.numTopLogprobs = numTopLogprobs;
    return this;
  }

  /**
   * Sets where the first tokens by value, then id, go.
   *
   * @param outTopTokenIds [sequences, numDrafts + 1, numTopLogprobs] of the type of outTokenIds;
   *     null, the default: nowhere
   * @return this
   */
  public VerifyArgs outTopTokenIds(Array outTopTokenIds) {
    this.outTopTokenIds = outTopTokenIds;
    return this;
  }

  /**
   * Sets where their log-probabilities go.
   *
   * @param outTopLogprobs [sequences, numDrafts + 1, numTopLogprobs] F32; null, the default:
   *     nowhere
   * @return this
   */
  public VerifyArgs outTopLogprobs(Array outTopLogprobs) {
    this.outTopLogprobs = outTopLogprobs;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, laid out like {@link Pipeline#tokenBitmasks}.
   *
   * @param outKeptBitmask [sequences, numDrafts + 1, keptBitmaskStride] I32, taken as bits; null,
   *     the default: nowhere
   * @return this
   */
  public VerifyArgs outKeptBitmask(Array outKeptBitmask) {
    this.outKeptBitmask = outKeptBitmask;
    return this;
  }

  /**
   * Sets the length of a row of outKeptBitmask in words. Later ids have no bit.
   *
   * @param keptBitmaskStride 0, the default: numCols / 32, rounded up; with candidate ids it must
   *     be given
   * @return this
   */
  public VerifyArgs keptBitmaskStride(long keptBitmaskStride) {
    this.keptBitmaskStride = keptBitmaskStride;
    return this;
  }

  /**
   * Sets for how many kept tokens of a position the lists have room.
   *
   * @param keptCapacity in [0, numCols]; 0, the default: there are no lists
   * @return this
   */
  public VerifyArgs keptCapacity(long keptCapacity) {
    this.keptCapacity = keptCapacity;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, by ascending id.
   *
   * @param outKeptTokenIds [sequences, numDrafts + 1, keptCapacity] of the type of outTokenIds;
   *     null, the default: nowhere
   * @return this
   */
  public VerifyArgs outKeptTokenIds(Array outKeptTokenIds) {
    this.outKeptTokenIds = outKeptTokenIds;
    return this;
  }

  /**
   * Sets where their probabilities go.
   *
   * @param outKeptProbabilities [sequences, numDrafts + 1, keptCapacity] F32; null, the default:
   *     nowhere
   * @return this
   */
  public VerifyArgs outKeptProbabilities(Array outKeptProbabilities) {
    this.outKeptProbabilities = outKeptProbabilities;
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

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final int numDrafts = this.numDrafts;
    final long numPositions = numDrafts + 1L;
    call.put(at + Layout.VERIFY_ARGS_STRUCT_SIZE, (long) Layout.VERIFY_ARGS_SIZE);
    call.exec(at + Layout.VERIFY_ARGS_EXEC, exec);
    call.beginIds(at + Layout.VERIFY_ARGS_TOKEN_ID_TYPE);
    final long numSequences = writeLayout(call, numDrafts);
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
    call.outIds(at + Layout.VERIFY_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds, numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_ACCEPTED_COUNTS, "out_accepted_counts",
        outAcceptedCounts, Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_EMITTED_COUNTS, "out_emitted_counts", outEmittedCounts,
        Call.I32, numSequences);
    call.out(at + Layout.VERIFY_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numSequences);
    writeRules(call, numDrafts, numSlots);
    writeTrees(call, numSequences, numDrafts);
    writeReports(call, numTokens);
    call.draftParams(at + Layout.VERIFY_ARGS_DRAFT_PARAMS, draftParams);
    call.draftRowParams(at + Layout.VERIFY_ARGS_DRAFT_ROW_PARAMS, draftRowParams, numSlots);
    call.pipeline(at + Layout.VERIFY_ARGS_PIPELINE, pipeline, at + Layout.VERIFY_ARGS_TARGET,
        numSlots, numTokens);
    return RawConstants.SHIM_VERIFY;
  }

  /** Which rows and draft tokens belong to each sequence. Returns how many sequences there are. */
  private long writeLayout(Call call, int numDrafts) {
    final int at = Call.ARGS;
    final Packing packing = this.packing;
    final Array draftTokenIds = this.draftTokenIds;
    final Array targetRowIndices = this.targetRowIndices;
    final Array bonusRowIndices = this.bonusRowIndices;
    final Array draftRowIndices = this.draftRowIndices;
    final boolean draftRowsBySlot = this.draftRowsBySlot;
    final boolean isPacked = packing != Packing.DENSE;
    final long numPositions = numDrafts + 1L;
    // Rows that are packed or indexed are any number, and do not tell that of the sequences.
    final long given = call.putLong(at + Layout.VERIFY_ARGS_NUM_SEQUENCES, numSequences);
    final boolean hasAnyRows = isPacked || targetRowIndices != null;
    final long numSequences = call.sequences(at + Layout.VERIFY_ARGS_TARGET, "target.", target,
        hasAnyRows ? Math.max(given, 0) : -1, numPositions, hasAnyRows,
        at + Layout.VERIFY_ARGS_TARGET_SEQUENCE_STRIDE, targetSequenceStride);
    call.sequences(at + Layout.VERIFY_ARGS_DRAFT, "draft.", draft, numSequences, numDrafts,
        isPacked || draftRowIndices != null || draftRowsBySlot,
        at + Layout.VERIFY_ARGS_DRAFT_SEQUENCE_STRIDE, draftSequenceStride);

    final long stride =
        call.putLong(at + Layout.VERIFY_ARGS_DRAFT_TOKEN_STRIDE, draftTokenStride);
    final int numDraftsAt = at + Layout.VERIFY_ARGS_NUM_PACKED_DRAFTS;
    final int numPositionsAt = at + Layout.VERIFY_ARGS_NUM_PACKED_POSITIONS;
    final long numTokens;
    final long numDraftRows;
    long numTargetRows = numPackedPositions;
    if (packing == Packing.DENSE) {
      numTokens = Lengths.rows(numSequences, numDrafts, stride);
      numDraftRows = Lengths.product(numSequences, numDrafts);
      call.put(numDraftsAt, (long) numPackedDrafts);
      call.put(numPositionsAt, numTargetRows);
      numTargetRows = Lengths.product(numSequences, numPositions);
    } else if (packing == Packing.POSITIONS) { // draft tokens are laid out like positions
      numTokens = call.count(numPositionsAt, draftTokenIds, numTargetRows);
      numDraftRows = numTokens;
      call.put(numDraftsAt, (long) numPackedDrafts);
      numTargetRows = numTokens;
    } else {
      numTokens = call.count(numDraftsAt, draftTokenIds, numPackedDrafts);
      numDraftRows = numTokens;
      if (numTargetRows == 0 && targetRowIndices != null && bonusRowIndices == null) {
        numTargetRows = numTokens + numSequences;
      }
      call.put(numPositionsAt, numTargetRows);
    }
    call.inIds(at + Layout.VERIFY_ARGS_DRAFT_TOKEN_IDS, "draft_token_ids", draftTokenIds,
        numTokens);
    call.put(at + Layout.VERIFY_ARGS_PACKING, packing.ordinal());
    call.in(at + Layout.VERIFY_ARGS_PACKING_OFFSETS, "", "packing_offsets", packingOffsets,
        Call.I32, packing == Packing.DRAFT_ENDS ? numSequences : numSequences + 1);
    call.in(at + Layout.VERIFY_ARGS_TARGET_ROW_INDICES, "", "target_row_indices",
        targetRowIndices, Call.I32, bonusRowIndices == null ? numTargetRows : numDraftRows);
    call.in(at + Layout.VERIFY_ARGS_BONUS_ROW_INDICES, "", "bonus_row_indices", bonusRowIndices,
        Call.I32, numSequences);
    call.in(at + Layout.VERIFY_ARGS_DRAFT_ROW_INDICES, "", "draft_row_indices", draftRowIndices,
        Call.I32, numDraftRows);
    call.put(at + Layout.VERIFY_ARGS_DRAFT_ROWS_BY_SLOT, draftRowsBySlot ? 1 : 0);
    return numSequences;
  }

  private void writeRules(Call call, int numDrafts, long numSlots) {
    final int at = Call.ARGS;
    call.put(at + Layout.VERIFY_ARGS_ACCEPTANCE, acceptance.ordinal());
    call.put(at + Layout.VERIFY_ARGS_SIBLING_RULE, siblingRule.ordinal());
    call.parameter(at + Layout.VERIFY_ARGS_ACCEPTANCES, "", "acceptances", acceptances, Call.I32,
        numSlots);
    call.put(at + Layout.VERIFY_ARGS_TYPICAL_THRESHOLD, typicalThreshold);
    call.put(at + Layout.VERIFY_ARGS_TYPICAL_SCALE, typicalScale);
    call.put(at + Layout.VERIFY_ARGS_RELAXED_TOP_K, relaxedTopK);
    call.put(at + Layout.VERIFY_ARGS_RELAXED_DELTA, relaxedDelta);
    call.put(at + Layout.VERIFY_ARGS_THRESHOLD_SINGLE, thresholdSingle);
    call.put(at + Layout.VERIFY_ARGS_THRESHOLD_TOTAL, thresholdTotal);
    call.put(at + Layout.VERIFY_ARGS_DEFERRED_WINDOW, deferredWindow);
    call.put(at + Layout.VERIFY_ARGS_DEFERRED_TOP_K, deferredTopK);
    call.put(at + Layout.VERIFY_ARGS_DEFERRED_ENTROPY, deferredEntropy);
    call.put(at + Layout.VERIFY_ARGS_DRAW_METHOD, drawMethod.ordinal());
    call.onHost(at + Layout.VERIFY_ARGS_SYNTHETIC_RATES, "synthetic_rates", syntheticRates,
        Call.F32, numDrafts);
  }

  private void writeTrees(Call call, long numSequences, int numDrafts) {
    final int at = Call.ARGS;
    final long given = call.putLong(at + Layout.VERIFY_ARGS_TREE_ROWS, treeRows);
    final long numTrees = given == 0 ? numSequences : given;
    final long ofPositions = Lengths.product(numTrees, numDrafts + 1L);
    call.in(at + Layout.VERIFY_ARGS_PARENTS, "", "parents", parents, Call.I32,
        Lengths.product(numTrees, numDrafts));
    call.in(at + Layout.VERIFY_ARGS_FIRST_CHILDREN, "", "first_children", firstChildren, Call.I32,
        ofPositions);
    call.in(at + Layout.VERIFY_ARGS_NEXT_SIBLINGS, "", "next_siblings", nextSiblings, Call.I32,
        ofPositions);
  }

  private void writeReports(Call call, long numTokens) {
    final int at = Call.ARGS;
    call.put(at + Layout.VERIFY_ARGS_LOGPROB_KIND, logprobKind.ordinal());
    call.put(at + Layout.VERIFY_ARGS_RESERVED, 0);
    call.out(at + Layout.VERIFY_ARGS_OUT_KEPT_COUNTS, "out_kept_counts", outKeptCounts, Call.I32,
        numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_LOGPROBS, "out_logprobs", outLogprobs, Call.F32,
        numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_RANKS, "out_ranks", outRanks, Call.I32, numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_ENTROPIES, "out_entropies", outEntropies, Call.F32,
        numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_OBSERVATIONS, "out_observations", outObservations,
        Call.F32, numTokens);
    final long numTop = call.putLong(at + Layout.VERIFY_ARGS_NUM_TOP_LOGPROBS, numTopLogprobs);
    final long top = Lengths.product(numTokens, numTop);
    call.outIds(at + Layout.VERIFY_ARGS_OUT_TOP_TOKEN_IDS, "out_top_token_ids", outTopTokenIds,
        top);
    call.out(at + Layout.VERIFY_ARGS_OUT_TOP_LOGPROBS, "out_top_logprobs", outTopLogprobs,
        Call.F32, top);
    final long numCols = call.numCols(at + Layout.VERIFY_ARGS_TARGET);
    final long stride =
        call.putLong(at + Layout.VERIFY_ARGS_KEPT_BITMASK_STRIDE, keptBitmaskStride);
    call.out(at + Layout.VERIFY_ARGS_OUT_KEPT_BITMASK, "out_kept_bitmask", outKeptBitmask,
        Call.I32, Lengths.product(numTokens, stride == 0 ? (numCols + 31) / 32 : stride));
    final long kept = Lengths.product(
        numTokens, call.putLong(at + Layout.VERIFY_ARGS_KEPT_CAPACITY, keptCapacity));
    call.outIds(at + Layout.VERIFY_ARGS_OUT_KEPT_TOKEN_IDS, "out_kept_token_ids",
        outKeptTokenIds, kept);
    call.out(at + Layout.VERIFY_ARGS_OUT_KEPT_PROBABILITIES, "out_kept_probabilities",
        outKeptProbabilities, Call.F32, kept);
    call.out(at + Layout.VERIFY_ARGS_OUT_POSITIONS, "out_positions", outPositions, Call.I32,
        numTokens);
    call.in(at + Layout.VERIFY_ARGS_KV_INDICES, "", "kv_indices", kvIndices, Call.I64, numTokens);
    call.out(at + Layout.VERIFY_ARGS_OUT_KV_INDICES, "out_kv_indices", outKvIndices, Call.I64,
        numTokens);
  }
}
