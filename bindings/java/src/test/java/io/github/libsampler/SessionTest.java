package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Sessions beside draws of the full call. */
final class SessionTest {
  private static final int COLS = 23;
  private static final int MAX_DRAFTS = 3;
  private static final int MAX_SEQUENCES = 4;

  /** What a model gives after a text: a function of its last two tokens. Another for each model. */
  private static float[] logitsAfter(List<Integer> text, int model) {
    long state = 77;
    for (int i = text.size() - 1; i >= Math.max(text.size() - 2, 0); --i) {
      state = (state ^ text.get(i)) * 0x9E3779B97F4A7C15L;
    }
    final float[] row = new float[COLS];
    for (int i = 0; i < COLS; ++i) {
      state = state * 6364136223846793005L + 1442695040888963407L;
      row[i] = (float) (state >>> 40) / (1 << 22) + model * (i % 2) / 4.0f;
    }
    return row;
  }

  /** Token after token by the full call, and the log-probabilities. */
  private static final class Drawn {
    final List<Integer> text;
    final List<Float> logprobs = new ArrayList<>();
    final List<Integer> top = new ArrayList<>();
    final List<Float> topLogprobs = new ArrayList<>();

    Drawn(List<Integer> prompt, int count, long seed, Params params) {
      text = new ArrayList<>(prompt);
      try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(COLS).build()) {
        for (int offset = 0; offset < count; ++offset) {
          final int[] id = new int[1];
          final float[] logprob = new float[1];
          final int[] first = new int[2];
          final float[] firstLogprobs = new float[2];
          sampler.sample(new SampleArgs().input(new Rows(logitsAfter(text, 0), 1, COLS))
              .params(params).random(new Randomness().seed(seed).offset(offset))
              .reports(new ReportArgs().logprobKind(LogprobKind.PROCESSED)
                  .outLogprobs(Array.f32(logprob)).numTopLogprobs(2)
                  .outTopTokenIds(Array.i32(first)).outTopLogprobs(Array.f32(firstLogprobs)))
              .outTokenIds(Array.i32(id)));
          text.add(id[0]);
          logprobs.add(logprob[0]);
          top.addAll(List.of(first[0], first[1]));
          topLogprobs.addAll(List.of(firstLogprobs[0], firstLogprobs[1]));
        }
      }
    }
  }

  /** Models with caches, and what steps gave. */
  private static final class Caller {
    final List<List<List<Integer>>> caches = new ArrayList<>();
    final List<Drawn> given = new ArrayList<>();

    Caller() {
      for (int model = 0; model < 2; ++model) {
        caches.add(new ArrayList<>());
        for (int i = 0; i < MAX_SEQUENCES; ++i) {
          caches.get(model).add(new ArrayList<>());
        }
      }
      for (int i = 0; i < MAX_SEQUENCES; ++i) {
        given.add(new Drawn(List.of(), 0, 0, null));
      }
    }

    /** A text and the drafts on the way to one of them. */
    private static List<Integer> path(List<Integer> text, Span span, int draft) {
      final int firstDraft = span.tokenIds().length - span.parents().length;
      final List<Integer> drafts = new ArrayList<>();
      for (int i = draft; i >= 0; i = span.parents()[i]) {
        assertTrue(span.parents()[i] < i);
        drafts.add(0, span.tokenIds()[firstDraft + i]);
      }
      final List<Integer> path = new ArrayList<>(text);
      path.addAll(drafts);
      return path;
    }

    /** In an array for the target, in a direct buffer for the drafter. */
    Array run(List<Span> spans, int model) {
      final List<float[]> rows = new ArrayList<>();
      for (Span span : spans) {
        assertEquals(model == 1 ? 0 : Math.max(span.numLogits() - 1, 0), span.parents().length);
        final int firstDraft = span.tokenIds().length - span.parents().length;
        final List<Integer> cache = caches.get(model).get(span.sequence());
        cache.subList((int) span.start(), cache.size()).clear();
        for (int i = 0; i < span.tokenIds().length; ++i) {
          cache.add(span.tokenIds()[i]);
          if (i + span.numLogits() >= span.tokenIds().length) {
            final int draft = i - firstDraft;
            rows.add(logitsAfter(draft < 0 ? cache
                : path(cache.subList(0, cache.size() - 1 - draft), span, draft), model));
          }
        }
      }
      final FloatBuffer logits = ByteBuffer.allocateDirect(4 * COLS * rows.size())
          .order(ByteOrder.nativeOrder()).asFloatBuffer();
      rows.forEach(logits::put);
      logits.flip();
      if (model == 1) {
        return Array.of(logits, ElementType.F32);
      }
      final float[] array = new float[logits.remaining()];
      logits.get(array);
      return Array.f32(array);
    }

    boolean step(Session session, int maxTokens) {
      return step(session, session.plan(maxTokens), maxTokens);
    }

    boolean step(Session session, Plan plan, int maxTokens) {
      assertTrue(maxTokens == 0
          || plan.spans().stream().mapToInt(span -> span.tokenIds().length).sum() <= maxTokens);
      final List<Advanced> all = session.advance(new AdvanceArgs().spans(plan.spans())
          .logits(run(plan.spans(), 0)).drafterSpans(plan.drafterSpans())
          .drafterLogits(run(plan.drafterSpans(), 1)).logprobKind(LogprobKind.PROCESSED)
          .numTopLogprobs(2));
      assertEquals(plan.spans().size(), all.size());
      for (Advanced one : all) {
        final Sequence known = session.get(one.sequence());
        final int count = one.tokenIds().length;
        final int[] text = known.tokenIds();
        assertArrayEquals(Arrays.copyOfRange(text, text.length - count, text.length),
            one.tokenIds());
        assertEquals(known.finishReason(), one.finishReason());
        assertEquals(known.rowStatus(), one.rowStatus());
        assertEquals(known.cacheLength(), one.cacheLength());
        assertEquals(known.drafterCacheLength(), one.drafterCacheLength());
        assertEquals(Math.max(count - 1, 0), one.acceptedCount());
        cut(caches.get(0).get(one.sequence()), one.cacheLength());
        cut(caches.get(1).get(one.sequence()), one.drafterCacheLength());
        for (int i = 0; i < count; ++i) {
          given.get(one.sequence()).logprobs.add(one.logprobs()[i]);
          for (int j = 0; j < 2; ++j) {
            given.get(one.sequence()).top.add(one.topTokenIds()[i][j]);
            given.get(one.sequence()).topLogprobs.add(one.topLogprobs()[i][j]);
          }
        }
      }
      return !plan.spans().isEmpty() || !plan.drafterSpans().isEmpty();
    }

    private static void cut(List<Integer> cache, long length) {
      cache.subList((int) length, cache.size()).clear();
    }

    void run(Session session, int maxTokens) {
      while (step(session, maxTokens)) {
        // until nothing is planned
      }
    }
  }

  private static SessionOptions options() {
    return new SessionOptions().maxSequences(MAX_SEQUENCES).maxContext(60).vocabularySize(COLS)
        .maxDrafts(MAX_DRAFTS).lookupTokens(60).maxEndTokens(1).maxStopSequences(2)
        .maxStopTokens(4).maxTopLogprobs(2);
  }

  private static int[] array(List<Integer> list) {
    return list.stream().mapToInt(Integer::intValue).toArray();
  }

  @Test
  void textsAreThoseDrawnAlone() {
    final Params cold = new Params().temperature(0.5f).topK(5);
    for (int maxTokens : new int[] {0, 5}) {
      try (Sampler sampler = Sampler.builder().build();
          Session session = sampler.newSession(options())) {
        final Caller caller = new Caller();
        final List<Drawn> wanted = new ArrayList<>();
        final List<DraftSource> sources =
            List.of(DraftSource.NONE, DraftSource.MODEL, DraftSource.PROMPT_LOOKUP);
        for (int i = 0; i < sources.size(); ++i) {
          final DraftSource source = sources.get(i);
          final List<Integer> prompt = List.of(1, 2, 3, 1, 2, 3, i);
          final AddArgs args = new AddArgs().tokenIds(array(prompt)).seed(40 + i)
              .params(i > 0 ? cold : null).maxNewTokens(20 + i).draftSource(source);
          assertEquals(i, session.add(args));
          wanted.add(new Drawn(prompt, 20 + i, 40 + i, i > 0 ? cold : null));
          caller.step(session, maxTokens); // the next one joins
        }
        caller.run(session, maxTokens);
        for (int i = 0; i < wanted.size(); ++i) {
          final Sequence found = session.get(i);
          assertArrayEquals(array(wanted.get(i).text), found.tokenIds());
          assertEquals(wanted.get(i).logprobs, caller.given.get(i).logprobs);
          assertEquals(wanted.get(i).top, caller.given.get(i).top);
          assertEquals(wanted.get(i).topLogprobs, caller.given.get(i).topLogprobs);
          assertEquals(FinishReason.LENGTH, found.finishReason());
          assertEquals(7, found.promptLength());
          assertEquals(-1, found.stopSequence());
          assertEquals(i > 0, found.numDrafted() > 0);
        }
        assertTrue(session.get(1).numAccepted() > 0 && session.get(1).numSteps() <= 20);
      }
    }
  }

  @Test
  void textsGoOnAsTheyWouldHave() {
    final Params params = new Params().adaptiveKind(AdaptiveKind.MIROSTAT_V2).adaptiveTarget(2)
        .adaptiveRate(0.4f);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options())) {
      final Caller caller = new Caller();
      final AddArgs args = new AddArgs().tokenIds(new int[] {4, 5}).params(params).seed(3)
          .maxNewTokens(30);
      final int stays = session.add(args);
      final int goes = session.add(args);
      for (int i = 0; i < 6; ++i) {
        caller.step(session, 0);
      }
      final Sequence before = session.get(goes);
      session.remove(goes);
      args.tokenIds(before.tokenIds()).promptLength(before.promptLength());
      final int anew = session.add(args);
      final int again = session.add(args.resumed(before));
      caller.run(session, 0);
      final int[] whole = session.get(stays).tokenIds();
      assertArrayEquals(whole, session.get(again).tokenIds());
      assertEquals(30, session.get(again).numSteps());
      assertFalse(Arrays.equals(whole, session.get(anew).tokenIds()));

      final Sequence given = new Sequence(new int[0], 0, 0, 0, FinishReason.NONE, 0, -1, 7, 6, 5,
          true, new float[] {1, 2, 3, 4}, 1.25);
      final Sequence found = session.get(session.add(args.resumed(given)));
      assertArrayEquals(given.adaptiveValues(), found.adaptiveValues());
      assertEquals(1.25, found.drafterEntropy());
      assertEquals(List.of(7L, 6L, 5L),
          List.of(found.numSteps(), found.numDrafted(), found.numAccepted()));
      session.remove(goes);
      assertTrue(assertThrows(InvalidArgumentException.class,
          () -> session.add(new AddArgs().tokenIds(new int[] {4}).ngramHasText(true)))
          .getMessage().contains("ngram_has_text is 1"));
    }
  }

  @Test
  void textsGoOnWhereCachesEndAndStop() {
    final List<Integer> whole = new Drawn(List.of(4, 5), 20, 3, null).text;
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options())) {
      final Caller caller = new Caller();
      final int goesOn = session.add(new AddArgs().tokenIds(array(whole.subList(0, 5)))
          .promptLength(2).cacheLength(1).drafterCacheLength(3).seed(3).maxNewTokens(9)
          .draftSource(DraftSource.PROMPT_LOOKUP).numDrafts(2).minMatch(50)); // nothing is as long
      caller.caches.get(0).get(goesOn).add(whole.get(0));
      caller.caches.get(1).get(goesOn).addAll(whole.subList(0, 3));
      final Sequence before = session.get(goesOn);
      assertEquals(2, before.promptLength());
      assertEquals(1, before.cacheLength());
      assertEquals(3, before.drafterCacheLength());
      assertTrue(before.isDrafting());
      final int[] stop = array(whole.subList(8, 10));
      final int stopped = session.add(new AddArgs().tokenIds(new int[] {4, 5}).seed(3)
          .stopSequences(TokenLists.of(new int[] {COLS - 1, COLS - 1}, stop)));
      final int ended = session.add(
          new AddArgs().tokenIds(new int[] {4, 5}).seed(3).endTokenIds(new int[] {whole.get(7)}));
      for (int i = 0; i < 3; ++i) {
        caller.step(session, 0);
      }
      final int forked = session.fork(ended, 10L, new Params().temperature(0));
      caller.caches.get(0).set(forked, new ArrayList<>(caller.caches.get(0).get(ended)));
      final int[] source = session.get(forked).tokenIds();
      caller.run(session, 0);
      assertArrayEquals(array(whole.subList(0, 11)), session.get(goesOn).tokenIds());
      assertEquals(0, session.get(goesOn).numDrafted());
      final Sequence atStop = session.get(stopped);
      assertEquals(FinishReason.STOP_SEQUENCE, atStop.finishReason());
      assertEquals(1, atStop.stopSequence());
      final int length = atStop.tokenIds().length;
      assertArrayEquals(stop, Arrays.copyOfRange(atStop.tokenIds(), length - 2, length));
      assertEquals(FinishReason.END_TOKEN, session.get(ended).finishReason());
      final int[] text = session.get(forked).tokenIds();
      final List<Integer> prefix = new ArrayList<>();
      Arrays.stream(source).forEach(prefix::add);
      assertArrayEquals(array(new Drawn(prefix, text.length - source.length, 10,
          new Params().temperature(0)).text), text);
      session.remove(forked);
      assertThrows(InvalidArgumentException.class, () -> session.get(forked));
    }
  }

  /** The same lists in each kind of memory, and what is no list of a sequence. */
  @Test
  void stopSequencesInAnyMemory() {
    final List<Integer> whole = new Drawn(List.of(4, 5), 20, 3, null).text;
    final int[] never = {COLS - 1, COLS - 1};
    final int[] stop = array(whole.subList(8, 10));
    final long[] offsets = {0, 2, 4};
    final int[] ids = {never[0], never[1], stop[0], stop[1]};
    final LongBuffer directOffsets =
        (LongBuffer) Operations.directCopy(new long[] {0, 2, 4}, 1);
    final IntBuffer directIds = (IntBuffer) Operations.directCopy(ids, 1);
    final AddArgs args = new AddArgs().tokenIds(new int[] {4, 5}).seed(3);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options())) {
      for (TokenLists lists : List.of(TokenLists.of(never, stop), TokenLists.direct(never, stop),
          new TokenLists(offsets, ids), new TokenLists(directOffsets, directIds),
          new TokenLists(Array.i64(offsets), Array.of(directIds, ElementType.I32)),
          new TokenLists(new long[] {0, 2, 4, 9}, Arrays.copyOf(ids, 6)).numLists(2)
              .numTokenIds(4))) {
        final int sequence = session.add(args.stopSequences(lists));
        final Caller caller = new Caller();
        caller.run(session, 0);
        assertArrayEquals(array(whole.subList(0, 10)), session.get(sequence).tokenIds());
        assertEquals(1, session.get(sequence).stopSequence());
        session.remove(sequence);
      }
      for (TokenLists none : Arrays.asList(null, TokenLists.of(), TokenLists.direct(),
          new TokenLists())) {
        final int sequence = session.add(args.stopSequences(none).maxNewTokens(20));
        new Caller().run(session, 0);
        assertArrayEquals(array(whole), session.get(sequence).tokenIds());
        session.remove(sequence);
      }
      final Call onDevice = new Call(ByteBuffer.allocateDirect(Call.SIZE), true, true);
      assertEquals(2, onDevice.keep(() -> onDevice.hostLists(
          Call.ARGS, "stop_sequences.", TokenLists.of(never, stop), new Buffers())).length);
      refuses("stop_sequences.offsets has 3 elements; stop_sequences needs 4", session,
          args.stopSequences(new TokenLists(offsets, ids).numLists(3)));
      refuses("stop_sequences.token_ids has 4 elements; stop_sequences needs 5", session,
          args.stopSequences(new TokenLists(offsets, ids).numTokenIds(5)));
      refuses("stop_sequences.token_ids is of I64; it must be of I32", session,
          args.stopSequences(new TokenLists(Array.i64(offsets), Array.i64(new long[4]))));
      refuses("stop_sequences.offsets is an address of device memory; here it must be an array or"
          + " a direct buffer", session, args.stopSequences(
              new TokenLists(Array.onDevice(64, ElementType.I64), Array.i32(ids)).numLists(2)));
      refuses("stop_sequences.num_lists is 3; it must be below 3", session,
          args.stopSequences(TokenLists.of(never, stop, stop)));
      refuses("stop_sequences.offsets[1] is 2 and the next one 2; a stop sequence must have a"
          + " token, and lie in [0, num_token_ids), 2", session,
          args.stopSequences(TokenLists.of(never, new int[0])));
    }
  }

  private static void refuses(String message, Session session, AddArgs args) {
    assertEquals(message,
        assertThrows(InvalidArgumentException.class, () -> session.add(args)).getMessage());
  }

  /** Lists in the pipeline of a session, which reads them in each step. */
  @Test
  void listsOfThePipeline() {
    final int[] wanted = array(new Drawn(List.of(4, 5), 20, 3, null).text);
    final int[] banned = {wanted[2], wanted[3]};
    final SessionOptions options =
        options().pipeline(new Pipeline().banned(TokenLists.direct(banned)));
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options)) {
      session.add(new AddArgs().tokenIds(new int[] {4, 5}).seed(3).maxNewTokens(20));
      options.pipeline(null);
      final Caller caller = new Caller();
      do {
        System.gc(); // nothing but the session holds the lists
      } while (caller.step(session, 0));
      final int[] text = session.get(0).tokenIds();
      assertEquals(22, text.length);
      assertTrue(Arrays.stream(text).skip(2).noneMatch(id -> id == banned[0] || id == banned[1]));
      assertThrows(InvalidArgumentException.class, () -> sampler.newSession(
          options.pipeline(new Pipeline().banned(TokenLists.of(banned)))));
    }
  }

  /** A session's pipeline has its own guidance, none, whatever an earlier call's had. */
  @Test
  void guidanceIsNotOfThePipeline() {
    final Pipeline guidance = new Pipeline().guidanceLogits(
        Array.of(direct(new int[COLS]), ElementType.F32));
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(COLS).build()) {
      sampler.sample(new SampleArgs().input(new Rows(new float[COLS], 1, COLS))
          .params(new Params().guidanceScale(1.5f)).pipeline(guidance)
          .outTokenIds(Array.i32(new int[1])));
      sampler.newSession(options().pipeline(new Pipeline())).close();
      assertEquals("pipeline->guidance_logits is set; it must be NULL in a session",
          assertThrows(InvalidArgumentException.class,
              () -> sampler.newSession(options().pipeline(guidance))).getMessage());
    }
  }

  @Test
  void draftersRowsAreKeptWhereAsked() {
    final AddArgs args = new AddArgs().tokenIds(new int[] {4}).draftSource(DraftSource.MODEL)
        .acceptance(Acceptance.STANDARD);
    try (Sampler sampler = Sampler.builder().build();
        Session without = sampler.newSession(options());
        Session session = sampler.newSession(options().keepDrafterRows(true))) {
      assertThrows(InvalidArgumentException.class, () -> without.add(args));
      session.add(args);
      new Caller().run(session, 0);
      final Sequence found = session.get(0);
      assertEquals(FinishReason.CONTEXT, found.finishReason());
      assertEquals(60, found.tokenIds().length);
      assertTrue(found.numAccepted() > 0);
    }
  }

  @Test
  void draftsComeFromNgrams() {
    final Params params = new Params().temperature(0.1f);
    final int[] wanted = array(new Drawn(List.of(1, 2, 3), 40, 7, params).text);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options())) {
      final NgramStorage storage = NgramStorage.builder(COLS).build();
      storage.initialize(wanted);
      final AddArgs args = new AddArgs().tokenIds(new int[] {1, 2, 3}).params(params).seed(7)
          .maxNewTokens(40).draftSource(DraftSource.NGRAM).ngram(storage);
      session.add(args);
      session.add(args.ngramLeastCount(1 << 30));
      session.add(args.ngramLeastCount(0).draftUnknown(true));
      args.draftUnknown(false).ngramLeastShare(2);
      assertTrue(assertThrows(InvalidArgumentException.class, () -> session.add(args)).getMessage()
          .contains("ngram_least_share"));
      storage.close(); // the session holds it
      assertThrows(IllegalStateException.class, () -> session.add(args));
      new Caller().run(session, 0);
      for (int i = 0; i < 3; ++i) {
        assertArrayEquals(wanted, session.get(i).tokenIds());
        assertEquals(i == 1, session.get(i).numDrafted() == 0);
      }
      assertTrue(session.get(0).numAccepted() > 20);
    }
  }

  @Test
  void numbersOfDraftsAdapt() {
    final int[] wanted = array(new Drawn(List.of(4, 5), 30, 3, null).text);
    final long clock = Hooks.newCounts();
    final long[] drafted = new long[GammaRule.values().length];
    for (GammaRule rule : GammaRule.values()) {
      final boolean byEntropy = rule == GammaRule.BY_ENTROPY;
      final AddArgs args = new AddArgs().tokenIds(new int[] {4, 5}).seed(3).maxNewTokens(30)
          .draftSource(DraftSource.MODEL).adaptiveGamma(rule).emaBeta(byEntropy ? 0.5f : 0)
          .gammaMin(byEntropy ? 1 : 0);
      try (Sampler sampler = Sampler.builder().build();
          Session session = sampler.newSession(
              options().hasAdaptiveGamma(true).clock(Hooks.clock(), clock))) {
        session.add(args);
        assertThrows(InvalidArgumentException.class, () -> session.add(args.emaBeta(1)));
        assertThrows(InvalidArgumentException.class,
            () -> session.add(args.emaBeta(0).gammaMin(4)));
        new Caller().run(session, 0);
        assertArrayEquals(wanted, session.get(0).tokenIds(), rule.toString());
        drafted[rule.ordinal()] = session.get(0).numDrafted();
        assertEquals(rule == GammaRule.MEASURED, Hooks.calls(clock) > 0);
      }
    }
    assertTrue(drafted[GammaRule.BY_ENTROPY.ordinal()] < drafted[GammaRule.FIXED.ordinal()]);
  }

  @Test
  void rulesOfAcceptanceAndTrees() {
    final Params params = new Params().temperature(0.5f);
    final int[] wanted = array(new Drawn(List.of(4, 5), 30, 3, params).text);
    final SessionOptions options = options().keepDrafterRows(true).hasDraftTrees(true)
        .acceptance(new AcceptanceParams().syntheticRates(Array.f32(new float[] {1, 1, 1}))
            .typicalThreshold(0.5f).typicalScale(0.5f).relaxedTopK(3).relaxedDelta(0.5f)
            .thresholdSingle(0.2f).thresholdTotal(0.5f).deferredWindow(1).deferredTopK(2)
            .deferredEntropy(0.5f));
    final long[] accepted = new long[Acceptance.values().length];
    for (Acceptance rule : Acceptance.values()) {
      for (int topK = 0; topK < 3; topK += 2) {
        if (topK > 0 && (rule == Acceptance.BLOCK || rule == Acceptance.DEFERRED)) {
          continue;
        }
        try (Sampler sampler = Sampler.builder().build();
            Session session = sampler.newSession(options)) {
          session.add(new AddArgs().tokenIds(new int[] {4, 5}).params(params).seed(3)
              .maxNewTokens(30).draftSource(DraftSource.MODEL).acceptance(rule)
              .draftTopK(topK));
          final Caller caller = new Caller();
          boolean isTree = false;
          Plan plan;
          do {
            plan = session.plan(0);
            for (Span span : plan.spans()) {
              isTree |= span.parents().length > 1 && span.parents()[1] == -1;
            }
          } while (caller.step(session, plan, 0));
          final Sequence found = session.get(0);
          assertTrue(found.numDrafted() > 0, rule.toString());
          assertEquals(32, found.tokenIds().length, rule.toString());
          assertEquals(topK > 0, isTree, rule.toString());
          if (rule == Acceptance.SAMPLE_MATCH || rule == Acceptance.DEFAULT) {
            assertArrayEquals(wanted, found.tokenIds());
          }
          accepted[rule.ordinal()] = found.numAccepted();
        }
      }
    }
    // Rates of 1 take every draft.
    assertTrue(accepted[Acceptance.SYNTHETIC.ordinal()] > accepted[Acceptance.STANDARD.ordinal()]);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options)) {
      session.add(new AddArgs().tokenIds(new int[] {4, 5}).draftSource(DraftSource.MODEL)
          .leastDraftProbability(1));
      new Caller().run(session, 0);
      final Sequence found = session.get(0); // such a draft is the last of its step
      assertTrue(found.numDrafted() > 0 && found.numDrafted() <= found.numSteps());
      final AcceptanceParams none = new AcceptanceParams();
      assertTrue(sampler.sessionSize(options().acceptance(none)) > 0);
      for (AcceptanceParams broken : List.of(new AcceptanceParams().typicalThreshold(-1),
          new AcceptanceParams().siblingRule(SiblingRule.WITHOUT_REPLACEMENT),
          new AcceptanceParams().typicalScale(-1), new AcceptanceParams().relaxedTopK(-1),
          new AcceptanceParams().relaxedDelta(-1), new AcceptanceParams().thresholdSingle(-1),
          new AcceptanceParams().thresholdTotal(-1), new AcceptanceParams().deferredWindow(-1),
          new AcceptanceParams().deferredTopK(-1), new AcceptanceParams().deferredEntropy(-1),
          new AcceptanceParams().syntheticRates(Array.f32(new float[2])))) {
        assertThrows(InvalidArgumentException.class,
            () -> sampler.sessionSize(options().acceptance(broken)));
      }
    }
  }

  private static ByteBuffer direct(int... numbers) {
    final ByteBuffer buffer =
        ByteBuffer.allocateDirect(4 * numbers.length).order(ByteOrder.nativeOrder());
    buffer.asIntBuffer().put(numbers);
    return buffer;
  }

  @Test
  void masksAreThoseOfThePipeline() {
    final int[] mask = {1 << 6 | 1 << 9}; // a row's: 23 columns have one word
    final SessionOptions options = options().maxDrafts(0);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options.pipeline(
            new Pipeline().tokenBitmasks(Array.of(direct(mask), ElementType.I32))))) {
      session.add(new AddArgs().tokenIds(new int[] {4, 5}).maxNewTokens(12));
      boolean isOther = false;
      for (int step = 0; step < 12; ++step) {
        final Plan plan = session.plan(0);
        final AdvanceArgs args =
            new AdvanceArgs().spans(plan.spans()).logits(Array.f32(new float[COLS]));
        if (step == 0) {
          refuses("token_bitmask_indices has 0 elements; it needs 1", session,
              args.tokenBitmaskIndices(new int[0]));
        }
        final int token = session.advance(args.tokenBitmaskIndices(new int[] {step % 2 == 0 ? 0
            : -1})).get(0).tokenIds()[0];
        isOther |= token != 6 && token != 9;
        assertTrue(step % 2 != 0 || token == 6 || token == 9, () -> "token " + token);
      }
      assertTrue(isOther);
      options.pipeline(new Pipeline().tokenBitmasks(Array.i32(mask)));
      assertEquals("pipeline->token_bitmasks is a Java array, which may move; a session's must be a"
          + " direct buffer", assertThrows(InvalidArgumentException.class,
          () -> sampler.newSession(options)).getMessage());
    }
  }

  private static void refuses(String message, Session session, AdvanceArgs args) {
    assertEquals(message,
        assertThrows(InvalidArgumentException.class, () -> session.advance(args)).getMessage());
  }

  /**
   * Blocks of three tokens, of which each step commits one: by the logits from the last position,
   * whose row is the sharpest, to the first; by what greedy sampling leaves of them all are alike.
   */
  @Test
  void textsGrowByBlocks() {
    final int mask = COLS - 1;
    final UnmaskParams rules =
        new UnmaskParams().maskTokenId(mask).blockLength(3).blocksAfterPrompt(true);
    final AddArgs args = new AddArgs().tokenIds(new int[] {4, 5}).unmask(rules).maxNewTokens(5)
        .params(new Params().temperature(0));
    for (LogprobKind kind : List.of(LogprobKind.RAW, LogprobKind.PROCESSED)) {
      try (Sampler sampler = Sampler.builder().build();
          Session session = sampler.newSession(options().hasBlocks(true).confidenceKind(kind))) {
        session.add(args.unmask(rules));
        final List<int[]> planned = new ArrayList<>();
        final List<Integer> text = new ArrayList<>(List.of(4, 5));
        final List<Integer> given = new ArrayList<>();
        Advanced step;
        do {
          final List<Span> spans = session.plan(0).spans();
          final Span span = spans.get(0);
          assertEquals(3, span.numLogits());
          assertEquals(0, span.parents().length); // they are no drafts
          planned.add(span.tokenIds());
          final float[] logits = new float[3 * COLS];
          for (int i = 0; i < 3; ++i) {
            final int position = (int) span.start() + span.tokenIds().length - 3 + i;
            logits[i * COLS + position + 6] = 3 + i;
          }
          step = session.advance(new AdvanceArgs().spans(spans).logits(Array.f32(logits))).get(0);
          given.add(step.tokenIds().length);
          Arrays.stream(step.tokenIds()).forEach(text::add);
        } while (step.finishReason() == FinishReason.NONE);
        assertEquals(List.of(4, 5, 8, 9, 10, 11, 12), text);
        assertArrayEquals(array(text), session.get(0).tokenIds());
        assertEquals(FinishReason.LENGTH, step.finishReason());
        assertEquals(List.of(0, 0, 3, 0, 0, 2), given);
        assertArrayEquals(new int[] {4, 5, mask, mask, mask}, planned.get(0));
        assertArrayEquals(kind == LogprobKind.RAW ? new int[] {mask, mask, 10}
            : new int[] {8, mask, mask}, planned.get(1));
        // The block before is fed again.
        assertArrayEquals(new int[] {8, 9, 10, mask, mask, mask}, planned.get(3));
        args.unmask(new UnmaskParams().blockLength(5));
        assertEquals("unmask->block_length is 5; it must be below 5",
            assertThrows(InvalidArgumentException.class, () -> session.add(args)).getMessage());
        final int source = session.add(args.unmask(rules));
        for (int sequence : new int[] {source, session.fork(source, null, null)}) {
          assertEquals(0, session.plan(new int[] {sequence}, 0).spans().get(0).parents().length);
        }
        final Session without = sampler.newSession(options());
        assertEquals("unmask is set; the session must have has_blocks",
            assertThrows(InvalidArgumentException.class, () -> without.add(args)).getMessage());
      }
    }
  }

  @Test
  void textsAreGuided() {
    final Params params = new Params().guidanceScale(1.5f);
    final List<Integer> text = new ArrayList<>(List.of(4, 5));
    try (Sampler sampler = Sampler.builder().build();
        Sampler alone = Sampler.builder().maxRows(1).maxCols(COLS).build();
        Session session = sampler.newSession(options().maxDrafts(0))) {
      session.add(new AddArgs().tokenIds(array(text)).params(params).seed(3));
      for (int offset = 0; offset < 8; ++offset) {
        final float[] row = logitsAfter(text, 0);
        final float[] other = logitsAfter(text, 9);
        final int[] drawn = new int[1];
        alone.sample(new SampleArgs().input(new Rows(row, 1, COLS)).params(params)
            .random(new Randomness().seed(3).offset(offset)).outTokenIds(Array.i32(drawn))
            .pipeline(new Pipeline().guidanceLogits(Array.f32(other))));
        final int stride = COLS + offset % 2;
        final float[] both = Arrays.copyOf(row, 2 * stride);
        System.arraycopy(other, 0, both, stride, COLS);
        final AdvanceArgs args = new AdvanceArgs().spans(session.plan(0).spans())
            .logits(Array.f32(row)).logitsRowStride(stride);
        if (offset == 0) {
          refuses("guidance_logits is NULL; sequence 0 has guidance_scale", session, args);
          refuses("guidance_logits has 45 elements; it must be rows of 23", session,
              args.guidanceLogits(Array.f32(Arrays.copyOf(both, 45))));
          refuses("guidance_logits has 45 elements; it needs 46", session,
              args.numGuidanceRows(2));
          refuses("guidance_logits is of F16; it must be of F32", session,
              args.numGuidanceRows(0).guidanceLogits(Array.f16(new short[COLS])));
          refuses("guidance_row_indices has 0 elements; it needs 1", session,
              args.guidanceLogits(Array.f32(both)).guidanceRowIndices(new int[0]));
        }
        args.guidanceLogits(Array.f32(both)).guidanceRowIndices(new int[] {1})
            .numGuidanceRows(offset % 4 < 2 ? 0 : 2);
        assertArrayEquals(drawn, session.advance(args).get(0).tokenIds());
        text.add(drawn[0]);
      }
    }
    assertFalse(text.equals(new Drawn(List.of(4, 5), 8, 3, null).text));
  }

  @Test
  void wrongArgumentsAreRefused() {
    final Sampler sampler = Sampler.builder().build();
    final Session session = sampler.newSession(options().maxDrafts(0));
    session.add(new AddArgs().tokenIds(new int[] {4, 5}));
    final Plan plan = session.plan(new int[] {0}, 0);
    assertArrayEquals(new int[] {4, 5}, plan.spans().get(0).tokenIds());
    assertEquals(1, plan.spans().get(0).numLogits());
    assertTrue(session.plan(new int[0], 0).spans().isEmpty());
    final AdvanceArgs args = new AdvanceArgs().spans(plan.spans());
    refuses("logits is NULL; it is required", session, args);
    refuses("logits has 22 elements; it needs 23", session,
        args.logits(Array.f32(new float[COLS - 1])));
    refuses("logits is of F16; it must be of F32", session,
        args.logits(Array.f16(new short[COLS])));
    refuses("logits is an address of device memory; here it must be an array or a direct buffer",
        session, args.logits(Array.onDevice(64, ElementType.F32)));
    refuses("reports->num_top_logprobs is 3; it must be below 3", session,
        args.logits(Array.f32(new float[COLS])).numTopLogprobs(3));
    assertEquals(1, session.advance(args.numTopLogprobs(0)).size());
    refuses("spans[0] of sequence 0 is not a span that it was planned last", session, args);
    assertThrows(NullPointerException.class, () -> new AddArgs().tokenIds(null));
    assertThrows(NullPointerException.class, () -> session.add(null));
    assertThrows(InvalidArgumentException.class, () -> session.plan(new int[] {3}, 0));
    assertThrows(InvalidArgumentException.class,
        () -> sampler.newSession(options().maxSequences(0)));
    assertTrue(sampler.sessionSize(options()) > 1000);
    session.close();
    session.close();
    assertThrows(IllegalStateException.class, () -> session.get(0));
    final Session other = sampler.newSession(options());
    sampler.close();
    assertThrows(IllegalStateException.class, () -> other.plan(0));
    other.close();
  }
}
