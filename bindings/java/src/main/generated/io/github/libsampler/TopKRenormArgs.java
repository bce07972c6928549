// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#topKRenorm}, which writes each row's probabilities with all but the
 * {@code topK} largest set to 0, renormalised.
 */
public final class TopKRenormArgs extends Arguments {
  private long stream;
  private Memory input = Memory.NONE;
  private long numRows;
  private long numCols;
  private long rowStride;
  private Dtype inputDtype = Dtype.F32;
  private InputKind inputKind = InputKind.PROBABILITIES;
  private Memory candidateIds = Memory.NONE;
  private Memory candidateCounts = Memory.NONE;
  private IdType candidateIdType = IdType.I32;
  private Dtype outputDtype = Dtype.F32;
  private float temperature = 1.0f;
  private int topK;
  private Memory temperatures = Memory.NONE;
  private Memory topKs = Memory.NONE;
  private TieRule topKTies = TieRule.EXACT;
  private Memory output = Memory.NONE;
  private long outputStride;
  private Memory outKeptCounts = Memory.NONE;
  private Memory outRowStatus = Memory.NONE;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public TopKRenormArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public TopKRenormArgs stream(long stream) {
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
  public TopKRenormArgs input(float[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public TopKRenormArgs input(short[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}, from a direct buffer's position to its limit.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public TopKRenormArgs input(Buffer input) {
    this.input = Memory.of("input", input, false);
    return this;
  }

  /**
   * As {@link #input(float[])}, in device memory.
   *
   * @param input an address, 0 for none: [number of input rows, numCols]
   * @return this
   */
  public TopKRenormArgs inputAddress(long input) {
    this.input = Memory.ofDevice(input);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public TopKRenormArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns of the input: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public TopKRenormArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two input rows.
   *
   * @param rowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public TopKRenormArgs rowStride(long rowStride) {
    this.rowStride = rowStride;
    return this;
  }

  /**
   * Sets the element type of the input.
   *
   * @param inputDtype {@link Dtype#F32} by default
   * @return this
   */
  public TopKRenormArgs inputDtype(Dtype inputDtype) {
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
  public TopKRenormArgs inputKind(InputKind inputKind) {
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
  public TopKRenormArgs candidateIds(int[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public TopKRenormArgs candidateIds(long[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public TopKRenormArgs candidateIds(Buffer candidateIds) {
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
  public TopKRenormArgs candidateIdsAddress(long candidateIds) {
    this.candidateIds = Memory.ofDevice(candidateIds);
    return this;
  }

  /**
   * Sets how many elements of each row there are; needs candidateIds. Without: numCols.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public TopKRenormArgs candidateCounts(int[] candidateCounts) {
    this.candidateCounts = Memory.of(candidateCounts);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public TopKRenormArgs candidateCounts(Buffer candidateCounts) {
    this.candidateCounts = Memory.of("candidate_counts", candidateCounts, false);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, in device memory.
   *
   * @param candidateCounts an address, 0 for none: [number of input rows] in [0, numCols]
   * @return this
   */
  public TopKRenormArgs candidateCountsAddress(long candidateCounts) {
    this.candidateCounts = Memory.ofDevice(candidateCounts);
    return this;
  }

  /**
   * Sets the type of all candidate ids.
   *
   * @param candidateIdType {@link IdType#I32} by default
   * @return this
   */
  public TopKRenormArgs candidateIdType(IdType candidateIdType) {
    this.candidateIdType = required("candidate_id_type", candidateIdType);
    return this;
  }

  /**
   * Sets the element type of the values that are written.
   *
   * @param outputDtype {@link Dtype#F32}, the default, or the input's
   * @return this
   */
  public TopKRenormArgs outputDtype(Dtype outputDtype) {
    this.outputDtype = required("output_dtype", outputDtype);
    return this;
  }

  /**
   * Sets what logits are divided by. At most 1e-5, 0 and negative ones too: greedy. Probabilities
   * are taken as they are: there it must be 1, or at most 1e-5.
   *
   * @param temperature not NaN; above 2^64: 2^64; 1 by default
   * @return this
   */
  public TopKRenormArgs temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Keeps the first {@code topK} tokens in rank order.
   *
   * @param topK 0, the default, and less, or numCols and more: off
   * @return this
   */
  public TopKRenormArgs topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Sets the temperature of each row.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopKRenormArgs temperatures(float[] temperatures) {
    this.temperatures = Memory.of(temperatures);
    return this;
  }

  /**
   * As {@link #temperatures(float[])}, from a direct buffer's position to its limit.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopKRenormArgs temperatures(Buffer temperatures) {
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
  public TopKRenormArgs temperaturesAddress(long temperatures) {
    this.temperatures = Memory.ofDevice(temperatures);
    return this;
  }

  /**
   * Sets the topK of each row.
   *
   * @param topKs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopKRenormArgs topKs(int[] topKs) {
    this.topKs = Memory.of(topKs);
    return this;
  }

  /**
   * As {@link #topKs(int[])}, from a direct buffer's position to its limit.
   *
   * @param topKs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopKRenormArgs topKs(Buffer topKs) {
    this.topKs = Memory.of("top_ks", topKs, false);
    return this;
  }

  /**
   * As {@link #topKs(int[])}, in device memory.
   *
   * @param topKs an address, 0 for none: [numRows] one for each output row, instead of the single
   *     value
   * @return this
   */
  public TopKRenormArgs topKsAddress(long topKs) {
    this.topKs = Memory.ofDevice(topKs);
    return this;
  }

  /**
   * Sets what top-k does with tokens that equal the last kept one.
   *
   * @param topKTies the first constant by default
   * @return this
   */
  public TopKRenormArgs topKTies(TieRule topKTies) {
    this.topKTies = required("top_k_ties", topKTies);
    return this;
  }

  /**
   * Sets where the rows go, {@code outputStride} elements apart. Required.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public TopKRenormArgs output(float[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public TopKRenormArgs output(short[] output) {
    this.output = Memory.of(output);
    return this;
  }

  /**
   * As {@link #output(float[])}, from a direct buffer's position to its limit.
   *
   * @param output [numRows, numCols]
   * @return this
   */
  public TopKRenormArgs output(Buffer output) {
    this.output = Memory.of("output", output, true);
    return this;
  }

  /**
   * As {@link #output(float[])}, in device memory.
   *
   * @param output an address, 0 for none: [numRows, numCols]
   * @return this
   */
  public TopKRenormArgs outputAddress(long output) {
    this.output = Memory.ofDevice(output);
    return this;
  }

  /**
   * Sets the distance of two output rows.
   *
   * @param outputStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public TopKRenormArgs outputStride(long outputStride) {
    this.outputStride = outputStride;
    return this;
  }

  /**
   * Sets where it is told how many tokens the filters kept; 1 for a greedy row, 0 for a bad one.
   *
   * @param outKeptCounts [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outKeptCounts(int[] outKeptCounts) {
    this.outKeptCounts = Memory.of(outKeptCounts);
    return this;
  }

  /**
   * As {@link #outKeptCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param outKeptCounts [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outKeptCounts(Buffer outKeptCounts) {
    this.outKeptCounts = Memory.of("out_kept_counts", outKeptCounts, true);
    return this;
  }

  /**
   * As {@link #outKeptCounts(int[])}, in device memory.
   *
   * @param outKeptCounts an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outKeptCountsAddress(long outKeptCounts) {
    this.outKeptCounts = Memory.ofDevice(outKeptCounts);
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public TopKRenormArgs outRowStatusAddress(long outRowStatus) {
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
  public TopKRenormArgs workspace(ByteBuffer workspace) {
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
  public TopKRenormArgs workspaceAddress(long workspace, long bytes) {
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
    final Dtype outputDtype = this.outputDtype;
    final Memory temperatures = this.temperatures;
    final Memory topKs = this.topKs;
    final Memory output = this.output;
    final long outputStride = this.outputStride;
    final Memory outKeptCounts = this.outKeptCounts;
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
      topKs.check("top_ks", ElementType.INT, numRows, sampler.parametersOnDevice);
      output.check("output", outputDtype.elementType,
          Lengths.rows(numRows, numCols, outputStride), sampler.arraysOnDevice);
      outKeptCounts.check("out_kept_counts", ElementType.INT, numRows, sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimTopKRenorm(sampler.address, onlySize ? 1 : 0, stream, input.array, input.at,
            numRows, numCols, rowStride, inputDtype.ordinal(), inputKind.ordinal(),
            candidateIds.array, candidateIds.at, candidateCounts.array, candidateCounts.at,
            candidateIdType.ordinal(), outputDtype.ordinal(), temperature, topK,
            temperatures.array, temperatures.at, topKs.array, topKs.at, topKTies.ordinal(),
            output.array, output.at, outputStride, outKeptCounts.array, outKeptCounts.at,
            outRowStatus.array, outRowStatus.at, workspace.array, workspace.at, workspace.length);
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(candidateIds);
    Reference.reachabilityFence(candidateCounts);
    Reference.reachabilityFence(temperatures);
    Reference.reachabilityFence(topKs);
    Reference.reachabilityFence(output);
    Reference.reachabilityFence(outKeptCounts);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
