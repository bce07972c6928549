package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The structs of one call as C reads them, in memory outside the Java heap, and the first array
 * that breaks a rule of Java's side: one that is too short, of another type or in the wrong memory.
 * All other rules are the library's.
 *
 * <p>Lengths follow from the numbers that were written here, and each array is read once, so that a
 * call is consistent whatever other threads do to its arguments.
 */
final class Call {
  /** Types that a member may have: bits of {@link ElementType}. */
  static final int F32 = 1 << ElementType.F32.ordinal();
  static final int VALUES =
      F32 | 1 << ElementType.F16.ordinal() | 1 << ElementType.BF16.ordinal();
  static final int I32 = 1 << ElementType.I32.ordinal();
  static final int I64 = 1 << ElementType.I64.ordinal();
  static final int IDS = I32 | I64;
  private static final int BYTES = 0;

  /** Places of the pinned arrays, then the structs. JAVA_MAX_ARRAYS of java.i. */
  private static final int MAX_ARRAYS = 24;
  private static final int PARAMS = MAX_ARRAYS * Long.BYTES;
  private static final int ROW_PARAMS = PARAMS + Layout.PARAMS_SIZE;
  static final int ARGS = ROW_PARAMS + Layout.ROW_PARAMS_SIZE;
  static final int SIZE = ARGS + Math.max(Layout.VERIFY_ARGS_SIZE,
      Math.max(Layout.SAMPLE_ARGS_SIZE, Math.max(Layout.FILTER_ARGS_SIZE,
          Math.max(Layout.SELECT_ARGS_SIZE, Layout.RESIDUAL_ARGS_SIZE))));

  private final ByteBuffer memory;
  private final long address;
  private final boolean arraysOnDevice;
  private final boolean parametersOnDevice;

  /** Java arrays, whose addresses C writes, and buffers, which must stay reachable. */
  private final Object[] pinned = new Object[MAX_ARRAYS];
  private final Object[] held = new Object[MAX_ARRAYS];
  private int numPinned;
  private int numHeld;

  private boolean onlySize;
  private InvalidArgumentException error;

  /** In {@code memory} of SIZE bytes. */
  Call(ByteBuffer memory, boolean arraysOnDevice, boolean parametersOnDevice) {
    this.memory = memory.order(ByteOrder.nativeOrder());
    this.address = Raw.javaAddress(memory);
    this.arraysOnDevice = arraysOnDevice;
    this.parametersOnDevice = parametersOnDevice;
  }

  /**
   * Makes the call, or asks for the bytes of workspace, which needs no checks since no array is
   * touched. Where an array breaks a rule the library is asked too: its word on the numbers that
   * lengths follow from goes before.
   *
   * @return 0, or the bytes; minus the status on failure
   */
  long run(long handle, Arguments args, boolean onlySize) {
    this.onlySize = onlySize;
    error = null;
    try {
      final int operation = args.write(this);
      final long result = Raw.javaCall(handle, onlySize || error != null ? 1 : 0, operation,
          address + ARGS, pinned, numPinned, address);
      if (error != null && result >= 0) {
        throw error;
      }
      return result;
    } finally {
      Arrays.fill(pinned, 0, numPinned, null);
      Arrays.fill(held, 0, numHeld, null);
      numPinned = 0;
      numHeld = 0;
    }
  }

  /** The first array that broke a rule, or null. */
  InvalidArgumentException error() {
    return error;
  }

  void fail(String format, Object... values) {
    if (error == null) {
      error = new InvalidArgumentException(String.format(format, values));
    }
  }

  // ---- Numbers ---------------------------------------------------------------------------------

  void put(int at, int value) {
    memory.putInt(at, value);
  }

  void put(int at, long value) {
    memory.putLong(at, value);
  }

  void put(int at, float value) {
    memory.putFloat(at, value);
  }

  private static boolean isOf(Array array, int types) {
    return array != null && array.type != null && (types >> array.type.ordinal() & 1) != 0;
  }

  /** C's 0 where there is no array. */
  static int dtype(Array array) {
    return isOf(array, VALUES) ? array.type.ordinal() : 0;
  }

  static int idType(Array array) {
    return isOf(array, IDS) ? array.type.ordinal() - ElementType.I32.ordinal() : 0;
  }

  /** The one type that C has for draft tokens and those that are written. */
  int idTypeOfBoth(Array drafts, Array out) {
    if (isOf(drafts, IDS) && isOf(out, IDS) && drafts.type != out.type) {
      fail("draft_token_ids is of %s and out_token_ids of %s; they must be of one type",
          drafts.type, out.type);
    }
    return drafts != null ? idType(drafts) : idType(out);
  }

