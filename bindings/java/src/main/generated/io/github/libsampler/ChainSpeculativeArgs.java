// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Arguments of {@link Sampler#chainSpeculative}, which verifies each row's chain of draft tokens
 * and emits between 1 and {@code numDrafts + 1} tokens.
 */
public final class ChainSpeculativeArgs extends Arguments {
  private long stream;
  private Memory target = Memory.NONE;
  private long numRows;
  private long numDrafts;
  private long numCols;
  private long targetRowStride;
  private long targetPositionStride;
  private Dtype targetDtype = Dtype.F32;
  private InputKind targetKind = InputKind.LOGITS;
  private Memory draft = Memory.NONE;
  private long draftRowStride;
  private long draftPositionStride;
  private Dtype draftDtype = Dtype.F32;
  private InputKind draftKind = InputKind.LOGITS;
  private Memory targetCandidateIds = Memory.NONE;
  private Memory targetCandidateCounts = Memory.NONE;
  private Memory draftCandidateIds = Memory.NONE;
  private Memory draftCandidateCounts = Memory.NONE;
  private Memory draftTokenIds = Memory.NONE;
  private Memory draftLengths = Memory.NONE;
  private IdType candidateIdType = IdType.I32;
  private IdType tokenIdType = IdType.I32;
  private float temperature = 1.0f;
  private int topK;
  private float topP = 1.0f;
  private float minP;
  private Memory temperatures = Memory.NONE;
  private Memory topKs = Memory.NONE;
  private Memory topPs = Memory.NONE;
  private Memory minPs = Memory.NONE;
  private TieRule topKTies = TieRule.EXACT;
  private TieRule topPTies = TieRule.EXACT;
  private FilterOrder filterOrder = FilterOrder.SEQUENTIAL;
  private TemperatureOrder temperatureOrder = TemperatureOrder.FIRST;
  private long seed;
  private long offset;
  private Memory seeds = Memory.NONE;
  private Memory offsets = Memory.NONE;
  private long numSeeds;
  private long numOffsets;
  private Memory outTokenIds = Memory.NONE;
  private Memory outAcceptedCounts = Memory.NONE;
  private Memory outEmittedCounts = Memory.NONE;
  private Memory outRowStatus = Memory.NONE;
  private boolean accumulateCounts;
  private Memory workspace = Memory.NONE;

  /** Creates arguments with all members at their defaults. */
  public ChainSpeculativeArgs() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0 is the legacy default stream
   * @return this
   */
  public ChainSpeculativeArgs stream(long stream) {
    this.stream = stream;
    return this;
  }

  /**
   * Sets the target's row at each draft position, and the one behind the last.
   *
   * @param target [numRows, numDrafts + 1, numCols]
   * @return this
   */
  public ChainSpeculativeArgs target(float[] target) {
    this.target = Memory.of(target);
    return this;
  }

  /**
   * As {@link #target(float[])}.
   *
   * @param target [numRows, numDrafts + 1, numCols]
   * @return this
   */
  public ChainSpeculativeArgs target(short[] target) {
    this.target = Memory.of(target);
    return this;
  }

  /**
   * As {@link #target(float[])}, from a direct buffer's position to its limit.
   *
   * @param target [numRows, numDrafts + 1, numCols]
   * @return this
   */
  public ChainSpeculativeArgs target(Buffer target) {
    this.target = Memory.of("target", target, false);
    return this;
  }

  /**
   * As {@link #target(float[])}, in device memory.
   *
   * @param target an address, 0 for none: [numRows, numDrafts + 1, numCols]
   * @return this
   */
  public ChainSpeculativeArgs targetAddress(long target) {
    this.target = Memory.ofDevice(target);
    return this;
  }

