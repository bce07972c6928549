package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link State#reset}. Without slots and with 0 rows every slot is reset, and no array
 * is read or written.
 */
public final class ResetArgs extends StateArguments<ResetArgs> {
  private Array adaptiveValues;

  /** Creates arguments at their defaults. */
  public ResetArgs() {}

  /**
   * Sets the adaptive values to begin with; a NaN is the start of its stage, an infinity makes the
   * row bad (INVALID_PARAMETER).
   *
   * @param adaptiveValues [numRows, {@link State#NUM_ADAPTIVE_VALUES}] F32; null, the default: all
   *     start
   * @return this
   */
  public ResetArgs adaptiveValues(Array adaptiveValues) {
    this.adaptiveValues = adaptiveValues;
    return this;
  }

  @Override
  ResetArgs self() {
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.STATE_RESET_ARGS_STRUCT_SIZE, (long) Layout.STATE_RESET_ARGS_SIZE);
    call.exec(at + Layout.STATE_RESET_ARGS_EXEC, exec);
    call.state(at + Layout.STATE_RESET_ARGS_STATE);
    final long numRows = call.rowsOfSlots(at + Layout.STATE_RESET_ARGS_SLOTS,
        at + Layout.STATE_RESET_ARGS_NUM_ROWS, slots, this.numRows);
    call.in(at + Layout.STATE_RESET_ARGS_ADAPTIVE_VALUES, "", "adaptive_values", adaptiveValues,
        Call.F32, Lengths.product(numRows, State.NUM_ADAPTIVE_VALUES));
    call.out(at + Layout.STATE_RESET_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus,
        Call.I32, numRows);
    return RawConstants.SHIM_STATE_RESET;
  }
}
