package io.github.libsampler;

import io.github.libsampler.internal.Layout;

/**
 * What a call reports of the tokens beside their ids. Rows are those of its outTokenIds: output
 * rows of {@link SampleArgs}, [sequences, numDrafts + 1] of {@link VerifyArgs}. What a call does
 * not report must be left out: {@link Sampler#verify} has no outValues, outChosenLogprobs,
 * outKeptOffsets and outRemovedBy.
 */
public final class ReportArgs {
  private LogprobKind logprobKind = LogprobKind.RAW;
  private Array outLogprobs;
  private Array outValues;
  private Array outKeptCounts;
  private Array outObservations;
  private int numTopLogprobs;
  private Array outTopTokenIds;
  private Array outTopLogprobs;
  private int numChosen;
  private Array chosenTokenIds;
  private Array outChosenLogprobs;
  private Array outRanks;
  private Array outEntropies;
  private Array outKeptBitmask;
  private long keptBitmaskStride;
  private long keptCapacity;
  private Array outKeptTokenIds;
  private Array outKeptProbabilities;
  private Array outKeptOffsets;
  private Array outRemovedBy;

  /** Creates arguments that report nothing. */
  public ReportArgs() {}

  /**
   * Sets of which distribution outLogprobs and the reports below are: with {@code PROCESSED} tokens
   * that were not kept have no part, and greedy rows are a single token.
   *
   * @param logprobKind RAW by default
   * @return this
   */
  public ReportArgs logprobKind(LogprobKind logprobKind) {
    this.logprobKind = Arguments.required("logprob_kind", logprobKind);
    return this;
  }

  /**
   * Sets where the natural logarithm of the token's probability goes; NaN for a bad row.
   *
   * @param outLogprobs [rows] F32; null, the default: none
   * @return this
   */
  public ReportArgs outLogprobs(Array outLogprobs) {
    this.outLogprobs = outLogprobs;
    return this;
  }

  /**
   * Sets where the token's value in the input goes; NaN for a bad row.
   *
   * @param outValues [rows] F32; null, the default: none
   * @return this
   */
  public ReportArgs outValues(Array outValues) {
    this.outValues = outValues;
    return this;
  }

  /**
   * Sets where the number of tokens that the filters kept goes; 1 for a greedy row, 0 for a bad
   * one.
   *
   * @param outKeptCounts [rows] I32; null, the default: none
   * @return this
   */
  public ReportArgs outKeptCounts(Array outKeptCounts) {
    this.outKeptCounts = outKeptCounts;
    return this;
  }

  /**
   * Sets where what moves the adaptive stage on goes: the token's surprise in bits among those that
   * mirostat kept, or its probability before adaptive-p changed it. NaN where nothing does.
   *
   * @param outObservations [rows] F32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outObservations(Array outObservations) {
    this.outObservations = outObservations;
    return this;
  }

  /**
   * Sets how many first tokens of each row are reported, and what goes with them.
   *
   * @param numTopLogprobs in [0, numCols]; 0, the default: none
   * @return this
   */
  public ReportArgs numTopLogprobs(int numTopLogprobs) {
    this.numTopLogprobs = numTopLogprobs;
    return this;
  }

  /**
   * Sets where the first tokens by value, then id, go; then, and in bad rows, -1.
   *
   * @param outTopTokenIds [rows, numTopLogprobs] of the type of the call's outTokenIds; null, the
   *     default: nowhere
   * @return this
   */
  public ReportArgs outTopTokenIds(Array outTopTokenIds) {
    this.outTopTokenIds = outTopTokenIds;
    return this;
  }

  /**
   * Sets where their log-probabilities go; then, and in bad rows, NaN.
   *
   * @param outTopLogprobs [rows, numTopLogprobs] F32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outTopLogprobs(Array outTopLogprobs) {
    this.outTopLogprobs = outTopLogprobs;
    return this;
  }

  /**
   * Sets of how many tokens that the caller names log-probabilities are reported.
   *
   * @param numChosen in [0, numCols]; 0, the default: none
   * @return this
   */
  public ReportArgs numChosen(int numChosen) {
    this.numChosen = numChosen;
    return this;
  }

