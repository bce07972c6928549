package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/** Arguments of {@link State#read}. */
public final class ReadArgs extends StateArguments<ReadArgs> {
  private Array outTokenIds;
  private int numTokens;
  private Array outLengths;
  private Array outPromptLengths;
  private Array outAdaptiveValues;

  /** Creates arguments at their defaults. */
  public ReadArgs() {}

  /**
   * Sets where the first tokens of each slot go, then -1.
   *
   * @param outTokenIds [numRows, numTokens] I32 or I64; null, the default: nowhere
   * @return this
   */
  public ReadArgs outTokenIds(Array outTokenIds) {
    this.outTokenIds = outTokenIds;
    return this;
  }

  /**
   * Sets how many tokens a row of outTokenIds has room for.
   *
   * @param numTokens in [0, 2^31); 0 by default
   * @return this
   */
  public ReadArgs numTokens(int numTokens) {
    this.numTokens = numTokens;
    return this;
  }

  /**
   * Sets where the number of tokens of each slot goes; -1 for a bad slot.
   *
   * @param outLengths [numRows] I32; null, the default: nowhere
   * @return this
   */
  public ReadArgs outLengths(Array outLengths) {
    this.outLengths = outLengths;
    return this;
  }

  /**
   * Sets where the number of tokens of its prompt goes; -1 for a bad slot.
   *
   * @param outPromptLengths [numRows] I32; null, the default: nowhere
   * @return this
   */
  public ReadArgs outPromptLengths(Array outPromptLengths) {
    this.outPromptLengths = outPromptLengths;
    return this;
  }

  /**
   * Sets where the adaptive values go; NaN where a stage has not begun.
   *
   * @param outAdaptiveValues [numRows, {@link State#NUM_ADAPTIVE_VALUES}] F32; null, the default:
   *     nowhere
   * @return this
   */
  public ReadArgs outAdaptiveValues(Array outAdaptiveValues) {
    this.outAdaptiveValues = outAdaptiveValues;
    return this;
  }

  @Override
  ReadArgs self() {
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.STATE_READ_ARGS_STRUCT_SIZE, (long) Layout.STATE_READ_ARGS_SIZE);
    call.exec(at + Layout.STATE_READ_ARGS_EXEC, exec);
    call.state(at + Layout.STATE_READ_ARGS_STATE);
    final long numRows = call.rowsOfSlots(at + Layout.STATE_READ_ARGS_SLOTS,
        at + Layout.STATE_READ_ARGS_NUM_ROWS, slots, this.numRows);
    call.beginIds(at + Layout.STATE_READ_ARGS_TOKEN_ID_TYPE);
    call.outIds(at + Layout.STATE_READ_ARGS_OUT_TOKEN_IDS, "out_token_ids", outTokenIds,
        Lengths.product(
            numRows, call.putLong(at + Layout.STATE_READ_ARGS_NUM_TOKENS, numTokens)));
    call.put(at + Layout.STATE_READ_ARGS_RESERVED, 0);
    call.out(at + Layout.STATE_READ_ARGS_OUT_LENGTHS, "out_lengths", outLengths, Call.I32,
        numRows);
    call.out(at + Layout.STATE_READ_ARGS_OUT_PROMPT_LENGTHS, "out_prompt_lengths",
        outPromptLengths, Call.I32, numRows);
    call.out(at + Layout.STATE_READ_ARGS_OUT_ADAPTIVE_VALUES, "out_adaptive_values",
        outAdaptiveValues, Call.F32, Lengths.product(numRows, State.NUM_ADAPTIVE_VALUES));
    call.out(at + Layout.STATE_READ_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus,
        Call.I32, numRows);
    return RawConstants.SHIM_STATE_READ;
  }
}
