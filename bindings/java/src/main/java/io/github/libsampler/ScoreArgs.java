package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#score}.
 */
public final class ScoreArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows input = Rows.NONE;
  private Array rowIndices;
  private int numRowIndices;
  private Array slots;
  private int numSlots;
  private Params params;
  private RowParams rowParams;
  private Randomness random = Randomness.DEFAULT;
  private Array tokenIds;
  private TokenLists kept = TokenLists.NONE;
  private Array outRowStatus;
  private Pipeline pipeline;
  private ReportArgs reports;

  /** Creates arguments at their defaults. */
  public ScoreArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public ScoreArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the rows.
   *
   * @param input required
   * @return this
   */
  public ScoreArgs input(Rows input) {
    this.input = input == null ? Rows.NONE : input;
    return this;
  }

  /**
   * Sets the input row that each output row scores a token of; any value outside [0, input rows)
   * makes the output row bad. Without, output row i has input row i.
   *
   * @param rowIndices [numRowIndices] I32; null, the default: none
   * @return this
   */
  public ScoreArgs rowIndices(Array rowIndices) {
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
  public ScoreArgs numRowIndices(int numRowIndices) {
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
  public ScoreArgs slots(Array slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Sets how many slots there are.
   *
   * @param numSlots set with the slots
   * @return this
   */
  public ScoreArgs numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets the temperature and the filters.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public ScoreArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets parameters by slot.
   *
   * @param rowParams null, the default: the same for all
   * @return this
   */
  public ScoreArgs rowParams(RowParams rowParams) {
    this.rowParams = rowParams;
    return this;
  }

  /**
   * Sets what random numbers, those of XTC alone, follow from.
   *
   * @param random null, the default: seed 0 and offset 0
   * @return this
   */
  public ScoreArgs random(Randomness random) {
    this.random = random == null ? Randomness.DEFAULT : random;
    return this;
  }

  /**
   * Sets the tokens to score. A negative one, and one outside the row, makes the row bad, which
   * suits padding.
   *
   * @param tokenIds [output rows] I32 or I64. Required
   * @return this
   */
  public ScoreArgs tokenIds(Array tokenIds) {
    this.tokenIds = tokenIds;
    return this;
  }

  /**
   * Sets a list for each output row: the tokens that were kept when its token was drawn, as {@code
   * outKeptOffsets} and {@code outKeptTokenIds} of an earlier call. They replace filters, windows
   * and the allowed tokens. Logits only; the reports' kind must be {@code PROCESSED}; dynamic
   * temperature, adaptive-p and smoothing must be off.
   *
   * @param kept null, the default: filters and windows decide
   * @return this
   */
  public ScoreArgs kept(TokenLists kept) {
    this.kept = kept == null ? TokenLists.NONE : kept;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [output rows] I32; null, the default: none
   * @return this
   */
  public ScoreArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  /**
   * Sets edits of the logits. Reported log-probabilities of {@code RAW} and values are of the input
   * as it is given, the other reports of what the edits left.
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public ScoreArgs pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  /**
   * Sets what is reported of each output row: log-probabilities, say.
   *
   * @param reports null, the default: nothing
   * @return this
   */
  public ScoreArgs reports(ReportArgs reports) {
    this.reports = reports;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array rowIndices = this.rowIndices;
    call.put(at + Layout.SCORE_ARGS_STRUCT_SIZE, (long) Layout.SCORE_ARGS_SIZE);
    call.exec(at + Layout.SCORE_ARGS_EXEC, exec);
    final long inputRows = call.rows(at + Layout.SCORE_ARGS_INPUT, "input.", input);
    final long numRowIndices =
        call.count(at + Layout.SCORE_ARGS_NUM_ROW_INDICES, rowIndices, this.numRowIndices);
    call.in(at + Layout.SCORE_ARGS_ROW_INDICES, "", "row_indices", rowIndices, Call.I32,
        numRowIndices);
    final long numRows = rowIndices == null ? inputRows : numRowIndices;
    final long numSlots = call.slots(at + Layout.SCORE_ARGS_SLOTS,
        at + Layout.SCORE_ARGS_NUM_SLOTS, slots, this.numSlots, numRows);
    call.params(at + Layout.SCORE_ARGS_PARAMS, params);
    call.rowParams(at + Layout.SCORE_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.random(at + Layout.SCORE_ARGS_RANDOM, random, numSlots);
    call.put(at + Layout.SCORE_ARGS_RESERVED, 0);
    call.beginIds(at + Layout.SCORE_ARGS_TOKEN_ID_TYPE);
    call.inIds(at + Layout.SCORE_ARGS_TOKEN_IDS, "token_ids", tokenIds, numRows);
    call.lists(at + Layout.SCORE_ARGS_KEPT, "kept.", kept);
    call.out(at + Layout.SCORE_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    call.reports(at + Layout.SCORE_ARGS_REPORTS, reports, numRows,
        call.numCols(at + Layout.SCORE_ARGS_INPUT));
    call.pipeline(at + Layout.SCORE_ARGS_PIPELINE, pipeline, at + Layout.SCORE_ARGS_INPUT,
        numSlots, numRows);
    return RawConstants.SHIM_SCORE;
  }
}
