package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;

/** Counts of which token followed which context, over any number of texts. */
public final class NgramStorage extends Ngram {
  private NgramStorage(NgramMemory memory) {
    super(memory);
  }

  /**
   * Starts the creation of a storage.
   *
   * @param vocabularySize token ids lie below it; in [1, 2^20)
   * @return options at their defaults: all orders up to 3, any size
   */
  public static Builder builder(int vocabularySize) {
    return new Builder(vocabularySize);
  }

  /** What a storage is made with. */
  public static final class Builder {
    private final int vocabularySize;
    private NgramKind kind = NgramKind.ALL_ORDERS;
    private int order;
    private long memoryLimit;
    private Allocator allocator = Allocator.NONE;

    private Builder(int vocabularySize) {
      this.vocabularySize = vocabularySize;
    }

    /**
     * Sets which n-grams are kept.
     *
     * @param kind all orders by default
     * @return this
     */
    public Builder kind(NgramKind kind) {
      this.kind = Arguments.required("kind", kind);
      return this;
    }

    /**
     * Sets how many tokens the longest n-gram has.
     *
     * @param order in [2, 16]; 0, the default: 3
     * @return this
     */
    public Builder order(int order) {
      this.order = order;
      return this;
    }

    /**
     * Sets how many bytes the storage may take at any time. At the limit known n-grams still count,
     * others are dropped.
     *
     * @param memoryLimit at least 4096; 0, the default: no limit
     * @return this
     */
    public Builder memoryLimit(long memoryLimit) {
      this.memoryLimit = memoryLimit;
      return this;
    }

    /**
     * Sets where memory comes from.
     *
     * @param allocator null, the default: the C library's
     * @return this
     */
    public Builder allocator(Allocator allocator) {
      this.allocator = allocator == null ? Allocator.NONE : allocator;
      return this;
    }

    /**
     * Creates the storage, empty.
     *
     * @return a storage to be closed
     */
    public NgramStorage build() {
      final ByteBuffer options = new Buffers().ofBytes(Layout.NGRAM_STORAGE_OPTIONS_SIZE);
      options.putLong(Layout.NGRAM_STORAGE_OPTIONS_STRUCT_SIZE, Layout.NGRAM_STORAGE_OPTIONS_SIZE);
      options.putInt(Layout.NGRAM_STORAGE_OPTIONS_KIND, kind.ordinal());
      options.putInt(Layout.NGRAM_STORAGE_OPTIONS_ORDER, order);
      options.putLong(Layout.NGRAM_STORAGE_OPTIONS_VOCABULARY_SIZE, vocabularySize);
      options.putLong(Layout.NGRAM_STORAGE_OPTIONS_MEMORY_LIMIT, memoryLimit);
      allocator.write(options, Layout.NGRAM_STORAGE_OPTIONS_ALLOCATOR);
      return new NgramStorage(new NgramMemory(options, false));
    }
  }

  /**
   * Numbers of a storage.
   *
   * @param numContexts contexts that a token followed, of all lengths kept
   * @param numUpdates next tokens learned, dropped or not
   * @param numDropped n-grams that were not counted for want of room
   * @param memoryBytes what the storage takes now
   */
  public record Stats(long numContexts, long numUpdates, long numDropped, long memoryBytes) {}

  /**
   * Gives its numbers.
   *
   * @return a snapshot
   */
  public Stats stats() {
    final ByteBuffer stats = new Buffers().ofBytes(Layout.NGRAM_STORAGE_STATS_SIZE);
    stats.putLong(Layout.NGRAM_STORAGE_STATS_STRUCT_SIZE, Layout.NGRAM_STORAGE_STATS_SIZE);
    call((ngram, buffers) -> Raw.shimNgramGetStats(ngram, Raw.javaAddress(stats)));
    return new Stats(stats.getLong(Layout.NGRAM_STORAGE_STATS_NUM_CONTEXTS),
        stats.getLong(Layout.NGRAM_STORAGE_STATS_NUM_UPDATES),
        stats.getLong(Layout.NGRAM_STORAGE_STATS_NUM_DROPPED),
        stats.getLong(Layout.NGRAM_STORAGE_STATS_MEMORY_BYTES));
  }

  /**
   * Gives the contents.
   *
   * @return bytes in a format that is the same on every machine
   */
  public byte[] serialize() {
    final byte[][] result = new byte[1][];
    call((ngram, buffers) -> {
      final long bytes = Raw.shimNgramSerialize(ngram, 0, 0);
      if (bytes < 0) {
        return bytes;
      }
      final ByteBuffer buffer = buffers.ofBytes(bytes);
      result[0] = new byte[(int) bytes];
      final long written = Raw.shimNgramSerialize(ngram, Raw.javaAddress(buffer), bytes);
      buffer.get(result[0]);
      return written;
    });
    return result[0];
  }

  /**
   * Replaces the contents by serialised ones. Every byte is checked; on failure the contents are as
   * before.
   *
   * @param data what {@link #serialize} gave
   * @throws InvalidArgumentException the data are of a storage of another kind, order or vocabulary
   * @throws SamplerException {@link Status#CORRUPT_DATA}
   */
  public void deserialize(byte[] data) {
    call((ngram, buffers) -> {
      final ByteBuffer buffer = buffers.ofBytes(data.length);
      buffer.put(data);
      return Raw.shimNgramDeserialize(ngram, Raw.javaAddress(buffer), data.length);
    });
  }
}