  /**
   * Sets the tokens whose log-probabilities are reported.
   *
   * @param chosenTokenIds [rows, numChosen] of the type of the call's outTokenIds; null, the
   *     default: none
   * @return this
   */
  public ReportArgs chosenTokenIds(Array chosenTokenIds) {
    this.chosenTokenIds = chosenTokenIds;
    return this;
  }

  /**
   * Sets where their log-probabilities go: -inf of those that have no probability; NaN of ids that
   * are no element of the row, and in bad rows.
   *
   * @param outChosenLogprobs [rows, numChosen] F32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outChosenLogprobs(Array outChosenLogprobs) {
    this.outChosenLogprobs = outChosenLogprobs;
    return this;
  }

  /**
   * Sets where the place of the token by value, then id, goes: the first is 1; 0 for a bad
   * row, and for a forced token without probability.
   *
   * @param outRanks [rows] I32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outRanks(Array outRanks) {
    this.outRanks = outRanks;
    return this;
  }

  /**
   * Sets where the entropy in nats goes; NaN for a bad row.
   *
   * @param outEntropies [rows] F32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outEntropies(Array outEntropies) {
    this.outEntropies = outEntropies;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, laid out like {@link Pipeline#tokenBitmasks}; all 0 in
   * a bad row.
   *
   * @param outKeptBitmask [rows, keptBitmaskStride] I32, taken as bits; null, the default:
   *     nowhere
   * @return this
   */
  public ReportArgs outKeptBitmask(Array outKeptBitmask) {
    this.outKeptBitmask = outKeptBitmask;
    return this;
  }

  /**
   * Sets the length of a row of outKeptBitmask in words. Later ids have no bit.
   *
   * @param keptBitmaskStride 0, the default: numCols / 32, rounded up; with candidate ids it must
   *     be given
   * @return this
   */
  public ReportArgs keptBitmaskStride(long keptBitmaskStride) {
    this.keptBitmaskStride = keptBitmaskStride;
    return this;
  }

  /**
   * Sets for how many kept tokens of a row the lists have room. A row that keeps more has an empty
   * list, and its number in outKeptCounts.
   *
   * @param keptCapacity in [0, numCols]; 0, the default: there are no lists
   * @return this
   */
  public ReportArgs keptCapacity(long keptCapacity) {
    this.keptCapacity = keptCapacity;
    return this;
  }

  /**
   * Sets where the tokens that were kept go, by ascending id; then, and in bad rows, -1.
   *
   * @param outKeptTokenIds [rows, keptCapacity] of the type of the call's outTokenIds; null, the
   *     default: nowhere
   * @return this
   */
  public ReportArgs outKeptTokenIds(Array outKeptTokenIds) {
    this.outKeptTokenIds = outKeptTokenIds;
    return this;
  }

  /**
   * Sets where their probabilities go, which sum to 1 up to rounding; then, and in bad rows, 0.
   *
   * @param outKeptProbabilities [rows, keptCapacity] F32; null, the default: nowhere
   * @return this
   */
  public ReportArgs outKeptProbabilities(Array outKeptProbabilities) {
    this.outKeptProbabilities = outKeptProbabilities;
    return this;
  }

  /**
   * Packs the lists of kept tokens: that of row i is the entries from offset i up to offset
   * i + 1 of outKeptTokenIds and outKeptProbabilities, without gaps. keptCapacity is then the
   * entries of each, for all rows together. Lists that have no room together are all left out:
   * neither is written, and the last offset, which is above keptCapacity then, is the number
   * needed. The workspace holds up to keptCapacity entries more.
   *
   * @param outKeptOffsets [rows + 1] I64; null, the default: lists of keptCapacity entries a
   *     row
   * @return this
   */
  public ReportArgs outKeptOffsets(Array outKeptOffsets) {
    this.outKeptOffsets = outKeptOffsets;
    return this;
  }

