package io.github.libsampler;

/** How the drafts of several sequences lie in memory. */
public enum Packing {
  /** numDrafts, or numDrafts + 1, entries for each sequence. */
  DENSE,
  /**
   * One after the other. packingOffsets is [sequences + 1]: the drafts of sequence s are those from
   * packingOffsets[s] to packingOffsets[s + 1] - 1, its positions begin s later.
   */
  DRAFTS,
  /** The same without the leading 0 (vLLM, V1). */
  DRAFT_ENDS,
  /**
   * The positions of sequence s are those from packingOffsets[s] to packingOffsets[s + 1] - 1, one
   * more than its drafts. What is laid out by draft has an entry for each position: entry i + 1 is
   * of draft i, entry 0 is not read (vLLM, V2). Its rows of the draft begin s earlier.
   */
  POSITIONS
}
