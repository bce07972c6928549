package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every array of every full call: too short, of another type, in the wrong place. */
final class ArraysTest {
  private static final int ROWS = 2;
  private static final int COLS = 8;
  private static final int DRAFTS = 3;
  private static final int TOKENS = ROWS * (DRAFTS + 1);
  private static final int SELECTED = 4;
  private static final int REPORTED = 3;

  private static final List<String> LISTS =
      List.of("history", "biased", "bias_contexts", "allowed", "banned", "stop", "unpenalized",
          "bad_words", "dry_breakers");

  /** Those of sequences: ROWS of them. */
  private static final Map<String, Integer> SCALARS = Map.ofEntries(
      Map.entry("input.num_rows", ROWS), Map.entry("input.num_cols", COLS),
      Map.entry("target.num_cols", COLS), Map.entry("draft.num_cols", COLS),
      Map.entry("num_row_indices", ROWS), Map.entry("num_slots", ROWS),
      Map.entry("random.num_seeds", ROWS), Map.entry("random.num_offsets", ROWS),
      Map.entry("pipeline.num_guidance_rows", ROWS),
      Map.entry("pipeline.num_dense_biases", ROWS), Map.entry("pipeline.dense_bias_stride", COLS),
      Map.entry("pipeline.num_token_bitmasks", ROWS),
      Map.entry("pipeline.token_bitmask_stride", 1),
      Map.entry("num_drafts", DRAFTS), Map.entry("layout.num_sequences", ROWS),
      Map.entry("num_selected", SELECTED),
      Map.entry("reports.num_top_logprobs", REPORTED), Map.entry("reports.num_chosen", REPORTED),
      Map.entry("reports.kept_capacity", REPORTED), Map.entry("reports.kept_bitmask_stride", 2));

  /** Elements that the calls of this test need; two for all other arrays, one a row. */
  private static final Map<String, Integer> LENGTHS = Map.ofEntries(
      Map.entry("input.values", ROWS * COLS), Map.entry("input.candidate_ids", ROWS * COLS),
      Map.entry("output", ROWS * COLS), Map.entry("pipeline.dense_bias", ROWS * COLS),
      Map.entry("pipeline.guidance_logits", ROWS * COLS),
      Map.entry("verify pipeline.guidance_row_indices", TOKENS),
      Map.entry("pipeline.bad_word_offsets", ROWS + 1),
      Map.entry("pipeline.adaptive_values", ROWS * State.NUM_ADAPTIVE_VALUES),
      Map.entry("reports.out_top_token_ids", ROWS * REPORTED),
      Map.entry("reports.out_top_logprobs", ROWS * REPORTED),
      Map.entry("reports.chosen_token_ids", ROWS * REPORTED),
      Map.entry("reports.out_chosen_logprobs", ROWS * REPORTED),
      Map.entry("reports.out_kept_token_ids", REPORTED), // of all rows, with offsets
      Map.entry("reports.out_kept_probabilities", REPORTED),
      Map.entry("reports.out_kept_offsets", ROWS + 1),
      Map.entry("reports.out_kept_bitmask", ROWS * 2),
      Map.entry("reports.out_removed_by", ROWS * COLS),
      Map.entry("verify target.values", ROWS * (DRAFTS + 1) * COLS),
      Map.entry("verify target.candidate_ids", ROWS * (DRAFTS + 1) * COLS),
      Map.entry("verify target.candidate_counts", ROWS * (DRAFTS + 1)),
      Map.entry("verify draft.values", ROWS * DRAFTS * COLS),
      Map.entry("verify draft.candidate_ids", ROWS * DRAFTS * COLS),
      Map.entry("verify draft.candidate_counts", ROWS * DRAFTS),
      Map.entry("verify draft_token_ids", ROWS * DRAFTS),
      Map.entry("verify out_token_ids", TOKENS),
      Map.entry("verify reports.out_kept_counts", TOKENS),
      Map.entry("verify reports.out_logprobs", TOKENS),
      Map.entry("verify reports.out_ranks", TOKENS),
      Map.entry("verify reports.out_entropies", TOKENS),
      Map.entry("verify reports.out_observations", TOKENS),
      Map.entry("verify reports.out_top_token_ids", TOKENS * REPORTED),
      Map.entry("verify reports.out_top_logprobs", TOKENS * REPORTED),
      Map.entry("verify reports.out_kept_bitmask", TOKENS * 2),
      Map.entry("verify reports.out_kept_token_ids", TOKENS * REPORTED),
      Map.entry("verify reports.out_kept_probabilities", TOKENS * REPORTED),
      Map.entry("out_positions", TOKENS), Map.entry("kv_indices", TOKENS),
      Map.entry("forced_token_ids", TOKENS),
      Map.entry("out_kv_indices", TOKENS),
      Map.entry("verify pipeline.token_bitmask_indices", TOKENS),
      Map.entry("acceptance.synthetic_rates", DRAFTS),
      Map.entry("layout.target_row_indices", ROWS * DRAFTS),
      Map.entry("layout.draft_row_indices", ROWS * DRAFTS),
      Map.entry("layout.parents", ROWS * DRAFTS),
      Map.entry("layout.first_children", TOKENS), Map.entry("layout.next_siblings", TOKENS),
      Map.entry("residual target.values", ROWS * COLS),
      Map.entry("residual draft.values", ROWS * COLS),
      Map.entry("select out_token_ids", ROWS * SELECTED),
      Map.entry("select out_values", ROWS * SELECTED));

