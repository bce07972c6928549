package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/** Arguments of {@link State#accept}. */
public final class AcceptArgs extends StateArguments<AcceptArgs> {
  private Array tokenIds;
  private int numTokens = 1;
  private Array observations;
  private Params params;
  private RowParams rowParams;
  private Array offsets;
  private Array outLengths;

  /** Creates arguments at their defaults. */
  public AcceptArgs() {}

  /**
   * Sets the outTokenIds of the draw, or of verification. A row ends at its first negative id;
   * where its first id is negative nothing happens. All of a row's tokens are taken, or none: they
   * must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the slot's numbers of
   * adaptive stages good (INVALID_PARAMETER).
   *
   * @param tokenIds [numRows, numTokens] I32 or I64
   * @return this
   */
  public AcceptArgs tokenIds(Array tokenIds) {
    this.tokenIds = tokenIds;
    return this;
  }

  /**
   * Sets how many token ids a row has: 1 of a draw.
   *
   * @param numTokens in [1, 2^20]; 1 by default
   * @return this
   */
  public AcceptArgs numTokens(int numTokens) {
    this.numTokens = numTokens;
    return this;
  }

  /**
   * Sets the outObservations of the call that drew the tokens. One that is NaN moves neither
   * mirostat nor adaptive-p.
   *
   * @param observations [numRows, numTokens] F32; null, the default: all are NaN
   * @return this
   */
  public AcceptArgs observations(Array observations) {
    this.observations = observations;
    return this;
  }

  /**
   * Sets the parameters of that call, of which the adaptive stage, topP and its decay are read.
   *
   * @param params null, the default, as are rowParams: adaptive values stay
   * @return this
   */
  public AcceptArgs params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets the numbers by slot of that call. They are indexed by the slots of this one, and there are
   * as many as the state has.
   *
   * @param rowParams null, the default: none
   * @return this
   */
  public AcceptArgs rowParams(RowParams rowParams) {
    this.rowParams = rowParams;
    return this;
  }

  /**
   * Sets numbers that each grow by the tokens that its slot took, as the offsets of {@link
   * Randomness} may be.
   *
   * @param offsets [slots of the state] I64, in and out; null, the default: offsets are the
   *     caller's business
   * @return this
   */
  public AcceptArgs offsets(Array offsets) {
    this.offsets = offsets;
    return this;
  }

  /**
   * Sets where the number of tokens that each slot has afterwards goes; -1 for a bad slot.
   *
   * @param outLengths [numRows] I32; null, the default: nowhere
   * @return this
   */
  public AcceptArgs outLengths(Array outLengths) {
    this.outLengths = outLengths;
    return this;
  }

  @Override
  AcceptArgs self() {
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.ACCEPT_ARGS_STRUCT_SIZE, (long) Layout.ACCEPT_ARGS_SIZE);
    call.exec(at + Layout.ACCEPT_ARGS_EXEC, exec);
    final long numSlots = call.state(at + Layout.ACCEPT_ARGS_STATE);
    final long numRows = call.rowsOfSlots(
        at + Layout.ACCEPT_ARGS_SLOTS, at + Layout.ACCEPT_ARGS_NUM_ROWS, slots, this.numRows);
    final long numTokenIds = Lengths.product(
        numRows, call.putLong(at + Layout.ACCEPT_ARGS_NUM_TOKENS, numTokens));
    call.beginIds(at + Layout.ACCEPT_ARGS_TOKEN_ID_TYPE);
    call.inIds(at + Layout.ACCEPT_ARGS_TOKEN_IDS, "token_ids", tokenIds, numTokenIds);
    call.put(at + Layout.ACCEPT_ARGS_RESERVED, 0);
    call.in(at + Layout.ACCEPT_ARGS_OBSERVATIONS, "", "observations", observations, Call.F32,
        numTokenIds);
    call.params(at + Layout.ACCEPT_ARGS_PARAMS, params);
    call.rowParams(at + Layout.ACCEPT_ARGS_ROW_PARAMS, rowParams, numSlots);
    call.out(at + Layout.ACCEPT_ARGS_OFFSETS, "offsets", offsets, Call.I64, numSlots);
    call.out(at + Layout.ACCEPT_ARGS_OUT_LENGTHS, "out_lengths", outLengths, Call.I32, numRows);
    call.out(at + Layout.ACCEPT_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    return RawConstants.SHIM_ACCEPT;
  }
}
