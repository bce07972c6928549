package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import java.nio.ByteBuffer;

/**
 * Hugging Face's schemes: green lists (Kirchenbauer et al. 2023) and tournaments (SynthID-Text,
 * Dathathri et al. 2024). A text that is marked by transformers, on the CPU, is found here, and the
 * other way round.
 *
 * <p>An object serves any number of calls of {@link Watermark}, but not of two threads at a time.
 */
public final class WatermarkParams {
  private static final int MAX_TABLE = 1 << 24;

  WatermarkScheme scheme = WatermarkScheme.LEFTHASH;
  int contextLength;
  int vocabularySize;
  private long key;
  private double greenShare;
  private float bias;
  private boolean keepsRepeated;
  private ByteBuffer keys = direct(0);
  private ByteBuffer table = direct(0);
  private int tableSize;
  private long tableSeed;

  /** Creates parameters of LEFTHASH; all others are 0 or none. */
  public WatermarkParams() {}

  /** Those of a call, whatever other threads do to {@code given}. */
  WatermarkParams(WatermarkParams given) {
    scheme = given.scheme;
    contextLength = given.contextLength;
    vocabularySize = given.vocabularySize;
    key = given.key;
    greenShare = given.greenShare;
    bias = given.bias;
    keepsRepeated = given.keepsRepeated;
    keys = given.keys;
    table = given.table;
    tableSize = given.tableSize;
    tableSeed = given.tableSeed;
  }

  /**
   * Sets what marks a text.
   *
   * @param scheme LEFTHASH by default
   * @return this
   */
  public WatermarkParams scheme(WatermarkScheme scheme) {
    this.scheme = Arguments.required("scheme", scheme);
    return this;
  }

  /**
   * Sets how many tokens a token's hash depends on besides it.
   *
   * @param contextLength in [1, 64]: transformers' context_width, of SELFHASH less 1, so that it
   *     may be 0; of TOURNAMENT ngram_len - 1
   * @return this
   */
  public WatermarkParams contextLength(int contextLength) {
    this.contextLength = contextLength;
    return this;
  }

  /**
   * Sets what token ids lie below.
   *
   * @param vocabularySize in [2, 2^20)
   * @return this
   */
  public WatermarkParams vocabularySize(int vocabularySize) {
    this.vocabularySize = vocabularySize;
    return this;
  }

  /**
   * Sets transformers' hashing_key, of green lists.
   *
   * @param key 15485863 there; of TOURNAMENT 0, the default
   * @return this
   */
  public WatermarkParams key(long key) {
    this.key = key;
    return this;
  }

  /**
   * Sets the share of green tokens, transformers' greenlist_ratio.
   *
   * @param greenShare in (0, 1), 0.25 there; of TOURNAMENT 0, the default
   * @return this
   */
  public WatermarkParams greenShare(double greenShare) {
    this.greenShare = greenShare;
    return this;
  }

  /**
   * Sets what green tokens get.
   *
   * @param bias finite, 2 in transformers; of TOURNAMENT 0, the default
   * @return this
   */
  public WatermarkParams bias(float bias) {
    this.bias = bias;
    return this;
  }

  /**
   * Lets {@link Watermark#score} count tokens whose context, of green lists with the token, came
   * before.
   *
   * @param keepsRepeated false, the default: only the first of them
   * @return this
   */
  public WatermarkParams keepsRepeated(boolean keepsRepeated) {
    this.keepsRepeated = keepsRepeated;
    return this;
  }

  /**
   * Sets a key for each layer of TOURNAMENT. They are copied.
   *
   * @param keys 1 to 64; of green lists none, the default
   * @return this
   */
  public WatermarkParams keys(long... keys) {
    final ByteBuffer copy = direct((long) Long.BYTES * keys.length);
    copy.asLongBuffer().put(keys);
    this.keys = copy;
    return this;
  }

  /**
   * Sets the table of SELFHASH or TOURNAMENT. It is copied.
   *
   * @param table [tableSize] what {@link Watermark#table} gave; of LEFTHASH none; null, the
   *     default: none
   * @return this
   */
  public WatermarkParams table(int[] table) {
    final int[] values = table == null ? new int[0] : table;
    final ByteBuffer copy = direct((long) Integer.BYTES * values.length);
    copy.asIntBuffer().put(values);
    this.table = copy;
    return this;
  }

  /**
   * Sets how many elements the table has.
   *
   * @param tableSize in [1, 2^24]; 0, the default: 1000003 of SELFHASH, 65536 of TOURNAMENT, as
   *     in transformers
   * @return this
   */
  public WatermarkParams tableSize(int tableSize) {
    this.tableSize = tableSize;
    return this;
  }

  /**
   * Sets the seed of the table of TOURNAMENT, transformers' sampling_table_seed.
   *
   * @param tableSeed 0, the default, of green lists
   * @return this
   */
  public WatermarkParams tableSeed(long tableSeed) {
    this.tableSeed = tableSeed;
    return this;
  }

  private static ByteBuffer direct(long bytes) {
    return new Buffers().ofBytes(bytes).limit((int) bytes);
  }

  /** How many elements the table is to have. */
  private int tableLength() {
    switch (scheme) {
      case SELFHASH:
        return tableSize == 0 ? 1000003 : tableSize;
      case TOURNAMENT:
        return tableSize == 0 ? 65536 : tableSize;
      default:
        return 0;
    }
  }

  /** Room for the table; the library refuses one that is larger, and writes nothing then. */
  int[] newTable() {
    return new int[Math.min(Math.max(tableLength(), 0), MAX_TABLE)];
  }

  /** Writes the struct to the start of {@code memory}, whose bytes are 0. */
  void write(ByteBuffer memory, Buffers buffers, boolean readsTable) {
    if (readsTable) {
      checkLength("params->table", table.limit() / Integer.BYTES, tableLength(), MAX_TABLE);
    }
    memory.putLong(Layout.WATERMARK_PARAMS_STRUCT_SIZE, Layout.WATERMARK_PARAMS_SIZE);
    memory.putInt(Layout.WATERMARK_PARAMS_SCHEME, scheme.ordinal());
    memory.putInt(Layout.WATERMARK_PARAMS_CONTEXT_LENGTH, contextLength);
    memory.putLong(Layout.WATERMARK_PARAMS_VOCABULARY_SIZE, vocabularySize);
    memory.putLong(Layout.WATERMARK_PARAMS_KEY, key);
    memory.putDouble(Layout.WATERMARK_PARAMS_GREEN_SHARE, greenShare);
    memory.putFloat(Layout.WATERMARK_PARAMS_BIAS, bias);
    memory.putInt(Layout.WATERMARK_PARAMS_KEEPS_REPEATED, keepsRepeated ? 1 : 0);
    memory.putLong(Layout.WATERMARK_PARAMS_KEYS, buffers.of(keys));
    memory.putLong(Layout.WATERMARK_PARAMS_NUM_KEYS, keys.limit() / Long.BYTES);
    memory.putLong(Layout.WATERMARK_PARAMS_TABLE, buffers.of(table));
    memory.putLong(Layout.WATERMARK_PARAMS_TABLE_SIZE, tableSize);
    memory.putLong(Layout.WATERMARK_PARAMS_TABLE_SEED, tableSeed);
  }

  /**
   * Whether a list is as long as it must be. The library refuses lengths outside [0, most], and
   * reads nothing then.
   */
  static void checkLength(String name, int length, int needed, int most) {
    if (length != needed && needed >= 0 && needed <= most) {
      throw new InvalidArgumentException(
          name + " has " + length + " elements; it must have " + needed);
    }
  }
}
