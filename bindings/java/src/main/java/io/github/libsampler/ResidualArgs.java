package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.RawConstants;

/**
 * Arguments of {@link Sampler#residual}.
 */
public final class ResidualArgs extends Arguments {
  private Exec exec = Exec.DEFAULT;
  private Rows target = Rows.NONE;
  private Rows draft = Rows.NONE;
  private Array draftTokenIds;
  private Array output;
  private long outputStride;
  private Array outRowStatus;

  /** Creates arguments at their defaults. */
  public ResidualArgs() {}

  /**
   * Sets the stream and the workspace.
   *
   * @param exec null, the default: those of the sampler
   * @return this
   */
  public ResidualArgs exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return this;
  }

  /**
   * Sets the target's rows of probabilities, p. Not candidate lists.
   *
   * @param target required
   * @return this
   */
  public ResidualArgs target(Rows target) {
    this.target = target == null ? Rows.NONE : target;
    return this;
  }

  /**
   * Sets the rows of probabilities that the drafts were drawn from, q, of as many rows and
   * columns.
   *
   * @param draft null, the default: the drafter was deterministic, and draftTokenIds says what
   *     it proposed
   * @return this
   */
  public ResidualArgs draft(Rows draft) {
    this.draft = draft == null ? Rows.NONE : draft;
    return this;
  }

  /**
   * Sets the tokens of a deterministic drafter. Where the id lies outside [0, numCols) the residual
   * is p. Required without a draft, and not allowed with one.
   *
   * @param draftTokenIds [target rows] I32 or I64; null, the default: none
   * @return this
   */
  public ResidualArgs draftTokenIds(Array draftTokenIds) {
    this.draftTokenIds = draftTokenIds;
    return this;
  }

  /**
   * Sets where the probabilities go; 0 in every element of a bad row.
   *
   * @param output [target rows, numCols] F32 or of the target's type. Required
   * @return this
   */
  public ResidualArgs output(Array output) {
    this.output = output;
    return this;
  }

  /**
   * Sets the distance of two output rows in elements.
   *
   * @param outputStride at least numCols; 0, the default, is numCols
   * @return this
   */
  public ResidualArgs outputStride(long outputStride) {
    this.outputStride = outputStride;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [target rows] I32; null, the default: none
   * @return this
   */
  public ResidualArgs outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return this;
  }

  @Override
  int write(Call call) {
    final int at = Call.ARGS;
    final Array draftTokenIds = this.draftTokenIds;
    final Array output = this.output;
    call.put(at + Layout.RESIDUAL_ARGS_STRUCT_SIZE, (long) Layout.RESIDUAL_ARGS_SIZE);
    call.exec(at + Layout.RESIDUAL_ARGS_EXEC, exec);
    final long numRows = call.rows(at + Layout.RESIDUAL_ARGS_TARGET, "target.", target);
    call.rows(at + Layout.RESIDUAL_ARGS_DRAFT, "draft.", draft);
    call.in(at + Layout.RESIDUAL_ARGS_DRAFT_TOKEN_IDS, "", "draft_token_ids", draftTokenIds,
        Call.IDS, numRows);
    call.put(at + Layout.RESIDUAL_ARGS_TOKEN_ID_TYPE, Call.idType(draftTokenIds));
    call.put(at + Layout.RESIDUAL_ARGS_OUTPUT_DTYPE, Call.dtype(output));
    call.outRows(at + Layout.RESIDUAL_ARGS_OUTPUT, at + Layout.RESIDUAL_ARGS_OUTPUT_STRIDE, output,
        outputStride, at + Layout.RESIDUAL_ARGS_TARGET);
    call.out(at + Layout.RESIDUAL_ARGS_OUT_ROW_STATUS, "out_row_status", outRowStatus, Call.I32,
        numRows);
    return RawConstants.SHIM_RESIDUAL;
  }
}
