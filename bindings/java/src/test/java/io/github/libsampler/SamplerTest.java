package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.libsampler.internal.RawConstants;
import java.lang.management.ManagementFactory;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A sampler's life, its options and the scalars of its calls. */
final class SamplerTest {
  private static final float[] LOGITS = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};

  private static TopKTopPArgs readmeArguments(int[] tokenId) {
    return new TopKTopPArgs().input(LOGITS).numRows(1).numCols(5).temperature(0.8f).topK(3)
        .topP(0.95f).seed(1).outTokenIds(tokenId);
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
      final TopKTopPArgs args = readmeArguments(tokenId);
      for (int step = 0; step < 5; ++step) {
        sampler.topKTopP(args.offset(step));
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
      final TopKTopPArgs args = readmeArguments(new int[1]);
      sampler.topKTopP(args); // loads classes
      final long before = memory.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < numCalls; ++i) {
        sampler.topKTopP(args.offset(i));
      }
      final long bytes = memory.getCurrentThreadAllocatedBytes() - before;
      assertTrue(bytes < 1024, bytes + " bytes in " + numCalls + " calls");
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
    final TopKTopPArgs args = readmeArguments(new int[1]);
    for (Runnable call : new Runnable[] {
        () -> sampler.topKTopP(args), () -> sampler.workspaceSize(args)}) {
      final IllegalStateException error = assertThrows(IllegalStateException.class, call::run);
      assertEquals("the sampler is closed", error.getMessage());
    }
  }

  @Test
  void scalarsThatBreakARule() {
    final int[] tokenId = {42};
    try (Sampler sampler = newSampler()) {
      expectArgumentError(sampler, "num_rows is -1; it must be at least 0", a -> a.numRows(-1));
      expectArgumentError(sampler, "num_rows is -9223372036854775808; it must be at least 0",
          a -> a.numRows(Long.MIN_VALUE));
      expectArgumentError(sampler,
          "num_rows is 9223372036854775807; it must be below 2147483648",
          a -> a.numRows(Long.MAX_VALUE).input((float[]) null).outTokenIds((int[]) null));
      expectArgumentError(sampler, "num_cols is 0; it must be at least 1", a -> a.numCols(0));
      expectArgumentError(sampler, "num_cols is 9223372036854775807; it must be below 1048576",
          a -> a.numCols(Long.MAX_VALUE));
      expectArgumentError(sampler, "row_stride is -5; it must be 0 or at least num_cols, 5",
          a -> a.rowStride(-5));
      expectArgumentError(sampler, "input has 3 rows, 9223372036854775807 elements"
          + " apart; it must fit the address space",
          a -> a.numRows(3).rowStride(Long.MAX_VALUE));
      expectArgumentError(sampler, "temperature is NaN; it must be a number",
          a -> a.temperature(Float.NaN));
      expectArgumentError(sampler, "top_p is NaN; it must be a number", a -> a.topP(Float.NaN));
      expectArgumentError(sampler, "input is NULL; it is required", a -> a.input((float[]) null));
      expectArgumentError(sampler, "out_token_ids is NULL; it is required",
          a -> a.outTokenIds((long[]) null));
      expectArgumentError(sampler, "num_seeds is 0; it must be 1 or num_rows, 1",
          a -> a.seeds(new long[1]));
      expectArgumentError(sampler, "num_seeds is 1; it must be 0", a -> a.numSeeds(1));
      expectArgumentError(sampler, "workspace is an address of device memory; here it must be an"
          + " array or a direct buffer", a -> a.workspaceAddress(0, 8));
      sampler.topKTopP(readmeArguments(tokenId)); // and all is well afterwards
      assertEquals(2, tokenId[0]);
    }
  }

  private static void expectArgumentError(
      Sampler sampler, String message, Consumer<TopKTopPArgs> change) {
    final int[] tokenId = {42};
    final TopKTopPArgs args = readmeArguments(tokenId);
    change.accept(args);
    expectError(message, () -> sampler.topKTopP(args));
    assertEquals(42, tokenId[0]);
  }

  @Test
  void extremesThatAreAllowed() {
    final int[] tokenId = new int[1];
    try (Sampler sampler = newSampler()) {
      final TopKTopPArgs args = readmeArguments(tokenId);
      sampler.topKTopP(args.temperature(0).topK(Integer.MIN_VALUE).topP(-1));
      assertEquals(1, tokenId[0]);
      sampler.topKTopP(args.temperature(Float.NEGATIVE_INFINITY).seed(-1).offset(Long.MIN_VALUE));
      assertEquals(1, tokenId[0]);
      tokenId[0] = 42;
      sampler.topKTopP(args.numRows(0).input(new float[0]).outTokenIds(new int[0]));
      assertEquals(42, tokenId[0]);
    }
  }

  @Test
  void nulls() {
    try (Sampler sampler = newSampler()) {
      assertEquals("args is null; it is required",
          assertThrows(NullPointerException.class, () -> sampler.topKTopP(null)).getMessage());
      assertEquals("args is null; it is required",
          assertThrows(NullPointerException.class, () -> sampler.workspaceSize(null)).getMessage());
      final TopKTopPArgs args = new TopKTopPArgs();
      assertEquals("input_dtype is null; it is required",
          assertThrows(NullPointerException.class, () -> args.inputDtype(null)).getMessage());
      assertEquals("filter_order is null; it is required",
          assertThrows(NullPointerException.class, () -> args.filterOrder(null)).getMessage());
      expectError("num_cols is 0; it must be at least 1", () -> sampler.topKTopP(args));
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
    expectError("max_cols is 9223372036854775807; it must be below 1048576",
        () -> Sampler.builder().maxRows(1).maxCols(Long.MAX_VALUE).build());
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
      sampler.topKTopP(readmeArguments(tokenId).temperatures(new float[] {0.8f}));
      assertEquals(2, tokenId[0]);
    }
  }

  @Test
  void fallbackToken() {
    final int[] tokenId = new int[1];
    final int[] status = new int[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).fallbackTokenId(3).build()) {
      sampler.argmax(new ArgmaxArgs().input(new float[] {0, Float.NaN, 0, 0, 0}).numRows(1)
          .numCols(5).outTokenIds(tokenId).outRowStatus(status));
    }
    assertEquals(3, tokenId[0]);
    assertEquals(RowStatus.INVALID_VALUE, status[0]);
  }

  @Test
  void versionAndCapabilities() {
    final Capabilities capabilities = Sampler.capabilities();
    final int version = capabilities.version();
    assertEquals(version / 10000 + "." + version / 100 % 100 + "." + version % 100,
        Sampler.version());
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
    expectNumbers("SAMPLER_ID_", IdType.values());
    expectNumbers("SAMPLER_TIES_", TieRule.values());
    expectNumbers("SAMPLER_FILTERS_", FilterOrder.values());
    expectNumbers("SAMPLER_TEMPERATURE_", TemperatureOrder.values());
    expectNumbers("SAMPLER_DRAW_", DrawMethod.values());
    expectNumbers("SAMPLER_LOGPROB_", LogprobKind.values());
    assertEquals(RawConstants.SAMPLER_LOGITS, InputKind.LOGITS.ordinal());
    assertEquals(RawConstants.SAMPLER_PROBABILITIES, InputKind.PROBABILITIES.ordinal());
    assertEquals(RawConstants.SAMPLER_F32, Dtype.F32.ordinal());
    assertEquals(RawConstants.SAMPLER_F16, Dtype.F16.ordinal());
    assertEquals(RawConstants.SAMPLER_BF16, Dtype.BF16.ordinal());
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
