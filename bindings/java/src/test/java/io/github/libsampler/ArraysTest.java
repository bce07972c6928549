package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every array of every operation: too short, of the wrong kind, in the wrong place. */
final class ArraysTest {
  private static final int ROWS = 2;
  private static final int COLS = 8;
  private static final int DRAFTS = 3;
  private static final int SELECTED = 4;

  private static final Map<String, Integer> SCALARS =
      Map.of("numRows", ROWS, "numCols", COLS, "numSeeds", ROWS, "numOffsets", ROWS,
          "numInputRows", ROWS, "numDrafts", DRAFTS, "numSelected", SELECTED);

  /** Elements that the calls of this test need; two for all other arrays, one a row. */
  private static final Map<String, Integer> LENGTHS = Map.ofEntries(
      Map.entry("input", ROWS * COLS), Map.entry("candidateIds", ROWS * COLS),
      Map.entry("output", ROWS * COLS), Map.entry("target", ROWS * (DRAFTS + 1) * COLS),
      Map.entry("targetCandidateIds", ROWS * (DRAFTS + 1) * COLS),
      Map.entry("targetCandidateCounts", ROWS * (DRAFTS + 1)),
      Map.entry("draft", ROWS * DRAFTS * COLS),
      Map.entry("draftCandidateIds", ROWS * DRAFTS * COLS),
      Map.entry("draftCandidateCounts", ROWS * DRAFTS),
      Map.entry("draftTokenIds", ROWS * DRAFTS),
      Map.entry("chain_speculative outTokenIds", ROWS * (DRAFTS + 1)),
      Map.entry("residual target", ROWS * COLS), Map.entry("residual draft", ROWS * COLS),
      Map.entry("residual draftTokenIds", ROWS),
      Map.entry("top_k_select outTokenIds", ROWS * SELECTED),
      Map.entry("top_k_select outValues", ROWS * SELECTED));

  static Iterable<String> operations() {
    return Operations.NAMES;
  }

  private static int lengthOf(String operation, String member) {
    final Integer length = LENGTHS.get(operation + " " + member);
    return length != null ? length : LENGTHS.getOrDefault(member, ROWS);
  }

