// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#residual}, which writes what a token is drawn from after a
 * rejection: max(p - q, 0) of each row of the target, p, and the draft, q, renormalised, or p
 * where that is 0 everywhere.
 */
public final class ResidualArgs extends Arguments {
  private long stream;
  private Memory target = Memory.NONE;
  private Memory draft = Memory.NONE;
  private Memory draftTokenIds = Memory.NONE;
  private long numRows;
  private long numCols;
  private long targetRowStride;
  private long draftRowStride;
  private Dtype targetDtype = Dtype.F32;
  private Dtype draftDtype = Dtype.F32;
  private IdType tokenIdType = IdType.I32;
  private Dtype outputDtype = Dtype.F32;
  private Memory output = Memory.NONE;
  private long outputStride;
  private Memory outRowStatus = Memory.NONE;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public ResidualArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public ResidualArgs stream(long stream) {
    this.stream = stream;
    return this;
  }

  /**
   * Sets the target's rows of probabilities, p.
   *
   * @param target [numRows, numCols]
   * @return this
   */
  public ResidualArgs target(float[] target) {
    this.target = Memory.of(target);
    return this;
  }

  /**
   * As {@link #target(float[])}.
   *
   * @param target [numRows, numCols]
   * @return this
   */
  public ResidualArgs target(short[] target) {
    this.target = Memory.of(target);
    return this;
  }

  /**
   * As {@link #target(float[])}, from a direct buffer's position to its limit.
   *
   * @param target [numRows, numCols]
   * @return this
   */
  public ResidualArgs target(Buffer target) {
    this.target = Memory.of("target", target, false);
    return this;
  }

  /**
   * As {@link #target(float[])}, in device memory.
   *
   * @param target an address, 0 for none: [numRows, numCols]
   * @return this
   */
  public ResidualArgs targetAddress(long target) {
    this.target = Memory.ofDevice(target);
    return this;
  }

  /**
   * Sets the rows of probabilities that the drafts were drawn from, q. Without, the drafter was
   * deterministic: set draftTokenIds.
   *
   * @param draft [numRows, numCols]
   * @return this
   */
  public ResidualArgs draft(float[] draft) {
    this.draft = Memory.of(draft);
    return this;
  }

  /**
   * As {@link #draft(float[])}.
   *
   * @param draft [numRows, numCols]
   * @return this
   */
  public ResidualArgs draft(short[] draft) {
    this.draft = Memory.of(draft);
    return this;
  }

  /**
   * As {@link #draft(float[])}, from a direct buffer's position to its limit.
   *
   * @param draft [numRows, numCols]
   * @return this
   */
  public ResidualArgs draft(Buffer draft) {
    this.draft = Memory.of("draft", draft, false);
    return this;
  }

  /**
   * As {@link #draft(float[])}, in device memory.
   *
   * @param draft an address, 0 for none: [numRows, numCols]
   * @return this
   */
  public ResidualArgs draftAddress(long draft) {
    this.draft = Memory.ofDevice(draft);
    return this;
  }

