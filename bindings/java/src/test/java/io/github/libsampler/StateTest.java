package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** States: draws by them are those of the texts, and what is refused. */
final class StateTest {
  private static final float[] LOGITS = {2, 2.5f, 1.5f, -1, 0};
  private static final int NUM_TEXTS = 3;
  private static final int NUM_TOKENS = 100;

  /** What slots hold. */
  private static final class Contents {
    final List<List<Integer>> texts = new ArrayList<>();
    final int[] prompts = new int[NUM_TEXTS];
    final float[] values = new float[NUM_TEXTS * State.NUM_ADAPTIVE_VALUES];

    Contents(State state) {
      final int[] ids = new int[NUM_TEXTS * NUM_TOKENS];
      final int[] lengths = new int[NUM_TEXTS];
      state.read(new ReadArgs().numRows(NUM_TEXTS).numTokens(NUM_TOKENS)
          .outTokenIds(Array.i32(ids)).outLengths(Array.i32(lengths))
          .outPromptLengths(Array.i32(prompts)).outAdaptiveValues(Array.f32(values)));
      for (int slot = 0; slot < NUM_TEXTS; ++slot) {
        final List<Integer> text = new ArrayList<>();
        for (int i = 0; i < NUM_TOKENS; ++i) {
          final int id = ids[slot * NUM_TOKENS + i];
          if (i < lengths[slot]) {
            text.add(id);
          } else {
            assertEquals(-1, id);
          }
        }
        texts.add(text);
      }
    }

    /** Bits of a slot's values. */
    List<Integer> bits(int slot) {
      final List<Integer> bits = new ArrayList<>();
      for (int i = 0; i < State.NUM_ADAPTIVE_VALUES; ++i) {
        bits.add(Float.floatToRawIntBits(values[slot * State.NUM_ADAPTIVE_VALUES + i]));
      }
      return bits;
    }
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(3).maxCols(5).build();
  }

  private static State newState(Sampler sampler, int maxTokens) {
    return sampler.newState(new StateOptions().numSlots(NUM_TEXTS).maxTokens(maxTokens));
  }

  private static TokenLists lists(List<List<Integer>> texts) {
    return TokenLists.of(texts.stream()
        .map(text -> text.stream().mapToInt(Integer::intValue).toArray()).toArray(int[][]::new));
  }

  private static List<List<Integer>> texts() {
    return List.of(List.of(1, 2, 3, 4, 5), List.of(6, 7), List.of());
  }