  /** Writes and returns how many elements there are: {@code given}, or those of the array if 0. */
  long count(int at, Array array, long given) {
    final long count = given == 0 && array != null ? array.length : given;
    put(at, count);
    return count;
  }

  // ---- Arrays ----------------------------------------------------------------------------------

  void in(int at, String of, String name, Array array, int types, long needed) {
    array(at, of, name, array, types, needed, arraysOnDevice, false);
  }

  /** One that is in Java's memory on a CUDA sampler with hostParameters. */
  void parameter(int at, String of, String name, Array array, int types, long needed) {
    array(at, of, name, array, types, needed, parametersOnDevice, false);
  }

  void out(int at, String name, Array array, int types, long needed) {
    array(at, "", name, array, types, needed, arraysOnDevice, true);
  }

  private void array(int at, String of, String name, Array array, int types, long needed,
      boolean onDevice, boolean isWritten) {
    if (array == null) {
      put(at, 0L);
      return;
    }
    if (!onlySize) {
      check(of, name, array, types, needed, onDevice, isWritten);
    }
    put(at, array.address);
    if (array.isOnHeap()) {
      put(numPinned * Long.BYTES, address + at + (isWritten ? 1 : 0));
      pinned[numPinned++] = array.memory;
    } else {
      held[numHeld++] = array.memory;
    }
  }

  private void check(String of, String name, Array array, int types, long needed, boolean onDevice,
      boolean isWritten) {
    if (array.isOnDevice() != onDevice) {
      fail("%s%s is %s", of, name, onDevice
          ? "a Java array or buffer; here it must be an address of device memory"
          : "an address of device memory; here it must be an array or a direct buffer");
    } else if (types != BYTES && !isOf(array, types)) {
      fail("%s%s is of %s; it must be of %s", of, name, array.type, names(types));
    } else if (isWritten && array.isReadOnly) {
      fail("%s%s is a read-only buffer; it is written", of, name);
    } else if (!onDevice && array.length < needed) {
      fail("%s%s has %d elements; %s needs %d", of, name, array.length,
          of.isEmpty() ? "it" : of.replaceAll("[.>-]+$", ""), needed);
    }
  }

  private static String names(int types) {
    final StringBuilder names = new StringBuilder();
    for (ElementType type : ElementType.values()) {
      if ((types >> type.ordinal() & 1) != 0) {
        names.append(names.length() == 0 ? "" : " or ").append(type);
      }
    }
    return names.toString();
  }

  // ---- Views -----------------------------------------------------------------------------------

  void exec(int at, Exec exec) {
    final Array workspace = exec.workspace;
    put(at + Layout.EXEC_STREAM, exec.stream);
    final long bytes = count(at + Layout.EXEC_WORKSPACE_BYTES, workspace, exec.workspaceBytes);
    if (bytes < 0) {
      fail("exec.workspace_bytes is %d; it must be at least 0", bytes);
    }
    array(at + Layout.EXEC_WORKSPACE, "exec.", "workspace", workspace, BYTES, bytes, arraysOnDevice,
        true);
  }

  /** Returns how many rows there are. */
  long rows(int at, String of, Rows rows) {
    numbers(at, rows);
    final long numRows = memory.getLong(at + Layout.ROWS_NUM_ROWS);
    arrays(at, of, rows, Lengths.rows(numRows, memory.getLong(at + Layout.ROWS_NUM_COLS),
        memory.getLong(at + Layout.ROWS_ROW_STRIDE)), numRows);
    return numRows;
  }

  /**
   * Rows in sequences of {@code numPositions}.
   *
   * @param numSequences as many as the rows make if negative
   * @return how many sequences there are
   */
  long sequences(int at, String of, Rows rows, long numSequences, long numPositions, int strideAt,
      long sequenceStride) {
    numbers(at, rows);
    put(strideAt, sequenceStride);
    final long numRows = memory.getLong(at + Layout.ROWS_NUM_ROWS);
    final long whole = numPositions <= 0 ? 0 : Math.max(numRows, 0) / numPositions;
    final long found = numSequences < 0 ? whole : numSequences;
    arrays(at, of, rows, Lengths.positions(found, numPositions,
        memory.getLong(at + Layout.ROWS_NUM_COLS), sequenceStride,
        memory.getLong(at + Layout.ROWS_ROW_STRIDE)), numRows);
    return found;
  }

