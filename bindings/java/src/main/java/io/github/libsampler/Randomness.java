package io.github.libsampler;

/**
 * What random numbers follow from: a seed, an offset and a stream. Use each triple once: a
 * sequence takes a seed, or a stream of one, and its position as the offset. Arrays are indexed as
 * those of {@link RowParams}. All numbers are taken as unsigned.
 */
public final class Randomness {
  static final Randomness DEFAULT = new Randomness();

  long seed;
  long offset;
  Array seeds;
  Array offsets;
  Array streams;
  int numSeeds;
  int numOffsets;

  /** Creates seed 0 and offset 0. */
  public Randomness() {}

  /**
   * Creates randomness for all rows.
   *
   * @param seed the seed
   * @param offset the offset: another one for each step
   */
  public Randomness(long seed, long offset) {
    this.seed = seed;
    this.offset = offset;
  }

  /**
   * Sets the seed for all.
   *
   * @param seed 0 by default
   * @return this
   */
  public Randomness seed(long seed) {
    this.seed = seed;
    return this;
  }

  /**
   * Sets the offset for all: another one for each step.
   *
   * @param offset 0 by default
   * @return this
   */
  public Randomness offset(long offset) {
    this.offset = offset;
    return this;
  }

  /**
   * Sets seeds: one for all, or one for each slot.
   *
   * @param seeds [numSeeds] I64; null, the default: none
   * @return this
   */
  public Randomness seeds(Array seeds) {
    this.seeds = seeds;
    return this;
  }

  /**
   * Sets offsets: one for all, or one for each slot.
   *
   * @param offsets [numOffsets] I64; null, the default: none
   * @return this
   */
  public Randomness offsets(Array offsets) {
    this.offsets = offsets;
    return this;
  }

  /**
   * Sets the stream of each slot. Without, it is the slot's number where one seed serves all, so
   * that they draw independently, and 0 where each has its own, so that a row's token does not
   * depend on its place.
   *
   * @param streams [number of slots] I32; null, the default: none
   * @return this
   */
  public Randomness streams(Array streams) {
    this.streams = streams;
    return this;
  }

  /**
   * Sets how many seeds there are.
   *
   * @param numSeeds 1 or the number of slots; 0, the default: as many as the array has, which
   *     device memory does not tell
   * @return this
   */
  public Randomness numSeeds(int numSeeds) {
    this.numSeeds = numSeeds;
    return this;
  }

  /**
   * Sets how many offsets there are.
   *
   * @param numOffsets 1 or the number of slots; 0, the default: as many as the array has, which
   *     device memory does not tell
   * @return this
   */
  public Randomness numOffsets(int numOffsets) {
    this.numOffsets = numOffsets;
    return this;
  }
}
