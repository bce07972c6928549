package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Samplers and several threads; a mistake here ends the process rather than a test. */
@Timeout(120)
final class ThreadsTest {
  private static final int NUM_THREADS = 8;
  private static final int NUM_COLS = 1000;
  private static final int NUM_STEPS = 2000;

  private static float[] logits() {
    final float[] result = new float[NUM_COLS];
    for (int i = 0; i < NUM_COLS; ++i) {
      result[i] = (i * 7919 % NUM_COLS) / 100.0f;
    }
    return result;
  }

  private static SampleArgs arguments(int[] tokenId) {
    return new SampleArgs().input(new Rows(logits(), 1, NUM_COLS))
        .params(new Params().topK(50).topP(0.9f)).outTokenIds(Array.i32(tokenId));
  }

  private static Sampler newSampler() {
    return Sampler.builder().maxRows(1).maxCols(NUM_COLS).build();
  }

  private static int[] tokens(Sampler sampler, long seed) {
    final int[] result = new int[NUM_STEPS];
    final int[] tokenId = new int[1];
    final Randomness random = new Randomness().seed(seed);
    final SampleArgs args = arguments(tokenId).random(random);
    for (int step = 0; step < NUM_STEPS; ++step) {
      random.offset(step);
      sampler.sample(args);
      result[step] = tokenId[0];
    }
    return result;
  }

  /** Runs a task on each thread, all at once, and throws what one of them threw. */
  private static <T> List<T> onAllThreads(Callable<T> task) throws Exception {
    final ExecutorService threads = Executors.newFixedThreadPool(NUM_THREADS);
    final List<Future<T>> futures = new ArrayList<>();
    final List<T> results = new ArrayList<>();
    try {
      for (int i = 0; i < NUM_THREADS; ++i) {
        futures.add(threads.submit(task));
      }
      for (Future<T> future : futures) {
        results.add(future.get());
      }
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    } finally {
      threads.shutdownNow();
    }
    return results;
  }

  @Test
  void aSamplerForEachThread() throws Exception {
    final AtomicInteger seeds = new AtomicInteger();
    final List<int[]> found = onAllThreads(() -> {
      final int seed = seeds.getAndIncrement();
      try (Sampler sampler = newSampler()) {
        final int[] tokens = tokens(sampler, seed);
        final int[] result = new int[NUM_STEPS + 1];
        System.arraycopy(tokens, 0, result, 1, NUM_STEPS);
        result[0] = seed;
        return result;
      }
    });
    try (Sampler sampler = newSampler()) {
      for (int[] result : found) {
        assertArrayEquals(tokens(sampler, result[0]),
            java.util.Arrays.copyOfRange(result, 1, NUM_STEPS + 1));
      }
    }
  }

  /** Each state is closed by two threads, and the sampler when all are under way. */
  @Test
  void statesOfASamplerThatIsClosed() throws Exception {
    for (int round = 0; round < 20; ++round) {
      final Sampler sampler = newSampler();
      final CountDownLatch started = new CountDownLatch(NUM_THREADS);
      final Thread closer = new Thread(() -> {
        try {
          started.await();
        } catch (InterruptedException e) {
          return;
        }
        sampler.close();
      });
      closer.start();
      onAllThreads(() -> {
        final int[] tokenId = new int[1];
        final SampleArgs args = arguments(tokenId);
        final AcceptArgs accept =
            new AcceptArgs().numRows(1).tokenIds(Array.i32(tokenId)).numTokens(1);
        for (int i = 0;; ++i) {
          if (i == 10) {
            started.countDown();
          }
          try {
            final State state = sampler.newState(new StateOptions().numSlots(1).maxTokens(8));
            sampler.sample(args.pipeline(new Pipeline().state(state)));
            state.accept(accept);
            new Thread(state::close).start();
            state.close();
          } catch (IllegalStateException closed) {
            assertTrue(i >= 10);
            return null;
          }
        }
      });
      closer.join();
    }
  }

  @Test
  void oneSamplerForAllThreads() throws Exception {
    try (Sampler sampler = newSampler()) {
      final int[] wanted = tokens(sampler, 5);
      for (int[] found : onAllThreads(() -> tokens(sampler, 5))) {
        assertArrayEquals(wanted, found);
      }
    }
  }