  private void numbers(int at, Rows rows) {
    put(at + Layout.ROWS_NUM_ROWS, (long) rows.numRows);
    put(at + Layout.ROWS_NUM_COLS, (long) rows.numCols);
    put(at + Layout.ROWS_ROW_STRIDE, rows.rowStride);
    put(at + Layout.ROWS_KIND, rows.kind.ordinal());
    put(at + Layout.ROWS_RESERVED, 0);
  }

  private void arrays(int at, String of, Rows rows, long elements, long numRows) {
    final Array values = rows.values;
    final Array candidateIds = rows.candidateIds;
    put(at + Layout.ROWS_DTYPE, dtype(values));
    in(at + Layout.ROWS_VALUES, of, "values", values, VALUES, elements);
    put(at + Layout.ROWS_CANDIDATE_ID_TYPE, idType(candidateIds));
    in(at + Layout.ROWS_CANDIDATE_IDS, of, "candidate_ids", candidateIds, IDS, elements);
    in(at + Layout.ROWS_CANDIDATE_COUNTS, of, "candidate_counts", rows.candidateCounts, I32,
        numRows);
  }

  /** An output as large as the rows at {@code rowsAt}. */
  void outRows(int at, int strideAt, Array output, long stride, int rowsAt) {
    put(strideAt, stride);
    out(at, "output", output, VALUES, Lengths.rows(memory.getLong(rowsAt + Layout.ROWS_NUM_ROWS),
        memory.getLong(rowsAt + Layout.ROWS_NUM_COLS), stride));
  }

  /** Returns how many parameters, seeds and offsets there are: those of slots, or of rows. */
  long slots(int at, int countAt, Array slots, int numSlots, long numRows) {
    put(countAt, (long) numSlots);
    in(at, "", "slots", slots, I32, numRows);
    return slots == null ? numRows : numSlots;
  }

  void params(int at, Params params) {
    put(at, params == null ? 0L : address + PARAMS);
    if (params == null) {
      return;
    }
    put(PARAMS + Layout.PARAMS_STRUCT_SIZE, (long) Layout.PARAMS_SIZE);
    put(PARAMS + Layout.PARAMS_TEMPERATURE, params.temperature);
    put(PARAMS + Layout.PARAMS_TOP_P, params.topP);
    put(PARAMS + Layout.PARAMS_MIN_P, params.minP);
    put(PARAMS + Layout.PARAMS_TOP_K, params.topK);
    put(PARAMS + Layout.PARAMS_TOP_K_TIES, params.topKTies.ordinal());
    put(PARAMS + Layout.PARAMS_TOP_P_TIES, params.topPTies.ordinal());
    put(PARAMS + Layout.PARAMS_FILTER_ORDER, params.filterOrder.ordinal());
    put(PARAMS + Layout.PARAMS_TEMPERATURE_ORDER, params.temperatureOrder.ordinal());
  }

  void rowParams(int at, RowParams params, long numSlots) {
    put(at, params == null ? 0L : address + ROW_PARAMS);
    if (params == null) {
      return;
    }
    final String of = "row_params->";
    put(ROW_PARAMS + Layout.ROW_PARAMS_STRUCT_SIZE, (long) Layout.ROW_PARAMS_SIZE);
    parameter(ROW_PARAMS + Layout.ROW_PARAMS_TEMPERATURE, of, "temperature", params.temperature,
        F32, numSlots);
    parameter(ROW_PARAMS + Layout.ROW_PARAMS_TOP_P, of, "top_p", params.topP, F32, numSlots);
    parameter(ROW_PARAMS + Layout.ROW_PARAMS_MIN_P, of, "min_p", params.minP, F32, numSlots);
    parameter(ROW_PARAMS + Layout.ROW_PARAMS_TOP_K, of, "top_k", params.topK, I32, numSlots);
  }

  void random(int at, Random random, long numSlots) {
    final String of = "random.";
    final Array seeds = random.seeds;
    final Array offsets = random.offsets;
    put(at + Layout.RANDOM_SEED, random.seed);
    put(at + Layout.RANDOM_OFFSET, random.offset);
    final long numSeeds = count(at + Layout.RANDOM_NUM_SEEDS, seeds, random.numSeeds);
    final long numOffsets = count(at + Layout.RANDOM_NUM_OFFSETS, offsets, random.numOffsets);
    parameter(at + Layout.RANDOM_SEEDS, of, "seeds", seeds, I64, numSeeds);
    parameter(at + Layout.RANDOM_OFFSETS, of, "offsets", offsets, I64, numOffsets);
    parameter(at + Layout.RANDOM_STREAMS, of, "streams", random.streams, I32, numSlots);
  }
}
