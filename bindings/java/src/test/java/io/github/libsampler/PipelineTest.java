package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Edits of logits: what they do to a draw, their arrays, and the members that C gets. */
final class PipelineTest {
  private static final float[] LOGITS = {2, 2.5f, 1.5f, -1, 0, 0.5f, 1, -2, 3, 2};

  /** What the pipeline below leaves of the logits, by hand. */
  private static final float[] EDITED = {1.5f, 2.5f / 1.5f, Float.NEGATIVE_INFINITY, -1.5f, 1, 0,
      1, -3, Float.NEGATIVE_INFINITY, 3};

  /** Two rows with a history, biases and a mask each. */
  private static Pipeline newPipeline() {
    return new Pipeline()
        .history(new TokenLists(new long[] {0, 3, 4}, new int[] {1, 3, 1, 2}))
        .biased(new TokenLists(new long[] {0, 2}, new int[] {4, 0}))
        .biases(Array.f32(new float[] {1, -0.5f}))
        .tokenBitmasks(Array.i32(new int[] {0b11011, 0b10111}));
  }

  private static SampleArgs newArguments(int[] tokens, int[] status) {
    return new SampleArgs().input(new Rows(LOGITS, 2, 5))
        .params(new Params().repetitionPenalty(1.5f)).pipeline(newPipeline())
        .outTokenIds(Array.i32(tokens)).outRowStatus(Array.i32(status));
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(2).maxCols(5).build();
  }

  @Test
  void tokensOfRowsEditedByHand() {
    final int[] tokens = new int[2];
    final int[] status = {77, 77};
    final int[] wanted = new int[2];
    final Randomness random = new Randomness();
    final SampleArgs args = newArguments(tokens, status).random(random);
    final SampleArgs byHand = new SampleArgs().input(new Rows(EDITED, 2, 5)).random(random)
        .outTokenIds(Array.i32(wanted));
    final Set<Integer> drawn = new HashSet<>();
    try (Sampler sampler = newSampler()) {
      for (int offset = 0; offset < 200; ++offset) {
        random.offset(offset);
        sampler.sample(args);
        sampler.sample(byHand);
        assertArrayEquals(wanted, tokens);
        assertArrayEquals(new int[2], status);
        drawn.add(tokens[0]);
      }
      assertEquals(4, drawn.size());

      final float[] output = new float[10];
      sampler.filter(new FilterArgs().input(new Rows(LOGITS, 2, 5))
          .params(new Params().repetitionPenalty(1.5f)).pipeline(newPipeline())
          .outputKind(OutputKind.VALUES).output(Array.f32(output)));
      assertArrayEquals(EDITED, output);

      // The same from ids of 64 bits, in buffers.
      args.pipeline(newPipeline()
          .history(new TokenLists(
              Array.of(Operations.directCopy(new long[] {0, 3, 4}, 1), ElementType.I64),
              Array.of(Operations.directCopy(new long[] {1, 3, 1, 2}, 1), ElementType.I64)))
          .biased(new TokenLists(
              Array.i64(new long[] {0, 2}), Array.i64(new long[] {4, 0}))));
      sampler.sample(args);
      assertArrayEquals(wanted, tokens);
      // And none.
      sampler.sample(args.pipeline(null).params(null));
      sampler.sample(byHand.input(new Rows(LOGITS, 2, 5)));
      assertArrayEquals(wanted, tokens);
    }
  }

  /** Lists that were copied say what those with offsets say. */
  @Test
  void listsOfArrays() {
    final int[] tokens = new int[2];
    final int[] wanted = new int[2];
    final int[] status = {77, 77};
    final int[][] history = {{1, 3, 1}, {2}};
    final int[][] biased = {{4, 0}};
    try (Sampler sampler = newSampler()) {
      for (int offset = 0; offset < 50; ++offset) {
        final Randomness random = new Randomness(1, offset);
        sampler.sample(newArguments(wanted, status).random(random));
        final SampleArgs args = newArguments(tokens, status).random(random);
        sampler.sample(args.pipeline(newPipeline().history(TokenLists.of(history))
            .biased(TokenLists.direct(biased))));
        assertArrayEquals(wanted, tokens);
        sampler.sample(args.pipeline(newPipeline().history(TokenLists.direct(history))
            .biased(TokenLists.of(biased))));
        assertArrayEquals(wanted, tokens);
        assertArrayEquals(new int[2], status);
      }
      expectRefusal(sampler, "pipeline->banned.num_lists is 3; it must be 1 or the number of slots,"
          + " 2", p -> p.banned(TokenLists.of(new int[0], new int[] {1}, new int[0])));
      history[0][0] = 4; // they are copies
      final TokenLists lists = TokenLists.of(history);
      history[0][0] = 0;
      assertArrayEquals(new int[] {4, 3, 1, 2}, (int[]) lists.tokenIds.memory);
    }
    assertEquals("the buffer is on the Java heap; it must be direct, or an array",
        assertThrows(InvalidArgumentException.class,
            () -> new TokenLists(LongBuffer.allocate(2), IntBuffer.allocate(1))).getMessage());
  }