  /**
   * Sets the tokens that a deterministic drafter proposed, instead of the draft.
   *
   * @param draftTokenIds [numRows] in [0, numCols); of a row with any other the residual is p
   * @return this
   */
  public ResidualArgs draftTokenIds(int[] draftTokenIds) {
    this.draftTokenIds = Memory.of(draftTokenIds);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}.
   *
   * @param draftTokenIds [numRows] in [0, numCols); of a row with any other the residual is p
   * @return this
   */
  public ResidualArgs draftTokenIds(long[] draftTokenIds) {
    this.draftTokenIds = Memory.of(draftTokenIds);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param draftTokenIds [numRows] in [0, numCols); of a row with any other the residual is p
   * @return this
   */
  public ResidualArgs draftTokenIds(Buffer draftTokenIds) {
    this.draftTokenIds = Memory.of("draft_token_ids", draftTokenIds, false);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}, in device memory.
   *
   * @param draftTokenIds an address, 0 for none: [numRows] in [0, numCols); of a row with any
   *     other the residual is p
   * @return this
   */
  public ResidualArgs draftTokenIdsAddress(long draftTokenIds) {
    this.draftTokenIds = Memory.ofDevice(draftTokenIds);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public ResidualArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns of both models' rows: the vocabulary.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public ResidualArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two rows of the target.
   *
   * @param targetRowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ResidualArgs targetRowStride(long targetRowStride) {
    this.targetRowStride = targetRowStride;
    return this;
  }

  /**
   * Sets the distance of two rows of the draft.
   *
   * @param draftRowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ResidualArgs draftRowStride(long draftRowStride) {
    this.draftRowStride = draftRowStride;
    return this;
  }

  /**
   * Sets the element type of the target.
   *
   * @param targetDtype {@link Dtype#F32} by default
   * @return this
   */
  public ResidualArgs targetDtype(Dtype targetDtype) {
    this.targetDtype = required("target_dtype", targetDtype);
    return this;
  }

  /**
   * Sets the element type of the draft.
   *
   * @param draftDtype {@link Dtype#F32} by default
   * @return this
   */
  public ResidualArgs draftDtype(Dtype draftDtype) {
    this.draftDtype = required("draft_dtype", draftDtype);
    return this;
  }

  /**
   * Sets the type of the token ids that are written, and of draft tokens.
   *
   * @param tokenIdType {@link IdType#I32} by default
   * @return this
   */
  public ResidualArgs tokenIdType(IdType tokenIdType) {
    this.tokenIdType = required("token_id_type", tokenIdType);
    return this;
  }

  /**
   * Sets the element type of the values that are written.
   *
   * @param outputDtype {@link Dtype#F32}, the default, or the target's
   * @return this
   */
  public ResidualArgs outputDtype(Dtype outputDtype) {
    this.outputDtype = required("output_dtype", outputDtype);
    return this;
  }

  /**
   * Sets where the rows go, {@code outputStride} elements apart. Required.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public ResidualArgs output(float[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public ResidualArgs output(short[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}, from a direct buffer's position to its limit.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public ResidualArgs output(Buffer output) {
    this.output = Memory.of("output", output, true);
    return this;
  }

  /**
   * As {@link #output(float[])}, in device memory.
   *
   * @param output an address, 0 for none: [numRows, numCols]
   * @return this
   */
  public ResidualArgs outputAddress(long output) {
    this.output = Memory.ofDevice(output);
    return this;
  }

  /**
   * Sets the distance of two output rows.
   *
   * @param outputStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ResidualArgs outputStride(long outputStride) {
    this.outputStride = outputStride;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ResidualArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ResidualArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ResidualArgs outRowStatusAddress(long outRowStatus) {
    this.outRowStatus = Memory.ofDevice(outRowStatus);
    return this;
  }

  /**
   * Sets memory for the call, from the buffer's position to its limit, instead of the sampler's.
   * Its contents are undefined before and after a call.
   *
   * @param workspace direct, of {@link Sampler#workspaceSize} bytes or more; null: the sampler's
   * @return this
   */
  public ResidualArgs workspace(ByteBuffer workspace) {
    this.workspace = Memory.ofWorkspace(workspace);
    return this;
  }

  /**
   * As {@link #workspace(ByteBuffer)}, in device memory.
   *
   * @param workspace an address, 0 for none
   * @param bytes how many there are
   * @return this
   */
  public ResidualArgs workspaceAddress(long workspace, long bytes) {
    this.workspace = Memory.ofDevice(workspace, bytes);
    return this;
  }

  @Override
  long run(Handle sampler, boolean onlySize) {
    final Memory target = this.target;
    final Memory draft = this.draft;
    final Memory draftTokenIds = this.draftTokenIds;
    final long numRows = this.numRows;
    final long numCols = this.numCols;
    final long targetRowStride = this.targetRowStride;
    final long draftRowStride = this.draftRowStride;
    final Dtype targetDtype = this.targetDtype;
    final Dtype draftDtype = this.draftDtype;
    final IdType tokenIdType = this.tokenIdType;
    final Dtype outputDtype = this.outputDtype;
    final Memory output = this.output;
    final long outputStride = this.outputStride;
    final Memory outRowStatus = this.outRowStatus;
    final Memory workspace = this.workspace;
    if (!onlySize) {
      target.check("target", targetDtype.elementType,
          Lengths.rows(numRows, numCols, targetRowStride), sampler.arraysOnDevice);
      draft.check("draft", draftDtype.elementType,
          Lengths.rows(numRows, numCols, draftRowStride), sampler.arraysOnDevice);
      draftTokenIds.check("draft_token_ids", tokenIdType.elementType, numRows,
          sampler.arraysOnDevice);
      output.check("output", outputDtype.elementType,
          Lengths.rows(numRows, numCols, outputStride), sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimResidual(sampler.address, onlySize ? 1 : 0, stream, target.array, target.at,
            draft.array, draft.at, draftTokenIds.array, draftTokenIds.at, numRows, numCols,
            targetRowStride, draftRowStride, targetDtype.ordinal(), draftDtype.ordinal(),
            tokenIdType.ordinal(), outputDtype.ordinal(), output.array, output.at, outputStride,
            outRowStatus.array, outRowStatus.at, workspace.array, workspace.at, workspace.length);
    Reference.reachabilityFence(target);
    Reference.reachabilityFence(draft);
    Reference.reachabilityFence(draftTokenIds);
    Reference.reachabilityFence(output);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
