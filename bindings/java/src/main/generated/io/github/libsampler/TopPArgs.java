// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#topP}, which draws one token per row from the nucleus, the likeliest
 * tokens whose probability reaches {@code topP}.
 */
public final class TopPArgs extends Arguments {
  private long stream;
  private Memory input = Memory.NONE;
  private long numRows;
  private long numCols;
  private long rowStride;
  private Dtype inputDtype = Dtype.F32;
  private InputKind inputKind = InputKind.LOGITS;
  private Memory rowIndices = Memory.NONE;
  private long numInputRows;
  private Memory candidateIds = Memory.NONE;
  private Memory candidateCounts = Memory.NONE;
  private IdType candidateIdType = IdType.I32;
  private IdType tokenIdType = IdType.I32;
  private float temperature = 1.0f;
  private float topP = 1.0f;
  private Memory temperatures = Memory.NONE;
  private Memory topPs = Memory.NONE;
  private TieRule topPTies = TieRule.EXACT;
  private TemperatureOrder temperatureOrder = TemperatureOrder.FIRST;
  private DrawMethod drawMethod = DrawMethod.INVERSE_CDF;
  private long seed;
  private long offset;
  private Memory seeds = Memory.NONE;
  private Memory offsets = Memory.NONE;
  private long numSeeds;
  private long numOffsets;
  private Memory outTokenIds = Memory.NONE;
  private Memory outKeptCounts = Memory.NONE;
  private Memory outRowStatus = Memory.NONE;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public TopPArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public TopPArgs stream(long stream) {
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
  public TopPArgs input(float[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public TopPArgs input(short[] input) {
    this.input = Memory.of(input);
    return this;
  }

  /**
   * As {@link #input(float[])}, from a direct buffer's position to its limit.
   *
   * @param input [number of input rows, numCols]
   * @return this
   */
  public TopPArgs input(Buffer input) {
    this.input = Memory.of("input", input, false);
    return this;
  }

  /**
   * As {@link #input(float[])}, in device memory.
   *
   * @param input an address, 0 for none: [number of input rows, numCols]
   * @return this
   */
  public TopPArgs inputAddress(long input) {
    this.input = Memory.ofDevice(input);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public TopPArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns of the input: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public TopPArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two input rows.
   *
   * @param rowStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public TopPArgs rowStride(long rowStride) {
    this.rowStride = rowStride;
    return this;
  }

  /**
   * Sets the element type of the input.
   *
   * @param inputDtype {@link Dtype#F32} by default
   * @return this
   */
  public TopPArgs inputDtype(Dtype inputDtype) {
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
  public TopPArgs inputKind(InputKind inputKind) {
    this.inputKind = required("input_kind", inputKind);
    return this;
  }

  /**
   * Sets the input row that each output row draws from. Without, output row i draws from input row
   * i.
   *
   * @param rowIndices [numRows] in [0, numInputRows); any other value makes the output row bad
   * @return this
   */
  public TopPArgs rowIndices(int[] rowIndices) {
    this.rowIndices = Memory.of(rowIndices);
    return this;
  }

  /**
   * As {@link #rowIndices(int[])}, from a direct buffer's position to its limit.
   *
   * @param rowIndices [numRows] in [0, numInputRows); any other value makes the output row bad
   * @return this
   */
  public TopPArgs rowIndices(Buffer rowIndices) {
    this.rowIndices = Memory.of("row_indices", rowIndices, false);
    return this;
  }

  /**
   * As {@link #rowIndices(int[])}, in device memory.
   *
   * @param rowIndices an address, 0 for none: [numRows] in [0, numInputRows); any other value
   *     makes the output row bad
   * @return this
   */
  public TopPArgs rowIndicesAddress(long rowIndices) {
    this.rowIndices = Memory.ofDevice(rowIndices);
    return this;
  }

  /**
   * Sets the rows of the input. Without rowIndices it must be 0 or numRows.
   *
   * @param numInputRows in [0, 2^31); 0, the default: numRows
   * @return this
   */
  public TopPArgs numInputRows(long numInputRows) {
    this.numInputRows = numInputRows;
    return this;
  }

  /**
   * Sets the token ids of the input's elements, for candidate lists. Without, an element's id is
   * its column.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public TopPArgs candidateIds(int[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public TopPArgs candidateIds(long[] candidateIds) {
    this.candidateIds = Memory.of(candidateIds);
    return this;
  }

  /**
   * As {@link #candidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateIds laid out like the input: in [0, 2^20), in any order, none twice in a row
   * @return this
   */
  public TopPArgs candidateIds(Buffer candidateIds) {
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
  public TopPArgs candidateIdsAddress(long candidateIds) {
    this.candidateIds = Memory.ofDevice(candidateIds);
    return this;
  }

  /**
   * Sets how many elements of each row there are; needs candidateIds. Without: numCols.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public TopPArgs candidateCounts(int[] candidateCounts) {
    this.candidateCounts = Memory.of(candidateCounts);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param candidateCounts [number of input rows] in [0, numCols]
   * @return this
   */
  public TopPArgs candidateCounts(Buffer candidateCounts) {
    this.candidateCounts = Memory.of("candidate_counts", candidateCounts, false);
    return this;
  }

  /**
   * As {@link #candidateCounts(int[])}, in device memory.
   *
   * @param candidateCounts an address, 0 for none: [number of input rows] in [0, numCols]
   * @return this
   */
  public TopPArgs candidateCountsAddress(long candidateCounts) {
    this.candidateCounts = Memory.ofDevice(candidateCounts);
    return this;
  }

  /**
   * Sets the type of all candidate ids.
   *
   * @param candidateIdType {@link IdType#I32} by default
   * @return this
   */
  public TopPArgs candidateIdType(IdType candidateIdType) {
    this.candidateIdType = required("candidate_id_type", candidateIdType);
    return this;
  }

  /**
   * Sets the type of the token ids that are written, and of draft tokens.
   *
   * @param tokenIdType {@link IdType#I32} by default
   * @return this
   */
  public TopPArgs tokenIdType(IdType tokenIdType) {
    this.tokenIdType = required("token_id_type", tokenIdType);
    return this;
  }

  /**
   * Sets what logits are divided by. At most 1e-5, 0 and negative ones too: greedy. Probabilities
   * are taken as they are: there it must be 1, or at most 1e-5.
   *
   * @param temperature not NaN; above 2^64: 2^64; 1 by default
   * @return this
   */
  public TopPArgs temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
   * is at least {@code topP}.
   *
   * @param topP not NaN; 1, the default, and more: off; 0 and less: one token
   * @return this
   */
  public TopPArgs topP(float topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Sets the temperature of each row.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopPArgs temperatures(float[] temperatures) {
    this.temperatures = Memory.of(temperatures);
    return this;
  }

  /**
   * As {@link #temperatures(float[])}, from a direct buffer's position to its limit.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopPArgs temperatures(Buffer temperatures) {
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
  public TopPArgs temperaturesAddress(long temperatures) {
    this.temperatures = Memory.ofDevice(temperatures);
    return this;
  }

  /**
   * Sets the topP of each row.
   *
   * @param topPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopPArgs topPs(float[] topPs) {
    this.topPs = Memory.of(topPs);
    return this;
  }

  /**
   * As {@link #topPs(float[])}, from a direct buffer's position to its limit.
   *
   * @param topPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public TopPArgs topPs(Buffer topPs) {
    this.topPs = Memory.of("top_ps", topPs, false);
    return this;
  }

  /**
   * As {@link #topPs(float[])}, in device memory.
   *
   * @param topPs an address, 0 for none: [numRows] one for each output row, instead of the single
   *     value
   * @return this
   */
  public TopPArgs topPsAddress(long topPs) {
    this.topPs = Memory.ofDevice(topPs);
    return this;
  }

  /**
   * Sets what top-p does with tokens that equal the last kept one.
   *
   * @param topPTies the first constant by default
   * @return this
   */
  public TopPArgs topPTies(TieRule topPTies) {
    this.topPTies = required("top_p_ties", topPTies);
    return this;
  }

  /**
   * Sets whether the filters see the row at the temperature.
   *
   * @param temperatureOrder the first constant by default
   * @return this
   */
  public TopPArgs temperatureOrder(TemperatureOrder temperatureOrder) {
    this.temperatureOrder = required("temperature_order", temperatureOrder);
    return this;
  }

  /**
   * Sets how a token is drawn from what the filters kept.
   *
   * @param drawMethod the first constant by default
   * @return this
   */
  public TopPArgs drawMethod(DrawMethod drawMethod) {
    this.drawMethod = required("draw_method", drawMethod);
    return this;
  }

  /**
   * Sets the seed of the randomness. Use each pair of seed and offset once: a sequence takes a
   * seed, and its position as the offset.
   *
   * @param seed 64 bits, taken as unsigned
   * @return this
   */
  public TopPArgs seed(long seed) {
    this.seed = seed;
    return this;
  }

  /**
   * Sets the offset of the randomness, another at every step.
   *
   * @param offset 64 bits, taken as unsigned
   * @return this
   */
  public TopPArgs offset(long offset) {
    this.offset = offset;
    return this;
  }

  /**
   * Sets seeds instead of the single one: one for all rows, or one for each, by which a row's
   * token no longer depends on its place in the batch. Set numSeeds too.
   *
   * @param seeds [numSeeds] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs seeds(long[] seeds) {
    this.seeds = Memory.of(seeds);
    return this;
  }

  /**
   * As {@link #seeds(long[])}, from a direct buffer's position to its limit.
   *
   * @param seeds [numSeeds] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs seeds(Buffer seeds) {
    this.seeds = Memory.of("seeds", seeds, false);
    return this;
  }

  /**
   * As {@link #seeds(long[])}, in device memory.
   *
   * @param seeds an address, 0 for none: [numSeeds] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs seedsAddress(long seeds) {
    this.seeds = Memory.ofDevice(seeds);
    return this;
  }

  /**
   * Sets offsets instead of the single one: one for all rows, or one for each. Set numOffsets too.
   *
   * @param offsets [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs offsets(long[] offsets) {
    this.offsets = Memory.of(offsets);
    return this;
  }

  /**
   * As {@link #offsets(long[])}, from a direct buffer's position to its limit.
   *
   * @param offsets [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs offsets(Buffer offsets) {
    this.offsets = Memory.of("offsets", offsets, false);
    return this;
  }

  /**
   * As {@link #offsets(long[])}, in device memory.
   *
   * @param offsets an address, 0 for none: [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public TopPArgs offsetsAddress(long offsets) {
    this.offsets = Memory.ofDevice(offsets);
    return this;
  }

  /**
   * Sets how many seeds there are.
   *
   * @param numSeeds 1 or numRows; 0, the default, without seeds
   * @return this
   */
  public TopPArgs numSeeds(long numSeeds) {
    this.numSeeds = numSeeds;
    return this;
  }

  /**
   * Sets how many offsets there are.
   *
   * @param numOffsets 1 or numRows; 0, the default, without offsets
   * @return this
   */
  public TopPArgs numOffsets(long numOffsets) {
    this.numOffsets = numOffsets;
    return this;
  }

  /**
   * Sets where the tokens go: column numbers, or candidate ids; -1 or the sampler's fallback token
   * for a bad row. Required.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public TopPArgs outTokenIds(int[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public TopPArgs outTokenIds(long[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param outTokenIds [numRows]
   * @return this
   */
  public TopPArgs outTokenIds(Buffer outTokenIds) {
    this.outTokenIds = Memory.of("out_token_ids", outTokenIds, true);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, in device memory.
   *
   * @param outTokenIds an address, 0 for none: [numRows]
   * @return this
   */
  public TopPArgs outTokenIdsAddress(long outTokenIds) {
    this.outTokenIds = Memory.ofDevice(outTokenIds);
    return this;
  }

  /**
   * Sets where it is told how many tokens the filters kept; 1 for a greedy row, 0 for a bad one.
   *
   * @param outKeptCounts [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outKeptCounts(int[] outKeptCounts) {
    this.outKeptCounts = Memory.of(outKeptCounts);
    return this;
  }

  /**
   * As {@link #outKeptCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param outKeptCounts [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outKeptCounts(Buffer outKeptCounts) {
    this.outKeptCounts = Memory.of("out_kept_counts", outKeptCounts, true);
    return this;
  }

  /**
   * As {@link #outKeptCounts(int[])}, in device memory.
   *
   * @param outKeptCounts an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outKeptCountsAddress(long outKeptCounts) {
    this.outKeptCounts = Memory.ofDevice(outKeptCounts);
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public TopPArgs outRowStatusAddress(long outRowStatus) {
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
  public TopPArgs workspace(ByteBuffer workspace) {
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
  public TopPArgs workspaceAddress(long workspace, long bytes) {
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
    final Memory rowIndices = this.rowIndices;
    final long numInputRows = this.numInputRows;
    final Memory candidateIds = this.candidateIds;
    final Memory candidateCounts = this.candidateCounts;
    final IdType candidateIdType = this.candidateIdType;
    final IdType tokenIdType = this.tokenIdType;
    final Memory temperatures = this.temperatures;
    final Memory topPs = this.topPs;
    final Memory seeds = this.seeds;
    final Memory offsets = this.offsets;
    final long numSeeds = this.numSeeds;
    final long numOffsets = this.numOffsets;
    final Memory outTokenIds = this.outTokenIds;
    final Memory outKeptCounts = this.outKeptCounts;
    final Memory outRowStatus = this.outRowStatus;
    final Memory workspace = this.workspace;
    if (!onlySize) {
      final long inputRows = numInputRows == 0 ? numRows : numInputRows;
      final long inputLength = Lengths.rows(inputRows, numCols, rowStride);
      input.check("input", inputDtype.elementType, inputLength, sampler.arraysOnDevice);
      rowIndices.check("row_indices", ElementType.INT, numRows, sampler.arraysOnDevice);
      candidateIds.check("candidate_ids", candidateIdType.elementType, inputLength,
          sampler.arraysOnDevice);
      candidateCounts.check("candidate_counts", ElementType.INT, inputRows,
          sampler.arraysOnDevice);
      temperatures.check("temperatures", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      topPs.check("top_ps", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      seeds.check("seeds", ElementType.LONG, numSeeds, sampler.parametersOnDevice);
      offsets.check("offsets", ElementType.LONG, numOffsets, sampler.parametersOnDevice);
      outTokenIds.check("out_token_ids", tokenIdType.elementType, numRows,
          sampler.arraysOnDevice);
      outKeptCounts.check("out_kept_counts", ElementType.INT, numRows, sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimTopP(sampler.address, onlySize ? 1 : 0, stream, input.array, input.at, numRows,
            numCols, rowStride, inputDtype.ordinal(), inputKind.ordinal(), rowIndices.array,
            rowIndices.at, numInputRows, candidateIds.array, candidateIds.at,
            candidateCounts.array, candidateCounts.at, candidateIdType.ordinal(),
            tokenIdType.ordinal(), temperature, topP, temperatures.array, temperatures.at,
            topPs.array, topPs.at, topPTies.ordinal(), temperatureOrder.ordinal(),
            drawMethod.ordinal(), seed, offset, seeds.array, seeds.at, offsets.array,
            offsets.at, numSeeds, numOffsets, outTokenIds.array, outTokenIds.at,
            outKeptCounts.array, outKeptCounts.at, outRowStatus.array, outRowStatus.at,
            workspace.array, workspace.at, workspace.length);
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(rowIndices);
    Reference.reachabilityFence(candidateIds);
    Reference.reachabilityFence(candidateCounts);
    Reference.reachabilityFence(temperatures);
    Reference.reachabilityFence(topPs);
    Reference.reachabilityFence(seeds);
    Reference.reachabilityFence(offsets);
    Reference.reachabilityFence(outTokenIds);
    Reference.reachabilityFence(outKeptCounts);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