  /**
   * Sets where, for each element, the number of the stage that removed the token goes, {@code
   * ordinal() + 1} of {@link Stage}: 0 where it is kept, 255 where the input gives it no
   * probability; 255 everywhere in a bad row. In a greedy row the temperature removes what the
   * edits left. Sorts the row.
   *
   * @param outRemovedBy [rows, numCols] I8, taken as unsigned; null, the default: nowhere
   * @return this
   */
  public ReportArgs outRemovedBy(Array outRemovedBy) {
    this.outRemovedBy = outRemovedBy;
    return this;
  }

  /** Writes the struct to {@code to}, whose bytes are 0. */
  void write(Call call, int to, long numRows, long numCols) {
    final String of = "reports->";
    call.put(to + Layout.REPORT_ARGS_STRUCT_SIZE, (long) Layout.REPORT_ARGS_SIZE);
    call.put(to + Layout.REPORT_ARGS_LOGPROB_KIND, logprobKind.ordinal());
    call.out(to + Layout.REPORT_ARGS_OUT_LOGPROBS, of, "out_logprobs", outLogprobs, Call.F32,
        numRows);
    call.out(to + Layout.REPORT_ARGS_OUT_VALUES, of, "out_values", outValues, Call.F32, numRows);
    call.out(to + Layout.REPORT_ARGS_OUT_KEPT_COUNTS, of, "out_kept_counts", outKeptCounts,
        Call.I32, numRows);
    call.out(to + Layout.REPORT_ARGS_OUT_OBSERVATIONS, of, "out_observations", outObservations,
        Call.F32, numRows);
    final long numTop = call.putLong(to + Layout.REPORT_ARGS_NUM_TOP_LOGPROBS, numTopLogprobs);
    final long top = Lengths.product(numRows, numTop);
    call.outIds(to + Layout.REPORT_ARGS_OUT_TOP_TOKEN_IDS, of, "out_top_token_ids",
        outTopTokenIds, top);
    call.out(to + Layout.REPORT_ARGS_OUT_TOP_LOGPROBS, of, "out_top_logprobs", outTopLogprobs,
        Call.F32, top);
    final long chosen =
        Lengths.product(numRows, call.putLong(to + Layout.REPORT_ARGS_NUM_CHOSEN, numChosen));
    call.inIds(to + Layout.REPORT_ARGS_CHOSEN_TOKEN_IDS, of, "chosen_token_ids", chosenTokenIds,
        chosen);
    call.out(to + Layout.REPORT_ARGS_OUT_CHOSEN_LOGPROBS, of, "out_chosen_logprobs",
        outChosenLogprobs, Call.F32, chosen);
    call.out(to + Layout.REPORT_ARGS_OUT_RANKS, of, "out_ranks", outRanks, Call.I32, numRows);
    call.out(to + Layout.REPORT_ARGS_OUT_ENTROPIES, of, "out_entropies", outEntropies, Call.F32,
        numRows);
    final long stride =
        call.putLong(to + Layout.REPORT_ARGS_KEPT_BITMASK_STRIDE, keptBitmaskStride);
    call.out(to + Layout.REPORT_ARGS_OUT_KEPT_BITMASK, of, "out_kept_bitmask", outKeptBitmask,
        Call.I32, Lengths.product(numRows, stride == 0 ? (numCols + 31) / 32 : stride));
    final long capacity = call.putLong(to + Layout.REPORT_ARGS_KEPT_CAPACITY, keptCapacity);
    final Array offsets = outKeptOffsets;
    final long kept = offsets != null ? Math.max(capacity, 0) : Lengths.product(numRows, capacity);
    call.out(to + Layout.REPORT_ARGS_OUT_KEPT_OFFSETS, of, "out_kept_offsets", offsets, Call.I64,
        numRows + 1);
    call.outIds(to + Layout.REPORT_ARGS_OUT_KEPT_TOKEN_IDS, of, "out_kept_token_ids",
        outKeptTokenIds, kept);
    call.out(to + Layout.REPORT_ARGS_OUT_KEPT_PROBABILITIES, of, "out_kept_probabilities",
        outKeptProbabilities, Call.F32, kept);
    call.out(to + Layout.REPORT_ARGS_OUT_REMOVED_BY, of, "out_removed_by", outRemovedBy, Call.I8,
        Lengths.product(numRows, numCols));
  }
}