  /** The contents of offsets are the row's business. */
  @Test
  void badOffsets() {
    try (Sampler sampler = newSampler()) {
      for (long[] offsets : new long[][] {{0, 3, 5}, {0, 3, 2}, {0, 4, Long.MAX_VALUE}}) {
        final int[] tokens = new int[2];
        final int[] status = {77, 77};
        final SampleArgs args = newArguments(tokens, status);
        sampler.sample(args.pipeline(
            newPipeline().history(new TokenLists(offsets, new int[] {1, 3, 1, 2}))));
        assertArrayEquals(new int[] {RowStatus.OK, RowStatus.INVALID_LIST}, status);
        assertTrue(tokens[0] >= 0);
        assertEquals(-1, tokens[1]);
      }
    }
  }

  @Test
  void forcedTokens() {
    try (Sampler sampler = newSampler()) {
      for (long forced : new long[] {3, 2, 5, 1L << 32}) { // the mask or not
        final int[] tokens = new int[2];
        final int[] status = {77, 77};
        sampler.sample(newArguments(tokens, status)
            .rowParams(new RowParams().forcedTokenId(Array.i64(new long[] {-1, forced}))));
        final boolean isGood = forced < 5;
        assertTrue(tokens[0] >= 0);
        assertEquals(isGood ? forced : -1, tokens[1]);
        assertArrayEquals(new int[] {0, isGood ? 0 : RowStatus.INVALID_PARAMETER}, status);
      }
    }
  }

  private static void expectRefusal(
      Sampler sampler, String message, Consumer<Pipeline> change) {
    final int[] tokens = {77, 77};
    final Pipeline pipeline = newPipeline();
    change.accept(pipeline);
    final SampleArgs args = newArguments(tokens, new int[2]).pipeline(pipeline);
    assertEquals(message,
        assertThrows(InvalidArgumentException.class, () -> sampler.sample(args), message)
            .getMessage());
    assertArrayEquals(new int[] {77, 77}, tokens);
  }

  @Test
  void lengthsThatBreakARule() {
    final Array one = Array.i32(new int[1]);
    try (Sampler sampler = newSampler()) {
      expectRefusal(sampler,
          "pipeline->history.num_lists is 0; it must be 1 or the number of slots, 2",
          p -> p.history(new TokenLists(new long[0], new int[0])));
      expectRefusal(sampler,
          "pipeline->bad_words.offsets has 0 elements; pipeline->bad_words needs 1",
          p -> p.badWords(new TokenLists(new long[0], new int[0])));
      expectRefusal(sampler,
          "pipeline->history.num_lists is 3; it must be 1 or the number of slots, 2",
          p -> p.history(new TokenLists(new long[] {0, 1, 2, 3}, new int[4])));
      expectRefusal(sampler,
          "pipeline->history.offsets has 2 elements; pipeline->history needs 3",
          p -> p.history(new TokenLists(new long[] {0, 1}, new int[4]).numLists(2)));
      expectRefusal(sampler, "pipeline->history.num_lists is -1; it must be 0",
          p -> p.history(new TokenLists().numLists(-1)));
      expectRefusal(sampler,
          "pipeline->history.token_ids has 4 elements; pipeline->history needs 5",
          p -> p.history(new TokenLists(new long[] {0, 1, 2}, new int[4]).numTokenIds(5)));
      expectRefusal(sampler, "params->repetition_penalty is 1.5; it needs"
          + " pipeline->history or pipeline->state",
          p -> p.history(null));
      expectRefusal(sampler, "pipeline->prompt_lengths has 1 elements; pipeline needs 2",
          p -> p.promptLengths(one));
      expectRefusal(sampler, "pipeline->max_history_tokens is -1; it must be at least 0",
          p -> p.maxHistoryTokens(-1));
      expectRefusal(sampler, "pipeline->biases has 1 elements; pipeline needs 2",
          p -> p.biases(Array.f32(new float[1])));
      expectRefusal(sampler, "pipeline->history.token_ids is of I32 and pipeline->biased.token_ids"
          + " of I64; they must be of one type",
          p -> p.biased(new TokenLists(Array.i64(new long[] {0, 2}), Array.i64(new long[2]))));
      expectRefusal(sampler, "pipeline->guidance_logits has 9 elements; it must be rows of 5",
          p -> p.guidanceLogits(Array.f32(new float[9]))
              .guidanceRowIndices(Array.i32(new int[2])));
      expectRefusal(sampler, "pipeline->guidance_logits is of type BF16 and the call's logits of"
          + " another; they must be of one type",
          p -> p.guidanceLogits(Array.bf16(new short[10])));
      expectRefusal(sampler, "pipeline->dense_bias has 9 elements; it must be rows of 5",
          p -> p.denseBias(Array.f32(new float[9])));
      expectRefusal(sampler,
          "pipeline->num_dense_biases is 3; it must be 1 or the number of slots, 2",
          p -> p.denseBias(Array.f32(new float[15])));
      expectRefusal(sampler, "pipeline->dense_bias has 9 elements; pipeline needs 10",
          p -> p.denseBias(Array.f32(new float[9])).numDenseBiases(2).denseBiasStride(5));
      expectRefusal(sampler, "pipeline->bad_word_offsets has 2 elements; pipeline needs 3",
          p -> p.badWords(new TokenLists(new long[] {0, 1}, new int[1]))
              .badWordOffsets(Array.i64(new long[2])));
      expectRefusal(sampler, "pipeline->num_token_bitmasks is 1; it must be at least 2",
          p -> p.tokenBitmasks(one));
      expectRefusal(sampler, "pipeline->token_bitmasks has 7 elements; it must be rows of 3",
          p -> p.tokenBitmasks(Array.i32(new int[7])).tokenBitmaskStride(3));
      expectRefusal(sampler, "pipeline->token_bitmask_indices has 1 elements; pipeline needs 2",
          p -> p.tokenBitmaskIndices(one));
    }
  }