  private static final Set<ElementType> VALUES =
      Set.of(ElementType.F32, ElementType.F16, ElementType.BF16);

  static Iterable<String> operations() {
    return Operations.NAMES;
  }

  /**
   * The arrays of a call; a residual has no candidates, a filter does not exclude top choices, only
   * a sample forces tokens, and drafts have no stages but the temperature and the filters.
   * VerifyTest has packed batches.
   */
  private static List<String> arrays(String operation) {
    final List<String> paths = Operations.arrays(operation);
    paths.removeIf(path -> operation.equals("residual") && path.contains("candidate"));
    paths.removeIf(path -> operation.equals("filter") && path.startsWith("row_params.xtc_"));
    paths.removeIf(
        path -> !operation.equals("sample") && path.equals("row_params.forced_token_id"));
    paths.removeIf(path ->
        path.matches("draft_row_params.(?!(temperature|top_k|top_p|min_p)$).*"));
    paths.remove("layout.packing_offsets");
    paths.removeIf(path -> operation.equals("verify") && path.matches("reports.(out_values"
        + "|chosen_token_ids|out_chosen_logprobs|out_kept_offsets|out_removed_by)"));
    return paths;
  }

  /**
   * All that go with an array: a residual takes either the drafter's rows or its tokens, a
   * verification either the parents or the children.
   */
  private static List<String> arraysWith(String path, String operation) {
    final String excluded = path.equals("draft_token_ids") ? "draft.values" : "draft_token_ids";
    final List<String> paths = arrays(operation);
    paths.removeIf(other -> operation.equals("residual") && other.equals(excluded));
    paths.removeIf(other ->
        other.matches(path.equals("layout.parents")
            ? "layout.(first_children|next_siblings)" : "layout.parents"));
    return paths;
  }

  private static int lengthOf(String operation, String path) {
    if (path.matches("pipeline.*\\.offsets")) {
      return ROWS + 1;
    }
    final Integer length = LENGTHS.get(operation + " " + path);
    return length != null ? length : LENGTHS.getOrDefault(path, ROWS);
  }

