package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#sample}.
 */
public final class SampleArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows input = Rows.NONE;
  private Array rowIndices;
  private int numRowIndices;
  private Array slots;
  private int numSlots;
  private Params params;
  private RowParams rowParams;
  private Random random = Random.DEFAULT;
  private DrawMethod drawMethod = DrawMethod.INVERSE_CDF;
  private LogprobKind logprobKind = LogprobKind.RAW;
  private Array outTokenIds;
  private Array outKeptCounts;
  private Array outLogprobs;
  private Array outValues;
  private Array outRowStatus;
  private Pipeline pipeline;
  private int numTopLogprobs;
  private Array outTopTokenIds;
  private Array outTopLogprobs;
  private int numChosen;
  private Array chosenTokenIds;
  private Array outChosenLogprobs;
  private Array outRanks;
  private Array outEntropies;
  private Array outObservations;
  private Array outKeptBitmask;
  private long keptBitmaskStride;
  private long keptCapacity;
  private Array outKeptTokenIds;
  private Array outKeptProbabilities;
  private Array outRemovedBy;
  private Array outKeptOffsets;

  /** Creates arguments at their defaults. */
  public SampleArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public SampleArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the rows to draw from.
   *
   * @param input required
   * @return this
   */
  public SampleArgs input(Rows input) {
    this.input = input == null ? Rows.NONE : input;
    return this;
  }

  /**
   * Sets the input row that each output row draws from; any value outside [0, input rows) makes
   * the output row bad. Without, output row i draws from input row i.
   *
   * @param rowIndices [numRowIndices] I32; null, the default: none
   * @return this
   */
  public SampleArgs rowIndices(Array rowIndices) {
    this.rowIndices = rowIndices;
    return this;
  }

  /**
   * Sets how many row indices, and so output rows, there are.
   *
   * @param numRowIndices 0, the default: as many as the array has, which device memory does not
   *     tell
   * @return this
   */
  public SampleArgs numRowIndices(int numRowIndices) {
    this.numRowIndices = numRowIndices;
    return this;
  }

  /**
   * Sets the slot of each output row; any value outside [0, numSlots) makes it bad. Parameters,
   * seeds, offsets and streams are indexed by slot, in arrays of numSlots elements. Without, the
   * slot is the number of the output row.
   *
   * @param slots [output rows] I32; null, the default: none
   * @return this
   */
  public SampleArgs slots(Array slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Sets how many slots there are.
   *
   * @param numSlots set with the slots
   * @return this
   */
  public SampleArgs numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets the temperature and the filters.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public SampleArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets parameters by slot.
   *
   * @param rowParams null, the default: the same for all
   * @return this
   */
  public SampleArgs rowParams(RowParams rowParams) {
    this.rowParams = rowParams;
    return this;
  }

  /**
   * Sets what random numbers follow from.
   *
   * @param random null, the default: seed 0 and offset 0
   * @return this
   */
  public SampleArgs random(Random random) {
    this.random = random == null ? Random.DEFAULT : random;
    return this;
  }

  /**
   * Sets how the token is drawn.
   *
   * @param drawMethod INVERSE_CDF by default
   * @return this
   */
  public SampleArgs drawMethod(DrawMethod drawMethod) {
    this.drawMethod = Arguments.required("draw_method", drawMethod);
    return this;
  }

  /**
   * Sets of which distribution outLogprobs and the reports below are: with {@code PROCESSED} tokens
   * that were not kept have no part, and greedy rows are a single token.
   *
   * @param logprobKind RAW by default
   * @return this
   */
  public SampleArgs logprobKind(LogprobKind logprobKind) {
    this.logprobKind = Arguments.required("logprob_kind", logprobKind);
    return this;
  }

  /**
   * Sets where the tokens go; -1 or the fallback token for a bad row.
   *
   * @param outTokenIds [output rows] I32 or I64. Required
   * @return this
   */
  public SampleArgs outTokenIds(Array outTokenIds) {
    this.outTokenIds = outTokenIds;
    return this;
  }

  /**
   * Sets where the number of tokens that the filters kept goes; 1 for a greedy row, 0 for a bad
   * one.
   *
   * @param outKeptCounts [output rows] I32; null, the default: none
   * @return this
   */
  public SampleArgs outKeptCounts(Array outKeptCounts) {
    this.outKeptCounts = outKeptCounts;
    return this;
  }

  /**
   * Sets where the natural logarithm of the drawn token's probability goes; NaN for a bad row.
   *
   * @param outLogprobs [output rows] F32; null, the default: none
   * @return this
   */
  public SampleArgs outLogprobs(Array outLogprobs) {
    this.outLogprobs = outLogprobs;
    return this;
  }

  /**
   * Sets where the drawn token's value in the input goes; NaN for a bad row.
   *
   * @param outValues [output rows] F32; null, the default: none
   * @return this
   */
  public SampleArgs outValues(Array outValues) {
    this.outValues = outValues;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [output rows] I32; null, the default: none
   * @return this
   */
  public SampleArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  /**
   * Sets edits of the logits. Log-probabilities of {@code RAW}, and outValues, are of the input as
   * it is given, the rest is of what the edits left.
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public SampleArgs pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  /**
   * Sets how many first tokens of each row are reported, and what goes with them.
   *
   * @param numTopLogprobs in [0, numCols]; 0, the default: none
   * @return this
   */
  public SampleArgs numTopLogprobs(int numTopLogprobs) {
    this.numTopLogprobs = numTopLogprobs;
    return this;
  }

  /**
   * Sets where the first tokens by value, then id, go; then, and in bad rows, -1.
   *
   * @param outTopTokenIds [output rows, numTopLogprobs] of the type of outTokenIds; null, the
   *     default: nowhere
   * @return this
   */
  public SampleArgs outTopTokenIds(Array outTopTokenIds) {
    this.outTopTokenIds = outTopTokenIds;
    return this;
  }

  /**
   * Sets where their log-probabilities go; then, and in bad rows, NaN.
   *
   * @param outTopLogprobs [output rows, numTopLogprobs] F32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outTopLogprobs(Array outTopLogprobs) {
    this.outTopLogprobs = outTopLogprobs;
    return this;
  }

  /**
   * Sets of how many tokens that the caller names log-probabilities are reported.
   *
   * @param numChosen in [0, numCols]; 0, the default: none
   * @return this
   */
  public SampleArgs numChosen(int numChosen) {
    this.numChosen = numChosen;
    return this;
  }

  /**
   * Sets the tokens whose log-probabilities are reported.
   *
   * @param chosenTokenIds [output rows, numChosen] of the type of outTokenIds; null, the default:
   *     none
   * @return this
   */
  public SampleArgs chosenTokenIds(Array chosenTokenIds) {
    this.chosenTokenIds = chosenTokenIds;
    return this;
  }

  /**
   * Sets where their log-probabilities go: -inf of those that have no probability; NaN of ids that
   * are no element of the row, and in bad rows.
   *
   * @param outChosenLogprobs [output rows, numChosen] F32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outChosenLogprobs(Array outChosenLogprobs) {
    this.outChosenLogprobs = outChosenLogprobs;
    return this;
  }

  /**
   * Sets where the place of the drawn token by value, then id, goes: the first is 1; 0 for a bad
   * row, and for a forced token without probability.
   *
   * @param outRanks [output rows] I32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outRanks(Array outRanks) {
    this.outRanks = outRanks;
    return this;
  }

  /**
   * Sets where the entropy in nats goes; NaN for a bad row.
   *
   * @param outEntropies [output rows] F32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outEntropies(Array outEntropies) {
    this.outEntropies = outEntropies;
    return this;
  }

  /**
   * Sets where what moves the adaptive stage on goes: the token's surprise in bits among those that
   * mirostat kept, or its probability before adaptive-p changed it. NaN where nothing does.
   *
   * @param outObservations [output rows] F32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outObservations(Array outObservations) {
    this.outObservations = outObservations;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, laid out like {@link Pipeline#tokenBitmasks}; all 0 in
   * a bad row.
   *
   * @param outKeptBitmask [output rows, keptBitmaskStride] I32, taken as bits; null, the default:
   *     nowhere
   * @return this
   */
  public SampleArgs outKeptBitmask(Array outKeptBitmask) {
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
  public SampleArgs keptBitmaskStride(long keptBitmaskStride) {
    this.keptBitmaskStride = keptBitmaskStride;
    return this;
  }

  /**
   * Sets for how many kept tokens of a row the lists have room. A row that keeps more has an empty
   * list, and its number in outKeptCounts.
   *
   * @param keptCapacity in [0, numCols]; 0, the default: there are no lists
   * @return this
   */
  public SampleArgs keptCapacity(long keptCapacity) {
    this.keptCapacity = keptCapacity;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, by ascending id; then, and in bad rows, -1.
   *
   * @param outKeptTokenIds [output rows, keptCapacity] of the type of outTokenIds; null, the
   *     default: nowhere
   * @return this
   */
  public SampleArgs outKeptTokenIds(Array outKeptTokenIds) {
    this.outKeptTokenIds = outKeptTokenIds;
    return this;
  }

  /**
   * Sets where their probabilities go, which sum to 1 up to rounding; then, and in bad rows, 0.
   *
   * @param outKeptProbabilities [output rows, keptCapacity] F32; null, the default: nowhere
   * @return this
   */
  public SampleArgs outKeptProbabilities(Array outKeptProbabilities) {
    this.outKeptProbabilities = outKeptProbabilities;
    return this;
  }

  /**
   * Sets where, for each element, the number of the stage that removed the token goes, {@code
   * ordinal() + 1} of {@link Stage}: 0 where it is kept, 255 where the input gives it no
   * probability; 255 everywhere in a bad row. In a greedy row the temperature removes what the
   * edits left. Sorts the row.
   *
   * @param outRemovedBy [output rows, numCols] I8, taken as unsigned; null, the default: nowhere
   * @return this
   */
  public SampleArgs outRemovedBy(Array outRemovedBy) {
    this.outRemovedBy = outRemovedBy;
    return this;
  }

  /**
   * Packs the lists of kept tokens: that of output row i is the entries from offset i up to offset
   * i + 1 of outKeptTokenIds and outKeptProbabilities, without gaps. keptCapacity is then the
   * entries of each, for all rows together. Lists that have no room together are all left out:
   * neither is written, and the last offset, which is above keptCapacity then, tells what is
   * needed. The workspace holds up to keptCapacity entries more.
   *
   * @param outKeptOffsets [output rows + 1] I64; null, the default: lists of keptCapacity entries a
   *     row
   * @return this
   */
  public SampleArgs outKeptOffsets(Array outKeptOffsets) {
    this.outKeptOffsets = outKeptOffsets;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array rowIndices = this.rowIndices;
    call.put(at + Layout.SAMPLE_ARGS_STRUCT_SIZE, (long) Layout.SAMPLE_ARGS_SIZE);
    call.exec(at + Layout.SAMPLE_ARGS_EXEC, exec);
    final long inputRows = call.rows(at + Layout.SAMPLE_ARGS_INPUT, "input.", input);
    final long numRowIndices =
        call.count(at + Layout.SAMPLE_ARGS_NUM_ROW_INDICES, rowIndices, this.numRowIndices);
    call.in(at + Layout.SAMPLE_ARGS_ROW_INDICES, "", "row_indices", rowIndices, Call.I32,
        numRowIndices);
    final long numRows = rowIndices == null ? inputRows : numRowIndices;
    final long numSlots = call.slots(at + Layout.SAMPLE_ARGS_SLOTS,
        at + Layout.SAMPLE_ARGS_NUM_SLOTS, slots, this.numSlots, numRows);
    call.params(at + Layout.SAMPLE_ARGS_PARAMS, params);
    call.rowParams(at + Layout.SAMPLE_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.random(at + Layout.SAMPLE_ARGS_RANDOM, random, numSlots);
    call.put(at + Layout.SAMPLE_ARGS_DRAW_METHOD, drawMethod.ordinal());
    call.put(at + Layout.SAMPLE_ARGS_LOGPROB_KIND, logprobKind.ordinal());
    call.put(at + Layout.SAMPLE_ARGS_RESERVED, 0);
    call.beginIds(at + Layout.SAMPLE_ARGS_TOKEN_ID_TYPE);
    call.outIds(at + Layout.SAMPLE_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds, numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_KEPT_COUNTS, "out_kept_counts", outKeptCounts, Call.I32,
        numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_LOGPROBS, "out_logprobs", outLogprobs, Call.F32, numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_VALUES, "out_values", outValues, Call.F32, numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    writeReports(call, numRows);
    call.pipeline(at + Layout.SAMPLE_ARGS_PIPELINE, pipeline, at + Layout.SAMPLE_ARGS_INPUT,
        numSlots, numRows);
    return RawConstants.SHIM_SAMPLE;
  }

  private void writeReports(Call call, long numRows) {
    final int at = Call.ARGS;
    final long numTop = call.putLong(at + Layout.SAMPLE_ARGS_NUM_TOP_LOGPROBS, numTopLogprobs);
    final long top = Lengths.product(numRows, numTop);
    call.outIds(at + Layout.SAMPLE_ARGS_OUT_TOP_TOKEN_IDS, "out_top_token_ids", outTopTokenIds,
        top);
    call.out(at + Layout.SAMPLE_ARGS_OUT_TOP_LOGPROBS, "out_top_logprobs", outTopLogprobs,
        Call.F32, top);
    final long chosen =
        Lengths.product(numRows, call.putLong(at + Layout.SAMPLE_ARGS_NUM_CHOSEN, numChosen));
    call.inIds(at + Layout.SAMPLE_ARGS_CHOSEN_TOKEN_IDS, "chosen_token_ids", chosenTokenIds,
        chosen);
    call.out(at + Layout.SAMPLE_ARGS_OUT_CHOSEN_LOGPROBS, "out_chosen_logprobs",
        outChosenLogprobs, Call.F32, chosen);
    call.out(at + Layout.SAMPLE_ARGS_OUT_RANKS, "out_ranks", outRanks, Call.I32, numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_ENTROPIES, "out_entropies", outEntropies, Call.F32,
        numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_OBSERVATIONS, "out_observations", outObservations,
        Call.F32, numRows);
    final long numCols = call.numCols(at + Layout.SAMPLE_ARGS_INPUT);
    final long stride =
        call.putLong(at + Layout.SAMPLE_ARGS_KEPT_BITMASK_STRIDE, keptBitmaskStride);
    call.out(at + Layout.SAMPLE_ARGS_OUT_KEPT_BITMASK, "out_kept_bitmask", outKeptBitmask,
        Call.I32, Lengths.product(numRows, stride == 0 ? (numCols + 31) / 32 : stride));
    final long capacity = call.putLong(at + Layout.SAMPLE_ARGS_KEPT_CAPACITY, keptCapacity);
    final long kept =
        outKeptOffsets != null ? Math.max(capacity, 0) : Lengths.product(numRows, capacity);
    call.out(at + Layout.SAMPLE_ARGS_OUT_KEPT_OFFSETS, "out_kept_offsets", outKeptOffsets, Call.I64,
        numRows + 1);
    call.outIds(at + Layout.SAMPLE_ARGS_OUT_KEPT_TOKEN_IDS, "out_kept_token_ids",
        outKeptTokenIds, kept);
    call.out(at + Layout.SAMPLE_ARGS_OUT_KEPT_PROBABILITIES, "out_kept_probabilities",
        outKeptProbabilities, Call.F32, kept);
    call.out(at + Layout.SAMPLE_ARGS_OUT_REMOVED_BY, "out_removed_by", outRemovedBy, Call.I8,
        Lengths.product(numRows, numCols));
  }
}
