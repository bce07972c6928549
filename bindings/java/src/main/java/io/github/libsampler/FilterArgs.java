package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#filter}.
 */
public final class FilterArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows input = Rows.NONE;
  private Array slots;
  private int numSlots;
  private Params params;
  private RowParams rowParams;
  private OutputKind outputKind = OutputKind.PROBABILITIES;
  private Array output;
  private long outputStride;
  private Array outKeptCounts;
  private Array outRowStatus;
  private Pipeline pipeline;

  /** Creates arguments at their defaults. */
  public FilterArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public FilterArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the rows to filter.
   *
   * @param input required
   * @return this
   */
  public FilterArgs input(Rows input) {
    this.input = input == null ? Rows.NONE : input;
    return this;
  }

  /**
   * Sets the slot of each row; any value outside [0, numSlots) makes it bad. Parameters, seeds,
   * offsets and streams are indexed by slot, in arrays of numSlots elements. Without, the slot
   * is the number of the row.
   *
   * @param slots [rows] I32; null, the default: none
   * @return this
   */
  public FilterArgs slots(Array slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Sets how many slots there are.
   *
   * @param numSlots set with the slots
   * @return this
   */
  public FilterArgs numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets the temperature and the filters.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public FilterArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets parameters by slot.
   *
   * @param rowParams null, the default: the same for all
   * @return this
   */
  public FilterArgs rowParams(RowParams rowParams) {
    this.rowParams = rowParams;
    return this;
  }

  /**
   * Sets what is written of each row.
   *
   * @param outputKind PROBABILITIES by default
   * @return this
   */
  public FilterArgs outputKind(OutputKind outputKind) {
    this.outputKind = Arguments.required("output_kind", outputKind);
    return this;
  }

  /**
   * Sets where the rows go. With candidate lists an element belongs to the candidate at the same
   * place.
   *
   * @param output [input rows, numCols] F32 or of the input's type. Required
   * @return this
   */
  public FilterArgs output(Array output) {
    this.output = output;
    return this;
  }

  /**
   * Sets the distance of two output rows in elements.
   *
   * @param outputStride at least numCols; 0, the default, is numCols
   * @return this
   */
  public FilterArgs outputStride(long outputStride) {
    this.outputStride = outputStride;
    return this;
  }

  /**
   * Sets where the number of tokens that the filters kept goes; 1 for a greedy row, 0 for a bad
   * one.
   *
   * @param outKeptCounts [input rows] I32; null, the default: none
   * @return this
   */
  public FilterArgs outKeptCounts(Array outKeptCounts) {
    this.outKeptCounts = outKeptCounts;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [input rows] I32; null, the default: none
   * @return this
   */
  public FilterArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  /**
   * Sets edits of the logits. {@link OutputKind#VALUES} writes the logits that they left.
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public FilterArgs pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array output = this.output;
    call.put(at + Layout.FILTER_ARGS_STRUCT_SIZE, (long) Layout.FILTER_ARGS_SIZE);
    call.exec(at + Layout.FILTER_ARGS_EXEC, exec);
    final long numRows = call.rows(at + Layout.FILTER_ARGS_INPUT, "input.", input);
    final long numSlots = call.slots(at + Layout.FILTER_ARGS_SLOTS,
        at + Layout.FILTER_ARGS_NUM_SLOTS, slots, this.numSlots, numRows);
    call.params(at + Layout.FILTER_ARGS_PARAMS, params);
    call.rowParams(at + Layout.FILTER_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.put(at + Layout.FILTER_ARGS_OUTPUT_KIND, outputKind.ordinal());
    call.put(at + Layout.FILTER_ARGS_OUTPUT_DTYPE, Call.dtype(output));
    call.outRows(at + Layout.FILTER_ARGS_OUTPUT, at + Layout.FILTER_ARGS_OUTPUT_STRIDE, output,
        outputStride, at + Layout.FILTER_ARGS_INPUT);
    call.out(at + Layout.FILTER_ARGS_OUT_KEPT_COUNTS, "out_kept_counts", outKeptCounts, Call.I32,
        numRows);
    call.out(at + Layout.FILTER_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    call.pipeline(at + Layout.FILTER_ARGS_PIPELINE, pipeline, at + Layout.FILTER_ARGS_INPUT,
        numSlots, numRows);
    return RawConstants.SHIM_FILTER;
  }
}