  /**
   * Draws by a state, and by texts and adaptive values that the program keeps, are the same,
   * however often some tokens are taken back.
   */
  @Test
  void drawsAreThoseOfTheHistory() {
    final int numCols = 40;
    final Random numbers = new Random(1);
    final List<List<Integer>> texts = new ArrayList<>();
    for (List<Integer> text : List.of(List.of(1, 2, 3, 1, 2), List.of(7), List.<Integer>of())) {
      texts.add(new ArrayList<>(text));
    }
    final int[] prompts = {5, 1, 0};
    final Params params = new Params().repetitionPenalty(1.3f).frequencyPenalty(0.25f)
        .dryMultiplier(0.8f).noRepeatNgramSize(3).adaptiveKind(AdaptiveKind.MIROSTAT_V2)
        .adaptiveTarget(3).adaptiveRate(0.2f).topP(0.98f).topPDecay(0.9f).topPLeast(0.5f);
    final float[] logits = new float[NUM_TEXTS * numCols];
    final float[] observations = new float[NUM_TEXTS];
    final int[] drawn = new int[NUM_TEXTS];
    final int[] wanted = new int[NUM_TEXTS];
    final int[] lengths = new int[NUM_TEXTS];
    final long[] offsets = new long[NUM_TEXTS];
    final Map<List<Integer>, List<Integer>> after = new HashMap<>(); // values by slot and length
    final SampleArgs args = new SampleArgs().input(new Rows(logits, NUM_TEXTS, numCols))
        .exec(new Exec().workspace(ByteBuffer.allocateDirect(1 << 20))).params(params)
        .random(new Randomness().seed(9).offsets(Array.i64(offsets)));
    try (Sampler sampler = newSampler();
        State state = sampler.newState(new StateOptions().numSlots(NUM_TEXTS)
            .maxTokens(NUM_TOKENS).keepAdaptiveValues(true))) {
      final AcceptArgs accept = new AcceptArgs().numRows(NUM_TEXTS).tokenIds(Array.i32(drawn))
          .numTokens(1).observations(Array.f32(observations)).params(params)
          .offsets(Array.i64(offsets)).outLengths(Array.i32(lengths));
      state.append(new AppendArgs().numRows(NUM_TEXTS).tokens(lists(texts))
          .tokenKind(TokenKind.PROMPT));
      Contents contents = new Contents(state);
      for (int slot = 0; slot < NUM_TEXTS; ++slot) {
        after.put(List.of(slot, texts.get(slot).size()), contents.bits(slot));
      }
      for (int step = 0; step < 60; ++step) {
        for (int i = 0; i < logits.length; ++i) {
          logits[i] = (float) numbers.nextGaussian();
        }
        sampler.sample(args.outTokenIds(Array.i32(wanted)).reports(null)
            .pipeline(new Pipeline().history(lists(texts)).promptLengths(Array.i32(prompts))
                .adaptiveValues(Array.f32(contents.values))));
        sampler.sample(args.outTokenIds(Array.i32(drawn))
            .reports(new ReportArgs().outObservations(Array.f32(observations)))
            .pipeline(new Pipeline().state(state)));
        assertArrayEquals(wanted, drawn);
        final long[] before = offsets.clone();
        state.accept(accept);
        contents = new Contents(state);
        for (int slot = 0; slot < NUM_TEXTS; ++slot) {
          texts.get(slot).add(drawn[slot]);
          assertEquals(texts.get(slot).size(), lengths[slot]);
          assertEquals(before[slot] + 1, offsets[slot]);
          after.put(List.of(slot, lengths[slot]), contents.bits(slot));
        }
        if (step % 5 == 4) { // two texts lose tokens, by slots in another order
          final int[] kept = {texts.get(2).size() - 2, texts.get(0).size() - 1 - step % 3};
          state.truncate(new TruncateArgs().slots(Array.i32(new int[] {2, 0}))
              .lengths(Array.i32(kept)));
          texts.get(2).subList(kept[0], texts.get(2).size()).clear();
          texts.get(0).subList(kept[1], texts.get(0).size()).clear();
        }
        contents = new Contents(state);
        assertEquals(texts, contents.texts);
        assertArrayEquals(prompts, contents.prompts);
        for (int slot = 0; slot < NUM_TEXTS; ++slot) {
          assertEquals(after.get(List.of(slot, texts.get(slot).size())), contents.bits(slot));
        }
      }
    }
  }

  @Test
  void badRows() {
    final int[] status = new int[4];
    final int[] lengths = new int[4];
    try (Sampler sampler = newSampler(); State state = newState(sampler, 4)) {
      state.append(new AppendArgs().slots(Array.i32(new int[] {2, 3, 0, 1}))
          .tokens(new TokenLists(Array.i64(new long[] {0, 2, 3, 8, 9}),
              Array.i64(new long[] {5, 6, 7, 1, 2, 3, 4, 5, 1L << 31})))
          .outLengths(Array.i32(lengths)).outRowStatus(Array.i32(status)));
      assertArrayEquals(new int[] {RowStatus.OK, RowStatus.INVALID_SLOT, RowStatus.STATE_FULL,
          RowStatus.INVALID_LIST}, status);
      assertArrayEquals(new int[] {2, -1, 0}, Arrays.copyOf(lengths, 3));
      final Contents contents = new Contents(state);
      assertEquals(List.of(List.of(), List.of(), List.of(5, 6)), contents.texts);
      assertArrayEquals(new int[3], contents.prompts);
    }
  }

  /** Rows of verification end at their first negative id. */
  @Test
  void severalTokens() {
    final long[] offsets = {7, 8, 9};
    try (Sampler sampler = newSampler(); State state = newState(sampler, 4)) {
      state.accept(new AcceptArgs().slots(Array.i32(new int[] {2, 0})).numTokens(3)
          .tokenIds(Array.i64(new long[] {3, 4, -1, 6, -1, 8})).offsets(Array.i64(offsets)));
      assertEquals(List.of(List.of(6), List.of(), List.of(3, 4)), new Contents(state).texts);
      assertArrayEquals(new long[] {8, 8, 11}, offsets);
    }
  }

