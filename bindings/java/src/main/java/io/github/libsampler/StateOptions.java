package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;

/** What a {@link State} is made with. */
public final class StateOptions {
  int numSlots;
  private long maxTokens;
  private long maxDistinctTokens;
  private boolean keepAdaptiveValues;

  /** Creates options without slots. */
  public StateOptions() {}

  /**
   * Sets how many sequences there is room for.
   *
   * @param numSlots in [1, 2^31)
   * @return this
   */
  public StateOptions numSlots(int numSlots) {
    this.numSlots = numSlots;
    return this;
  }

  /**
   * Sets the length of the longest sequence, its prompt included.
   *
   * @param maxTokens in [1, 2^31)
   * @return this
   */
  public StateOptions maxTokens(long maxTokens) {
    this.maxTokens = maxTokens;
    return this;
  }

  /**
   * Sets for how many distinct tokens of a slot counts are kept, 20 bytes each. From the first
   * token that has no room on, a sequence is counted in each draw, which takes longer.
   *
   * @param maxDistinctTokens in [0, maxTokens]; 0, the default: a quarter of maxTokens, but 64
   *     where
   *     that is more, and at most maxTokens
   * @return this
   */
  public StateOptions maxDistinctTokens(long maxDistinctTokens) {
    this.maxDistinctTokens = maxDistinctTokens;
    return this;
  }

  /**
   * Sets whether the adaptive values after each token are kept, 16 bytes each, so that {@link
   * State#truncate} restores them.
   *
   * @param keepAdaptiveValues false by default
   * @return this
   */
  public StateOptions keepAdaptiveValues(boolean keepAdaptiveValues) {
    this.keepAdaptiveValues = keepAdaptiveValues;
    return this;
  }

  /** Writes the struct into a sampler's memory and returns its address. */
  long write(ByteBuffer memory) {
    final int at = Call.ARGS;
    memory.putLong(at + Layout.STATE_OPTIONS_STRUCT_SIZE, Layout.STATE_OPTIONS_SIZE);
    memory.putLong(at + Layout.STATE_OPTIONS_NUM_SLOTS, numSlots);
    memory.putLong(at + Layout.STATE_OPTIONS_MAX_TOKENS, maxTokens);
    memory.putLong(at + Layout.STATE_OPTIONS_MAX_DISTINCT_TOKENS, maxDistinctTokens);
    memory.putInt(at + Layout.STATE_OPTIONS_KEEP_ADAPTIVE_VALUES, keepAdaptiveValues ? 1 : 0);
    memory.putInt(at + Layout.STATE_OPTIONS_RESERVED, 0);
    return Raw.javaAddress(memory) + at;
  }
}