  @Test
  void closeDuringCallsOfOtherThreads() throws Exception {
    for (int round = 0; round < 50; ++round) {
      final Sampler sampler = newSampler();
      final CountDownLatch started = new CountDownLatch(NUM_THREADS);
      final AtomicInteger role = new AtomicInteger();
      final List<Integer> calls = onAllThreads(() -> {
        final boolean closes = role.getAndIncrement() == 0;
        final SampleArgs args = arguments(new int[1]);
        started.countDown();
        started.await();
        if (closes) {
          sampler.close();
          return 0;
        }
        for (int step = 0; ; ++step) {
          try {
            sampler.sample(args);
          } catch (IllegalStateException closed) {
            assertEquals("the sampler is closed", closed.getMessage());
            return step;
          }
        }
      });
      assertEquals(NUM_THREADS, calls.size());
    }
  }

  @Test
  void eachThreadReadsItsOwnErrors() throws Exception {
    final AtomicInteger numbers = new AtomicInteger();
    try (Sampler shared = newSampler()) {
      onAllThreads(() -> {
        final int rows = -1 - numbers.getAndIncrement();
        final SampleArgs args = arguments(new int[1]).input(new Rows(logits(), rows, NUM_COLS));
        try (Sampler own = newSampler()) {
          for (int i = 0; i < NUM_STEPS; ++i) {
            final Sampler sampler = i % 2 == 0 ? shared : own;
            final InvalidArgumentException error =
                assertThrows(InvalidArgumentException.class, () -> sampler.sample(args));
            assertEquals(
                "input.num_rows is " + rows + "; it must be at least 0", error.getMessage());
          }
        }
        return null;
      });
    }
  }

  /** A buffer that another thread replaces during the call, which then alone needs it. */
  @Test
  void buffersThatAreReplacedDuringCalls() throws Exception {
    final int numRows = 160;
    final int numCols = 1 << 16;
    final int bytes = Float.BYTES * numRows * numCols; // enough that the system takes them back
    // An array would be pinned, and the collector would wait for it.
    final ByteBuffer rowStatus = direct(Integer.BYTES * numRows);
    final Rows input = new Rows(floats(bytes), 1, 8);
    final FilterArgs args = new FilterArgs().input(input).output(floats(bytes))
        .outRowStatus(Array.of(rowStatus, ElementType.I32));
    final Thread other = new Thread(() -> {
      while (!Thread.currentThread().isInterrupted()) {
        input.values(floats(bytes));
        System.gc();
      }
    });
    try (Sampler sampler = Sampler.builder().maxRows(numRows).maxCols(numCols).build()) {
      for (int i = 0; i < 20_000; ++i) { // until the call is compiled
        sampler.filter(args);
      }
      input.numRows(numRows).numCols(numCols);
      other.start();
      for (int i = 0; i < 200; ++i) {
        sampler.filter(args);
      }
    } finally {
      other.interrupt();
      other.join();
    }
    while (rowStatus.hasRemaining()) {
      assertEquals(RowStatus.OK, rowStatus.getInt());
    }
  }

  private static Array floats(int bytes) {
    return Array.of(direct(bytes), ElementType.F32);
  }

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  /** Sets arrays and sizes of arguments while other threads call with them: wrong, but no crash. */
  @Test
  void argumentsThatChangeDuringCalls() throws Exception {
    final Array small = Array.f32(new float[8]);
    final Array large = Array.f32(logits());
    final Array buffer = Array.of(Operations.directCopy(logits(), 0), ElementType.F32);
    final Rows input = new Rows(large, 1, NUM_COLS);
    final SampleArgs args = arguments(new int[1]).input(input);
    final AtomicInteger role = new AtomicInteger();
    final AtomicInteger done = new AtomicInteger();
    onAllThreads(() -> {
      final boolean changes = role.getAndIncrement() < 2;
      try (Sampler sampler = newSampler()) {
        for (int step = 0; step < 5 * NUM_STEPS; ++step) {
          if (changes) {
            input.values(small).numCols(8).values(buffer).numCols(NUM_COLS).values(large);
            continue;
          }
          try {
            sampler.sample(args);
          } catch (InvalidArgumentException refused) {
            assertTrue(refused.getMessage().startsWith("input.values has 8 elements"),
                refused.getMessage());
          }
          done.incrementAndGet();
        }
      }
      return null;
    });
    assertEquals((NUM_THREADS - 2) * 5 * NUM_STEPS, done.get());
  }

