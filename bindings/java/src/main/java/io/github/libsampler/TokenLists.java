package io.github.libsampler;

/**
 * Lists of token ids, one after the other in one array: list i has the ids from offsets[i] to
 * offsets[i + 1] - 1.
 *
 * <p>Where lists are by slot there are as many as slots, or one for all. Rows whose offsets fall,
 * or lie outside of the ids, are bad (INVALID_LIST).
 */
public final class TokenLists {
  static final TokenLists NONE = new TokenLists();

  Array offsets;
  Array tokenIds;
  int numLists;
  long numTokenIds;

  /** Creates no lists. */
  public TokenLists() {}

  /**
   * Creates lists.
   *
   * @param offsets ascending, one more than there are lists
   * @param tokenIds of all lists
   */
  public TokenLists(long[] offsets, int[] tokenIds) {
    this(Array.i64(offsets), Array.i32(tokenIds));
  }

  /**
   * Creates lists.
   *
   * @param offsets [numLists + 1] I64, ascending
   * @param tokenIds [numTokenIds] I32 or I64
   */
  public TokenLists(Array offsets, Array tokenIds) {
    this.offsets = offsets;
    this.tokenIds = tokenIds;
  }

  /**
   * Sets where in the ids each list begins, and the last one ends.
   *
   * @param offsets [numLists + 1] I64, ascending; null, the default: there are no lists
   * @return this
   */
  public TokenLists offsets(Array offsets) {
    this.offsets = offsets;
    return this;
  }

  /**
   * Sets the ids of all lists.
   *
   * @param tokenIds [numTokenIds] I32 or I64, the same in all lists of a pipeline; null, the
   *     default, where there are none
   * @return this
   */
  public TokenLists tokenIds(Array tokenIds) {
    this.tokenIds = tokenIds;
    return this;
  }

  /**
   * Sets how many lists there are.
   *
   * @param numLists 0, the default: as many as the offsets say, of which device memory does not
   *     tell the number
   * @return this
   */
  public TokenLists numLists(int numLists) {
    this.numLists = numLists;
    return this;
  }

  /**
   * Sets how many ids there are.
   *
   * @param numTokenIds 0, the default: as many as the array has, which device memory does not tell
   * @return this
   */
  public TokenLists numTokenIds(long numTokenIds) {
    this.numTokenIds = numTokenIds;
    return this;
  }
}
