package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.libsampler.internal.RawConstants;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A sampler's life, its options and the scalars of its calls. */
final class SamplerTest {
  private static final float[] LOGITS = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};

  private static SampleArgs readmeArguments(int[] tokenId) {
    return new SampleArgs().input(new Rows(LOGITS, 1, 5))
        .params(new Params().temperature(0.8f).topK(3).topP(0.95f)).random(new Randomness(1, 0))
        .outTokenIds(Array.i32(tokenId));
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(1).maxCols(5).build();
  }

  private static void expectError(String message, Runnable call) {
    final InvalidArgumentException error =
        assertThrows(InvalidArgumentException.class, call::run, message);
    assertEquals(message, error.getMessage());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
  }

  @Test
  void tokensOfTheReadme() {
    final int[] tokens = new int[5];
    final int[] tokenId = new int[1];
    try (Sampler sampler = newSampler()) {
      for (int step = 0; step < 5; ++step) {
        sampler.topKTopP(new Rows(LOGITS, 1, 5), 3, 0.95f, 0.8f, 1, step, tokenId);
        tokens[step] = tokenId[0];
      }
    }
    assertArrayEquals(new int[] {2, 2, 1, 0, 1}, tokens);
  }

  @Test
  void callsAllocateNothing() {
    final var memory = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    final int numCalls = 100_000;
    try (Sampler sampler = newSampler()) {
      final Randomness random = new Randomness(1, 0);
      final SampleArgs args = readmeArguments(new int[1]).random(random)
          .rowParams(new RowParams().temperature(Array.f32(new float[] {0.8f})))
          .pipeline(new Pipeline().biased(new TokenLists(new long[] {0, 1}, new int[] {1}))
              .biases(Array.f32(new float[] {-1})));
      final int[] tokenId = {1};
      final State state = sampler.newState(new StateOptions().numSlots(1).maxTokens(1000));
      final SampleArgs ofState = readmeArguments(tokenId).pipeline(new Pipeline().state(state))
          .reports(new ReportArgs().outRanks(Array.i32(new int[1])));
      final AcceptArgs accept =
          new AcceptArgs().numRows(1).numTokens(1).tokenIds(Array.i32(tokenId));
      final TruncateArgs truncate =
          new TruncateArgs().numRows(1).lengths(Array.i32(new int[] {1}));
      sampler.sample(args); // loads classes
      sampler.sample(ofState);
      state.accept(accept);
      state.truncate(truncate);
      final long before = memory.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < numCalls; ++i) {
        random.offset(i);
        sampler.sample(args);
        sampler.sample(ofState);
        state.accept(accept);
        state.truncate(truncate);
      }
      final long bytes = memory.getCurrentThreadAllocatedBytes() - before;
      assertTrue(bytes < numCalls, bytes + " bytes in " + numCalls + " calls");
    }
  }

  @Test
  void closeTwice() {
    final Sampler sampler = newSampler();
    sampler.close();
    sampler.close();
  }

  @Test
  void useAfterClose() {
    final Sampler sampler = newSampler();
    sampler.close();
    final SampleArgs args = readmeArguments(new int[1]);
    for (Runnable call : new Runnable[] {
        () -> sampler.sample(args), () -> sampler.workspaceSize(args),
        () -> sampler.argmax(new Rows(LOGITS, 1, 5), new int[1])}) {
      final IllegalStateException error = assertThrows(IllegalStateException.class, call::run);
      assertEquals("the sampler is closed", error.getMessage());
    }
  }

  @Test
  void argumentsThatBreakARule() {
    final int[] tokenId = {42};
    final Rows rows = new Rows(LOGITS, 1, 5);
    try (Sampler sampler = newSampler()) {
      expectArgumentError(sampler, "input.num_rows is -1; it must be at least 0",
          a -> a.input(new Rows(LOGITS, -1, 5)));
      expectArgumentError(sampler, "input.values has 5 elements; input needs 10737418235",
          a -> a.input(new Rows(LOGITS, Integer.MAX_VALUE, 5)));
      expectArgumentError(sampler, "input.num_cols is 0; it must be at least 1",
          a -> a.input(new Rows(LOGITS, 1, 0)));
      expectArgumentError(sampler, "input.num_cols is 2147483647; it must be below 1048576",
          a -> a.input(new Rows(LOGITS, 1, Integer.MAX_VALUE)));
      expectArgumentError(sampler,
          "input.row_stride is -5; it must be 0 or at least input.num_cols, 5",
          a -> a.input(new Rows(LOGITS, 1, 5).rowStride(-5)));
      expectArgumentError(sampler, "input.values has 3 rows, 9223372036854775807 elements"
          + " apart; it must fit the address space",
          a -> a.input(new Rows(LOGITS, 3, 5).rowStride(Long.MAX_VALUE)));
      expectArgumentError(sampler, "params->temperature is NaN; it must be a number",
          a -> a.params(new Params().temperature(Float.NaN)));
      expectArgumentError(sampler, "params->top_p is NaN; it must be a number",
          a -> a.params(new Params().topP(Float.NaN)));
      expectArgumentError(sampler, "input.values is NULL; it is required",
          a -> a.input(new Rows((Array) null, 1, 5)));
      expectArgumentError(sampler, "out_token_ids is NULL; it is required",
          a -> a.outTokenIds(null));
      expectArgumentError(sampler, "random.num_seeds is 2; it must be 1 or the number of slots, 1",
          a -> a.random(new Randomness().seeds(Array.i64(new long[2]))));
      expectArgumentError(sampler, "random.num_seeds is 1; it must be 0",
          a -> a.random(new Randomness().numSeeds(1)));
      expectArgumentError(sampler, "num_slots is 2; it must be 0", a -> a.numSlots(2));
      expectArgumentError(sampler, "exec.workspace is NULL and exec.workspace_bytes 8; it must be 0"
          + " then", a -> a.exec(new Exec().workspaceAddress(0, 8)));
      sampler.sample(readmeArguments(tokenId)); // and all is well afterwards
      assertEquals(2, tokenId[0]);
      expectError("params->top_p is NaN; it must be a number",
          () -> sampler.topP(rows, Float.NaN, 1, 0, 0, tokenId));
      expectError("out_token_ids has 0 elements; it needs 1",
          () -> sampler.argmax(rows, new int[0]));
      expectError("output has 4 elements; it needs 5",
          () -> sampler.softmax(rows, 1, new float[4]));
    }
  }

  private static void expectArgumentError(
      Sampler sampler, String message, Consumer<SampleArgs> change) {
    final int[] tokenId = {42};
    final SampleArgs args = readmeArguments(tokenId);
    change.accept(args);
    expectError(message, () -> sampler.sample(args));
    assertEquals(42, tokenId[0]);
  }

  @Test
  void extremesThatAreAllowed() {
    final int[] tokenId = new int[1];
    try (Sampler sampler = newSampler()) {
      final SampleArgs args = readmeArguments(tokenId);
      sampler.sample(args.params(new Params().temperature(0).topK(Integer.MIN_VALUE).topP(-1)));
      assertEquals(1, tokenId[0]);
      sampler.sample(args.params(new Params().temperature(Float.NEGATIVE_INFINITY))
          .random(new Randomness(-1, Long.MIN_VALUE)));
      assertEquals(1, tokenId[0]);
      tokenId[0] = 42;
      sampler.sample(args.input(new Rows(new float[0], 0, 5)).outTokenIds(Array.i32(new int[0])));
      assertEquals(42, tokenId[0]);
    }
  }

  /** Each simple call beside the full one. */
  @Test
  void simpleCalls() {
    final int numRows = 40;
    final int numCols = 60;
    final float[] logits = new float[numRows * numCols];
    for (int i = 0; i < logits.length; ++i) {
      logits[i] = (i * 7919 % 1009) / 300.0f;
    }
    final Rows rows = new Rows(logits, numRows, numCols);
    final int[] tokens = new int[numRows];
    try (Sampler sampler = Sampler.builder().maxRows(numRows).maxCols(numCols).build()) {
      sampler.argmax(rows, tokens);
      expectTokens(sampler, rows, new Params().temperature(0), new Randomness(), tokens);
      sampler.categorical(rows, 1.5f, 3, 4, tokens);
      expectTokens(sampler, rows, new Params().temperature(1.5f), new Randomness(3, 4), tokens);
      sampler.topK(rows, 4, 1.5f, 3, 5, tokens);
      expectTokens(
          sampler, rows, new Params().topK(4).temperature(1.5f), new Randomness(3, 5), tokens);
      sampler.topP(rows, 0.2f, 1.5f, 3, 6, tokens);
      expectTokens(
          sampler, rows, new Params().topP(0.2f).temperature(1.5f), new Randomness(3, 6), tokens);
      sampler.minP(rows, 0.8f, 1.5f, 3, 7, tokens);
      expectTokens(
          sampler, rows, new Params().minP(0.8f).temperature(1.5f), new Randomness(3, 7), tokens);
      sampler.topKTopP(rows, 9, 0.4f, 1.5f, 3, 8, tokens);
      expectTokens(sampler, rows, new Params().topK(9).topP(0.4f).temperature(1.5f),
          new Randomness(3, 8), tokens);

      final float[] output = new float[logits.length];
      final OutputKind probabilities = OutputKind.PROBABILITIES;
      sampler.softmax(rows, 1.5f, output);
      expectRows(sampler, rows, new Params().temperature(1.5f), probabilities, output);
      sampler.topKRenorm(rows, 4, output);
      expectRows(sampler, rows, new Params().topK(4), probabilities, output);
      sampler.topPRenorm(rows, 0.2f, output);
      expectRows(sampler, rows, new Params().topP(0.2f), probabilities, output);
      sampler.topKMask(rows, 4, output);
      expectRows(sampler, rows, new Params().topK(4), OutputKind.VALUES, output);

      final int[][] ids = {new int[3 * numRows], new int[3 * numRows]};
      final float[][] values = {new float[3 * numRows], new float[3 * numRows]};
      sampler.topKSelect(rows, 3, values[0], ids[0]);
      sampler.select(new SelectArgs().input(rows).numSelected(3).outValues(Array.f32(values[1]))
          .outTokenIds(Array.i32(ids[1])));
      assertArrayEquals(ids[1], ids[0]);
      assertArrayEquals(values[1], values[0]);
      sampler.topKSelect(rows, 3, null, ids[0]);
    }
  }

  private static void expectTokens(
      Sampler sampler, Rows rows, Params params, Randomness random, int[] found) {
    final int[] wanted = new int[found.length];
    sampler.sample(new SampleArgs().input(rows).params(params).random(random)
        .outTokenIds(Array.i32(wanted)));
    assertArrayEquals(wanted, found);
    assertTrue(java.util.Arrays.stream(wanted).distinct().count() > 10);
  }

  private static void expectRows(
      Sampler sampler, Rows rows, Params params, OutputKind kind, float[] found) {
    final float[] wanted = new float[found.length];
    sampler.filter(new FilterArgs().input(rows).params(params).outputKind(kind)
        .output(Array.f32(wanted)));
    assertArrayEquals(wanted, found);
  }

  @Test
  void simpleChains() {
    final Rows target = new Rows(new float[] {1, 2, 0, 0, 1, 2, 0, 3, 1, 4, 0, 0}, 4, 3);
    final Rows draft = new Rows(new float[] {2, 1, 0, 0, 0, 1}, 2, 3);
    final int[] draftTokenIds = {1, 2};
    try (Sampler sampler = Sampler.builder().maxRows(4).maxCols(3).build()) {
      for (int offset = 0; offset < 20; ++offset) {
        for (Rows rows : new Rows[] {draft, null}) {
          final int[][] found = {new int[4], new int[2], new int[2]};
          final int[][] wanted = {new int[4], new int[2], new int[2]};
          sampler.chainSpeculative(
              target, rows, draftTokenIds, 1, 9, offset, found[0], found[1], found[2]);
          sampler.verify(new VerifyArgs().target(target).draft(rows).numDrafts(1)
              .draftTokenIds(Array.i32(draftTokenIds)).random(new Randomness(9, offset))
              .outTokenIds(Array.i32(wanted[0])).outAcceptedCounts(Array.i32(wanted[1]))
              .outEmittedCounts(Array.i32(wanted[2])));
          assertArrayEquals(wanted, found);
        }
      }
    }
  }

  @Test
  void nulls() {
    try (Sampler sampler = newSampler()) {
      assertEquals("args is null; it is required",
          assertThrows(NullPointerException.class, () -> sampler.sample(null)).getMessage());
      assertEquals("args is null; it is required",
          assertThrows(NullPointerException.class, () -> sampler.workspaceSize(null)).getMessage());
      assertEquals("filter_order is null; it is required",
          assertThrows(NullPointerException.class, () -> new Params().filterOrder(null))
              .getMessage());
      assertEquals("type is null; it is required",
          assertThrows(NullPointerException.class, () -> Array.onDevice(1, null)).getMessage());
      assertNull(Array.f32(null));
      assertNull(Array.of(null, ElementType.F32));
      assertNull(Array.onDevice(0, ElementType.F32));
      final SampleArgs args = new SampleArgs();
      expectError("input.num_cols is 0; it must be at least 1",
          () -> sampler.sample(args.input(new Rows().numRows(1))));
      sampler.sample(args.input(null).exec(null).random(null).input(new Rows().numCols(1)));
    }
    assertEquals("device_type is null; it is required",
        assertThrows(NullPointerException.class, () -> Sampler.builder().deviceType(null))
            .getMessage());
  }

  @Test
  void optionsThatBreakARule() {
    expectError("num_threads is -1; it must be at least 0",
        () -> Sampler.builder().numThreads(-1).build());
    expectError("num_threads is 257; it must be below 257",
        () -> Sampler.builder().numThreads(257).build());
    expectError("max_rows is -1; it must be at least 0",
        () -> Sampler.builder().maxRows(-1).build());
    expectError("max_cols is 2147483647; it must be below 1048576",
        () -> Sampler.builder().maxRows(1).maxCols(Integer.MAX_VALUE).build());
    assertThrows(InvalidArgumentException.class, () -> Sampler.builder().maxRows(1).build());
    assertThrows(InvalidArgumentException.class, () -> Sampler.builder().deviceId(1).build());
    assertThrows(
        InvalidArgumentException.class, () -> Sampler.builder().fallbackTokenId(-2).build());
  }

  @Test
  void cudaWithoutAGpu() {
    assumeTrue(Sampler.capabilities().numCudaDevices() == 0, "this machine has a GPU");
    final UnsupportedException error = assertThrows(UnsupportedException.class,
        () -> Sampler.builder().deviceType(DeviceType.CUDA).build());
    assertEquals(Status.UNSUPPORTED, error.status());
    assertTrue(error.getMessage().contains("CUDA"), error.getMessage());
  }

  @Test
  void hostParametersAndCheckedPointersOnTheCpu() {
    final int[] tokenId = new int[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).numThreads(2)
        .hostParameters(true).checkPointers(true).build()) {
      sampler.sample(readmeArguments(tokenId)
          .rowParams(new RowParams().temperature(Array.f32(new float[] {0.8f}))));
      assertEquals(2, tokenId[0]);
    }
  }

  @Test
  void fallbackToken() {
    final int[] tokenId = new int[1];
    final int[] status = new int[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).fallbackTokenId(3).build()) {
      sampler.sample(new SampleArgs().input(new Rows(new float[] {0, Float.NaN, 0, 0, 0}, 1, 5))
          .outTokenIds(Array.i32(tokenId)).outRowStatus(Array.i32(status)));
    }
    assertEquals(3, tokenId[0]);
    assertEquals(RowStatus.INVALID_VALUE, status[0]);
  }

  @Test
  void versionAndCapabilities() {
    final Capabilities capabilities = Sampler.capabilities();
    final int version = capabilities.version();
    // A candidate for a release has its number after that: "-rc1".
    assertEquals(version / 10000 + "." + version / 100 % 100 + "." + version % 100,
        Sampler.version().split("-rc")[0]);
    assertTrue(capabilities.isaCompiled().contains(InstructionSet.SCALAR));
    assertTrue(capabilities.isaCompiled().containsAll(capabilities.isaUsable()));
    assertEquals(1, capabilities.isaActive().size());
    assertTrue(capabilities.isaUsable().containsAll(capabilities.isaActive()));
    assertTrue(capabilities.numProcessors() >= 1);
    assertTrue(capabilities.numCudaDevices() >= 0);
  }

  @Test
  void exceptionsByStatus() {
    for (Status status : Status.values()) {
      assertEquals(status, SamplerException.of(status, "text").status());
      assertEquals("text", SamplerException.of(status, "text").getMessage());
    }
    assertInstanceOf(CudaException.class, SamplerException.of(Status.CUDA, ""));
    assertInstanceOf(NativeMemoryException.class, SamplerException.of(Status.OUT_OF_MEMORY, ""));
    assertEquals(Status.UNKNOWN, Status.of(Status.UNKNOWN.ordinal()));
    assertEquals(Status.UNKNOWN, Status.of(1000));
    assertEquals(Status.UNKNOWN, Status.of(-1));
  }

  /** Calls pass ordinals, so each enumeration must have C's numbers, and all of them. */
  @Test
  void enumerationsHaveTheNumbersOfC() throws IllegalAccessException {
    expectNumbers("SAMPLER_DEVICE_", DeviceType.values());
    expectNumbers("SAMPLER_OUTPUT_", OutputKind.values());
    expectNumbers("SAMPLER_TIES_", TieRule.values());
    expectNumbers("SAMPLER_SUM_", SumRule.values());
    expectNumbers("SAMPLER_FILTERS_", FilterOrder.values());
    expectNumbers("SAMPLER_TEMPERATURE_", TemperatureOrder.values());
    expectNumbers("SAMPLER_DRAW_", DrawMethod.values());
    expectNumbers("SAMPLER_LOGPROB_", LogprobKind.values());
    expectNumbers("SAMPLER_CONFIDENCE_", Confidence.values());
    expectNumbers("SAMPLER_UNMASK_", UnmaskChange.values());
    expectNumbers("SAMPLER_PENALTY_SCOPE_", PenaltyScope.values());
    expectNumbers("SAMPLER_MASK_", MaskRule.values());
    expectNumbers("SAMPLER_ADAPTIVE_", AdaptiveKind.values());
    expectNumbers("SAMPLER_P_LESS_", PLessKind.values());
    expectNumbers("SAMPLER_TOKENS_", TokenKind.values());
    expectNumbers("SAMPLER_ACCEPT_", Acceptance.values());
    expectNumbers("SAMPLER_SIBLINGS_", SiblingRule.values());
    expectNumbers("SAMPLER_PACKING_", Packing.values());
    expectNumbers("SAMPLER_WATERMARK_", WatermarkScheme.values());
    assertEquals(RawConstants.SAMPLER_NUM_ADAPTIVE_VALUES, State.NUM_ADAPTIVE_VALUES);
    for (PenaltyForm form : PenaltyForm.values()) {
      assertEquals(form.ordinal(), constant("SAMPLER_PENALTY_" + form));
    }
    assertEquals(PenaltyScope.values().length + PenaltyForm.values().length,
        count("SAMPLER_PENALTY_"));
    for (Stage stage : Stage.values()) {
      assertEquals(stage.number(), constant("SAMPLER_STAGE_" + stage));
    }
    assertEquals(Stage.values().length, count("SAMPLER_STAGE_"));
    assertEquals(RawConstants.SAMPLER_MAX_STAGES, Params.MAX_STAGES);
    assertEquals(RawConstants.SAMPLER_LOGITS, InputKind.LOGITS.ordinal());
    assertEquals(RawConstants.SAMPLER_PROBABILITIES, InputKind.PROBABILITIES.ordinal());
    for (ElementType type : ElementType.values()) {
      final Array array = Array.onDevice(4096, type);
      final boolean isId = type == ElementType.I32 || type == ElementType.I64;
      final boolean isValue = !isId && type != ElementType.I8;
      assertEquals(isValue ? constant("SAMPLER_" + type) : 0, Call.dtype(array));
      assertEquals(isId ? constant("SAMPLER_ID_" + type) : 0, Call.idType(array));
    }
    for (InstructionSet isa : InstructionSet.values()) {
      assertEquals(1 << isa.ordinal(), constant("SAMPLER_ISA_" + isa));
    }
    for (Status status : Status.values()) {
      if (status != Status.OK && status != Status.UNKNOWN) {
        assertEquals(status.ordinal(), constant("SAMPLER_ERROR_" + status));
      }
    }
    assertEquals(Status.UNKNOWN.ordinal() - 1, count("SAMPLER_ERROR_"));
    for (java.lang.reflect.Field field : RowStatus.class.getFields()) {
      assertEquals(field.getInt(null), constant("SAMPLER_ROW_" + field.getName()));
    }
    assertEquals(RowStatus.class.getFields().length, count("SAMPLER_ROW_"));
  }

  /** A log that throws where a sampler is made leaves nothing of it behind, such as its threads. */
  @Test
  void logThatThrows() throws IOException {
    final long before = numThreads();
    for (int i = 0; i < 20; ++i) {
      assertThrows(IllegalStateException.class, () -> Sampler.builder().numThreads(8)
          .log((level, line) -> {
            throw new IllegalStateException(line);
          }).build());
    }
    assertTrue(numThreads() < before + 100);
  }

  private static long numThreads() throws IOException {
    try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
      return threads.count();
    }
  }

  private static void expectNumbers(String prefix, Enum<?>[] values) {
    for (Enum<?> value : values) {
      assertEquals(value.ordinal(), constant(prefix + value.name()), prefix + value.name());
    }
    assertEquals(values.length, count(prefix), prefix);
  }

  private static int constant(String name) {
    try {
      return RawConstants.class.getField(name).getInt(null);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private static long count(String prefix) {
    return java.util.Arrays.stream(RawConstants.class.getFields())
        .filter(field -> field.getName().startsWith(prefix)).count();
  }
}
