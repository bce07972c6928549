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
  private Randomness random = Randomness.DEFAULT;
  private DrawMethod drawMethod = DrawMethod.INVERSE_CDF;
  private Array outTokenIds;
  private Array outRowStatus;
  private Pipeline pipeline;
  private ReportArgs reports;

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
  public SampleArgs random(Randomness random) {
    this.random = random == null ? Randomness.DEFAULT : random;
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
   * Sets edits of the logits. Reported log-probabilities of {@code RAW} and values are of the input
   * as it is given, the other reports of what the edits left.
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public SampleArgs pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  /**
   * Sets what else is reported of each output row.
   *
   * @param reports null, the default: nothing
   * @return this
   */
  public SampleArgs reports(ReportArgs reports) {
    this.reports = reports;
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
    call.beginIds(at + Layout.SAMPLE_ARGS_TOKEN_ID_TYPE);
    call.outIds(at + Layout.SAMPLE_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds, numRows);
    call.out(at + Layout.SAMPLE_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    call.reports(at + Layout.SAMPLE_ARGS_REPORTS, reports, numRows,
        call.numCols(at + Layout.SAMPLE_ARGS_INPUT));
    call.pipeline(at + Layout.SAMPLE_ARGS_PIPELINE, pipeline, at + Layout.SAMPLE_ARGS_INPUT,
        numSlots, numRows);
    return RawConstants.SHIM_SAMPLE;
  }
}
