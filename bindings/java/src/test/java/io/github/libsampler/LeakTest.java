package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Samplers that come and go, each with a state, leave no memory behind, closed or forgotten. */
final class LeakTest {
  private static final int NUM_SAMPLERS = 100_000;
  private static final int NUM_WARM_UPS = 20_000;

  /**
   * The heap is of a fixed size and touched before the test, by options of the JVM. What may still
   * grow is what the compiler and the collector keep. 80,000 samplers would be 200 MiB.
   */
  private static final long MAX_GROWTH_KIB = 6 * 1024;

  @Test
  void createdSampledAndClosed() throws IOException {
    long before = 0;
    for (int i = 0; i < NUM_SAMPLERS; ++i) {
      if (i == NUM_WARM_UPS) {
        before = residentKib();
      }
      try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
        sampleOnce(sampler);
      }
    }
    expectNoGrowth(before);
  }

  /** The cleaner closes them. It runs after collections, so collections are asked for. */
  @Test
  void createdSampledAndForgotten() throws IOException, InterruptedException {
    long before = 0;
    for (int i = 0; i < NUM_SAMPLERS; ++i) {
      if (i % 1000 == 0) {
        System.gc();
        Thread.sleep(2);
      }
      if (i == NUM_WARM_UPS) {
        before = residentKib();
      }
      sampleOnce(Sampler.builder().maxRows(1).maxCols(5).build());
    }
    System.gc();
    Thread.sleep(100);
    expectNoGrowth(before);
  }

  private static void sampleOnce(Sampler sampler) {
    sampler.newState(new StateOptions().numSlots(1).maxTokens(4));
    final ByteBuffer tokenId = ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder());
    sampler.sample(new SampleArgs().input(new Rows(new float[] {1, 2, 3, 4, 5}, 1, 5))
        .outTokenIds(Array.of(tokenId, ElementType.I32)));
  }

  private static void expectNoGrowth(long before) throws IOException {
    final long after = residentKib();
    System.out.println("VmRSS " + before + " KiB after " + NUM_WARM_UPS + " samplers, " + after
        + " KiB after " + NUM_SAMPLERS);
    assertTrue(after - before <= MAX_GROWTH_KIB, "VmRSS grew by " + (after - before) + " KiB");
  }

  private static long residentKib() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new AssertionError("/proc/self/status has no VmRSS");
  }
}