  /** out_token_ids of outTokenIds. */
  private static String nameInC(String member) {
    return member.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT);
  }

  /** All that go with a member: a residual takes either the drafter's rows or its tokens. */
  private static List<String> arraysWith(String member, String operation, Arguments args) {
    final String excluded = member.equals("draftTokenIds") ? "draft" : "draftTokenIds";
    final List<String> names = Operations.arrays(args);
    names.removeIf(name -> operation.equals("residual") && name.equals(excluded));
    return names;
  }

  /** f32 and i32 throughout, all arrays set that go with a member, as long as they must be. */
  private static Arguments completeArguments(String operation, String with) {
    final Arguments args = Operations.newArguments(operation);
    SCALARS.forEach((member, value) -> {
      if (Operations.has(args, member)) {
        Operations.setScalar(args, member, value);
      }
    });
    for (String member : arraysWith(with, operation, args)) {
      Operations.setArray(args, member, newArray(operation, args, member, 0));
    }
    return args;
  }

  private static Class<?> arrayType(Arguments args, String member) {
    for (Class<?> type : Operations.arrayTypes(args, member)) {
      if (type == float[].class || type == int[].class) {
        return type;
      }
    }
    return long[].class;
  }

  private static Object newArray(String operation, Arguments args, String member, int more) {
    return Operations.newArray(arrayType(args, member), lengthOf(operation, member) + more);
  }

  private static Buffer newBuffer(String operation, Arguments args, String member, int more) {
    return Operations.directCopy(newArray(operation, args, member, more), 1);
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(ROWS).maxCols(COLS).build();
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
      for (String member : arraysWith("output", operation, args)) {
        Operations.setBuffer(args, member, newBuffer(operation, args, member, 0));
      }
      Operations.call(sampler, operation, args);
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void shortArraysAndBuffers(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String member : Operations.arrays(Operations.newArguments(operation))) {
        final int needed = lengthOf(operation, member);
        final String message = nameInC(member) + " has " + (needed - 1)
            + " elements; it must have at least " + needed + " for these rows, columns and strides";
        final Arguments args = completeArguments(operation, member);
        Operations.setArray(args, member, newArray(operation, args, member, -1));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
        Operations.setBuffer(args, member, newBuffer(operation, args, member, -1));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
        Operations.setBuffer(args, member, ByteBuffer.allocateDirect(
            Operations.elementBytes(newArray(operation, args, member, 0)) * needed - 1)
            .order(ByteOrder.nativeOrder()));
        expectRefusal(message, () -> Operations.call(sampler, operation, args));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void elementsOfAnotherType(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String member : Operations.arrays(Operations.newArguments(operation))) {
        final Arguments args = completeArguments(operation, member);
        final Class<?> type = arrayType(args, member);
        final Object other = type == float[].class ? new int[64] : new float[64];
        Operations.setBuffer(args, member, Operations.directCopy(other, 0));
        expectRefusal(nameInC(member) + " has elements of type "
            + other.getClass().getComponentType() + "; they must be of type "
            + type.getComponentType(), () -> Operations.call(sampler, operation, args));
        // The wider or narrower type of the same member: short[] for f32, long[] for i32.
        for (Class<?> wrong : Operations.arrayTypes(args, member)) {
          if (wrong != type) {
            Operations.setArray(args, member, Operations.newArray(wrong, 64));
            expectRefusal(nameInC(member) + " has elements of type " + wrong.getComponentType()
                + "; they must be of type " + type.getComponentType(),
                () -> Operations.call(sampler, operation, args));
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void buffersThatCannotBeUsed(String operation) {
    final Arguments args = completeArguments(operation, "output");
    final ByteOrder otherOrder = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
        ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
    final ByteBuffer swapped = ByteBuffer.allocateDirect(1024).order(otherOrder);
    final ByteBuffer direct = ByteBuffer.allocateDirect(1024).order(ByteOrder.nativeOrder());
    for (String member : Operations.arrays(args)) {
      final String name = nameInC(member);
      final String onHeap = name + " is a buffer on the Java heap; it must be direct, or an array";
      final String order = name + " is a buffer of order " + otherOrder
          + "; it must be of this machine's, " + ByteOrder.nativeOrder();
      final String type =
          name + " is a buffer of double or char; it must be of the elements or of bytes";
      expectRefusal(onHeap,
          () -> Operations.setBuffer(args, member, FloatBuffer.allocate(64)));
      expectRefusal(onHeap, () -> Operations.setBuffer(args, member,
          ByteBuffer.allocate(64).order(ByteOrder.nativeOrder())));
      expectRefusal(order, () -> Operations.setBuffer(args, member, swapped));
      expectRefusal(order, () -> Operations.setBuffer(args, member, swapped.asFloatBuffer()));
      expectRefusal(order, () -> Operations.setBuffer(args, member, swapped.asShortBuffer()));
      expectRefusal(order, () -> Operations.setBuffer(args, member, swapped.asIntBuffer()));
      expectRefusal(order, () -> Operations.setBuffer(args, member, swapped.asLongBuffer()));
      expectRefusal(type, () -> Operations.setBuffer(args, member, direct.asDoubleBuffer()));
      expectRefusal(type, () -> Operations.setBuffer(args, member, direct.asCharBuffer()));
      expectRefusal(type, () -> Operations.setBuffer(args, member, DoubleBuffer.allocate(1)));
      final Buffer readOnly =
          direct.duplicate().order(ByteOrder.nativeOrder()).asReadOnlyBuffer()
              .order(ByteOrder.nativeOrder());
      if (member.startsWith("out")) {
        expectRefusal(name + " is a read-only buffer; it is written",
            () -> Operations.setBuffer(args, member, readOnly));
      } else {
        Operations.setBuffer(args, member, readOnly);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void addressesOnTheCpu(String operation) {
    try (Sampler sampler = newSampler()) {
      for (String member : Operations.arrays(Operations.newArguments(operation))) {
        final Arguments args = completeArguments(operation, member);
        Operations.setAddress(args, member, 4096);
        expectRefusal(nameInC(member) + " is an address of device memory; here it must be an array"
            + " or a direct buffer", () -> Operations.call(sampler, operation, args));
      }
    }
  }

  /** What no CUDA sampler takes is refused before the library is asked, so no GPU is needed. */
  @ParameterizedTest
  @MethodSource("operations")
  void arraysOnCuda(String operation) {
    final Handle allOnDevice = new Handle(0, true, true);
    final Handle hostParameters = new Handle(0, true, false);
    final java.util.Set<String> parameters =
        java.util.Set.of("temperatures", "topKs", "topPs", "minPs", "seeds", "offsets");
    for (String member : Operations.arrays(Operations.newArguments(operation))) {
      final Arguments args = Operations.newArguments(operation);
      final String onHost = nameInC(member) + " is a Java array or buffer; here it must be an"
          + " address of device memory";
      Operations.setArray(args, member, newArray(operation, args, member, 0));
      expectRefusal(onHost, () -> args.run(allOnDevice, false));
      Operations.setBuffer(args, member, newBuffer(operation, args, member, 0));
      expectRefusal(onHost, () -> args.run(allOnDevice, false));
      if (parameters.contains(member)) {
        Operations.setAddress(args, member, 4096);
        expectRefusal(nameInC(member) + " is an address of device memory; here it must be an array"
            + " or a direct buffer", () -> args.run(hostParameters, false));
      } else {
        expectRefusal(onHost, () -> args.run(hostParameters, false));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("operations")
  void workspaceOfTheCall(String operation) {
    final Arguments args = completeArguments(operation, "output");
    try (Sampler sampler = Sampler.builder().build()) {
      final int bytes = Math.toIntExact(sampler.workspaceSize(args));
      setWorkspace(args, ByteBuffer.allocateDirect(bytes + 1).position(1));
      Operations.call(sampler, operation, args);
      setWorkspace(args, ByteBuffer.allocateDirect(bytes - 1));
      final SamplerException error = assertThrows(
          SamplerException.class, () -> Operations.call(sampler, operation, args));
      assertEquals(Status.WORKSPACE_TOO_SMALL, error.status());
      expectRefusal("workspace is a buffer on the Java heap; it must be direct, or an array",
          () -> setWorkspace(args, ByteBuffer.allocate(bytes)));
      expectRefusal("workspace is a read-only buffer; it is written",
          () -> setWorkspace(args, ByteBuffer.allocateDirect(bytes).asReadOnlyBuffer()));
    }
  }

  private static void setWorkspace(Arguments args, ByteBuffer workspace) {
    try {
      args.getClass().getMethod("workspace", ByteBuffer.class).invoke(args, workspace);
    } catch (java.lang.reflect.InvocationTargetException e) {
      throw (RuntimeException) e.getCause();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void lengthsOfStridedRows() {
    assertEquals(0, Lengths.rows(0, 8, 0));
    assertEquals(16, Lengths.rows(2, 8, 0));
    assertEquals(18, Lengths.rows(2, 8, 10));
    assertEquals(0, Lengths.rows(2, 8, 7));
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
    assertEquals(0, Lengths.positions(2, 4, 8, 31, 0));
    assertEquals(Long.MAX_VALUE, Lengths.positions(2, 4, 8, Long.MAX_VALUE, 0));
  }
}
