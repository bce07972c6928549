package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/** Arguments of {@link State#truncate}. */
public final class TruncateArgs extends StateArguments<TruncateArgs> {
  private Array lengths;

  /** Creates arguments at their defaults. */
  public TruncateArgs() {}

  /**
   * Sets how many tokens each slot keeps. More than there are: all; negative: none.
   *
   * @param lengths [numRows] I32. Required
   * @return this
   */
  public TruncateArgs lengths(Array lengths) {
    this.lengths = lengths;
    return this;
  }

  @Override
  TruncateArgs self() {
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.STATE_TRUNCATE_ARGS_STRUCT_SIZE, (long) Layout.STATE_TRUNCATE_ARGS_SIZE);
    call.exec(at + Layout.STATE_TRUNCATE_ARGS_EXEC, exec);
    call.state(at + Layout.STATE_TRUNCATE_ARGS_STATE);
    final long numRows = call.rowsOfSlots(at + Layout.STATE_TRUNCATE_ARGS_SLOTS,
        at + Layout.STATE_TRUNCATE_ARGS_NUM_ROWS, slots, this.numRows);
    call.in(at + Layout.STATE_TRUNCATE_ARGS_LENGTHS, "", "lengths", lengths, Call.I32, numRows);
    call.out(at + Layout.STATE_TRUNCATE_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus,
        Call.I32, numRows);
    return RawConstants.SHIM_STATE_TRUNCATE;
  }
}