  @Test
  void copyAndReset() {
    final int[] status = new int[2];
    final float[] values = {4, 1, 2, 0.5f};
    try (Sampler sampler = newSampler(); State small = newState(sampler, 4);
        State large = newState(sampler, 9)) {
      large.append(new AppendArgs().numRows(3).tokens(lists(texts())));
      large.copy(new CopyArgs().sourceSlots(Array.i32(new int[] {1}))
          .destinationSlots(Array.i32(new int[] {2})));
      small.copy(new CopyArgs().source(large).sourceSlots(Array.i32(new int[] {0, 2}))
          .destinationSlots(Array.i32(new int[] {1, 0})).outRowStatus(Array.i32(status)));
      assertEquals(List.of(List.of(1, 2, 3, 4, 5), List.of(6, 7), List.of(6, 7)),
          new Contents(large).texts);
      assertEquals(List.of(List.of(6, 7), List.of(), List.of()), new Contents(small).texts);
      assertArrayEquals(new int[] {RowStatus.STATE_FULL, RowStatus.OK}, status);

      large.reset(new ResetArgs().slots(Array.i32(new int[] {1}))
          .adaptiveValues(Array.f32(values)));
      final Contents contents = new Contents(large);
      assertEquals(List.of(List.of(1, 2, 3, 4, 5), List.of(), List.of(6, 7)), contents.texts);
      assertArrayEquals(values, Arrays.copyOfRange(contents.values, 4, 8));
      large.reset(new ResetArgs()); // all
      assertEquals(List.of(List.of(), List.of(), List.of()), new Contents(large).texts);
    }
  }

  private static void expectRefusal(String message, Executable call) {
    final InvalidArgumentException error =
        assertThrows(InvalidArgumentException.class, call, message);
    assertEquals(message, error.getMessage());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
  }

  @Test
  void serialized() {
    try (Sampler sampler = newSampler(); State state = newState(sampler, 9);
        Sampler otherSampler = newSampler(); State other = newState(otherSampler, 5);
        State small = newState(sampler, 4)) {
      state.append(new AppendArgs().numRows(3).tokens(lists(texts()))
          .tokenKind(TokenKind.PROMPT));
      final byte[] data = state.serialize(0, 2);
      assertEquals(2, other.deserialize(1, data));
      final Contents contents = new Contents(other);
      assertEquals(List.of(List.of(), List.of(1, 2, 3, 4, 5), List.of(6, 7)), contents.texts);
      assertArrayEquals(new int[] {0, 5, 2}, contents.prompts);

      expectRefusal("data have 2 sequences; the state has 1 slots from first_slot",
          () -> other.deserialize(2, data));
      expectRefusal("data have a sequence of 5 tokens; max_tokens of the state is 4",
          () -> small.deserialize(0, data));
      expectRefusal("first_slot is 4; it must be below 4", () -> other.deserialize(4, data));
      expectRefusal("num_slots is 2; it must be below 2", () -> state.serialize(2, 2));
      assertThrows(NullPointerException.class, () -> other.deserialize(0, null));
      final byte[] damaged = data.clone();
      damaged[0] ^= 1;
      for (byte[] bad : new byte[][] {{}, Arrays.copyOf(data, data.length - 1), damaged}) {
        final SamplerException error =
            assertThrows(SamplerException.class, () -> other.deserialize(0, bad));
        assertEquals(Status.CORRUPT_DATA, error.status());
      }
      assertEquals(List.of(), new Contents(other).texts.get(0));
    }
  }

