// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#softmax}, which writes the probabilities of each row of logits at
 * the temperature.
 */
public final class SoftmaxArgs extends Arguments {
  private long stream;
  private Memory input = Memory.NONE;
  private long numRows;
  private long numCols;
  private long rowStride;
  private Dtype inputDtype = Dtype.F32;
  private IdType candidateIdType = IdType.I32;
  private Memory candidateIds = Memory.NONE;
  private Memory candidateCounts = Memory.NONE;
  private float temperature = 1.0f;
  private Dtype outputDtype = Dtype.F32;
  private Memory temperatures = Memory.NONE;
  private Memory output = Memory.NONE;
  private long outputStride;
  private Memory outRowStatus = Memory.NONE;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public SoftmaxArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public SoftmaxArgs stream(long stream) {
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
  public SoftmaxArgs input(float[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public SoftmaxArgs input(short[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}, from a direct buffer's position to its limit.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public SoftmaxArgs input(Buffer input) {
    this.input = Memory.of("input", input, false);
    return this;
  }

  /**
   * As {@link #input(float[])}, in device memory.
   *
   * @param input an address, 0 for none: [number of input rows, numCols]
   * @return this
   */
  public SoftmaxArgs inputAddress(long input) {
    this.input = Memory.ofDevice(input);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public SoftmaxArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns of the input: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public SoftmaxArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two input rows.
   *
   * @param rowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public SoftmaxArgs rowStride(long rowStride) {
    this.rowStride = rowStride;
    return this;
  }

  /**
   * Sets the element type of the input.
   *
   * @param inputDtype {@link Dtype#F32} by default
   * @return this
   */
  public SoftmaxArgs inputDtype(Dtype inputDtype) {
    this.inputDtype = required("input_dtype", inputDtype);
    return this;
  }

  /**
   * Sets the type of all candidate ids.
   *
   * @param candidateIdType {@link IdType#I32} by default
   * @return this
   */
  public SoftmaxArgs candidateIdType(IdType candidateIdType) {
    this.candidateIdType = required("candidate_id_type", candidateIdType);
    return this;
  }

  /**
   * Sets the token ids of the input's elements, for candidate lists. Without, an element's id is
   * its column.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public SoftmaxArgs candidateIds(int[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public SoftmaxArgs candidateIds(long[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public SoftmaxArgs candidateIds(Buffer candidateIds) {
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
  public SoftmaxArgs candidateIdsAddress(long candidateIds) {
    this.candidateIds = Memory.ofDevice(candidateIds);
    return this;
  }

  /**
   * Sets how many elements of each row there are; needs candidateIds. Without: numCols.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public SoftmaxArgs candidateCounts(int[] candidateCounts) {
    this.candidateCounts = Memory.of(candidateCounts);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public SoftmaxArgs candidateCounts(Buffer candidateCounts) {
    this.candidateCounts = Memory.of("candidate_counts", candidateCounts, false);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, in device memory.
   *
   * @param candidateCounts an address, 0 for none: [number of input rows] in [0, numCols]
   * @return this
   */
  public SoftmaxArgs candidateCountsAddress(long candidateCounts) {
    this.candidateCounts = Memory.ofDevice(candidateCounts);
    return this;
  }

  /**
   * Sets what logits are divided by. At most 1e-5, 0 and negative ones too: greedy. Probabilities
   * are taken as they are: there it must be 1, or at most 1e-5.
   *
   * @param temperature not NaN; above 2^64: 2^64; 1 by default
   * @return this
   */
  public SoftmaxArgs temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Sets the element type of the values that are written.
   *
   * @param outputDtype {@link Dtype#F32}, the default, or the input's
   * @return this
   */
  public SoftmaxArgs outputDtype(Dtype outputDtype) {
    this.outputDtype = required("output_dtype", outputDtype);
    return this;
  }

  /**
   * Sets the temperature of each row.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public SoftmaxArgs temperatures(float[] temperatures) {
    this.temperatures = Memory.of(temperatures);
    return this;
  }

  /**
   * As {@link #temperatures(float[])}, from a direct buffer's position to its limit.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public SoftmaxArgs temperatures(Buffer temperatures) {
    this.temperatures = Memory.of("temperatures", temperatures, false);
    return this;
  }

  /**
   * As {@link #temperatures(float[])}, in device memory.
   *
   * @param temperatures an address, 0 for none: [numRows] one for each output row, instead of the
   *     single value
   * @return this
   */
  public SoftmaxArgs temperaturesAddress(long temperatures) {
    this.temperatures = Memory.ofDevice(temperatures);
    return this;
  }

  /**
   * Sets where the rows go, {@code outputStride} elements apart. Required.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public SoftmaxArgs output(float[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public SoftmaxArgs output(short[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}, from a direct buffer's position to its limit.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public SoftmaxArgs output(Buffer output) {
    this.output = Memory.of("output", output, true);
    return this;
  }

  /**
   * As {@link #output(float[])}, in device memory.
   *
   * @param output an address, 0 for none: [numRows, numCols]
   * @return this
   */
  public SoftmaxArgs outputAddress(long output) {
    this.output = Memory.ofDevice(output);
    return this;
  }

  /**
   * Sets the distance of two output rows.
   *
   * @param outputStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public SoftmaxArgs outputStride(long outputStride) {
    this.outputStride = outputStride;
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public SoftmaxArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public SoftmaxArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public SoftmaxArgs outRowStatusAddress(long outRowStatus) {
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
  public SoftmaxArgs workspace(ByteBuffer workspace) {
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
  public SoftmaxArgs workspaceAddress(long workspace, long bytes) {
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
    final IdType candidateIdType = this.candidateIdType;
    final Memory candidateIds = this.candidateIds;
    final Memory candidateCounts = this.candidateCounts;
    final Dtype outputDtype = this.outputDtype;
    final Memory temperatures = this.temperatures;
    final Memory output = this.output;
    final long outputStride = this.outputStride;
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
      temperatures.check("temperatures", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      output.check("output", outputDtype.elementType,
          Lengths.rows(numRows, numCols, outputStride), sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimSoftmax(sampler.address, onlySize ? 1 : 0, stream, input.array, input.at,
            numRows, numCols, rowStride, inputDtype.ordinal(), candidateIdType.ordinal(),
            candidateIds.array, candidateIds.at, candidateCounts.array, candidateCounts.at,
            temperature, outputDtype.ordinal(), temperatures.array, temperatures.at,
            output.array, output.at, outputStride, outRowStatus.array, outRowStatus.at,
            workspace.array, workspace.at, workspace.length);
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(candidateIds);
    Reference.reachabilityFence(candidateCounts);
    Reference.reachabilityFence(temperatures);
    Reference.reachabilityFence(output);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
