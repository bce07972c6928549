package io.github.libsampler;

/** Where the drafts and rows of {@link Sampler#verify} lie. */
public final class DraftLayout {
  /** That of arguments without one. */
  static final DraftLayout DENSE = new DraftLayout();

  long targetSequenceStride;
  long draftSequenceStride;
  long draftTokenStride;
  Packing packing = Packing.DENSE;
  boolean draftRowsBySlot;
  Array packingOffsets;
  int numSequences;
  int numPackedDrafts;
  int numPackedPositions;
  Array targetRowIndices;
  Array bonusRowIndices;
  Array draftRowIndices;
  Array parents;
  Array firstChildren;
  Array nextSiblings;
  int treeRows;

  /** Creates a layout of dense chains, one sequence after the other. */
  public DraftLayout() {}

  /**
   * Sets the distance in elements from one sequence's first row of the target to the next one's.
   *
   * @param targetSequenceStride 0, the default: contiguous
   * @return this
   */
  public DraftLayout targetSequenceStride(long targetSequenceStride) {
    this.targetSequenceStride = targetSequenceStride;
    return this;
  }

  /**
   * Sets the distance in elements from one sequence's first row of the draft to the next one's.
   *
   * @param draftSequenceStride 0, the default: contiguous
   * @return this
   */
  public DraftLayout draftSequenceStride(long draftSequenceStride) {
    this.draftSequenceStride = draftSequenceStride;
    return this;
  }

  /**
   * Sets the distance in elements from one sequence's first draft token to the next one's. Not of
   * packed batches.
   *
   * @param draftTokenStride at least numDrafts; 0, the default: numDrafts
   * @return this
   */
  public DraftLayout draftTokenStride(long draftTokenStride) {
    this.draftTokenStride = draftTokenStride;
    return this;
  }

  /**
   * Sets how the drafts of several sequences lie in memory.
   *
   * @param packing DENSE by default
   * @return this
   */
  public DraftLayout packing(Packing packing) {
    this.packing = Arguments.required("packing", packing);
    return this;
  }

  /**
   * Sets whether the row of the draft that belongs to draft i is slot * numDrafts + i.
   *
   * @param draftRowsBySlot false by default
   * @return this
   */
  public DraftLayout draftRowsBySlot(boolean draftRowsBySlot) {
    this.draftRowsBySlot = draftRowsBySlot;
    return this;
  }

  /**
   * Sets where the drafts, or positions, of each sequence are. One whose offsets fall, lie outside,
   * or are further apart than numDrafts is bad (INVALID_LIST).
   *
   * @param packingOffsets I32, as many as {@link Packing} tells; null, the default: none. Required
   *     where batches are packed, which must have no draftCounts
   * @return this
   */
  public DraftLayout packingOffsets(Array packingOffsets) {
    this.packingOffsets = packingOffsets;
    return this;
  }

  /**
   * Sets how many sequences there are.
   *
   * @param numSequences 0, the default: what the target's numRows tells. Required with packing, and
   *     with targetRowIndices or bonusRowIndices
   * @return this
   */
  public DraftLayout numSequences(int numSequences) {
    this.numSequences = numSequences;
    return this;
  }

  /**
   * Sets how many drafts all sequences of a packed batch have: elements of draftTokenIds, unless
   * packing is POSITIONS.
   *
   * @param numPackedDrafts 0, the default: as many as the array has, which device memory does not
   *     tell
   * @return this
   */
  public DraftLayout numPackedDrafts(int numPackedDrafts) {
    this.numPackedDrafts = numPackedDrafts;
    return this;
  }

  /**
   * Sets how many positions all sequences of a packed batch have: elements of draftTokenIds where
   * packing is POSITIONS.
   *
   * @param numPackedPositions 0, the default: as many as the array has, which device memory does
   *     not tell
   * @return this
   */
  public DraftLayout numPackedPositions(int numPackedPositions) {
    this.numPackedPositions = numPackedPositions;
    return this;
  }

  /**
   * Sets the row of the target that each position reads; the target has any number of rows then.
   * With bonusRowIndices they are laid out like draftTokenIds. One outside makes its sequence bad
   * (INVALID_INDEX) when it is read.
   *
   * @param targetRowIndices [sequences, numDrafts + 1], packed: [positions] I32; null, the
   *     default: position after position
   * @return this
   */
  public DraftLayout targetRowIndices(Array targetRowIndices) {
    this.targetRowIndices = targetRowIndices;
    return this;
  }

  /**
   * Sets the row of the target that each sequence's last position reads.
   *
   * @param bonusRowIndices [sequences] I32; null, the default: targetRowIndices has them
   * @return this
   */
  public DraftLayout bonusRowIndices(Array bonusRowIndices) {
    this.bonusRowIndices = bonusRowIndices;
    return this;
  }

  /**
   * Sets the row of the draft that each draft was drawn from; the draft has any number of rows
   * then.
   *
   * @param draftRowIndices [sequences, numDrafts], packed: like draftTokenIds, I32; null, the
   *     default: draft after draft
   * @return this
   */
  public DraftLayout draftRowIndices(Array draftRowIndices) {
    this.draftRowIndices = draftRowIndices;
    return this;
  }

  /**
   * Sets trees: the draft that each hangs on, a lower number, -1 the root. Siblings are tried in
   * their order. What is no tree makes its sequence bad (INVALID_TREE).
   *
   * @param parents [treeRows, numDrafts] I32; null, the default, as are firstChildren: chains
   * @return this
   */
  public DraftLayout parents(Array parents) {
    this.parents = parents;
    return this;
  }

  /**
   * Sets trees by the position of each position's first child, in place of parents.
   *
   * @param firstChildren [treeRows, numDrafts + 1] I32, -1 or 0 for none; null, the default: chains
   * @return this
   */
  public DraftLayout firstChildren(Array firstChildren) {
    this.firstChildren = firstChildren;
    return this;
  }

  /**
   * Sets the position of each position's next sibling, with firstChildren.
   *
   * @param nextSiblings [treeRows, numDrafts + 1] I32, -1 or 0 for none; null, the default: chains
   * @return this
   */
  public DraftLayout nextSiblings(Array nextSiblings) {
    this.nextSiblings = nextSiblings;
    return this;
  }

  /**
   * Sets how many trees there are.
   *
   * @param treeRows 1: one for all; 0, the default: one for each sequence
   * @return this
   */
  public DraftLayout treeRows(int treeRows) {
    this.treeRows = treeRows;
    return this;
  }
}
