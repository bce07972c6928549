package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/** Arguments of {@link State#append}. */
public final class AppendArgs extends StateArguments<AppendArgs> {
  private TokenLists tokens = TokenLists.NONE;
  private TokenKind tokenKind = TokenKind.OUTPUT;
  private Array outLengths;

  /** Creates arguments at their defaults. */
  public AppendArgs() {}

  /**
   * Sets a list for each row. All of a row's tokens are appended, or none: its offsets must be a
   * list's (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in [0, 2^31)
   * (INVALID_LIST).
   *
   * @param tokens null, the default: none
   * @return this
   */
  public AppendArgs tokens(TokenLists tokens) {
    this.tokens = tokens == null ? TokenLists.NONE : tokens;
    return this;
  }

  /**
   * Sets what the tokens are. Prompt tokens after an output token make the row bad (INVALID_LIST).
   *
   * @param tokenKind OUTPUT by default
   * @return this
   */
  public AppendArgs tokenKind(TokenKind tokenKind) {
    this.tokenKind = Arguments.required("token_kind", tokenKind);
    return this;
  }

  /**
   * Sets where the number of tokens that each slot has afterwards goes; -1 for a bad slot.
   *
   * @param outLengths [numRows] I32; null, the default: nowhere
   * @return this
   */
  public AppendArgs outLengths(Array outLengths) {
    this.outLengths = outLengths;
    return this;
  }

  @Override
  AppendArgs self() {
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.STATE_APPEND_ARGS_STRUCT_SIZE, (long) Layout.STATE_APPEND_ARGS_SIZE);
    call.exec(at + Layout.STATE_APPEND_ARGS_EXEC, exec);
    call.state(at + Layout.STATE_APPEND_ARGS_STATE);
    final long numRows = call.rowsOfSlots(at + Layout.STATE_APPEND_ARGS_SLOTS,
        at + Layout.STATE_APPEND_ARGS_NUM_ROWS, slots, this.numRows);
    call.beginIds(at + Layout.STATE_APPEND_ARGS_TOKEN_ID_TYPE);
    call.lists(at + Layout.STATE_APPEND_ARGS_TOKENS, "tokens.", tokens);
    call.put(at + Layout.STATE_APPEND_ARGS_TOKEN_KIND, tokenKind.ordinal());
    call.out(at + Layout.STATE_APPEND_ARGS_OUT_LENGTHS, "out_lengths", outLengths, Call.I32,
        numRows);
    call.out(at + Layout.STATE_APPEND_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus,
        Call.I32, numRows);
    return RawConstants.SHIM_STATE_APPEND;
  }
}
