package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * Verification by other rules, of packed batches and trees, with stages and reports. ArraysTest has
 * the arrays' lengths where batches are not packed.
 */
final class VerifyTest {
  /** Rows of logits whose largest ones are those of the tokens. */
  private static Rows rowsOf(int... tokens) {
    final float[] logits = new float[tokens.length * 5];
    for (int row = 0; row < tokens.length; ++row) {
      System.arraycopy(new float[] {2, 1.5f, 0.5f, 1, 0}, 0, logits, row * 5, 5);
      logits[row * 5 + tokens[row]] = 3;
    }
    return new Rows(logits, tokens.length, 5);
  }

  private static Array i32(int... elements) {
    return Array.i32(elements);
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(8).maxCols(40).build();
  }

  @Test
  void numbersArrive() {
    final ByteBuffer memory = ByteBuffer.allocateDirect(Call.SIZE);
    final Call call = new Call(memory, false, false);
    new VerifyArgs().numDrafts(3).acceptance(new AcceptanceParams().rule(Acceptance.SYNTHETIC)
            .typicalThreshold(1).typicalScale(2).relaxedTopK(3).relaxedDelta(4).thresholdSingle(5)
            .thresholdTotal(6).deferredWindow(7).deferredTopK(8).deferredEntropy(9)
            .siblingRule(SiblingRule.WITHOUT_REPLACEMENT).drawMethod(DrawMethod.GUMBEL))
        .layout(new DraftLayout().packing(Packing.POSITIONS).draftRowsBySlot(true).numSequences(10)
            .numPackedDrafts(11).numPackedPositions(12).draftTokenStride(13).treeRows(14))
        .draftParams(new Params().topK(15).minKeep(16))
        .reports(new ReportArgs().logprobKind(LogprobKind.EDITED).numTopLogprobs(17)
            .keptBitmaskStride(18).keptCapacity(19)).write(call);
    final int args = Call.ARGS;
    final int rules = pointee(memory, Layout.VERIFY_ARGS_ACCEPTANCE);
    final int layout = pointee(memory, Layout.VERIFY_ARGS_LAYOUT);
    final int reports = pointee(memory, Layout.VERIFY_ARGS_REPORTS);
    assertEquals(List.of(8, 1, 3, 7, 8, 1, 3, 1, 2),
        ints(memory, rules + Layout.ACCEPTANCE_PARAMS_RULE,
            rules + Layout.ACCEPTANCE_PARAMS_SIBLING_RULE,
            rules + Layout.ACCEPTANCE_PARAMS_RELAXED_TOP_K,
            rules + Layout.ACCEPTANCE_PARAMS_DEFERRED_WINDOW,
            rules + Layout.ACCEPTANCE_PARAMS_DEFERRED_TOP_K,
            rules + Layout.ACCEPTANCE_PARAMS_DRAW_METHOD, layout + Layout.DRAFT_LAYOUT_PACKING,
            layout + Layout.DRAFT_LAYOUT_DRAFT_ROWS_BY_SLOT,
            reports + Layout.REPORT_ARGS_LOGPROB_KIND));
    assertEquals(List.of(1f, 2f, 4f, 5f, 6f, 9f).toString(),
        Arrays.toString(new float[] {
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_TYPICAL_THRESHOLD),
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_TYPICAL_SCALE),
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_RELAXED_DELTA),
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_THRESHOLD_SINGLE),
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_THRESHOLD_TOTAL),
            memory.getFloat(rules + Layout.ACCEPTANCE_PARAMS_DEFERRED_ENTROPY)}));
    // Longs, of which the other half is 0.
    assertEquals(List.of(10, 11, 12, 13, 14, 17, 18, 19),
        ints(memory, layout + Layout.DRAFT_LAYOUT_NUM_SEQUENCES,
            layout + Layout.DRAFT_LAYOUT_NUM_PACKED_DRAFTS,
            layout + Layout.DRAFT_LAYOUT_NUM_PACKED_POSITIONS,
            layout + Layout.DRAFT_LAYOUT_DRAFT_TOKEN_STRIDE,
            layout + Layout.DRAFT_LAYOUT_TREE_ROWS,
            reports + Layout.REPORT_ARGS_NUM_TOP_LOGPROBS,
            reports + Layout.REPORT_ARGS_KEPT_BITMASK_STRIDE,
            reports + Layout.REPORT_ARGS_KEPT_CAPACITY));
    final int draftParams = pointee(memory, Layout.VERIFY_ARGS_DRAFT_PARAMS);
    assertEquals(15, memory.getInt(draftParams + Layout.PARAMS_TOP_K));
    assertEquals(16, memory.getInt(draftParams + Layout.PARAMS_MIN_KEEP));
    // A later call without them.
    new VerifyArgs().draftParams(new Params()).write(call);
    assertEquals(0, memory.getInt(draftParams + Layout.PARAMS_MIN_KEEP));
    new VerifyArgs().layout(new DraftLayout()).acceptance(new AcceptanceParams())
        .reports(new ReportArgs()).write(call);
    assertAllZero(memory, rules, Layout.ACCEPTANCE_PARAMS_SIZE);
    assertAllZero(memory, layout, Layout.DRAFT_LAYOUT_SIZE);
    assertAllZero(memory, reports, Layout.REPORT_ARGS_SIZE);
    new VerifyArgs().write(call);
    for (int at = Layout.VERIFY_ARGS_ACCEPTANCE; at < Layout.VERIFY_ARGS_SIZE; at += 4) {
      assertEquals(0, memory.getInt(args + at), "at " + at);
    }
    assertEquals(0, memory.getLong(args + Layout.VERIFY_ARGS_LAYOUT));
  }

  /** After struct_size. */
  private static void assertAllZero(ByteBuffer memory, int struct, int size) {
    for (int at = 8; at < size; at += 4) {
      assertEquals(0, memory.getInt(struct + at), "at " + at);
    }
  }

  /** Where the struct is that a member points to. */
  private static int pointee(ByteBuffer memory, int member) {
    return (int) (memory.getLong(Call.ARGS + member) - Raw.javaAddress(memory));
  }

  private static List<Integer> ints(ByteBuffer memory, int... members) {
    return Arrays.stream(members).map(at -> memory.order(ByteOrder.nativeOrder()).getInt(at))
        .boxed().toList();
  }

  /** Each at the offset of its own name. */
  @Test
  void arraysArrive() throws ReflectiveOperationException {
    int numArrays = 0;
    for (String path : Operations.arrays("verify")) {
      final String of = path.contains(".") ? path.substring(0, path.indexOf('.')) : "";
      final String struct = STRUCTS.get(of);
      if (struct == null || path.equals("acceptance.synthetic_rates")) { // never device memory
        continue;
      }
      final ByteBuffer memory = ByteBuffer.allocateDirect(Call.SIZE);
      final VerifyArgs args = new VerifyArgs();
      Operations.setArray(args, path, Array.onDevice(4096, ElementType.I64));
      args.write(new Call(memory, true, true));
      final int offset = offsetOf(struct, path.substring(path.indexOf('.') + 1));
      final int at =
          of.isEmpty() ? Call.ARGS : pointee(memory, offsetOf(STRUCTS.get(""), of));
      assertEquals(4096, memory.getLong(at + offset), path);
      ++numArrays;
    }
    assertEquals(34, numArrays);
  }

  /** Those that a call has, by the member that points to one. */
  private static final Map<String, String> STRUCTS = Map.of(
      "", "VERIFY_ARGS", "layout", "DRAFT_LAYOUT", "reports", "REPORT_ARGS");

  private static int offsetOf(String struct, String member) throws ReflectiveOperationException {
    return Layout.class.getField(struct + "_" + member.toUpperCase(Locale.ROOT)).getInt(null);
  }

  /** More than any call takes; there is room for their addresses. */
  @Test
  void allArraysAtOnce() {
    final VerifyArgs args = new VerifyArgs();
    for (String path : Operations.arrays("verify")) {
      Operations.setArray(args, path, i32(0, 0));
    }
    try (Sampler sampler = newSampler()) {
      assertThrows(InvalidArgumentException.class, () -> sampler.verify(args));
    }
  }

  /** The call has 2 sequences of at most 2 drafts. */
  private static void expectRefusal(String message, BiConsumer<VerifyArgs, DraftLayout> change) {
    final int[] tokens = {77, 77, 77, 77, 77, 77};
    final DraftLayout layout = new DraftLayout().numSequences(2);
    final VerifyArgs args = new VerifyArgs().target(new Rows(new float[240], 6, 40)).numDrafts(2)
        .layout(layout).draftTokenIds(i32(0, 0, 0, 0)).outTokenIds(Array.i32(tokens));
    change.accept(args, layout);
    try (Sampler sampler = newSampler()) {
      assertEquals(message,
          assertThrows(InvalidArgumentException.class, () -> sampler.verify(args), message)
              .getMessage());
    }
    assertArrayEquals(new int[] {77, 77, 77, 77, 77, 77}, tokens);
  }

  @Test
  void lengthsOfVerification() {
    expectRefusal("acceptances has 6 elements; it needs 7",
        (a, l) -> a.acceptances(Array.i32(new int[6])).slots(i32(0, 0)).numSlots(7));
    expectRefusal("draft_token_ids has 4 elements; it needs 5", (a, l) -> l.draftTokenStride(3));
    expectRefusal("layout->target_row_indices has 5 elements; layout needs 6", // without a bonus
        (a, l) -> l.targetRowIndices(Array.i32(new int[5])));
    expectRefusal("layout->parents has 1 elements; layout needs 2",
        (a, l) -> l.parents(i32(0)).treeRows(1));
    expectRefusal("layout->next_siblings has 2 elements; layout needs 3",
        (a, l) -> l.firstChildren(i32(0, 0, 0)).nextSiblings(i32(0, 0)).treeRows(1));
    expectRefusal( // the stride's default
        "reports->out_kept_bitmask has 11 elements; reports needs 12",
        (a, l) -> a.reports(new ReportArgs().outKeptBitmask(Array.i32(new int[11]))));
    final Array longIds = Array.i64(new long[6]);
    expectRefusal(
        "draft_token_ids is of I32 and reports->out_top_token_ids of I64; they must be of one type",
        (a, l) -> a.reports(new ReportArgs().numTopLogprobs(1).outTopTokenIds(longIds)));
    expectRefusal(
        "draft_token_ids is of I32 and reports->out_kept_token_ids of I64; "
            + "they must be of one type",
        (a, l) -> a.reports(new ReportArgs().keptCapacity(1).outKeptTokenIds(longIds)));
  }

  @Test
  void lengthsOfPackedBatches() {
    final Array offsets = i32(0, 0, 0);
    expectRefusal("layout->packing_offsets has 2 elements; layout needs 3",
        (a, l) -> l.packing(Packing.DRAFTS).packingOffsets(i32(0, 0)));
    expectRefusal("layout->packing_offsets has 1 elements; layout needs 2",
        (a, l) -> l.packing(Packing.DRAFT_ENDS).packingOffsets(i32(0)));
    expectRefusal("layout->packing_offsets has 2 elements; layout needs 3",
        (a, l) -> l.packing(Packing.POSITIONS).packingOffsets(i32(0, 0)));
    expectRefusal("layout->packing_offsets is of I64; it must be of I32",
        (a, l) -> l.packing(Packing.DRAFTS).packingOffsets(Array.i64(new long[3])));
    expectRefusal("draft_token_ids has 4 elements; it needs 5",
        (a, l) -> l.packing(Packing.DRAFTS).packingOffsets(offsets).numPackedDrafts(5));
    expectRefusal("draft_token_ids has 4 elements; it needs 5",
        (a, l) -> l.packing(Packing.POSITIONS).packingOffsets(offsets).numPackedPositions(5));
    expectRefusal("layout->target_row_indices has 5 elements; layout needs 6",
        (a, l) -> l.packing(Packing.DRAFTS).packingOffsets(offsets)
            .targetRowIndices(i32(0, 0, 0, 0, 0)));
    expectRefusal("layout->target_row_indices has 3 elements; layout needs 4",
        (a, l) -> l.packing(Packing.DRAFT_ENDS).packingOffsets(offsets)
            .targetRowIndices(i32(0, 0, 0)).bonusRowIndices(i32(0, 0)));
    expectRefusal("layout->target_row_indices has 3 elements; layout needs 4",
        (a, l) -> l.packing(Packing.POSITIONS).packingOffsets(offsets)
            .targetRowIndices(i32(0, 0, 0)));
    expectRefusal("layout->draft_row_indices has 3 elements; layout needs 4",
        (a, l) -> {
          l.packing(Packing.DRAFTS).packingOffsets(offsets).draftRowIndices(i32(0, 0, 0));
          a.draft(new Rows(new float[200], 5, 40));
        });
    final Rows fiveRows = new Rows(new float[199], 5, 40);
    final Array fourRows = i32(0, 0, 0, 0);
    final Array sixRows = i32(0, 0, 0, 0, 0, 0);
    expectRefusal("target.values has 199 elements; target needs 200",
        (a, l) -> {
          l.packing(Packing.DRAFTS).packingOffsets(offsets);
          a.target(fiveRows);
        });
    expectRefusal("target.values has 199 elements; target needs 200",
        (a, l) -> {
          l.targetRowIndices(sixRows);
          a.target(fiveRows);
        });
    expectRefusal("draft.values has 199 elements; draft needs 200",
        (a, l) -> {
          l.packing(Packing.DRAFTS).packingOffsets(offsets);
          a.draft(fiveRows);
        });
    expectRefusal("draft.values has 199 elements; draft needs 200",
        (a, l) -> {
          l.draftRowIndices(fourRows);
          a.draft(fiveRows);
        });
  }

  @Test
  void argumentsThatBreakARule() {
    expectRefusal("reports->num_top_logprobs is 41; it must be below 41",
        (a, l) -> a.reports(new ReportArgs().numTopLogprobs(41)));
    expectRefusal("layout->packing_offsets is NULL; it is required",
        (a, l) -> l.packing(Packing.DRAFTS));
    expectRefusal(
        "layout->num_sequences is 3; it must be 0, or target.num_rows / (num_drafts + 1), 2",
        (a, l) -> l.numSequences(3));
    expectRefusal("layout->num_sequences is -1; it must be at least 0",
        (a, l) -> l.numSequences(-1));
    expectRefusal(
        "acceptance->rule is 8; SAMPLER_ACCEPT_SYNTHETIC needs acceptance->synthetic_rates",
        (a, l) -> a.acceptance(new AcceptanceParams().rule(Acceptance.SYNTHETIC)));
  }

  /** The tokens, and what is reported of them, are those of sampling. */
  @Test
  void sampleMatchIsSampling() {
    final Params params = new Params().topK(3);
    final Rows[] rows = {rowsOf(1), rowsOf(2), rowsOf(4)};
    final Randomness random = new Randomness();
    try (Sampler sampler = newSampler()) {
      for (int offset = 0; offset < 20; ++offset) {
        final int[] tokens = new int[3];
        final StringBuilder reports = new StringBuilder();
        for (int i = 0; i < 3; ++i) {
          final Reports one = new Reports(1);
          sampler.sample(new SampleArgs().input(rows[i]).params(params)
              .random(random.seed(7).offset(offset + i)).outTokenIds(Array.i32(one.tokens))
              .reports(new ReportArgs().outRanks(Array.i32(one.ranks))
                  .outKeptCounts(Array.i32(one.keptCounts)).outLogprobs(Array.f32(one.logprobs))
                  .outEntropies(Array.f32(one.entropies)).numTopLogprobs(2)
                  .outTopTokenIds(Array.i32(one.topIds)).outTopLogprobs(Array.f32(one.topLogprobs))
                  .outKeptBitmask(Array.i32(one.bitmask)).keptCapacity(3)
                  .outKeptTokenIds(Array.i32(one.keptIds))
                  .outKeptProbabilities(Array.f32(one.probabilities))));
          tokens[i] = one.tokens[0];
          reports.append(i < 2 ? one.of(0) : Reports.NONE);
        }
        final Reports got = new Reports(3);
        final int[] emitted = {77};
        final int[] status = {77};
        final int[] positions = new int[3];
        final long[] kvIndices = new long[3];
        final float[] observations = new float[3];
        // The second draft is another token than the one that is drawn.
        sampler.verify(new VerifyArgs().target(rowsOf(1, 2, 4)).numDrafts(2)
            .acceptance(new AcceptanceParams().rule(Acceptance.SAMPLE_MATCH)).params(params)
            .random(random.offset(offset)).draftTokenIds(i32(tokens[0], (tokens[1] + 1) % 5))
            .outTokenIds(Array.i32(got.tokens))
            .reports(new ReportArgs().outRanks(Array.i32(got.ranks))
                .outKeptCounts(Array.i32(got.keptCounts)).outLogprobs(Array.f32(got.logprobs))
                .outEntropies(Array.f32(got.entropies)).numTopLogprobs(2)
                .outTopTokenIds(Array.i32(got.topIds)).outTopLogprobs(Array.f32(got.topLogprobs))
                .outKeptBitmask(Array.i32(got.bitmask)).keptCapacity(3)
                .outKeptTokenIds(Array.i32(got.keptIds))
                .outKeptProbabilities(Array.f32(got.probabilities))
                .outObservations(Array.f32(observations))).outEmittedCounts(Array.i32(emitted))
            .outRowStatus(Array.i32(status)).outPositions(Array.i32(positions))
            .kvIndices(Array.i64(new long[] {30, 20, 10})).outKvIndices(Array.i64(kvIndices)));
        assertEquals(reports.toString(), got.of(0) + got.of(1) + got.of(2));
        assertArrayEquals(new int[] {1}, emitted);
        assertArrayEquals(new int[] {RowStatus.OK}, status);
        assertArrayEquals(new int[] {0, 1, -1}, positions);
        assertArrayEquals(new long[] {30, 20, -1}, kvIndices);
        for (float observation : observations) {
          assertTrue(Float.isNaN(observation));
        }
      }
    }
  }

  /** Outputs for each of some tokens. */
  private static final class Reports {
    /** Where no token stands. */
    static final String NONE =
        "-1 0 0 NaN NaN 0 [-1, -1] [NaN, NaN] [-1, -1, -1] [0.0, 0.0, 0.0]\n";

    final int[] tokens;
    final int[] ranks;
    final int[] keptCounts;
    final float[] logprobs;
    final float[] entropies;
    final int[] bitmask;
    final int[] topIds;
    final float[] topLogprobs;
    final int[] keptIds;
    final float[] probabilities;

    Reports(int numTokens) {
      tokens = new int[numTokens];
      ranks = new int[numTokens];
      keptCounts = new int[numTokens];
      logprobs = new float[numTokens];
      entropies = new float[numTokens];
      bitmask = new int[numTokens];
      topIds = new int[numTokens * 2];
      topLogprobs = new float[numTokens * 2];
      keptIds = new int[numTokens * 3];
      probabilities = new float[numTokens * 3];
    }

    String of(int i) {
      return tokens[i] + " " + ranks[i] + " " + keptCounts[i] + " " + logprobs[i] + " "
          + entropies[i] + " " + bitmask[i] + " "
          + Arrays.toString(Arrays.copyOfRange(topIds, 2 * i, 2 * i + 2)) + " "
          + Arrays.toString(Arrays.copyOfRange(topLogprobs, 2 * i, 2 * i + 2)) + " "
          + Arrays.toString(Arrays.copyOfRange(keptIds, 3 * i, 3 * i + 3)) + " "
          + Arrays.toString(Arrays.copyOfRange(probabilities, 3 * i, 3 * i + 3)) + "\n";
    }
  }

  /** Two drafts hang on the root, the third on the second. */
  private static void checkTree(boolean isTree, Consumer<DraftLayout> change) {
    final int[] tokens = new int[4];
    final int[] positions = new int[4];
    final int[] emitted = new int[1];
    final int[] status = new int[1];
    final DraftLayout layout = new DraftLayout();
    final VerifyArgs args = new VerifyArgs().layout(layout).target(rowsOf(1, 0, 2, 4)).numDrafts(3)
        .draftTokenIds(i32(3, 1, 2)).params(new Params().temperature(0))
        .outTokenIds(Array.i32(tokens)).outPositions(Array.i32(positions))
        .outEmittedCounts(Array.i32(emitted)).outRowStatus(Array.i32(status));
    change.accept(layout);
    try (Sampler sampler = newSampler()) {
      sampler.verify(args);
    }
    assertEquals(isTree ? RowStatus.OK : RowStatus.INVALID_TREE, status[0]);
    assertArrayEquals(isTree ? new int[] {1, 2, 4, -1} : new int[] {-1, -1, -1, -1}, tokens);
    assertArrayEquals(isTree ? new int[] {0, 2, 3, -1} : new int[] {-1, -1, -1, -1}, positions);
    assertEquals(isTree ? 2 : 0, emitted[0]);
  }

  @Test
  void trees() {
    checkTree(true, a -> a.parents(i32(-1, -1, 1)));
    checkTree(true, a -> a.parents(i32(-1, -1, 1)).treeRows(1));
    checkTree(true, a -> a.firstChildren(i32(1, -1, 3, -1)).nextSiblings(i32(-1, 2, -1, -1)));
    checkTree(false, a -> a.parents(i32(0, -1, 1)));
  }

  /** Sequences of 2, 0 and 1 drafts. */
  private static void checkPacked(BiConsumer<VerifyArgs, DraftLayout> change) {
    final int[] tokens = new int[9];
    final int[] emitted = new int[3];
    final int[] status = new int[3];
    final DraftLayout layout = new DraftLayout().numSequences(3);
    final VerifyArgs args = new VerifyArgs().numDrafts(2).layout(layout)
        .params(new Params().temperature(0)).outTokenIds(Array.i32(tokens))
        .outEmittedCounts(Array.i32(emitted)).outRowStatus(Array.i32(status));
    change.accept(args, layout);
    try (Sampler sampler = newSampler()) {
      sampler.verify(args);
    }
    assertArrayEquals(new int[] {1, 2, -1, 4, -1, -1, 0, 1, -1}, tokens);
    assertArrayEquals(new int[] {1, 0, 1}, emitted);
    assertArrayEquals(new int[3], status);
  }

  @Test
  void packedBatches() {
    final Rows rows = rowsOf(1, 2, 3, 4, 0, 1);
    final Rows reversed = rowsOf(1, 0, 4, 3, 2, 1);
    final Array offsets = i32(0, 2, 2, 3);
    final Array drafts = i32(1, 3, 0);
    checkPacked((a, l) -> {
      l.packing(Packing.DRAFTS).packingOffsets(offsets);
      a.target(rows).draftTokenIds(drafts);
    });
    checkPacked((a, l) -> {
      l.packing(Packing.DRAFT_ENDS).packingOffsets(i32(2, 2, 3));
      a.target(rows).draftTokenIds(drafts);
    });
    checkPacked((a, l) -> {
      l.packing(Packing.POSITIONS).packingOffsets(i32(0, 3, 4, 6));
      a.target(rows).draftTokenIds(i32(77, 1, 3, 77, 77, 0));
    });
    checkPacked((a, l) -> {
      l.packing(Packing.DRAFTS).packingOffsets(offsets).targetRowIndices(i32(5, 4, 3, 2, 1, 0));
      a.target(reversed).draftTokenIds(drafts);
    });
    checkPacked((a, l) -> {
      l.packing(Packing.DRAFTS).packingOffsets(offsets).targetRowIndices(i32(5, 4, 1))
          .bonusRowIndices(i32(3, 2, 0));
      a.target(reversed).draftTokenIds(drafts);
    });
    checkPacked((a, l) -> {
      l.targetRowIndices(i32(5, 4, 3, 2, -1, -1, 1, 0, -1));
      a.target(reversed).draftTokenIds(i32(1, 3, 0, 0, 0, 0)).draftCounts(i32(2, 0, 1));
    });
  }

  /** Without drafts sequences may have nothing but a bonus row each, of any number of rows. */
  @Test
  void bonusRowsAlone() {
    final int[] tokens = {77, 77, 77};
    final VerifyArgs args = new VerifyArgs().target(rowsOf(1, 4))
        .layout(new DraftLayout().numSequences(3).bonusRowIndices(i32(1, 0, 1)))
        .params(new Params().temperature(0)).outTokenIds(Array.i32(tokens));
    try (Sampler sampler = newSampler()) {
      sampler.verify(args);
      assertArrayEquals(new int[] {4, 1, 4}, tokens);
      args.outTokenIds(i32(0, 0));
      assertEquals("out_token_ids has 2 elements; it needs 3",
          assertThrows(InvalidArgumentException.class, () -> sampler.verify(args)).getMessage());
    }
  }

  private static void checkDraftRows(
      boolean isAccepted, float[] draft, BiConsumer<VerifyArgs, DraftLayout> change) {
    final float[] target = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    final int[] emitted = new int[2];
    final Randomness random = new Randomness().seed(3);
    final DraftLayout layout = new DraftLayout();
    final VerifyArgs args = new VerifyArgs().layout(layout).numDrafts(1).random(random)
        .target(new Rows(target, 4, 2).kind(InputKind.PROBABILITIES))
        .draft(new Rows(draft, 3, 2).kind(InputKind.PROBABILITIES)).draftTokenIds(i32(0, 0))
        .outTokenIds(Array.i32(new int[4])).outEmittedCounts(Array.i32(emitted));
    change.accept(args, layout);
    int accepted = 0;
    try (Sampler sampler = newSampler()) {
      for (int offset = 0; offset < 40; ++offset) {
        random.offset(offset);
        sampler.verify(args);
        accepted += emitted[0] + emitted[1];
      }
    }
    assertEquals(isAccepted, accepted == 80);
  }

  /**
   * The target gives every draft probability 0.5. It is accepted where its row gives it 0, and by a
   * coin where that gives it 1.
   */
  @Test
  void draftRows() {
    final float[] secondIsCertain = {0, 1, 1, 0, 0, 1};
    final float[] othersAre = {1, 0, 0, 1, 1, 0};
    checkDraftRows(true, secondIsCertain, (a, l) -> l.draftRowIndices(i32(0, 2)));
    checkDraftRows(false, secondIsCertain, (a, l) -> l.draftRowIndices(i32(1, 1)));
    checkDraftRows(
        true, secondIsCertain, (a, l) -> {
          l.draftRowsBySlot(true);
          a.slots(i32(0, 2)).numSlots(3);
        });
    checkDraftRows(false, othersAre, (a, l) -> {
      l.draftRowsBySlot(true);
      a.slots(i32(0, 2)).numSlots(3);
    });
  }

  /**
   * The draft's row is the target's, so its first token is accepted, unless only the draft is cut
   * to that one.
   */
  private static void checkDraftParams(boolean isAccepted, Params params, RowParams rowParams) {
    final int[] emitted = new int[1];
    final Randomness random = new Randomness().seed(3);
    final VerifyArgs args = new VerifyArgs().target(rowsOf(1, 2)).draft(rowsOf(1)).numDrafts(1)
        .draftTokenIds(i32(1)).random(random).draftParams(params).draftRowParams(rowParams)
        .outTokenIds(Array.i32(new int[2])).outEmittedCounts(Array.i32(emitted));
    int accepted = 0;
    try (Sampler sampler = newSampler()) {
      for (int offset = 0; offset < 40; ++offset) {
        random.offset(offset);
        sampler.verify(args);
        accepted += emitted[0];
      }
    }
    assertEquals(isAccepted, accepted == 40);
  }

  @Test
  void draftParams() {
    final Params top1 = new Params().topK(1);
    final RowParams off = new RowParams().topK(i32(0));
    final RowParams one = new RowParams().topK(i32(1));
    checkDraftParams(true, null, null);
    checkDraftParams(true, new Params(), null);
    checkDraftParams(false, top1, null);
    checkDraftParams(false, null, one);
    checkDraftParams(true, top1, off);
    checkDraftParams(false, new Params(), one);
  }

  /** Without the banned token, token 0 is the row's largest. */
  @Test
  void stages() {
    final int[] tokens = new int[2];
    final VerifyArgs args = new VerifyArgs().target(rowsOf(1, 2)).numDrafts(1)
        .draftTokenIds(i32(1)).params(new Params().temperature(0)).outTokenIds(Array.i32(tokens));
    try (Sampler sampler = newSampler()) {
      sampler.verify(args);
      assertArrayEquals(new int[] {1, 2}, tokens);
      sampler.verify(args.pipeline(
          new Pipeline().banned(new TokenLists(new long[] {0, 1}, new int[] {1}))));
      assertArrayEquals(new int[] {0, -1}, tokens);
    }
  }
}
