package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/** Arguments of {@link State#copy}. */
public final class CopyArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private State source;
  private Array sourceSlots;
  private Array destinationSlots;
  private int numRows;
  private Array outRowStatus;

  /** Creates arguments at their defaults. */
  public CopyArgs() {}

  /**
   * Sets whose sequences are copied.
   *
   * @param source another state of the same sampler; null, the default: the state's own
   * @return this
   */
  public CopyArgs source(State source) {
    this.source = source;
    return this;
  }

  /**
   * Sets the slots that are copied. One may serve many rows.
   *
   * @param sourceSlots [numRows] I32. Required
   * @return this
   */
  public CopyArgs sourceSlots(Array sourceSlots) {
    this.sourceSlots = sourceSlots;
    return this;
  }

  /**
   * Sets the slots that are written. Within one state none may be a source of another row.
   *
   * @param destinationSlots [numRows] I32. Required
   * @return this
   */
  public CopyArgs destinationSlots(Array destinationSlots) {
    this.destinationSlots = destinationSlots;
    return this;
  }

  /**
   * Sets how many rows there are.
   *
   * @param numRows 0, the default: as many as the array of destination slots has, which device
   *     memory does not tell
   * @return this
   */
  public CopyArgs numRows(int numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go. STATE_FULL: the source's tokens do not fit in the
   * destination, which is as it was.
   *
   * @param outRowStatus [numRows] I32; null, the default: none
   * @return this
   */
  public CopyArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  /**
   * Sets the stream. No call of a state needs a workspace.
   *
   * @param exec null, the default: that of the sampler
   * @return this
   */
  public CopyArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array destinationSlots = this.destinationSlots;
    final State source = this.source;
    call.put(at + Layout.STATE_COPY_ARGS_STRUCT_SIZE, (long) Layout.STATE_COPY_ARGS_SIZE);
    call.exec(at + Layout.STATE_COPY_ARGS_EXEC, exec);
    call.state(at + Layout.STATE_COPY_ARGS_DESTINATION);
    if (source == null) {
      call.state(at + Layout.STATE_COPY_ARGS_SOURCE);
    } else {
      call.state(at + Layout.STATE_COPY_ARGS_SOURCE, "source", source);
    }
    final long numRows =
        call.count(at + Layout.STATE_COPY_ARGS_NUM_ROWS, destinationSlots, this.numRows);
    call.in(at + Layout.STATE_COPY_ARGS_SOURCE_SLOTS, "", "source_slots", sourceSlots, Call.I32,
        numRows);
    call.in(at + Layout.STATE_COPY_ARGS_DESTINATION_SLOTS, "", "destination_slots",
        destinationSlots, Call.I32, numRows);
    call.out(at + Layout.STATE_COPY_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    return RawConstants.SHIM_STATE_COPY;
  }
}