  /** The types that a member may have. */
  private static Set<ElementType> typesOf(String operation, String path) {
    if (path.endsWith(".values") || path.equals("output")
        || path.equals("pipeline.guidance_logits")
        || operation.equals("select") && path.equals("out_values")) {
      return VALUES;
    } else if (path.endsWith("ids")) {
      return Set.of(ElementType.I32, ElementType.I64);
    } else if (path.equals("reports.out_removed_by")) {
      return Set.of(ElementType.I8);
    } else if (path.matches("random.seeds|.*offsets|(out_)?kv_indices"
        + "|(draft_)?row_params.(forced|top_p_reset)_token_id")) {
      return Set.of(ElementType.I64);
    } else if (path.matches("(draft_)?row_params.(top_k|penalty_window|exponential_decay_start|dry_allowed_length"
        + "|dry_window|no_repeat_ngram_size|min_new_tokens|min_keep|adaptive_kind|p_less)")) {
      return Set.of(ElementType.I32);
    } else if (path.matches("(draft_)?row_params.*|acceptance.synthetic_rates"
        + "|reports.out_(.*logprobs|values|kept_probabilities|entropies|observations)"
        + "|pipeline.(biases|dense_bias|adaptive_values)")) {
      return Set.of(ElementType.F32);
    }
    return Set.of(ElementType.I32);
  }

  /** The first type that a member may have. */
  private static ElementType typeOf(String operation, String path) {
    return Stream.of(ElementType.values()).filter(typesOf(operation, path)::contains).findFirst()
        .orElseThrow();
  }

  private static String nameInErrors(String path) {
    return path.replaceAll("(row_params|pipeline|reports|layout|acceptance)\\.", "$1->");
  }

  /** All arrays set that go with one, as long as they must be. */
  private static Arguments completeArguments(String operation, String with) {
    final Arguments args = Operations.newArguments(operation);
    SCALARS.forEach((path, value) -> {
      final boolean isReported = !operation.equals("verify") || !path.equals("reports.num_chosen");
      if (Operations.has(args, path) && isReported) {
        Operations.setScalar(args, path, value);
      }
    });
    for (String lists : LISTS) {
      if (Operations.has(args, "pipeline." + lists)) {
        Operations.setScalar(args, "pipeline." + lists + ".num_lists", ROWS);
        Operations.setScalar(args, "pipeline." + lists + ".num_token_ids", ROWS);
      }
    }
    if (operation.equals("verify")) {
      Operations.setScalar(args, "target.num_rows", ROWS * (DRAFTS + 1));
      Operations.setScalar(args, "draft.num_rows", ROWS * DRAFTS);
    } else if (operation.equals("residual")) {
      final boolean hasDraft = !with.equals("draft_token_ids");
      Operations.setScalar(args, "target.num_rows", ROWS);
      Operations.setScalar(args, "target.kind", InputKind.PROBABILITIES.ordinal());
      Operations.setScalar(args, "draft.num_rows", hasDraft ? ROWS : 0);
      Operations.setScalar(args, "draft.num_cols", hasDraft ? COLS : 0);
      Operations.setScalar(args, "draft.kind", hasDraft ? 1 : 0);
    }
    for (String path : arraysWith(with, operation)) {
      Operations.setArray(args, path, newArray(operation, path, 0));
    }
    return args;
  }

  private static Array newArray(String operation, String path, int more) {
    final ElementType type = typeOf(operation, path);
    return Operations.arrayOf(
        Operations.newArray(type, lengthOf(operation, path) + more), type);
  }

  private static Array newBuffer(String operation, String path, int more) {
    final ElementType type = typeOf(operation, path);
    return Array.of(Operations.directCopy(
        Operations.newArray(type, lengthOf(operation, path) + more), 1), type);
  }

  private static Sampler newSampler() {
    // Reports of verified drafts ask for more workspace than any operation without them.
    return Sampler.builder().maxRows(TOKENS).maxCols(16 * COLS).build();
  }

  private static void expectRefusal(String message, Executable call) {
    final InvalidArgumentException error =
        assertThrows(InvalidArgumentException.class, call, message);
    assertEquals(message, error.getMessage());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
  }

