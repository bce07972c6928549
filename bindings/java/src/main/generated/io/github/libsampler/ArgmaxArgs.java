// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#argmax}, which gives the first token of each row in rank order: the
 * largest value, the lowest id among equals.
 */
public final class ArgmaxArgs extends Arguments {
  private long stream;
  private Memory input = Memory.NONE;
  private long numRows;
  private long numCols;
  private long rowStride;
  private Dtype inputDtype = Dtype.F32;
  private InputKind inputKind = InputKind.LOGITS;
  private Memory candidateIds = Memory.NONE;
  private Memory candidateCounts = Memory.NONE;
  private IdType candidateIdType = IdType.I32;
  private IdType tokenIdType = IdType.I32;
  private Memory outTokenIds = Memory.NONE;
  private Memory outValues = Memory.NONE;
  private Memory outRowStatus = Memory.NONE;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public ArgmaxArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public ArgmaxArgs stream(long stream) {
    this.stream = stream;
    return this;
  }

  /**
   * Sets the logits or probabilities, one row {@code rowStride} elements after the other. Never
   * written.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public ArgmaxArgs input(float[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public ArgmaxArgs input(short[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}, from a direct buffer's position to its limit.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public ArgmaxArgs input(Buffer input) {
    this.input = Memory.of("input", input, false);
    return this;
  }

  /**
   * As {@link #input(float[])}, in device memory.
   *
   * @param input an address, 0 for none: [number of input rows, numCols]
   * @return this
   */
  public ArgmaxArgs inputAddress(long input) {
    this.input = Memory.ofDevice(input);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public ArgmaxArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns of the input: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public ArgmaxArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two input rows.
   *
   * @param rowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ArgmaxArgs rowStride(long rowStride) {
    this.rowStride = rowStride;
    return this;
  }

  /**
   * Sets the element type of the input.
   *
   * @param inputDtype {@link Dtype#F32} by default
   * @return this
   */
  public ArgmaxArgs inputDtype(Dtype inputDtype) {
    this.inputDtype = required("input_dtype", inputDtype);
    return this;
  }

  /**
   * Sets the meaning of the input.
   *
   * @param inputKind {@link InputKind#LOGITS} by default, of the renorm operations {@link
   *     InputKind#PROBABILITIES}
   * @return this
   */
  public ArgmaxArgs inputKind(InputKind inputKind) {
    this.inputKind = required("input_kind", inputKind);
    return this;
  }

  /**
   * Sets the token ids of the input's elements, for candidate lists. Without, an element's id is
   * its column.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public ArgmaxArgs candidateIds(int[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public ArgmaxArgs candidateIds(long[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public ArgmaxArgs candidateIds(Buffer candidateIds) {
    this.candidateIds = Memory.of("candidate_ids", candidateIds, false);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}, in device memory.
   *
   * @param candidateIds an address, 0 for none: laid out like the input: in [0, 2^20), in any
   *     order, none twice in a row
   * @return this
   */
  public ArgmaxArgs candidateIdsAddress(long candidateIds) {
    this.candidateIds = Memory.ofDevice(candidateIds);
    return this;
  }

  /**
   * Sets how many elements of each row there are; needs candidateIds. Without: numCols.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public ArgmaxArgs candidateCounts(int[] candidateCounts) {
    this.candidateCounts = Memory.of(candidateCounts);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public ArgmaxArgs candidateCounts(Buffer candidateCounts) {
    this.candidateCounts = Memory.of("candidate_counts", candidateCounts, false);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, in device memory.
   *
   * @param candidateCounts an address, 0 for none: [number of input rows] in [0, numCols]
   * @return this
   */
  public ArgmaxArgs candidateCountsAddress(long candidateCounts) {
    this.candidateCounts = Memory.ofDevice(candidateCounts);
    return this;
  }

  /**
   * Sets the type of all candidate ids.
   *
   * @param candidateIdType {@link IdType#I32} by default
   * @return this
   */
  public ArgmaxArgs candidateIdType(IdType candidateIdType) {
    this.candidateIdType = required("candidate_id_type", candidateIdType);
    return this;
  }

  /**
   * Sets the type of the token ids that are written, and of draft tokens.
   *
   * @param tokenIdType {@link IdType#I32} by default
   * @return this
   */
  public ArgmaxArgs tokenIdType(IdType tokenIdType) {
    this.tokenIdType = required("token_id_type", tokenIdType);
    return this;
  }

  /**
   * Sets where the tokens go: column numbers, or candidate ids; -1 or the sampler's fallback token
   * for a bad row. Required.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public ArgmaxArgs outTokenIds(int[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public ArgmaxArgs outTokenIds(long[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public ArgmaxArgs outTokenIds(Buffer outTokenIds) {
    this.outTokenIds = Memory.of("out_token_ids", outTokenIds, true);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, in device memory.
   *
   * @param outTokenIds an address, 0 for none: [numRows]
   * @return this
   */
  public ArgmaxArgs outTokenIdsAddress(long outTokenIds) {
    this.outTokenIds = Memory.ofDevice(outTokenIds);
    return this;
  }

  /**
   * Sets where the value of each token goes; NaN for a bad row.
   *
   * @param outValues [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outValues(float[] outValues) {
    this.outValues = Memory.of(outValues);
    return this;
  }

  /**
   * As {@link #outValues(float[])}, from a direct buffer's position to its limit.
   *
   * @param outValues [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outValues(Buffer outValues) {
    this.outValues = Memory.of("out_values", outValues, true);
    return this;
  }

  /**
   * As {@link #outValues(float[])}, in device memory.
   *
   * @param outValues an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outValuesAddress(long outValues) {
    this.outValues = Memory.ofDevice(outValues);
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ArgmaxArgs outRowStatusAddress(long outRowStatus) {
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
  public ArgmaxArgs workspace(ByteBuffer workspace) {
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
  public ArgmaxArgs workspaceAddress(long workspace, long bytes) {
    this.workspace = Memory.ofDevice(workspace, bytes);
    return this;
  }

  @Override
  long run(Handle sampler, boolean onlySize) {
    final Memory input = this.input;
    final long numRows = this.numRows;
    final long numCols = this.numCols;
    final long rowStride = this.rowStride;
    final Dtype inputDtype = this.inputDtype;
    final Memory candidateIds = this.candidateIds;
    final Memory candidateCounts = this.candidateCounts;
    final IdType candidateIdType = this.candidateIdType;
    final IdType tokenIdType = this.tokenIdType;
    final Memory outTokenIds = this.outTokenIds;
    final Memory outValues = this.outValues;
    final Memory outRowStatus = this.outRowStatus;
    final Memory workspace = this.workspace;
    if (!onlySize) {
      final long inputRows = numRows;
      final long inputLength = Lengths.rows(inputRows, numCols, rowStride);
      input.check("input", inputDtype.elementType, inputLength, sampler.arraysOnDevice);
      candidateIds.check("candidate_ids", candidateIdType.elementType, inputLength,
          sampler.arraysOnDevice);
      candidateCounts.check("candidate_counts", ElementType.INT, inputRows,
          sampler.arraysOnDevice);
      outTokenIds.check("out_token_ids", tokenIdType.elementType, numRows,
          sampler.arraysOnDevice);
      outValues.check("out_values", ElementType.FLOAT, numRows, sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimArgmax(sampler.address, onlySize ? 1 : 0, stream, input.array, input.at,
            numRows, numCols, rowStride, inputDtype.ordinal(), inputKind.ordinal(),
            candidateIds.array, candidateIds.at, candidateCounts.array, candidateCounts.at,
            candidateIdType.ordinal(), tokenIdType.ordinal(), outTokenIds.array, outTokenIds.at,
            outValues.array, outValues.at, outRowStatus.array, outRowStatus.at, workspace.array,
            workspace.at, workspace.length);
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(candidateIds);
    Reference.reachabilityFence(candidateCounts);
    Reference.reachabilityFence(outTokenIds);
    Reference.reachabilityFence(outValues);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