  @Test
  void stages() {
    final Params params = new Params();
    assertArrayEquals(new int[Params.MAX_STAGES], params.stages);
    final int[] wanted = new int[Params.MAX_STAGES];
    wanted[0] = 3;
    wanted[1] = 16;
    assertArrayEquals(wanted, params.stages(Stage.PENALTIES, Stage.TOP_K).stages);
    assertEquals("params->stages has 33 elements; it must have at most 32",
        assertThrows(InvalidArgumentException.class, () -> params.stages(new Stage[33]))
            .getMessage());
    assertEquals("stages[1] is null; it is required",
        assertThrows(NullPointerException.class, () -> params.stages(Stage.BIAS, null))
            .getMessage());
    assertArrayEquals(wanted, params.stages);
    assertArrayEquals(new int[Params.MAX_STAGES], params.stages().stages);
  }

  @Test
  void orderOfStages() {
    final float[] output = new float[5];
    final TokenLists lists = new TokenLists(new long[] {0, 1}, new int[] {1});
    final Params params = new Params().repetitionPenalty(1.5f);
    final FilterArgs args = new FilterArgs().input(new Rows(LOGITS, 1, 5)).params(params)
        .pipeline(new Pipeline().history(lists).biased(lists)
            .biases(Array.f32(new float[] {0.5f})))
        .outputKind(OutputKind.VALUES).output(Array.f32(output));
    try (Sampler sampler = newSampler()) {
      sampler.filter(args);
      assertEquals(2, output[1]);
      params.stages(Stage.PENALTIES, Stage.BIAS, Stage.TOP_K);
      sampler.filter(args);
      assertEquals(2.5f / 1.5f + 0.5f, output[1]);
      params.stages(Stage.BIAS, Stage.PENALTIES, Stage.TOP_K);
      sampler.filter(args);
      assertEquals(2, output[1]);
      params.stages(Stage.BIAS, Stage.PENALTIES, Stage.TOP_K, Stage.TOP_K);
      assertEquals("params->stages has SAMPLER_STAGE_TOP_K twice; it must have each stage once",
          assertThrows(InvalidArgumentException.class, () -> sampler.filter(args)).getMessage());
    }
  }

  /** Gives each member a value of its own: numbers, and arrays in device memory. */
  private static long fill(Object part, long next) throws ReflectiveOperationException {
    long value = next;
    for (Method method : part.getClass().getMethods()) {
      if (method.getReturnType() != part.getClass() || method.getParameterCount() != 1
          || Modifier.isStatic(method.getModifiers())) {
        continue;
      }
      final Class<?> type = method.getParameterTypes()[0];
      if (type == State.class) {
        continue; // its address is the sampler's business
      }
      ++value;
      if (type == TokenLists.class) {
        final TokenLists lists = new TokenLists();
        value = fill(lists, value);
        method.invoke(part, lists);
      } else if (type == Array.class) {
        method.invoke(part, Array.onDevice(value, ElementType.I64));
      } else if (type == float.class) {
        method.invoke(part, (float) value);
      } else if (type == int.class) {
        method.invoke(part, (int) value);
      } else if (type == long.class) {
        method.invoke(part, value);
      } else if (type == Stage[].class) {
        method.invoke(part, (Object) Stage.values());
      } else {
        final Object[] constants = type.getEnumConstants();
        method.invoke(part, constants[constants.length - 1]);
      }
    }
    return value;
  }