  @ParameterizedTest
  @MethodSource("operations")
  void arraysAndBuffersThatAreJustLongEnough(String operation) {
    final Arguments args = completeArguments(operation, "output");
    try (Sampler sampler = newSampler()) {
      Operations.call(sampler, operation, args);
      for (String path : arraysWith("output", operation)) {
        Operations.setArray(args, path, newBuffer(operation, path, 0));
      }
      Operations.call(sampler, operation, args);
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void shortArraysAndBuffers(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String path : arrays(operation)) {
        final int needed = lengthOf(operation, path);
        final String who =
            path.contains(".") ? nameInErrors(path.substring(0, path.lastIndexOf('.'))) : "it";
        final String message = nameInErrors(path) + " has " + (needed - 1) + " elements; " + who
            + " needs " + needed;
        final Arguments args = completeArguments(operation, path);
        Operations.setArray(args, path, newArray(operation, path, -1));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
        Operations.setArray(args, path, newBuffer(operation, path, -1));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
        final ElementType type = typeOf(operation, path);
        Operations.setArray(args, path, Array.of(ByteBuffer.allocateDirect(
            type.bytes * needed - 1).order(ByteOrder.nativeOrder()), type));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
      }
    }
  }

  /** Outputs of a draw are by row index, parameters by slot. */
  @Test
  void lengthsOfRowIndicesAndSlots() {
    try (Sampler sampler = newSampler()) {
      final SampleArgs args = new SampleArgs().input(new Rows(new float[COLS], 1, COLS))
          .rowIndices(Array.i32(new int[3])).outTokenIds(Array.i32(new int[2]));
      expectRefusal("out_token_ids has 2 elements; it needs 3", () -> sampler.sample(args));
      args.outTokenIds(Array.i32(new int[3])).slots(Array.i32(new int[3])).numSlots(5)
          .rowParams(new RowParams().topK(Array.i32(new int[4])));
      expectRefusal("row_params->top_k has 4 elements; row_params needs 5",
          () -> sampler.sample(args));
      args.rowParams(null).random(new Randomness().streams(Array.i32(new int[4])));
      expectRefusal("random.streams has 4 elements; random needs 5", () -> sampler.sample(args));
      args.random(new Randomness().seeds(Array.i64(new long[4])));
      expectRefusal("random.num_seeds is 4; it must be 1 or the number of slots, 5",
          () -> sampler.sample(args));
      args.random(new Randomness().seeds(Array.i64(new long[4])).numSeeds(5));
      expectRefusal("random.seeds has 4 elements; random needs 5", () -> sampler.sample(args));
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void elementsOfAnotherType(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String path : arrays(operation)) {
        final Set<ElementType> types = typesOf(operation, path);
        final String names = Stream.of(ElementType.values()).filter(types::contains)
            .map(Object::toString).collect(Collectors.joining(" or "));
        for (ElementType wrong : ElementType.values()) {
          if (!types.contains(wrong)) {
            final Arguments args = completeArguments(operation, path);
            Operations.setArray(
                args, path, Operations.arrayOf(Operations.newArray(wrong, 64), wrong));
            expectRefusal(nameInErrors(path) + " is of " + wrong + "; it must be of " + names,
                () -> Operations.call(sampler, operation, args));
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void readOnlyBuffers(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String path : arrays(operation)) {
        final Arguments args = completeArguments(operation, path);
        Operations.setArray(args, path, Array.of(ByteBuffer.allocateDirect(1024)
            .asReadOnlyBuffer().order(ByteOrder.nativeOrder()), typeOf(operation, path)));
        if (path.matches("(reports.)?out.*")) {
          expectRefusal(nameInErrors(path) + " is a read-only buffer; it is written",
              () -> Operations.call(sampler, operation, args));
        } else {
          Operations.call(sampler, operation, args);
        }
      }
    }
  }

  @Test
  void draftTokensOfAnotherTypeThanTheOutput() {
    final VerifyArgs args = (VerifyArgs) completeArguments("verify", "draft.values");
    args.outTokenIds(Array.i64(new long[TOKENS]));
    try (Sampler sampler = newSampler()) {
      expectRefusal("draft_token_ids is of I32 and out_token_ids of I64; they must be of one type",
          () -> sampler.verify(args));
    }
  }

  @Test
  void buffersThatCannotBeUsed() {
    final ByteOrder otherOrder = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
        ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
    final ByteBuffer swapped = ByteBuffer.allocateDirect(1024).order(otherOrder);
    final ByteBuffer direct = ByteBuffer.allocateDirect(1024).order(ByteOrder.nativeOrder());
    final Map<ElementType, Function<ByteBuffer, Buffer>> views = Map.of(
        ElementType.F32, ByteBuffer::asFloatBuffer, ElementType.F16, ByteBuffer::asShortBuffer,
        ElementType.BF16, ByteBuffer::asShortBuffer, ElementType.I32, ByteBuffer::asIntBuffer,
        ElementType.I64, ByteBuffer::asLongBuffer);
    final String onHeap = "the buffer is on the Java heap; it must be direct, or an array";
    final String order = "the buffer is of order " + otherOrder + "; it must be of this machine's, "
        + ByteOrder.nativeOrder();
    views.forEach((type, view) -> {
      final String other =
          "the buffer has elements of another type; they must be of " + type + ", or bytes";
      final ByteBuffer heap = ByteBuffer.allocate(64).order(ByteOrder.nativeOrder());
      expectRefusal(onHeap, () -> Array.of(heap, type));
      expectRefusal(onHeap, () -> Array.of(view.apply(heap), type));
      expectRefusal(order, () -> Array.of(swapped, type));
      expectRefusal(order, () -> Array.of(view.apply(swapped), type));
      expectRefusal(other, () -> Array.of(direct.asDoubleBuffer(), type));
      expectRefusal(other, () -> Array.of(direct.asCharBuffer(), type));
      views.forEach((otherType, otherView) -> {
        if (otherView.apply(direct).getClass() != view.apply(direct).getClass()) {
          expectRefusal(other, () -> Array.of(otherView.apply(direct), type));
        }
      });
    });
  }

  @ParameterizedTest
  @MethodSource("operations")
  void addressesOnTheCpu(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String path : arrays(operation)) {
        final Arguments args = completeArguments(operation, path);
        Operations.setArray(args, path, Array.onDevice(4096, typeOf(operation, path)));
        expectRefusal(nameInErrors(path) + " is an address of device memory; here it must be an"
            + " array or a direct buffer", () -> Operations.call(sampler, operation, args));
      }
    }
  }

  /** Arrays that no CUDA sampler takes are refused before the library is asked, so no GPU is
   * needed. */
  @ParameterizedTest
  @MethodSource("operations")
  void arraysOnCuda(String operation) {
    for (String path : arrays(operation)) {
      if (path.equals("acceptance.synthetic_rates")) { // on the host for every sampler
        final Array device = Array.onDevice(4096, ElementType.F32);
        assertEquals("", refusalOnCuda(operation, path, newArray(operation, path, 0), true));
        assertEquals(
            "acceptance->synthetic_rates is an address of device memory; here it must be an array"
                + " or a direct buffer", refusalOnCuda(operation, path, device, true));
        continue;
      }
      final boolean isParameter =
          path.matches("(draft_)?row_params.*|random.*|selected_counts|acceptances");
      final String onHost = nameInErrors(path)
          + " is a Java array or buffer; here it must be an address of device memory";
      for (Array array : List.of(newArray(operation, path, 0), newBuffer(operation, path, 0))) {
        assertEquals(onHost, refusalOnCuda(operation, path, array, true));
        assertEquals(isParameter ? "" : onHost, refusalOnCuda(operation, path, array, false));
      }
      final Array device = Array.onDevice(4096, typeOf(operation, path));
      assertEquals("", refusalOnCuda(operation, path, device, true));
      assertEquals(isParameter ? nameInErrors(path) + " is an address of device memory; here it"
          + " must be an array or a direct buffer" : "",
          refusalOnCuda(operation, path, device, false));
    }
  }

  private static String refusalOnCuda(
      String operation, String path, Array array, boolean parametersOnDevice) {
    final Call call =
        new Call(ByteBuffer.allocateDirect(Call.SIZE), true, parametersOnDevice);
    final Arguments args = Operations.newArguments(operation);
    Operations.setArray(args, path, array);
    args.write(call);
    return call.error() == null ? "" : call.error().getMessage();
  }

  @Test
  void negativeBytesOfDeviceMemory() {
    final Call call = new Call(ByteBuffer.allocateDirect(Call.SIZE), true, true);
    new SampleArgs().exec(new Exec().workspaceAddress(4096, -1)).write(call);
    assertEquals("exec.workspace_bytes is -1; it must be at least 0", call.error().getMessage());
  }

  /** A buffer from its position to its limit. */
  @Test
  void partsOfBuffers() {
    final ByteBuffer bytes = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
    final Array whole = Array.of(bytes, ElementType.F32);
    final Array part = Array.of(bytes.position(8).limit(31), ElementType.F32);
    final Array floats =
        Array.of(bytes.clear().asFloatBuffer().position(2).limit(5), ElementType.F32);
    assertEquals(List.of(16L, 5L, 3L), List.of(whole.length, part.length, floats.length));
    assertEquals(List.of(8L, 8L),
        List.of(part.address - whole.address, floats.address - whole.address));
  }

  @ParameterizedTest
  @MethodSource("operations")
  void workspaceOfTheCall(String operation) {
    final Arguments args = completeArguments(operation, "output");
    try (Sampler sampler = Sampler.builder().build()) {
      final int bytes = Math.toIntExact(sampler.workspaceSize(args));
      final Exec exec = new Exec().workspace(ByteBuffer.allocateDirect(bytes + 1).position(1));
      Operations.setExec(args, exec);
      Operations.call(sampler, operation, args);
      exec.workspace(ByteBuffer.allocateDirect(bytes - 1));
      final SamplerException error = assertThrows(
          SamplerException.class, () -> Operations.call(sampler, operation, args));
      assertEquals(Status.WORKSPACE_TOO_SMALL, error.status());
      expectRefusal("the buffer is on the Java heap; it must be direct, or an array",
          () -> exec.workspace(ByteBuffer.allocate(bytes)));
      exec.workspace(ByteBuffer.allocateDirect(bytes).asReadOnlyBuffer());
      expectRefusal("exec.workspace is a read-only buffer; it is written",
          () -> Operations.call(sampler, operation, args));
      exec.workspaceAddress(4096, bytes);
      expectRefusal("exec.workspace is an address of device memory; here it must be an array or a"
          + " direct buffer", () -> Operations.call(sampler, operation, args));
    }
  }

  @Test
  void lengthsOfStridedRows() {
    assertEquals(0, Lengths.rows(0, 8, 0));
    assertEquals(16, Lengths.rows(2, 8, 0));
    assertEquals(18, Lengths.rows(2, 8, 10));
    assertEquals(15, Lengths.rows(2, 8, 7)); // the library refuses it
    assertEquals(8, Lengths.rows(2, 8, -7));
    assertEquals(0, Lengths.rows(-1, 8, 0));
    assertEquals(0, Lengths.rows(2, -8, 0));
    assertEquals(8, Lengths.rows(1, 8, Long.MAX_VALUE));
    assertEquals(Long.MAX_VALUE, Lengths.rows(2, 8, Long.MAX_VALUE));
    assertEquals(Long.MAX_VALUE, Lengths.rows(3, 8, Long.MAX_VALUE));
    assertEquals(Long.MAX_VALUE, Lengths.rows(Long.MAX_VALUE, 8, 1L << 62));
    assertEquals(Long.MAX_VALUE, Lengths.product(1L << 40, 1L << 40));
    assertEquals(0, Lengths.product(Long.MIN_VALUE, 5));
    assertEquals(64, Lengths.positions(2, 4, 8, 0, 0));
    assertEquals(4 * 10 + 3 * 10 + 8, Lengths.positions(2, 4, 8, 0, 10));
    assertEquals(100 + 3 * 10 + 8, Lengths.positions(2, 4, 8, 100, 10));
    assertEquals(0, Lengths.positions(2, 0, 8, 0, 0));
    assertEquals(31 + 32, Lengths.positions(2, 4, 8, 31, 0));
    assertEquals(32, Lengths.positions(1, 4, 8, 1, 0));
    assertEquals(Long.MAX_VALUE, Lengths.positions(2, 4, 8, Long.MAX_VALUE, 0));
  }
}