  /** Calls {@code used} again and again while another thread calls {@code changes}. */
  private static void whileChanging(Runnable changes, Runnable used) throws Exception {
    final AtomicInteger role = new AtomicInteger();
    final AtomicInteger running = new AtomicInteger(NUM_THREADS - 1);
    onAllThreads(() -> {
      if (role.getAndIncrement() == 0) {
        while (running.get() > 0) {
          changes.run();
        }
        return null;
      }
      try {
        for (int step = 0; step < NUM_STEPS; ++step) {
          used.run();
        }
      } finally {
        running.decrementAndGet();
      }
      return null;
    });
  }

  /** Lists of kept tokens that are packed and not: none of more tokens than it has room for. */
  @Test
  void reportsThatChangeDuringCalls() throws Exception {
    final int numRows = 16;
    final int numCols = 16;
    final ReportArgs reports = new ReportArgs().keptCapacity(numCols);
    final Array offsets = Array.of(
        ByteBuffer.allocateDirect(8 * (numRows + 1)).order(ByteOrder.nativeOrder()),
        ElementType.I64);
    final ByteBuffer memory =
        ByteBuffer.allocateDirect(4 * numRows * numCols).order(ByteOrder.nativeOrder());
    final int room = 4 * numCols;
    for (int i = room; i < memory.capacity(); ++i) {
      memory.put(i, (byte) 77);
    }
    reports.outKeptTokenIds(Array.of(memory.limit(room), ElementType.I32));
    whileChanging(() -> reports.outKeptOffsets(offsets).outKeptOffsets(null), () -> {
      try (Sampler sampler = Sampler.builder().maxRows(numRows).maxCols(numCols).build()) {
        sampler.sample(new SampleArgs().reports(reports)
            .input(new Rows(new float[numRows * numCols], numRows, numCols))
            .outTokenIds(Array.i32(new int[numRows])));
      } catch (InvalidArgumentException refused) {
        assertEquals("reports->out_kept_token_ids has 16 elements; reports needs 256",
            refused.getMessage());
      }
    });
    memory.clear();
    for (int i = room; i < memory.capacity(); ++i) {
      assertEquals(77, memory.get(i));
    }
  }

  /** The lengths of arrays follow from the numbers that a state and a session were made with. */
  @Test
  void optionsThatChangeDuringCalls() throws Exception {
    final int many = 40;
    final StateOptions ofState = new StateOptions().maxTokens(4);
    final SessionOptions ofSession = new SessionOptions().maxSequences(1).maxContext(4);
    whileChanging(() -> {
      ofState.numSlots(many).numSlots(2);
      ofSession.vocabularySize(many).vocabularySize(2);
    }, () -> {
      try (Sampler sampler = Sampler.builder().build(); State state = sampler.newState(ofState);
          Session session = sampler.newSession(ofSession)) {
        refusesIf(isTaken(() -> state.serialize(many - 1, 1)), () -> state.accept(
            new AcceptArgs().slots(Array.i32(new int[1])).tokenIds(Array.i32(new int[1]))
                .offsets(Array.i64(new long[2]))));
        final boolean isLarge =
            isTaken(() -> session.add(new AddArgs().tokenIds(new int[] {many - 1})));
        if (!isLarge) {
          session.add(new AddArgs().tokenIds(new int[1]));
        }
        final List<Span> spans = session.plan(0).spans();
        refusesIf(isLarge, () -> session.advance(
            new AdvanceArgs().spans(spans).logits(Array.f32(new float[2]))));
      }
    });
  }

  private static boolean isTaken(Runnable call) {
    try {
      call.run();
      return true;
    } catch (InvalidArgumentException refused) {
      return false;
    }
  }

  private static void refusesIf(boolean refuses, Runnable call) {
    assertEquals(!refuses, isTaken(call));
  }
}
