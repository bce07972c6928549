package io.github.libsampler;

import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Lists of token ids, one after the other in one array: list i has the ids from offsets[i] to
 * offsets[i + 1] - 1. {@link #of} and {@link #direct} put them there.
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
   * Creates lists in direct buffers.
   *
   * @param offsets ascending, one more than there are lists
   * @param tokenIds of all lists
   * @throws InvalidArgumentException when a buffer is not direct, or of another byte order than the
   *     machine's
   */
  public TokenLists(LongBuffer offsets, IntBuffer tokenIds) {
    this(Array.of(offsets, ElementType.I64), Array.of(tokenIds, ElementType.I32));
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
   * Copies lists into Java arrays.
   *
   * @param lists the ids of each
   * @return as many lists; no arrays where there are none
   */
  public static TokenLists of(int[]... lists) {
    if (lists.length == 0) {
      return new TokenLists();
    }
    final long[] offsets = offsetsOf(lists);
    final int[] tokenIds = new int[Math.toIntExact(offsets[lists.length])];
    for (int i = 0; i < lists.length; ++i) {
      System.arraycopy(lists[i], 0, tokenIds, (int) offsets[i], lists[i].length);
    }
    return new TokenLists(offsets, tokenIds);
  }

  /**
   * Copies lists into direct buffers, as a session's pipeline needs them.
   *
   * @param lists the ids of each
   * @return as many lists; no arrays where there are none
   */
  public static TokenLists direct(int[]... lists) {
    if (lists.length == 0) {
      return new TokenLists();
    }
    final long[] offsets = offsetsOf(lists);
    final Buffers buffers = new Buffers();
    final LongBuffer directOffsets = buffers.ofBytes(8L * offsets.length).asLongBuffer();
    final IntBuffer tokenIds = buffers.ofBytes(4 * offsets[lists.length]).asIntBuffer();
    for (int[] list : lists) {
      tokenIds.put(list);
    }
    return new TokenLists(directOffsets.put(offsets).flip(), tokenIds.flip());
  }

  private static long[] offsetsOf(int[]... lists) {
    final long[] offsets = new long[lists.length + 1];
    for (int i = 0; i < lists.length; ++i) {
      offsets[i + 1] = offsets[i] + lists[i].length;
    }
    return offsets;
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
