package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Reports of sampling, and the values of adaptive stages. ArraysTest has the arrays' lengths. */
final class ReportsTest {
  private static final float[] LOGITS = {2, 2.5f, 1.5f, -1, 0};
  private static final float NONE = Float.NEGATIVE_INFINITY;

  /** By the definition. */
  private static double[] logprobsOf(float... logits) {
    double sum = 0;
    for (float x : logits) {
      sum += Math.exp(x);
    }
    final double[] logprobs = new double[logits.length];
    for (int i = 0; i < logits.length; ++i) {
      logprobs[i] = logits[i] - Math.log(sum);
    }
    return logprobs;
  }

  private static double entropyOf(double[] logprobs) {
    double sum = 0;
    for (double x : logprobs) {
      sum -= Math.exp(x) > 0 ? Math.exp(x) * x : 0;
    }
    return sum;
  }

  /** One row: the input, what a bias left of it, and what top-k kept of that. */
  @Test
  void reportsOfTheDefinition() {
    final float[] edited = {2, 0.5f, 1.5f, -1, 0};
    final float[] kept = {2, 0.5f, 1.5f, NONE, NONE};
    final Map<LogprobKind, float[]> rows = Map.of(
        LogprobKind.RAW, LOGITS, LogprobKind.EDITED, edited, LogprobKind.PROCESSED, kept);
    final Map<LogprobKind, int[]> tops = Map.of(LogprobKind.RAW, new int[] {1, 0, 2, 4},
        LogprobKind.EDITED, new int[] {0, 2, 1, 4}, LogprobKind.PROCESSED, new int[] {0, 2, 1, -1});
    final Randomness random = new Randomness();
    final int[] token = new int[1];
    final float[] logprob = new float[1];
    final int[] rank = new int[1];
    final int[] topIds = new int[4];
    final float[] topLogprobs = new float[4];
    final float[] chosen = new float[3];
    final float[] entropy = new float[1];
    final float[] observation = new float[1];
    final int[] bitmask = {77, 77};
    final int[] keptIds = new int[4];
    final float[] probabilities = new float[4];
    final byte[] removed = new byte[5];
    final ReportArgs reports = new ReportArgs().outLogprobs(Array.f32(logprob))
        .numTopLogprobs(4).outTopTokenIds(Array.i32(topIds)).outTopLogprobs(Array.f32(topLogprobs))
        .numChosen(3).chosenTokenIds(Array.i32(new int[] {3, 1, 5}))
        .outChosenLogprobs(Array.f32(chosen)).outRanks(Array.i32(rank))
        .outEntropies(Array.f32(entropy)).outObservations(Array.f32(observation))
        .outKeptBitmask(Array.i32(bitmask)).keptBitmaskStride(2).keptCapacity(4)
        .outKeptTokenIds(Array.i32(keptIds)).outKeptProbabilities(Array.f32(probabilities))
        .outRemovedBy(Array.i8(removed));
    final SampleArgs args = new SampleArgs().input(new Rows(LOGITS, 1, 5)).random(random)
        .params(new Params().topK(3)).outTokenIds(Array.i32(token)).reports(reports)
        .pipeline(new Pipeline().biased(new TokenLists(new long[] {0, 1}, new int[] {1}))
            .biases(Array.f32(new float[] {-2})));
    final byte topK = (byte) (Stage.TOP_K.ordinal() + 1);
    final double[] ofKept = logprobsOf(kept);
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
      for (LogprobKind kind : LogprobKind.values()) {
        final double[] logprobs = logprobsOf(rows.get(kind));
        for (int offset = 0; offset < 20; ++offset) {
          random.offset(offset);
          reports.logprobKind(kind);
          sampler.sample(args);
          assertArrayEquals(tops.get(kind), topIds);
          assertArrayEquals(new int[] {0b00111, 0}, bitmask);
          assertArrayEquals(new int[] {0, 1, 2, -1}, keptIds);
          assertArrayEquals(new byte[] {0, 0, 0, topK, topK}, removed);
          for (int i = 0; i < 4; ++i) {
            assertEquals(
                topIds[i] < 0 ? Double.NaN : logprobs[topIds[i]], topLogprobs[i], 1e-5);
            assertEquals(i < 3 ? Math.exp(ofKept[i]) : 0, probabilities[i], 1e-5);
          }
          assertEquals(token[0], topIds[rank[0] - 1]);
          assertEquals(logprobs[3], chosen[0], 1e-5);
          assertEquals(logprobs[1], chosen[1], 1e-5);
          assertTrue(Float.isNaN(chosen[2]) && Float.isNaN(observation[0]));
          assertEquals(logprobs[token[0]], logprob[0], 1e-5);
          assertEquals(entropyOf(logprobs), entropy[0], 1e-5);
        }
      }
    }
  }

  /** A step of two blocks: what is sure is committed, and the likeliest of each block. */
  @Test
  void unmasking() {
    final int[] tokens = {1, 1, 1, 3, 1, 1};
    final byte[] changes = new byte[6];
    final int[] masked = new int[2];
    final int[] status = {77, 77};
    final UnmaskParams rules =
        new UnmaskParams().maskTokenId(1).numCommitted(1).threshold(0.875f).editThreshold(0.75f);
    final UnmaskArgs args = new UnmaskArgs().numBlocks(2).params(rules)
        .blockOffsets(Array.i64(new long[] {0, 4, 6}))
        .candidateTokenIds(Array.i32(new int[] {5, 6, 7, 8, 9, 4}))
        .scores(Array.f32(new float[] {-0.5f, -0.125f, -2, -0.25f, -1, -0.0625f}))
        .tokenIds(Array.i32(tokens)).outChanges(Array.i8(changes))
        .outMaskedCounts(Array.i32(masked)).outBlockStatus(Array.i32(status));
    try (Sampler sampler = Sampler.builder().build()) {
      sampler.unmask(args);
      assertArrayEquals(new int[] {1, 6, 1, 8, 1, 4}, tokens);
      assertEquals(UnmaskChange.COMMITTED.ordinal(), changes[1]);
      assertEquals(UnmaskChange.EDITED.ordinal(), changes[3]);
      assertArrayEquals(new int[] {2, 1}, masked);
      assertArrayEquals(new int[] {RowStatus.OK, RowStatus.OK}, status);
      assertEquals(0, sampler.workspaceSize(args));
      final float[] confidences = new float[6];
      final int[] committed = new int[2];
      final int[] edited = {77, 77};
      rules.confidence(Confidence.ENTROPY).threshold(0).editThreshold(0).entropyBound(0.5f)
          .orderTemperature(0.5f).numCommitted(7).numStepsLeft(7);
      sampler.unmask(args.scoreStride(2)
          .scores(Array.f32(new float[] {0.5f, 0, 0.25f, 0, 1, 0, 0.75f, 0, 0.125f, 0, 0.5f, 0}))
          .random(new Randomness().seed(3))
          .slots(Array.i32(new int[] {0, 1, 0, 1, 0, 1})).numSlots(2)
          .candidateStatus(Array.i32(new int[] {RowStatus.INVALID_VALUE, 0, 0, 0, 0, 0}))
          .blockNumCommitted(Array.i32(new int[] {1, 2}))
          .blockNumStepsLeft(Array.i32(new int[] {0, 1})).outConfidences(Array.f32(confidences))
          .outCommittedCounts(Array.i32(committed)).outEditedCounts(Array.i32(edited)));
      assertArrayEquals(new int[] {1, 6, 7, 8, 9, 4}, tokens);
      assertArrayEquals(new int[] {1, 0}, masked);
      assertArrayEquals(new int[] {1, 1}, committed);
      assertArrayEquals(new int[] {0, 0}, edited);
      assertEquals(-0.25f, confidences[1]);
      assertTrue(Float.isNaN(confidences[0]));
      rules.confidence(Confidence.MARGIN).entropyBound(0);
      args.scoreStride(0).scores(Array.f32(new float[6])); // two scores a row
      assertThrows(InvalidArgumentException.class, () -> sampler.unmask(args));
      args.params(new UnmaskParams().blockLength(2)).scores(Array.f32(new float[6]));
      assertEquals("params->block_length is 2; it must be 0",
          assertThrows(InvalidArgumentException.class, () -> sampler.unmask(args)).getMessage());
      args.params(new UnmaskParams().blocksAfterPrompt(true));
      assertEquals("params->blocks_after_prompt is 1; it must be 0",
          assertThrows(InvalidArgumentException.class, () -> sampler.unmask(args)).getMessage());
      args.params(null).tokenIds(null).blockNumCommitted(null).blockNumStepsLeft(null);
      sampler.unmask(args.slots(null).numSlots(0));
      assertArrayEquals(new int[] {4, 2}, masked); // without rules all are left
    }
  }

  /** A text that is drawn with the watermark is found by its key alone. */
  @Test
  void watermarks() {
    final long key = 42;
    final long[] text = new long[60];
    final long[] token = new long[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(64).build()) {
      for (int step = 0; step < text.length; ++step) {
        final long[] context = {-1, -1, -1, -1};
        for (int i = 0; i < 4 && i < step; ++i) {
          context[3 - i] = text[step - 1 - i];
        }
        final Watermark.Numbers numbers = Watermark.random(key, context);
        sampler.sample(new SampleArgs().input(new Rows(new float[64], 1, 64))
            .random(new Randomness().seed(numbers.seed()).offset(numbers.offset())
                .streams(Array.i32(new int[] {numbers.stream()})))
            .drawMethod(DrawMethod.WATERMARK).outTokenIds(Array.i64(token)));
        text[step] = token[0];
      }
    }
    final Watermark.Detection found = Watermark.detect(key, text, 4, false);
    assertTrue(found.pValue() < 1e-6 && found.score() > 100);
    assertEquals(text.length, found.numScored());
    assertTrue(Watermark.detect(key + 1, text, 4, true).pValue() > 1e-3);
    assertThrows(InvalidArgumentException.class, () -> Watermark.random(key));
    assertThrows(InvalidArgumentException.class, () -> Watermark.detect(key, text, 65, false));
  }

  /** Parameters of consumer.c's that all schemes share. */
  private static WatermarkParams watermarkParams() {
    return new WatermarkParams().contextLength(1).vocabularySize(16);
  }

  private static String found(WatermarkParams params, long... text) {
    final Watermark.Detection found = Watermark.score(params, text);
    return String.format(
        Locale.ROOT, "%.6f %d %.6f", found.score(), found.numScored(), found.pValue());
  }

  private static String refusal(Executable call) {
    return assertThrows(InvalidArgumentException.class, call).getMessage();
  }

  /** The calls of tests/abi/consumer.c. */
  @Test
  void schemesOfWatermarks() {
    final long[] text = {3, 1, 4, 1, 5, 9, 2, 6};
    final long[] context = {3};
    final int[] candidates = {7, 8, 9};

    final WatermarkParams lefthash = watermarkParams().key(15485863).greenShare(0.25).bias(2);
    final float[] green = new float[16];
    for (int token : new int[] {1, 3, 10, 14}) {
      green[token] = 2;
    }
    assertArrayEquals(green, Watermark.bias(lefthash, context));
    assertEquals("0.218218 7 0.413630", found(lefthash, text));
    assertEquals("0.000000 0 1.000000", found(lefthash));

    final WatermarkParams selfhash = watermarkParams().scheme(WatermarkScheme.SELFHASH)
        .key(15485863).greenShare(0.5).bias(2).tableSize(32);
    final int[] table = Watermark.table(selfhash);
    assertEquals(32, table.length);
    selfhash.table(table);
    assertArrayEquals(new float[] {0, 0, 2}, Watermark.bias(selfhash, context, candidates));
    assertEquals(0, Watermark.bias(selfhash, context).length);

    final WatermarkParams tournament = watermarkParams().scheme(WatermarkScheme.TOURNAMENT)
        .keys(654, 400, 836).keepsRepeated(true).tableSize(32).tableSeed(7);
    final int[] bits = Watermark.table(tournament);
    tournament.table(bits);
    final float[] probabilities = {0.5f, 0.25f, 0.25f};
    Watermark.tournament(tournament, context, candidates, probabilities);
    assertArrayEquals(new float[] {27 / 32f, 9 / 64f, 1 / 64f}, probabilities);
    assertEquals("0.476190 7 0.586370", found(tournament, text));
    assertEquals("0.500000 0 1.000000", found(tournament));
    assertEquals(1000003, Watermark.table(selfhash.tableSize(0)).length);
    assertEquals(65536, Watermark.table(tournament.tableSize(0)).length);
  }

  @Test
  void schemesOfWatermarksHaveLengths() {
    final int[] candidates = {7, 8, 9};
    final long[] context = {3};
    final float[] probabilities = {0.5f, 0.25f, 0.25f};
    final WatermarkParams lefthash = watermarkParams().key(15485863).greenShare(0.25).bias(2);
    final WatermarkParams selfhash = watermarkParams().scheme(WatermarkScheme.SELFHASH)
        .key(15485863).greenShare(0.5).bias(2).tableSize(32);
    selfhash.table(Watermark.table(selfhash));
    final WatermarkParams tournament =
        watermarkParams().scheme(WatermarkScheme.TOURNAMENT).keys(654, 400, 836).tableSize(32);
    final int[] bits = Watermark.table(tournament);
    tournament.table(bits);
    for (long[] wrong : new long[][] {{}, {3, 1}}) {
      final String want = "context has " + wrong.length + " elements; it must have 1";
      assertEquals(want, refusal(() -> Watermark.bias(lefthash, wrong)));
      assertEquals(want, refusal(() -> Watermark.bias(selfhash, wrong, candidates)));
      assertEquals(want, refusal(
          () -> Watermark.tournament(tournament, wrong, candidates, probabilities)));
    }
    assertEquals("probabilities has 3 elements; it must have 2", refusal(
        () -> Watermark.tournament(tournament, context, new int[] {7, 8}, probabilities)));
    for (int[] wrong : new int[][] {{32, 31}, {31, 32}, {65536, 32}, {32, 0}}) {
      tournament.tableSize(wrong[0] == 65536 ? 0 : wrong[0])
          .table(wrong[1] == 0 ? null : Arrays.copyOf(bits, wrong[1]));
      final String want =
          "params->table has " + wrong[1] + " elements; it must have " + wrong[0];
      assertEquals(want, refusal(
          () -> Watermark.tournament(tournament, context, candidates, probabilities)));
      assertEquals(want, refusal(() -> Watermark.score(tournament, 3, 1)));
    }
    assertArrayEquals(new float[] {0.5f, 0.25f, 0.25f}, probabilities);
    assertEquals("params->table has 32 elements; it must have 1000003",
        refusal(() -> Watermark.bias(selfhash.tableSize(0), context, candidates)));
    assertEquals("params->table has 32 elements; it must have 0",
        refusal(() -> Watermark.score(watermarkParams().table(bits), 3, 1)));

    // What the library refuses.
    for (int size : new int[] {-1, Integer.MAX_VALUE}) {
      assertTrue(refusal(() -> Watermark.table(selfhash.tableSize(size)))
          .startsWith("params->table_size is " + size));
      assertTrue(refusal(() -> Watermark.bias(selfhash, context, candidates))
          .startsWith("params->table_size is " + size));
      assertTrue(refusal(() -> Watermark.bias(lefthash.contextLength(size), context))
          .startsWith("params->context_length is " + size));
      lefthash.contextLength(1);
      assertTrue(refusal(() -> Watermark.bias(lefthash.vocabularySize(size), context))
          .startsWith("params->vocabulary_size is " + size));
      lefthash.vocabularySize(16);
    }
    assertTrue(refusal(() -> Watermark.bias(lefthash, context, candidates))
        .startsWith("num_candidates is 3"));
    assertTrue(refusal(() -> Watermark.table(lefthash)).endsWith("it has no table"));
    assertTrue(refusal(() -> Watermark.bias(tournament.tableSize(32).table(bits), context))
        .startsWith("params->scheme is 2; this call is for SAMPLER_WATERMARK_LEFTHASH"));
  }

  /** Scores of drawn tokens are what was reported when they were drawn. */
  @Test
  void scores() {
    final long[] token = new long[1];
    final long[] kept = new long[5];
    final long[] offsets = new long[2];
    final float[] drawn = new float[1];
    final float[] scored = new float[1];
    final int[] status = {77};
    final Params params = new Params().topP(0.8f);
    final Randomness random = new Randomness();
    final Rows rows = new Rows(LOGITS, 1, 5);
    final SampleArgs sample = new SampleArgs().input(rows).random(random).params(params)
        .outTokenIds(Array.i64(token)).reports(new ReportArgs().logprobKind(LogprobKind.PROCESSED)
            .outLogprobs(Array.f32(drawn)).keptCapacity(5).outKeptTokenIds(Array.i64(kept))
            .outKeptOffsets(Array.i64(offsets)));
    final ReportArgs reports =
        new ReportArgs().logprobKind(LogprobKind.PROCESSED).outLogprobs(Array.f32(scored));
    final ScoreArgs score = new ScoreArgs().input(rows).params(params)
        .tokenIds(Array.i64(token)).outRowStatus(Array.i32(status)).reports(reports);
    final TokenLists lists = new TokenLists(Array.i64(offsets), Array.i64(kept));
    try (Sampler sampler = Sampler.builder().maxRows(64).maxCols(512).build()) {
      for (int offset = 0; offset < 20; ++offset) {
        random.offset(offset);
        sampler.sample(sample);
        sampler.score(score.kept(null));
        assertArrayEquals(drawn, scored);
        scored[0] = 7;
        sampler.score(score.kept(lists));
        assertArrayEquals(drawn, scored);
        assertEquals(RowStatus.OK, status[0]);
      }
      assertTrue(sampler.workspaceSize(score) > 0);
      token[0] = -1;
      sampler.score(score.kept(null));
      assertEquals(RowStatus.INVALID_PARAMETER, status[0]);
      assertTrue(Float.isNaN(scored[0]));
      final ScoreArgs mixed = score.tokenIds(Array.i32(new int[1])).kept(lists);
      assertThrows(InvalidArgumentException.class, () -> sampler.score(mixed));
    }
  }

  /** Lists of kept tokens that follow one another, with room for all of them and with less. */
  @Test
  void packedLists() {
    final float[] logits = new float[15];
    System.arraycopy(LOGITS, 0, logits, 0, 5);
    logits[5] = Float.NaN;
    System.arraycopy(LOGITS, 0, logits, 10, 5);
    try (Sampler sampler = Sampler.builder().build()) {
      for (int capacity = 3; capacity <= 4; ++capacity) {
        final long[] offsets = new long[4];
        final int[] ids = new int[capacity];
        sampler.sample(new SampleArgs().input(new Rows(logits, 3, 5)).params(new Params().topK(2))
            .exec(new Exec().workspace(ByteBuffer.allocateDirect(1 << 20)))
            .outTokenIds(Array.i32(new int[3])).reports(new ReportArgs().keptCapacity(capacity)
                .outKeptTokenIds(Array.i32(ids)).outKeptOffsets(Array.i64(offsets))));
        assertArrayEquals(new long[] {0, 2, 2, 4}, offsets);
        assertArrayEquals(capacity == 4 ? new int[] {0, 1, 0, 1} : new int[3], ids);
      }
    }
  }

  private static void expectRefusal(String message, Consumer<ReportArgs> change) {
    final int[] tokens = {77, 77};
    final ReportArgs reports = new ReportArgs();
    final SampleArgs args = new SampleArgs().input(new Rows(new float[80], 2, 40))
        .outTokenIds(Array.i32(tokens)).reports(reports);
    change.accept(reports);
    try (Sampler sampler = Sampler.builder().maxRows(2).maxCols(40).build()) {
      assertEquals(message,
          assertThrows(InvalidArgumentException.class, () -> sampler.sample(args), message)
              .getMessage());
    }
    assertArrayEquals(new int[] {77, 77}, tokens);
  }

  @Test
  void argumentsThatBreakARule() {
    final Array longIds = Array.i64(new long[6]);
    expectRefusal("reports->out_top_token_ids is NULL; it is required", a -> a.numTopLogprobs(3));
    expectRefusal("reports->num_top_logprobs is 41; it must be below 41",
        a -> a.numTopLogprobs(41));
    expectRefusal("reports->num_top_logprobs is -1; it must be at least 0",
        a -> a.numTopLogprobs(-1));
    expectRefusal(
        "out_token_ids is of I32 and reports->out_top_token_ids of I64; they must be of one type",
        a -> a.numTopLogprobs(3).outTopTokenIds(longIds));
    expectRefusal("reports->chosen_token_ids is NULL; it is required",
        a -> a.numChosen(3).outChosenLogprobs(Array.f32(new float[6])));
    expectRefusal(
        "out_token_ids is of I32 and reports->chosen_token_ids of I64; they must be of one type",
        a -> a.numChosen(3).chosenTokenIds(longIds));
    expectRefusal( // the stride's default
        "reports->out_kept_bitmask has 3 elements; reports needs 4",
        a -> a.outKeptBitmask(Array.i32(new int[3])));
    expectRefusal("reports->kept_bitmask_stride is 1; it must be 0", a -> a.keptBitmaskStride(1));
    expectRefusal(
        "out_token_ids is of I32 and reports->out_kept_token_ids of I64; they must be of one type",
        a -> a.keptCapacity(3).outKeptTokenIds(longIds));
    expectRefusal("reports->out_kept_offsets has 2 elements; reports needs 3",
        a -> a.outKeptOffsets(Array.i64(new long[2])));
    expectRefusal("reports->out_removed_by has 79 elements; reports needs 80",
        a -> a.outRemovedBy(Array.i8(new byte[79])));
    // A byte has no order.
    expectRefusal("reports->out_removed_by has 79 elements; reports needs 80",
        a -> a.outRemovedBy(Array.of(ByteBuffer.allocateDirect(79), ElementType.I8)));
  }

  /** Mirostat's and adaptive-p's values, by section 14.2 of docs/contract.md. */
  @Test
  void adaptiveValues() {
    final int[] tokens = new int[3];
    final float[] observed = new float[3];
    final float[] values = new float[3 * State.NUM_ADAPTIVE_VALUES];
    final float[] logits = new float[15];
    for (int row = 0; row < 3; ++row) {
      System.arraycopy(LOGITS, 0, logits, row * 5, 5);
    }
    final Params params = new Params().topP(0.75f);
    final RowParams rowParams = new RowParams()
        .adaptiveKind(Array.i32(new int[] {AdaptiveKind.MIROSTAT_V1.ordinal(),
            AdaptiveKind.MIROSTAT_V2.ordinal(), AdaptiveKind.P.ordinal()}))
        .adaptiveTarget(Array.f32(new float[] {2, 3, 0.25f}))
        .adaptiveRate(Array.f32(new float[] {0.5f, 0.125f, 0.5f}))
        .topPDecay(Array.f32(new float[] {0.5f, 0.5f, 0.5f}))
        .topPLeast(Array.f32(new float[] {0.5f, 0.1f, 0.1f}))
        .topPResetTokenId(Array.i64(new long[] {-1, 0, 0}))
        .forcedTokenId(Array.i64(new long[] {-1, 0, 0}));
    try (Sampler sampler = Sampler.builder().build();
        State state = sampler.newState(new StateOptions().numSlots(3).maxTokens(8))) {
      sampler.sample(new SampleArgs().input(new Rows(logits, 3, 5)).params(params)
          .exec(new Exec().workspace(ByteBuffer.allocateDirect(1 << 20))).rowParams(rowParams)
          .outTokenIds(Array.i32(tokens))
          .reports(new ReportArgs().outObservations(Array.f32(observed)))
          .pipeline(new Pipeline().state(state)));
      for (float observation : observed) {
        assertTrue(Float.isFinite(observation));
      }
      state.accept(new AcceptArgs().numRows(3).tokenIds(Array.i32(tokens)).numTokens(1)
          .observations(Array.f32(observed)).params(params).rowParams(rowParams));
      state.read(new ReadArgs().numRows(3).outAdaptiveValues(Array.f32(values)));
    }
    final float nan = Float.NaN;
    assertArrayEquals(new float[] {
        4 - 0.5f * (observed[0] - 2), nan, nan, 0.5f,
        6 - 0.125f * (observed[1] - 3), nan, nan, 0.75f,
        nan, observed[2] + 0.5f * 0.5f, 1 + 0.5f * 2, 0.75f}, values, 1e-5f);
  }
}