  /** Compares a struct's members in memory with the fields of the same names. */
  private static void expectFilled(ByteBuffer memory, int at, Object part, String struct)
      throws ReflectiveOperationException {
    int compared = 0;
    for (Field field : part.getClass().getDeclaredFields()) {
      final String name =
          field.getName().replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT);
      if (Modifier.isStatic(field.getModifiers()) || field.getType() == boolean.class
          || field.getType() == State.class) {
        continue;
      }
      field.setAccessible(true);
      final Object value = field.get(part);
      final int member = at + Layout.class.getField(struct + "_" + name).getInt(null);
      if (value instanceof TokenLists) {
        expectFilled(memory, member, value, "TOKEN_LISTS");
      } else if (value instanceof Array) {
        assertEquals(((Array) value).address, memory.getLong(member), name);
      } else if (value instanceof Float) {
        assertEquals((float) value, memory.getFloat(member), name);
      } else if (value instanceof int[]) {
        for (int i = 0; i < ((int[]) value).length; ++i) {
          assertEquals(((int[]) value)[i], memory.getInt(member + i * Integer.BYTES), name + i);
        }
      } else if (value instanceof Enum) {
        assertEquals(((Enum<?>) value).ordinal(), memory.getInt(member), name);
      } else if (value instanceof Long || name.startsWith("NUM_")) {
        assertEquals(((Number) value).longValue(), memory.getLong(member), name);
      } else {
        assertEquals(value, memory.getInt(member), name);
      }
      ++compared;
    }
    final long members = Arrays.stream(Layout.class.getFields())
        .filter(field -> field.getName().startsWith(struct + "_")).count();
    final int others = struct.equals("PIPELINE") ? 4 : struct.equals("TOKEN_LISTS") ? 1 : 2;
    assertEquals(members - others, compared, struct); // less sizes, type of ids, state
  }

  /** Each member of the structs that only edits and windows have many of. */
  @Test
  void membersArrive() throws ReflectiveOperationException {
    final Params params = new Params();
    final RowParams rowParams = new RowParams();
    final Pipeline pipeline = new Pipeline();
    fill(pipeline, fill(rowParams, fill(params, 4096)));
    final ByteBuffer memory =
        ByteBuffer.allocateDirect(Call.SIZE).order(ByteOrder.nativeOrder());
    final long address = Raw.javaAddress(memory);
    final Call call = new Call(memory, true, true);
    new SampleArgs().params(params).rowParams(rowParams).pipeline(pipeline).write(call);
    final int args = Call.ARGS;
    expectFilled(memory,
        (int) (memory.getLong(args + Layout.SAMPLE_ARGS_PARAMS) - address), params, "PARAMS");
    final int paramsAt = (int) (memory.getLong(args + Layout.SAMPLE_ARGS_PARAMS) - address);
    expectFilled(memory, paramsAt, ParametersOfC.read(memory.duplicate().position(paramsAt).slice()
        .order(ByteOrder.nativeOrder())), "PARAMS");
    expectFilled(memory, (int) (memory.getLong(args + Layout.SAMPLE_ARGS_ROW_PARAMS) - address),
        rowParams, "ROW_PARAMS");
    final int at = (int) (memory.getLong(args + Layout.SAMPLE_ARGS_PIPELINE) - address);
    expectFilled(memory, at, pipeline, "PIPELINE");
    assertEquals(Layout.PIPELINE_SIZE, memory.getLong(at + Layout.PIPELINE_STRUCT_SIZE));
    assertEquals(1, memory.getInt(at + Layout.PIPELINE_TOKEN_ID_TYPE));

    // Nothing of it is left for the next call.
    final Params defaults = new Params();
    new SampleArgs().params(defaults).write(call);
    expectFilled(memory,
        (int) (memory.getLong(args + Layout.SAMPLE_ARGS_PARAMS) - address), defaults, "PARAMS");
    assertEquals(0, memory.getLong(args + Layout.SAMPLE_ARGS_ROW_PARAMS));
    assertEquals(0, memory.getLong(args + Layout.SAMPLE_ARGS_PIPELINE));
  }
}