  @Test
  void optionsThatBreakARule() {
    try (Sampler sampler = newSampler()) {
      final StateOptions options = new StateOptions().maxTokens(100);
      expectRefusal("num_slots is 0; it must be at least 1", () -> sampler.newState(options));
      expectRefusal("num_slots is 0; it must be at least 1", () -> sampler.stateSize(options));
      options.numSlots(2);
      final long plain = sampler.stateSize(options);
      assertTrue(sampler.stateSize(options.keepAdaptiveValues(true)) >= plain + 2 * 100 * 16);
      options.maxDistinctTokens(101);
      expectRefusal("max_distinct_tokens is 101; it must be below 101",
          () -> sampler.newState(options));
      options.maxTokens(Long.MAX_VALUE);
      expectRefusal("max_tokens is 9223372036854775807; it must be below 2147483648",
          () -> sampler.newState(options));
      assertThrows(NullPointerException.class, () -> sampler.newState(null));
      assertThrows(NullPointerException.class, () -> sampler.stateSize(null));
    }
  }

  @Test
  void argumentsThatBreakARule() {
    final Array one = Array.i32(new int[] {1});
    final Array two = Array.i32(new int[] {0, 1});
    try (Sampler sampler = newSampler(); State state = newState(sampler, 8)) {
      final AppendArgs append = new AppendArgs().slots(one).numRows(2);
      expectRefusal("slots has 1 elements; it needs 2", () -> state.append(append));
      expectRefusal("num_rows is 4; without slots it must be at most the state's slots, 3",
          () -> state.append(new AppendArgs().numRows(4)));
      append.slots(two).tokens(new TokenLists(new long[] {0, 1}, new int[1]));
      expectRefusal("tokens.num_lists is 1; it must be num_rows, 2", () -> state.append(append));
      append.tokens(new TokenLists(new long[] {0, 1, 1}, new int[1]).numTokenIds(2));
      expectRefusal("tokens.token_ids has 1 elements; tokens needs 2",
          () -> state.append(append));
      append.tokens(new TokenLists(new long[] {0, 1, 1}, new int[1])).outLengths(one);
      expectRefusal("out_lengths has 1 elements; it needs 2", () -> state.append(append));
      assertThrows(NullPointerException.class, () -> append.tokenKind(null));

      final AcceptArgs accept = new AcceptArgs().slots(two);
      expectRefusal("token_ids is NULL; it is required", () -> state.accept(accept));
      accept.tokenIds(two).numTokens(2);
      expectRefusal("token_ids has 2 elements; it needs 4", () -> state.accept(accept));
      accept.numTokens(-1);
      expectRefusal("num_tokens is -1; it must be at least 1", () -> state.accept(accept));
      accept.numTokens(1).observations(Array.f32(new float[1]));
      expectRefusal("observations has 1 elements; it needs 2", () -> state.accept(accept));
      accept.observations(two);
      expectRefusal("observations is of I32; it must be of F32", () -> state.accept(accept));
      accept.observations(null).offsets(Array.i64(new long[2]));
      expectRefusal("offsets has 2 elements; it needs 3", () -> state.accept(accept));
      accept.offsets(null)
          .rowParams(new RowParams().topPDecay(Array.f32(new float[2])));
      expectRefusal("row_params->top_p_decay has 2 elements; row_params needs 3",
          () -> state.accept(accept));
      accept.rowParams(null).tokenIds(Array.onDevice(4096, ElementType.I32));
      expectRefusal("token_ids is an address of device memory; here it must be an array or a"
          + " direct buffer", () -> state.accept(accept));

      final TruncateArgs truncate = new TruncateArgs().slots(two);
      expectRefusal("lengths is NULL; it is required", () -> state.truncate(truncate));
      truncate.lengths(one);
      expectRefusal("lengths has 1 elements; it needs 2", () -> state.truncate(truncate));
      truncate.lengths(two).outRowStatus(one);
      expectRefusal("out_row_status has 1 elements; it needs 2", () -> state.truncate(truncate));

      final CopyArgs copy = new CopyArgs().destinationSlots(two);
      expectRefusal("source_slots is NULL; it is required", () -> state.copy(copy));
      copy.sourceSlots(one);
      expectRefusal("source_slots has 1 elements; it needs 2", () -> state.copy(copy));

      final ResetArgs reset =
          new ResetArgs().slots(two).adaptiveValues(Array.f32(new float[7]));
      expectRefusal("adaptive_values has 7 elements; it needs 8", () -> state.reset(reset));

      final ReadArgs read =
          new ReadArgs().slots(two).numTokens(3).outTokenIds(Array.i64(new long[5]));
      expectRefusal("out_token_ids has 5 elements; it needs 6", () -> state.read(read));
      read.outTokenIds(null).outPromptLengths(one);
      expectRefusal("out_prompt_lengths has 1 elements; it needs 2", () -> state.read(read));
      read.outPromptLengths(null).outAdaptiveValues(Array.f32(new float[7]));
      expectRefusal("out_adaptive_values has 7 elements; it needs 8", () -> state.read(read));

      assertThrows(NullPointerException.class, () -> state.append(null));
      assertEquals(0, sampler.workspaceSize(accept));
      assertEquals(List.of(List.of(), List.of(), List.of()), new Contents(state).texts);
    }
  }

