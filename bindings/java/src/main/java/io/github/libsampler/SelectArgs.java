package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#select}.
 */
public final class SelectArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows input = Rows.NONE;
  private int numSelected;
  private Array selectedCounts;
  private Array outValues;
  private Array outTokenIds;
  private Array outCounts;
  private Array outRowStatus;

  /** Creates arguments at their defaults. */
  public SelectArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public SelectArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the rows to select from.
   *
   * @param input required
   * @return this
   */
  public SelectArgs input(Rows input) {
    this.input = input == null ? Rows.NONE : input;
    return this;
  }

  /**
   * Sets how many tokens a row yields at most: the columns of the outputs.
   *
   * @param numSelected in [1, numCols]
   * @return this
   */
  public SelectArgs numSelected(int numSelected) {
    this.numSelected = numSelected;
    return this;
  }

  /**
   * Sets how many tokens each row yields: &lt;= 0 or &gt;= numSelected is numSelected. An array
   * or buffer on a CUDA sampler with {@code hostParameters}.
   *
   * @param selectedCounts [input rows] I32; null, the default: none
   * @return this
   */
  public SelectArgs selectedCounts(Array selectedCounts) {
    this.selectedCounts = selectedCounts;
    return this;
  }

  /**
   * Sets where the values go, largest first. Where a row has fewer tokens to give, the rest is
   * -inf (probabilities: 0), as is all of a bad row. Required without outTokenIds.
   *
   * @param outValues [input rows, numSelected] F32 or of the input's type; null, the default:
   *     none
   * @return this
   */
  public SelectArgs outValues(Array outValues) {
    this.outValues = outValues;
    return this;
  }

  /**
   * Sets where the ids go, that of the largest value first. Where a row has fewer tokens to
   * give, the rest is -1, as is all of a bad row. Required without outValues.
   *
   * @param outTokenIds [input rows, numSelected] I32 or I64; null, the default: none
   * @return this
   */
  public SelectArgs outTokenIds(Array outTokenIds) {
    this.outTokenIds = outTokenIds;
    return this;
  }

  /**
   * Sets where the number of tokens that each row yielded goes; 0 for a bad row.
   *
   * @param outCounts [input rows] I32; null, the default: none
   * @return this
   */
  public SelectArgs outCounts(Array outCounts) {
    this.outCounts = outCounts;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [input rows] I32; null, the default: none
   * @return this
   */
  public SelectArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array outValues = this.outValues;
    final Array outTokenIds = this.outTokenIds;
    final int numSelected = this.numSelected;
    call.put(at + Layout.SELECT_ARGS_STRUCT_SIZE, (long) Layout.SELECT_ARGS_SIZE);
    call.exec(at + Layout.SELECT_ARGS_EXEC, exec);
    final long numRows = call.rows(at + Layout.SELECT_ARGS_INPUT, "input.", input);
    final long numTokens = Lengths.product(numRows, numSelected);
    call.put(at + Layout.SELECT_ARGS_NUM_SELECTED, (long) numSelected);
    call.parameter(at + Layout.SELECT_ARGS_SELECTED_COUNTS, "", "selected_counts", selectedCounts,
        Call.I32, numRows);
    call.put(at + Layout.SELECT_ARGS_OUTPUT_DTYPE, Call.dtype(outValues));
    call.put(at + Layout.SELECT_ARGS_TOKEN_ID_TYPE, Call.idType(outTokenIds));
    call.out(at + Layout.SELECT_ARGS_OUT_VALUES, "out_values", outValues, Call.VALUES, numTokens);
    call.out(at + Layout.SELECT_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds, Call.IDS,
        numTokens);
    call.out(at + Layout.SELECT_ARGS_OUT_COUNTS, "out_counts", outCounts, Call.I32, numRows);
    call.out(at + Layout.SELECT_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    return RawConstants.SHIM_SELECT;
  }
}