  /**
   * Sets how many rows of output there are.
   *
   * @param numRows in [0, 2^31); with 0 the call does nothing
   * @return this
   */
  public ChainSpeculativeArgs numRows(long numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets how many drafts a row has at most.
   *
   * @param numDrafts in [0, 65535]
   * @return this
   */
  public ChainSpeculativeArgs numDrafts(long numDrafts) {
    this.numDrafts = numDrafts;
    return this;
  }

  /**
   * Sets the columns of the input: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public ChainSpeculativeArgs numCols(long numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of the target of two rows.
   *
   * @param targetRowStride in elements; 0, the default: contiguous
   * @return this
   */
  public ChainSpeculativeArgs targetRowStride(long targetRowStride) {
    this.targetRowStride = targetRowStride;
    return this;
  }

  /**
   * Sets the distance of the target of two positions.
   *
   * @param targetPositionStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ChainSpeculativeArgs targetPositionStride(long targetPositionStride) {
    this.targetPositionStride = targetPositionStride;
    return this;
  }

  /**
   * Sets the element type of the target.
   *
   * @param targetDtype {@link Dtype#F32} by default
   * @return this
   */
  public ChainSpeculativeArgs targetDtype(Dtype targetDtype) {
    this.targetDtype = required("target_dtype", targetDtype);
    return this;
  }

  /**
   * Sets the meaning of the target.
   *
   * @param targetKind {@link InputKind#LOGITS} by default
   * @return this
   */
  public ChainSpeculativeArgs targetKind(InputKind targetKind) {
    this.targetKind = required("target_kind", targetKind);
    return this;
  }

  /**
   * Sets the rows that the drafts were drawn from. Without, the drafter was deterministic: its
   * draft has probability 1.
   *
   * @param draft [numRows, numDrafts, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draft(float[] draft) {
    this.draft = Memory.of(draft);
    return this;
  }

  /**
   * As {@link #draft(float[])}.
   *
   * @param draft [numRows, numDrafts, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draft(short[] draft) {
    this.draft = Memory.of(draft);
    return this;
  }

  /**
   * As {@link #draft(float[])}, from a direct buffer's position to its limit.
   *
   * @param draft [numRows, numDrafts, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draft(Buffer draft) {
    this.draft = Memory.of("draft", draft, false);
    return this;
  }

  /**
   * As {@link #draft(float[])}, in device memory.
   *
   * @param draft an address, 0 for none: [numRows, numDrafts, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draftAddress(long draft) {
    this.draft = Memory.ofDevice(draft);
    return this;
  }

  /**
   * Sets the distance of the draft of two rows.
   *
   * @param draftRowStride in elements; 0, the default: contiguous
   * @return this
   */
  public ChainSpeculativeArgs draftRowStride(long draftRowStride) {
    this.draftRowStride = draftRowStride;
    return this;
  }

  /**
   * Sets the distance of the draft of two positions.
   *
   * @param draftPositionStride in elements, at least numCols; 0, the default: numCols
   * @return this
   */
  public ChainSpeculativeArgs draftPositionStride(long draftPositionStride) {
    this.draftPositionStride = draftPositionStride;
    return this;
  }

  /**
   * Sets the element type of the draft.
   *
   * @param draftDtype {@link Dtype#F32} by default
   * @return this
   */
  public ChainSpeculativeArgs draftDtype(Dtype draftDtype) {
    this.draftDtype = required("draft_dtype", draftDtype);
    return this;
  }

  /**
   * Sets the meaning of the draft.
   *
   * @param draftKind {@link InputKind#LOGITS} by default
   * @return this
   */
  public ChainSpeculativeArgs draftKind(InputKind draftKind) {
    this.draftKind = required("draft_kind", draftKind);
    return this;
  }

  /**
   * Sets the token ids of the target's elements, for candidate lists.
   *
   * @param targetCandidateIds laid out like the target
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateIds(int[] targetCandidateIds) {
    this.targetCandidateIds = Memory.of(targetCandidateIds);
    return this;
  }

  /**
   * As {@link #targetCandidateIds(int[])}.
   *
   * @param targetCandidateIds laid out like the target
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateIds(long[] targetCandidateIds) {
    this.targetCandidateIds = Memory.of(targetCandidateIds);
    return this;
  }

  /**
   * As {@link #targetCandidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param targetCandidateIds laid out like the target
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateIds(Buffer targetCandidateIds) {
    this.targetCandidateIds = Memory.of("target_candidate_ids", targetCandidateIds, false);
    return this;
  }

  /**
   * As {@link #targetCandidateIds(int[])}, in device memory.
   *
   * @param targetCandidateIds an address, 0 for none: laid out like the target
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateIdsAddress(long targetCandidateIds) {
    this.targetCandidateIds = Memory.ofDevice(targetCandidateIds);
    return this;
  }

  /**
   * Sets how many elements each list of the target has.
   *
   * @param targetCandidateCounts [numRows, numDrafts + 1] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateCounts(int[] targetCandidateCounts) {
    this.targetCandidateCounts = Memory.of(targetCandidateCounts);
    return this;
  }

  /**
   * As {@link #targetCandidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param targetCandidateCounts [numRows, numDrafts + 1] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateCounts(Buffer targetCandidateCounts) {
    this.targetCandidateCounts = Memory.of("target_candidate_counts", targetCandidateCounts, false);
    return this;
  }

  /**
   * As {@link #targetCandidateCounts(int[])}, in device memory.
   *
   * @param targetCandidateCounts an address, 0 for none: [numRows, numDrafts + 1] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs targetCandidateCountsAddress(long targetCandidateCounts) {
    this.targetCandidateCounts = Memory.ofDevice(targetCandidateCounts);
    return this;
  }

  /**
   * Sets the token ids of the draft's elements, for candidate lists.
   *
   * @param draftCandidateIds laid out like the draft
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateIds(int[] draftCandidateIds) {
    this.draftCandidateIds = Memory.of(draftCandidateIds);
    return this;
  }

  /**
   * As {@link #draftCandidateIds(int[])}.
   *
   * @param draftCandidateIds laid out like the draft
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateIds(long[] draftCandidateIds) {
    this.draftCandidateIds = Memory.of(draftCandidateIds);
    return this;
  }

  /**
   * As {@link #draftCandidateIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param draftCandidateIds laid out like the draft
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateIds(Buffer draftCandidateIds) {
    this.draftCandidateIds = Memory.of("draft_candidate_ids", draftCandidateIds, false);
    return this;
  }

  /**
   * As {@link #draftCandidateIds(int[])}, in device memory.
   *
   * @param draftCandidateIds an address, 0 for none: laid out like the draft
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateIdsAddress(long draftCandidateIds) {
    this.draftCandidateIds = Memory.ofDevice(draftCandidateIds);
    return this;
  }

  /**
   * Sets how many elements each list of the draft has.
   *
   * @param draftCandidateCounts [numRows, numDrafts] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateCounts(int[] draftCandidateCounts) {
    this.draftCandidateCounts = Memory.of(draftCandidateCounts);
    return this;
  }

  /**
   * As {@link #draftCandidateCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param draftCandidateCounts [numRows, numDrafts] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateCounts(Buffer draftCandidateCounts) {
    this.draftCandidateCounts = Memory.of("draft_candidate_counts", draftCandidateCounts, false);
    return this;
  }

  /**
   * As {@link #draftCandidateCounts(int[])}, in device memory.
   *
   * @param draftCandidateCounts an address, 0 for none: [numRows, numDrafts] in [0, numCols]
   * @return this
   */
  public ChainSpeculativeArgs draftCandidateCountsAddress(long draftCandidateCounts) {
    this.draftCandidateCounts = Memory.ofDevice(draftCandidateCounts);
    return this;
  }

  /**
   * Sets the draft tokens. One outside the vocabulary is rejected.
   *
   * @param draftTokenIds [numRows, numDrafts]
   * @return this
   */
  public ChainSpeculativeArgs draftTokenIds(int[] draftTokenIds) {
    this.draftTokenIds = Memory.of(draftTokenIds);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}.
   *
   * @param draftTokenIds [numRows, numDrafts]
   * @return this
   */
  public ChainSpeculativeArgs draftTokenIds(long[] draftTokenIds) {
    this.draftTokenIds = Memory.of(draftTokenIds);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param draftTokenIds [numRows, numDrafts]
   * @return this
   */
  public ChainSpeculativeArgs draftTokenIds(Buffer draftTokenIds) {
    this.draftTokenIds = Memory.of("draft_token_ids", draftTokenIds, false);
    return this;
  }

  /**
   * As {@link #draftTokenIds(int[])}, in device memory.
   *
   * @param draftTokenIds an address, 0 for none: [numRows, numDrafts]
   * @return this
   */
  public ChainSpeculativeArgs draftTokenIdsAddress(long draftTokenIds) {
    this.draftTokenIds = Memory.ofDevice(draftTokenIds);
    return this;
  }

  /**
   * Sets how many drafts each row has. Without: numDrafts.
   *
   * @param draftLengths [numRows] in [0, numDrafts]; values outside are clamped and set a status
   * @return this
   */
  public ChainSpeculativeArgs draftLengths(int[] draftLengths) {
    this.draftLengths = Memory.of(draftLengths);
    return this;
  }

  /**
   * As {@link #draftLengths(int[])}, from a direct buffer's position to its limit.
   *
   * @param draftLengths [numRows] in [0, numDrafts]; values outside are clamped and set a status
   * @return this
   */
  public ChainSpeculativeArgs draftLengths(Buffer draftLengths) {
    this.draftLengths = Memory.of("draft_lengths", draftLengths, false);
    return this;
  }

  /**
   * As {@link #draftLengths(int[])}, in device memory.
   *
   * @param draftLengths an address, 0 for none: [numRows] in [0, numDrafts]; values outside are
   *     clamped and set a status
   * @return this
   */
  public ChainSpeculativeArgs draftLengthsAddress(long draftLengths) {
    this.draftLengths = Memory.ofDevice(draftLengths);
    return this;
  }

  /**
   * Sets the type of all candidate ids.
   *
   * @param candidateIdType {@link IdType#I32} by default
   * @return this
   */
  public ChainSpeculativeArgs candidateIdType(IdType candidateIdType) {
    this.candidateIdType = required("candidate_id_type", candidateIdType);
    return this;
  }

  /**
   * Sets the type of the token ids that are written, and of draft tokens.
   *
   * @param tokenIdType {@link IdType#I32} by default
   * @return this
   */
  public ChainSpeculativeArgs tokenIdType(IdType tokenIdType) {
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
  public ChainSpeculativeArgs temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Keeps the first {@code topK} tokens in rank order.
   *
   * @param topK 0, the default, and less, or numCols and more: off
   * @return this
   */
  public ChainSpeculativeArgs topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
   * is at least {@code topP}.
   *
   * @param topP not NaN; 1, the default, and more: off; 0 and less: one token
   * @return this
   */
  public ChainSpeculativeArgs topP(float topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Keeps the tokens at least {@code minP} times as likely as the likeliest one.
   *
   * @param minP not NaN; 0, the default, and less: off; above 1: 1
   * @return this
   */
  public ChainSpeculativeArgs minP(float minP) {
    this.minP = minP;
    return this;
  }

  /**
   * Sets the temperature of each row.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs temperatures(float[] temperatures) {
    this.temperatures = Memory.of(temperatures);
    return this;
  }

  /**
   * As {@link #temperatures(float[])}, from a direct buffer's position to its limit.
   *
   * @param temperatures [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs temperatures(Buffer temperatures) {
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
  public ChainSpeculativeArgs temperaturesAddress(long temperatures) {
    this.temperatures = Memory.ofDevice(temperatures);
    return this;
  }

  /**
   * Sets the topK of each row.
   *
   * @param topKs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs topKs(int[] topKs) {
    this.topKs = Memory.of(topKs);
    return this;
  }

  /**
   * As {@link #topKs(int[])}, from a direct buffer's position to its limit.
   *
   * @param topKs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs topKs(Buffer topKs) {
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
  public ChainSpeculativeArgs topKsAddress(long topKs) {
    this.topKs = Memory.ofDevice(topKs);
    return this;
  }

  /**
   * Sets the topP of each row.
   *
   * @param topPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs topPs(float[] topPs) {
    this.topPs = Memory.of(topPs);
    return this;
  }

  /**
   * As {@link #topPs(float[])}, from a direct buffer's position to its limit.
   *
   * @param topPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs topPs(Buffer topPs) {
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
  public ChainSpeculativeArgs topPsAddress(long topPs) {
    this.topPs = Memory.ofDevice(topPs);
    return this;
  }

  /**
   * Sets the minP of each row.
   *
   * @param minPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs minPs(float[] minPs) {
    this.minPs = Memory.of(minPs);
    return this;
  }

  /**
   * As {@link #minPs(float[])}, from a direct buffer's position to its limit.
   *
   * @param minPs [numRows] one for each output row, instead of the single value
   * @return this
   */
  public ChainSpeculativeArgs minPs(Buffer minPs) {
    this.minPs = Memory.of("min_ps", minPs, false);
    return this;
  }

  /**
   * As {@link #minPs(float[])}, in device memory.
   *
   * @param minPs an address, 0 for none: [numRows] one for each output row, instead of the single
   *     value
   * @return this
   */
  public ChainSpeculativeArgs minPsAddress(long minPs) {
    this.minPs = Memory.ofDevice(minPs);
    return this;
  }

  /**
   * Sets what top-k does with tokens that equal the last kept one.
   *
   * @param topKTies the first constant by default
   * @return this
   */
  public ChainSpeculativeArgs topKTies(TieRule topKTies) {
    this.topKTies = required("top_k_ties", topKTies);
    return this;
  }

  /**
   * Sets what top-p does with tokens that equal the last kept one.
   *
   * @param topPTies the first constant by default
   * @return this
   */
  public ChainSpeculativeArgs topPTies(TieRule topPTies) {
    this.topPTies = required("top_p_ties", topPTies);
    return this;
  }

  /**
   * Sets which filter sees what.
   *
   * @param filterOrder the first constant by default
   * @return this
   */
  public ChainSpeculativeArgs filterOrder(FilterOrder filterOrder) {
    this.filterOrder = required("filter_order", filterOrder);
    return this;
  }

  /**
   * Sets whether the filters see the row at the temperature.
   *
   * @param temperatureOrder the first constant by default
   * @return this
   */
  public ChainSpeculativeArgs temperatureOrder(TemperatureOrder temperatureOrder) {
    this.temperatureOrder = required("temperature_order", temperatureOrder);
    return this;
  }

  /**
   * Sets the seed of the randomness. Use each pair of seed and offset once: a sequence takes a
   * seed, and its position as the offset.
   *
   * @param seed 64 bits, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs seed(long seed) {
    this.seed = seed;
    return this;
  }

  /**
   * Sets the offset of the randomness, another at every step.
   *
   * @param offset 64 bits, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs offset(long offset) {
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
  public ChainSpeculativeArgs seeds(long[] seeds) {
    this.seeds = Memory.of(seeds);
    return this;
  }

  /**
   * As {@link #seeds(long[])}, from a direct buffer's position to its limit.
   *
   * @param seeds [numSeeds] 64 bits each, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs seeds(Buffer seeds) {
    this.seeds = Memory.of("seeds", seeds, false);
    return this;
  }

  /**
   * As {@link #seeds(long[])}, in device memory.
   *
   * @param seeds an address, 0 for none: [numSeeds] 64 bits each, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs seedsAddress(long seeds) {
    this.seeds = Memory.ofDevice(seeds);
    return this;
  }

  /**
   * Sets offsets instead of the single one: one for all rows, or one for each. Set numOffsets too.
   *
   * @param offsets [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs offsets(long[] offsets) {
    this.offsets = Memory.of(offsets);
    return this;
  }

  /**
   * As {@link #offsets(long[])}, from a direct buffer's position to its limit.
   *
   * @param offsets [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs offsets(Buffer offsets) {
    this.offsets = Memory.of("offsets", offsets, false);
    return this;
  }

  /**
   * As {@link #offsets(long[])}, in device memory.
   *
   * @param offsets an address, 0 for none: [numOffsets] 64 bits each, taken as unsigned
   * @return this
   */
  public ChainSpeculativeArgs offsetsAddress(long offsets) {
    this.offsets = Memory.ofDevice(offsets);
    return this;
  }

  /**
   * Sets how many seeds there are.
   *
   * @param numSeeds 1 or numRows; 0, the default, without seeds
   * @return this
   */
  public ChainSpeculativeArgs numSeeds(long numSeeds) {
    this.numSeeds = numSeeds;
    return this;
  }

  /**
   * Sets how many offsets there are.
   *
   * @param numOffsets 1 or numRows; 0, the default, without offsets
   * @return this
   */
  public ChainSpeculativeArgs numOffsets(long numOffsets) {
    this.numOffsets = numOffsets;
    return this;
  }

  /**
   * Sets where the tokens go: the accepted drafts, then one token of the target, then -1.
   * Required.
   *
   * @param outTokenIds [numRows, numDrafts + 1]
   * @return this
   */
  public ChainSpeculativeArgs outTokenIds(int[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}.
   *
   * @param outTokenIds [numRows, numDrafts + 1]
   * @return this
   */
  public ChainSpeculativeArgs outTokenIds(long[] outTokenIds) {
    this.outTokenIds = Memory.of(outTokenIds);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, from a direct buffer's position to its limit.
   *
   * @param outTokenIds [numRows, numDrafts + 1]
   * @return this
   */
  public ChainSpeculativeArgs outTokenIds(Buffer outTokenIds) {
    this.outTokenIds = Memory.of("out_token_ids", outTokenIds, true);
    return this;
  }

  /**
   * As {@link #outTokenIds(int[])}, in device memory.
   *
   * @param outTokenIds an address, 0 for none: [numRows, numDrafts + 1]
   * @return this
   */
  public ChainSpeculativeArgs outTokenIdsAddress(long outTokenIds) {
    this.outTokenIds = Memory.ofDevice(outTokenIds);
    return this;
  }

  /**
   * Sets where it is told how many drafts would be accepted each on its own, wherever they stand.
   *
   * @param outAcceptedCounts [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outAcceptedCounts(int[] outAcceptedCounts) {
    this.outAcceptedCounts = Memory.of(outAcceptedCounts);
    return this;
  }

  /**
   * As {@link #outAcceptedCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param outAcceptedCounts [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outAcceptedCounts(Buffer outAcceptedCounts) {
    this.outAcceptedCounts = Memory.of("out_accepted_counts", outAcceptedCounts, true);
    return this;
  }

  /**
   * As {@link #outAcceptedCounts(int[])}, in device memory.
   *
   * @param outAcceptedCounts an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outAcceptedCountsAddress(long outAcceptedCounts) {
    this.outAcceptedCounts = Memory.ofDevice(outAcceptedCounts);
    return this;
  }

  /**
   * Sets where it is told how many drafts were kept before the first rejection; there is one token
   * more.
   *
   * @param outEmittedCounts [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outEmittedCounts(int[] outEmittedCounts) {
    this.outEmittedCounts = Memory.of(outEmittedCounts);
    return this;
  }

  /**
   * As {@link #outEmittedCounts(int[])}, from a direct buffer's position to its limit.
   *
   * @param outEmittedCounts [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outEmittedCounts(Buffer outEmittedCounts) {
    this.outEmittedCounts = Memory.of("out_emitted_counts", outEmittedCounts, true);
    return this;
  }

  /**
   * As {@link #outEmittedCounts(int[])}, in device memory.
   *
   * @param outEmittedCounts an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outEmittedCountsAddress(long outEmittedCounts) {
    this.outEmittedCounts = Memory.ofDevice(outEmittedCounts);
    return this;
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outRowStatus(int[] outRowStatus) {
    this.outRowStatus = Memory.of(outRowStatus);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, from a direct buffer's position to its limit.
   *
   * @param outRowStatus [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outRowStatus(Buffer outRowStatus) {
    this.outRowStatus = Memory.of("out_row_status", outRowStatus, true);
    return this;
  }

  /**
   * As {@link #outRowStatus(int[])}, in device memory.
   *
   * @param outRowStatus an address, 0 for none: [numRows]; null: not wanted
   * @return this
   */
  public ChainSpeculativeArgs outRowStatusAddress(long outRowStatus) {
    this.outRowStatus = Memory.ofDevice(outRowStatus);
    return this;
  }

  /**
   * Sets whether the two counts are added to what their arrays hold.
   *
   * @param accumulateCounts false, the default, overwrites them
   * @return this
   */
  public ChainSpeculativeArgs accumulateCounts(boolean accumulateCounts) {
    this.accumulateCounts = accumulateCounts;
    return this;
  }

  /**
   * Sets memory for the call, from the buffer's position to its limit, instead of the sampler's.
   * Its contents are undefined before and after a call.
   *
   * @param workspace direct, of {@link Sampler#workspaceSize} bytes or more; null: the sampler's
   * @return this
   */
  public ChainSpeculativeArgs workspace(ByteBuffer workspace) {
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
  public ChainSpeculativeArgs workspaceAddress(long workspace, long bytes) {
    this.workspace = Memory.ofDevice(workspace, bytes);
    return this;
  }

  @Override
  long run(Handle sampler, boolean onlySize) {
    final Memory target = this.target;
    final long numRows = this.numRows;
    final long numDrafts = this.numDrafts;
    final long numCols = this.numCols;
    final long targetRowStride = this.targetRowStride;
    final long targetPositionStride = this.targetPositionStride;
    final Dtype targetDtype = this.targetDtype;
    final Memory draft = this.draft;
    final long draftRowStride = this.draftRowStride;
    final long draftPositionStride = this.draftPositionStride;
    final Dtype draftDtype = this.draftDtype;
    final Memory targetCandidateIds = this.targetCandidateIds;
    final Memory targetCandidateCounts = this.targetCandidateCounts;
    final Memory draftCandidateIds = this.draftCandidateIds;
    final Memory draftCandidateCounts = this.draftCandidateCounts;
    final Memory draftTokenIds = this.draftTokenIds;
    final Memory draftLengths = this.draftLengths;
    final IdType candidateIdType = this.candidateIdType;
    final IdType tokenIdType = this.tokenIdType;
    final Memory temperatures = this.temperatures;
    final Memory topKs = this.topKs;
    final Memory topPs = this.topPs;
    final Memory minPs = this.minPs;
    final Memory seeds = this.seeds;
    final Memory offsets = this.offsets;
    final long numSeeds = this.numSeeds;
    final long numOffsets = this.numOffsets;
    final Memory outTokenIds = this.outTokenIds;
    final Memory outAcceptedCounts = this.outAcceptedCounts;
    final Memory outEmittedCounts = this.outEmittedCounts;
    final Memory outRowStatus = this.outRowStatus;
    final Memory workspace = this.workspace;
    if (!onlySize) {
      final long targetPositions = Lengths.product(numRows, numDrafts + 1);
      final long targetLength =
          Lengths.positions(numRows, numDrafts + 1, numCols, targetRowStride, targetPositionStride);
      final long draftPositions = Lengths.product(numRows, numDrafts);
      final long draftLength =
          Lengths.positions(numRows, numDrafts, numCols, draftRowStride, draftPositionStride);
      target.check("target", targetDtype.elementType, targetLength, sampler.arraysOnDevice);
      draft.check("draft", draftDtype.elementType, draftLength, sampler.arraysOnDevice);
      targetCandidateIds.check("target_candidate_ids", candidateIdType.elementType,
          targetLength, sampler.arraysOnDevice);
      targetCandidateCounts.check("target_candidate_counts", ElementType.INT, targetPositions,
          sampler.arraysOnDevice);
      draftCandidateIds.check("draft_candidate_ids", candidateIdType.elementType, draftLength,
          sampler.arraysOnDevice);
      draftCandidateCounts.check("draft_candidate_counts", ElementType.INT, draftPositions,
          sampler.arraysOnDevice);
      draftTokenIds.check("draft_token_ids", tokenIdType.elementType, draftPositions,
          sampler.arraysOnDevice);
      draftLengths.check("draft_lengths", ElementType.INT, numRows, sampler.arraysOnDevice);
      temperatures.check("temperatures", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      topKs.check("top_ks", ElementType.INT, numRows, sampler.parametersOnDevice);
      topPs.check("top_ps", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      minPs.check("min_ps", ElementType.FLOAT, numRows, sampler.parametersOnDevice);
      seeds.check("seeds", ElementType.LONG, numSeeds, sampler.parametersOnDevice);
      offsets.check("offsets", ElementType.LONG, numOffsets, sampler.parametersOnDevice);
      outTokenIds.check("out_token_ids", tokenIdType.elementType, targetPositions,
          sampler.arraysOnDevice);
      outAcceptedCounts.check("out_accepted_counts", ElementType.INT, numRows,
          sampler.arraysOnDevice);
      outEmittedCounts.check("out_emitted_counts", ElementType.INT, numRows,
          sampler.arraysOnDevice);
      outRowStatus.check("out_row_status", ElementType.INT, numRows, sampler.arraysOnDevice);
      workspace.check("workspace", ElementType.BYTE, 0, sampler.arraysOnDevice);
    }
    final long result =
        Raw.shimChainSpeculative(sampler.address, onlySize ? 1 : 0, stream, target.array,
            target.at, numRows, numDrafts, numCols, targetRowStride, targetPositionStride,
            targetDtype.ordinal(), targetKind.ordinal(), draft.array, draft.at, draftRowStride,
            draftPositionStride, draftDtype.ordinal(), draftKind.ordinal(),
            targetCandidateIds.array, targetCandidateIds.at, targetCandidateCounts.array,
            targetCandidateCounts.at, draftCandidateIds.array, draftCandidateIds.at,
            draftCandidateCounts.array, draftCandidateCounts.at, draftTokenIds.array,
            draftTokenIds.at, draftLengths.array, draftLengths.at, candidateIdType.ordinal(),
            tokenIdType.ordinal(), temperature, topK, topP, minP, temperatures.array,
            temperatures.at, topKs.array, topKs.at, topPs.array, topPs.at, minPs.array,
            minPs.at, topKTies.ordinal(), topPTies.ordinal(), filterOrder.ordinal(),
            temperatureOrder.ordinal(), seed, offset, seeds.array, seeds.at, offsets.array,
            offsets.at, numSeeds, numOffsets, outTokenIds.array, outTokenIds.at,
            outAcceptedCounts.array, outAcceptedCounts.at, outEmittedCounts.array,
            outEmittedCounts.at, outRowStatus.array, outRowStatus.at, accumulateCounts ? 1 : 0,
            workspace.array, workspace.at, workspace.length);
    Reference.reachabilityFence(target);
    Reference.reachabilityFence(draft);
    Reference.reachabilityFence(targetCandidateIds);
    Reference.reachabilityFence(targetCandidateCounts);
    Reference.reachabilityFence(draftCandidateIds);
    Reference.reachabilityFence(draftCandidateCounts);
    Reference.reachabilityFence(draftTokenIds);
    Reference.reachabilityFence(draftLengths);
    Reference.reachabilityFence(temperatures);
    Reference.reachabilityFence(topKs);
    Reference.reachabilityFence(topPs);
    Reference.reachabilityFence(minPs);
    Reference.reachabilityFence(seeds);
    Reference.reachabilityFence(offsets);
    Reference.reachabilityFence(outTokenIds);
    Reference.reachabilityFence(outAcceptedCounts);
    Reference.reachabilityFence(outEmittedCounts);
    Reference.reachabilityFence(outRowStatus);
    Reference.reachabilityFence(workspace);
    return result;
  }
}
