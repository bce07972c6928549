package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
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
              .params(params).random(new Random().seed(seed).offset(offset))
              .logprobKind(LogprobKind.PROCESSED).outTokenIds(Array.i32(id))
              .outLogprobs(Array.f32(logprob)).numTopLogprobs(2).outTopTokenIds(Array.i32(first))
              .outTopLogprobs(Array.f32(firstLogprobs)));
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

    /** In an array for the target, in a direct buffer for the drafter. */
    Array run(List<Span> spans, int model) {
      final List<float[]> rows = new ArrayList<>();
      for (Span span : spans) {
        final List<Integer> cache = caches.get(model).get(span.sequence());
        cache.subList((int) span.start(), cache.size()).clear();
        for (int i = 0; i < span.tokenIds().length; ++i) {
          cache.add(span.tokenIds()[i]);
          if (i + span.numLogits() >= span.tokenIds().length) {
            rows.add(logitsAfter(cache, model));
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
      final Plan plan = session.plan(maxTokens);
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
        for (DraftSource source : DraftSource.values()) {
          final int i = source.ordinal();
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
          .stopSequences(new int[][] {{COLS - 1, COLS - 1}, stop}));
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

  @Test
  void draftersRowsAreKeptWhereAsked() {
    final AddArgs args = new AddArgs().tokenIds(new int[] {4}).draftSource(DraftSource.MODEL)
        .verification(DraftVerification.STANDARD);
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

  private static void refuses(String message, Session session, AdvanceArgs args) {
    assertEquals(message,
        assertThrows(InvalidArgumentException.class, () -> session.advance(args)).getMessage());
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
    refuses("num_top_logprobs is 3; it must be below 3", session,
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