  private static SampleArgs newDraw(Pipeline pipeline) {
    return new SampleArgs().input(new Rows(LOGITS, 1, 5)).pipeline(pipeline)
        .outTokenIds(Array.i32(new int[1]));
  }

  @Test
  void statesOfAnotherSampler() {
    final String rule = " is of another sampler; it must be of the one that is called";
    try (Sampler sampler = newSampler(); Sampler other = newSampler();
        State state = newState(sampler, 8); State ofOther = newState(other, 8)) {
      final SampleArgs draw = newDraw(new Pipeline().state(ofOther));
      expectRefusal("pipeline->state" + rule, () -> sampler.sample(draw));
      other.sample(draw);
      final Array one = Array.i32(new int[1]);
      expectRefusal("source" + rule, () -> state.copy(
          new CopyArgs().source(ofOther).sourceSlots(one).destinationSlots(one)));
      expectRefusal("pipeline->adaptive_values is set; it must be NULL with pipeline->state",
          () -> sampler.sample(newDraw(new Pipeline().state(state)
              .adaptiveValues(Array.f32(new float[4])))));
    }
  }

  private static void expectClosed(String message, State state) {
    for (Executable call : new Executable[] {
        () -> state.append(new AppendArgs()), () -> state.accept(new AcceptArgs()),
        () -> state.truncate(new TruncateArgs()), () -> state.copy(new CopyArgs()),
        () -> state.reset(new ResetArgs()), () -> state.read(new ReadArgs()),
        () -> state.serialize(0, 1), () -> state.deserialize(0, new byte[1])}) {
      assertEquals(message, assertThrows(IllegalStateException.class, call).getMessage());
    }
  }

  @Test
  void closed() {
    final Sampler sampler = newSampler();
    final State state = newState(sampler, 8);
    final State other = newState(sampler, 8);
    state.close();
    state.close();
    expectClosed("the state is closed", state);
    final Array one = Array.i32(new int[1]);
    for (Executable call : new Executable[] {
        () -> sampler.sample(newDraw(new Pipeline().state(state))),
        () -> other.copy(new CopyArgs().source(state).sourceSlots(one).destinationSlots(one))}) {
      assertEquals("the state is closed",
          assertThrows(IllegalStateException.class, call).getMessage());
    }
    sampler.sample(newDraw(new Pipeline().state(other)));
    sampler.close(); // with a state
    expectClosed("the sampler is closed", other);
    other.close();
    assertThrows(IllegalStateException.class, () -> newState(sampler, 8));
    assertThrows(IllegalStateException.class, () -> sampler.stateSize(new StateOptions()));
  }

  /** Arguments that nobody else has; the sampler stays because of its state. */
  @Test
  void stateKeepsItsSampler() throws InterruptedException {
    Sampler sampler = newSampler();
    final WeakReference<Sampler> reference = new WeakReference<>(sampler);
    State state = newState(sampler, 8);
    sampler = null;
    System.gc();
    Thread.sleep(20);
    state.accept(new AcceptArgs().numRows(1).numTokens(1).tokenIds(Array.i32(new int[] {3})));
    assertEquals(List.of(3), new Contents(state).texts.get(0));
    assertTrue(reference.get() != null);
    state = null;
    for (int i = 0; i < 1000 && reference.get() != null; ++i) {
      System.gc();
      Thread.sleep(2);
    }
    assertTrue(reference.get() == null);
  }
}
