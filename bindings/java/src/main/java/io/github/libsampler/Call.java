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
  static final int I8 = 1 << ElementType.I8.ordinal();
  private static final int BYTES = 0;

  /** Places of the pinned arrays, then the structs. JAVA_MAX_ARRAYS of java.i. */
  private static final int MAX_ARRAYS = 160;
  private static final int PARAMS = MAX_ARRAYS * Long.BYTES;
  private static final int ROW_PARAMS = PARAMS + Layout.PARAMS_SIZE;
  private static final int PIPELINE = ROW_PARAMS + Layout.ROW_PARAMS_SIZE;
  private static final int DRAFT_PARAMS = PIPELINE + Layout.PIPELINE_SIZE;
  private static final int DRAFT_ROW_PARAMS = DRAFT_PARAMS + Layout.PARAMS_SIZE;
  private static final int ACCEPTANCE = DRAFT_ROW_PARAMS + Layout.ROW_PARAMS_SIZE;
  private static final int LAYOUT = ACCEPTANCE + Layout.ACCEPTANCE_PARAMS_SIZE;
  private static final int REPORTS = LAYOUT + Layout.DRAFT_LAYOUT_SIZE;
  private static final int UNMASK = REPORTS + Layout.REPORT_ARGS_SIZE;
  static final int ARGS = UNMASK + Layout.UNMASK_PARAMS_SIZE;
  static final int SIZE = ARGS + Math.max(Layout.VERIFY_ARGS_SIZE,
      Math.max(Math.max(Layout.SAMPLE_ARGS_SIZE, Layout.SCORE_ARGS_SIZE),
          Math.max(Layout.FILTER_ARGS_SIZE,
              Math.max(Layout.SELECT_ARGS_SIZE,
                  Math.max(Layout.RESIDUAL_ARGS_SIZE, Layout.UNMASK_ARGS_SIZE)))));

  private final ByteBuffer memory;
  private final long address;
  private final boolean arraysOnDevice;
  private final boolean parametersOnDevice;

  /** Java arrays, whose addresses C writes, and buffers, which must stay reachable. */
  private final Object[] pinned = new Object[MAX_ARRAYS];
  private final Object[] held = new Object[MAX_ARRAYS];
  private int numPinned;
  private int numHeld;

  /**
   * Where the type goes of token ids for which C has one member, and the first array of them: what
   * it is a member of, its name, null before any, and its type.
   */
  private int idTypeAt;
  private String firstIdsOf;
  private String firstIds;
  private ElementType firstIdType;

  /** Whose call it is; null of a sampler's own. */
  private StateMemory state;

  /** Whether what putOthers writes is not 0, as it was in the beginning. */
  private boolean paramsHadMore;
  private boolean draftParamsHadMore;

  private boolean onlySize;
  private boolean keeps;
  private InvalidArgumentException error;

  /** In {@code memory} of SIZE bytes, all 0. */
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
  long run(long handle, Arguments args, StateMemory state, boolean onlySize) {
    this.onlySize = onlySize;
    this.state = state;
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

  /**
   * Writes arguments whose arrays are read after the call, too: they must not move.
   *
   * @return what must stay reachable
   */
  Object[] keep(Runnable write) {
    onlySize = false;
    keeps = true;
    state = null;
    error = null;
    try {
      write.run();
      if (error != null) {
        throw error;
      }
      return Arrays.copyOf(held, numHeld);
    } finally {
      keeps = false;
      Arrays.fill(pinned, 0, numPinned, null);
      Arrays.fill(held, 0, numHeld, null);
      numPinned = 0;
      numHeld = 0;
    }
  }

  /** Where C finds the arguments. */
  long argsAddress() {
    return address + ARGS;
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

  long putLong(int at, long value) {
    put(at, value);
    return value;
  }

  /** The ids that follow are of one type, which goes to {@code typeAt}; 0 where there are none. */
  void beginIds(int typeAt) {
    put(typeAt, 0);
    idTypeAt = typeAt;
    firstIds = null;
  }

  private void ofOneType(String of, String name, Array ids) {
    if (!isOf(ids, IDS)) {
      return;
    }
    if (firstIds == null) {
      firstIdsOf = of;
      firstIds = name;
      firstIdType = ids.type;
      put(idTypeAt, idType(ids));
    } else if (firstIdType != ids.type) {
      fail("%s%s is of %s and %s%s of %s; they must be of one type", firstIdsOf, firstIds,
          firstIdType, of, name, ids.type);
    }
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

  /** Whether arrays are those of a CUDA sampler. */
  boolean arraysAreOnDevice() {
    return arraysOnDevice;
  }

  /** One that is in Java's memory on a CUDA sampler with hostParameters. */
  void parameter(int at, String of, String name, Array array, int types, long needed) {
    array(at, of, name, array, types, needed, parametersOnDevice, false);
  }

  /** One that is in Java's memory on every sampler. */
  void onHost(int at, String of, String name, Array array, int types, long needed) {
    array(at, of, name, array, types, needed, false, false);
  }

  void out(int at, String name, Array array, int types, long needed) {
    out(at, "", name, array, types, needed);
  }

  void out(int at, String of, String name, Array array, int types, long needed) {
    array(at, of, name, array, types, needed, arraysOnDevice, true);
  }

  void inIds(int at, String name, Array array, long needed) {
    inIds(at, "", name, array, needed);
  }

  void inIds(int at, String of, String name, Array array, long needed) {
    ofOneType(of, name, array);
    in(at, of, name, array, IDS, needed);
  }

  void outIds(int at, String name, Array array, long needed) {
    outIds(at, "", name, array, needed);
  }

  void outIds(int at, String of, String name, Array array, long needed) {
    ofOneType(of, name, array);
    out(at, of, name, array, IDS, needed);
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
    if (keeps && array.isOnHeap()) {
      fail("%s%s is a Java array, which may move; a session's must be a direct buffer", of, name);
    } else if (array.isOnDevice() != onDevice) {
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
   * @param areIndexed whether the rows are any, one after the other
   * @return how many sequences there are
   */
  long sequences(int at, String of, Rows rows, long numSequences, long numPositions,
      boolean areIndexed, int strideAt, long sequenceStride) {
    numbers(at, rows);
    put(strideAt, sequenceStride);
    final long numRows = memory.getLong(at + Layout.ROWS_NUM_ROWS);
    final long whole = numPositions <= 0 ? 0 : Math.max(numRows, 0) / numPositions;
    final long found = numSequences < 0 ? whole : numSequences;
    final long numCols = memory.getLong(at + Layout.ROWS_NUM_COLS);
    final long rowStride = memory.getLong(at + Layout.ROWS_ROW_STRIDE);
    arrays(at, of, rows, areIndexed ? Lengths.rows(numRows, numCols, rowStride)
        : Lengths.positions(found, numPositions, numCols, sequenceStride, rowStride), numRows);
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

  /** Returns how many rows there are: {@code given}, or as many as the slots if 0. */
  long rowsOfSlots(int at, int countAt, Array slots, int given) {
    final long numRows = count(countAt, slots, given);
    in(at, "", "slots", slots, I32, numRows);
    return numRows;
  }

  long numCols(int rowsAt) {
    return memory.getLong(rowsAt + Layout.ROWS_NUM_COLS);
  }

  /** The state whose call it is. Returns how many slots it has. */
  long state(int at) {
    put(at, state == null ? 0 : state.address);
    return state == null ? 0 : state.numSlots;
  }

  /** A state that the call reads, of this sampler. */
  void state(int at, String name, State other) {
    put(at, 0L);
    if (other == null) {
      return;
    }
    final StateMemory found = other.memory;
    if (!found.handle.isOf(this)) {
      fail("%s is of another sampler; it must be of the one that is called", name);
    } else if (found.address == 0) {
      throw new IllegalStateException("the state is closed");
    } else {
      put(at, found.address);
      held[numHeld++] = other;
    }
  }

  void params(int at, Params params) {
    paramsHadMore = params(at, PARAMS, params, paramsHadMore);
  }

  void draftParams(int at, Params params) {
    draftParamsHadMore = params(at, DRAFT_PARAMS, params, draftParamsHadMore);
  }

  /** At {@code to}, where what putOthers writes is 0 unless it {@code hadMore}. Returns that. */
  private boolean params(int at, int to, Params params, boolean hadMore) {
    put(at, params == null ? 0L : address + to);
    if (params == null) {
      return hadMore;
    }
    put(to + Layout.PARAMS_STRUCT_SIZE, (long) Layout.PARAMS_SIZE);
    ParametersOfC.putFilters(this, to, params);
    final boolean hasMore = params.hasMore;
    if (hasMore || hadMore) {
      ParametersOfC.putOthers(this, to, params);
    }
    return hasMore;
  }

  void rowParams(int at, RowParams params, long numSlots) {
    rowParams(at, ROW_PARAMS, "row_params->", params, numSlots);
  }

  void draftRowParams(int at, RowParams params, long numSlots) {
    rowParams(at, DRAFT_ROW_PARAMS, "draft_row_params->", params, numSlots);
  }

  private void rowParams(int at, int to, String of, RowParams params, long numSlots) {
    put(at, params == null ? 0L : address + to);
    if (params == null) {
      return;
    }
    put(to + Layout.ROW_PARAMS_STRUCT_SIZE, (long) Layout.ROW_PARAMS_SIZE);
    ParametersOfC.putArrays(this, to, of, params, numSlots);
  }

  /** A struct at {@code to} of {@code size} bytes, which become 0, and its address, 0 for none. */
  private int place(int at, int to, int size, boolean isGiven) {
    put(at, isGiven ? address + to : 0L);
    for (int i = 0; i < size; i += Long.BYTES) {
      put(to + i, 0L);
    }
    return to;
  }

  /** Where the layout of drafts goes. */
  int layout(int at, boolean isGiven) {
    final int to = place(at, LAYOUT, Layout.DRAFT_LAYOUT_SIZE, isGiven);
    put(to + Layout.DRAFT_LAYOUT_STRUCT_SIZE, (long) Layout.DRAFT_LAYOUT_SIZE);
    return to;
  }

  /** Where reports go. */
  int reports(int at, boolean isGiven) {
    return place(at, REPORTS, Layout.REPORT_ARGS_SIZE, isGiven);
  }

  /** Writes reports of {@code numRows} tokens, from rows of {@code numCols}. */
  void reports(int at, ReportArgs reports, long numRows, long numCols) {
    final int to = reports(at, reports != null);
    if (reports != null) {
      reports.write(this, to, numRows, numCols);
    }
  }

  /** {@code buffers} as in {@link AcceptanceParams#write}. */
  void acceptance(int at, AcceptanceParams acceptance, long numDrafts, Buffers buffers) {
    final int to =
        place(at, ACCEPTANCE, Layout.ACCEPTANCE_PARAMS_SIZE, acceptance != null);
    if (acceptance != null) {
      acceptance.write(this, to, numDrafts, buffers);
    }
  }

  /** Returns the confidence of the rules, of none the default. */
  Confidence unmask(int at, UnmaskParams params) {
    final int to = place(at, UNMASK, Layout.UNMASK_PARAMS_SIZE, params != null);
    return params == null ? Confidence.PROBABILITY : params.write(this, to);
  }

  /** {@code rowsAt}: the rows that are edited. */
  void pipeline(int at, Pipeline pipeline, int rowsAt, long numSlots, long numRows) {
    final Array logits = pipeline == null ? null : pipeline.guidanceLogits;
    pipeline(at, pipeline, logits, numCols(rowsAt),
        memory.getLong(rowsAt + Layout.ROWS_ROW_STRIDE), numSlots, numRows);
    if (isOf(logits, VALUES) && logits.type.ordinal() != memory.getInt(rowsAt + Layout.ROWS_DTYPE)) {
      fail("pipeline->guidance_logits is of type %s and the call's logits of another; they must be "
          + "of one type", logits.type);
    }
  }

  /** That of a session, whose options have no rows. */
  void pipeline(int at, Pipeline pipeline, long numCols, long numSlots) {
    final Array logits = pipeline == null ? null : pipeline.guidanceLogits;
    pipeline(at, pipeline, logits, numCols, 0, numSlots, 0);
  }

  private void pipeline(int at, Pipeline pipeline, Array guidanceLogits, long numCols,
      long rowStride, long numSlots, long numRows) {
    put(at, pipeline == null ? 0L : address + PIPELINE);
    if (pipeline == null) {
      return;
    }
    final String of = "pipeline->";
    put(PIPELINE + Layout.PIPELINE_STRUCT_SIZE, (long) Layout.PIPELINE_SIZE);
    beginIds(PIPELINE + Layout.PIPELINE_TOKEN_ID_TYPE);
    lists(PIPELINE + Layout.PIPELINE_HISTORY, "pipeline->history.", pipeline.history);
    in(PIPELINE + Layout.PIPELINE_PROMPT_LENGTHS, of, "prompt_lengths", pipeline.promptLengths,
        I32, numSlots);
    put(PIPELINE + Layout.PIPELINE_MAX_HISTORY_TOKENS, pipeline.maxHistoryTokens);
    rows(Layout.PIPELINE_GUIDANCE_LOGITS, Layout.PIPELINE_NUM_GUIDANCE_ROWS, "guidance_logits",
        guidanceLogits, VALUES, pipeline.numGuidanceRows, rowStride == 0 ? numCols : rowStride);
    in(PIPELINE + Layout.PIPELINE_GUIDANCE_ROW_INDICES, of, "guidance_row_indices",
        pipeline.guidanceRowIndices, I32, numRows);
    final long numBiased =
        lists(PIPELINE + Layout.PIPELINE_BIASED, "pipeline->biased.", pipeline.biased);
    in(PIPELINE + Layout.PIPELINE_BIASES, of, "biases", pipeline.biases, F32, numBiased);
    lists(PIPELINE + Layout.PIPELINE_BIAS_CONTEXTS, "pipeline->bias_contexts.",
        pipeline.biasContexts);
    table(Layout.PIPELINE_DENSE_BIAS, Layout.PIPELINE_NUM_DENSE_BIASES,
        Layout.PIPELINE_DENSE_BIAS_STRIDE, "dense_bias", pipeline.denseBias, F32,
        pipeline.numDenseBiases, pipeline.denseBiasStride, numCols);
    lists(PIPELINE + Layout.PIPELINE_ALLOWED, "pipeline->allowed.", pipeline.allowed);
    lists(PIPELINE + Layout.PIPELINE_BANNED, "pipeline->banned.", pipeline.banned);
    lists(PIPELINE + Layout.PIPELINE_STOP, "pipeline->stop.", pipeline.stop);
    lists(PIPELINE + Layout.PIPELINE_UNPENALIZED, "pipeline->unpenalized.", pipeline.unpenalized);
    lists(PIPELINE + Layout.PIPELINE_BAD_WORDS, "pipeline->bad_words.", pipeline.badWords);
    in(PIPELINE + Layout.PIPELINE_BAD_WORD_OFFSETS, of, "bad_word_offsets",
        pipeline.badWordOffsets, I64, numSlots + 1);
    lists(PIPELINE + Layout.PIPELINE_DRY_BREAKERS, "pipeline->dry_breakers.", pipeline.dryBreakers);
    table(Layout.PIPELINE_TOKEN_BITMASKS, Layout.PIPELINE_NUM_TOKEN_BITMASKS,
        Layout.PIPELINE_TOKEN_BITMASK_STRIDE, "token_bitmasks", pipeline.tokenBitmasks, I32,
        pipeline.numTokenBitmasks, pipeline.tokenBitmaskStride, (numCols + 31) / 32);
    in(PIPELINE + Layout.PIPELINE_TOKEN_BITMASK_INDICES, of, "token_bitmask_indices",
        pipeline.tokenBitmaskIndices, I32, numRows);
    put(PIPELINE + Layout.PIPELINE_TOKEN_BITMASK_RULE, pipeline.tokenBitmaskRule.ordinal());
    state(PIPELINE + Layout.PIPELINE_STATE, "pipeline->state", pipeline.state);
    in(PIPELINE + Layout.PIPELINE_ADAPTIVE_VALUES, of, "adaptive_values", pipeline.adaptiveValues,
        F32, Lengths.product(numSlots, State.NUM_ADAPTIVE_VALUES));
  }

  /** Lists, whose ids must be of the type of those before. Returns how many ids there are. */
  long lists(int at, String of, TokenLists lists) {
    final Array tokenIds = lists.tokenIds;
    ofOneType(of, "token_ids", tokenIds);
    return lists(at, of, lists, lists.offsets, tokenIds, IDS, arraysOnDevice);
  }

  /** Lists of I32 in Java's memory on every sampler, which {@code buffers} keep from moving. */
  void hostLists(int at, String of, TokenLists lists, Buffers buffers) {
    lists(at, of, lists, buffers.fixed(lists.offsets), buffers.fixed(lists.tokenIds), I32, false);
  }

  private long lists(int at, String of, TokenLists lists, Array offsets, Array tokenIds,
      int idTypes, boolean onDevice) {
    final long given = lists.numLists;
    final long numLists =
        given == 0 && offsets != null && offsets.length > 0 ? offsets.length - 1 : given;
    put(at + Layout.TOKEN_LISTS_NUM_LISTS, numLists);
    array(at + Layout.TOKEN_LISTS_OFFSETS, of, "offsets", offsets, I64, numLists + 1, onDevice,
        false);
    final long numTokenIds =
        count(at + Layout.TOKEN_LISTS_NUM_TOKEN_IDS, tokenIds, lists.numTokenIds);
    array(at + Layout.TOKEN_LISTS_TOKEN_IDS, of, "token_ids", tokenIds, idTypes, numTokenIds,
        onDevice, false);
    return numTokenIds;
  }

  /** Rows of a stride, {@code given} ones, or as many as the array has if 0. */
  private void table(int member, int countMember, int strideMember, String name, Array array,
      int types, long given, long stride, long defaultStride) {
    put(PIPELINE + strideMember, stride);
    rows(member, countMember, name, array, types, given, stride == 0 ? defaultStride : stride);
  }

  /** {@code given} rows of the pipeline, or as many as the array has if 0. */
  private void rows(int member, int countMember, String name, Array array, int types, long given,
      long step) {
    long count = given;
    if (given == 0 && array != null && !array.isOnDevice() && step > 0) {
      if (array.length % step != 0) {
        fail("pipeline->%s has %d elements; it must be rows of %d", name, array.length, step);
      }
      count = array.length / step;
    }
    put(PIPELINE + countMember, count);
    in(PIPELINE + member, "pipeline->", name, array, types, Lengths.product(count, step));
  }

  void random(int at, Randomness random, long numSlots) {
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
