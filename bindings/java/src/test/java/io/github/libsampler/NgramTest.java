package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** N-gram storages, prompt lookup, and what a sampler calls back. */
final class NgramTest {
  private static final int[] TEXT = {1, 2, 3, 1, 2, 3, 1, 2, 4};
  private static final int[] END = {1, 2};

  @Test
  void storagesCount() {
    try (NgramStorage storage = NgramStorage.builder(100).order(3).build();
        NgramStorage oneLevel = NgramStorage.builder(9).kind(NgramKind.ONE_LEVEL).build()) {
      final NgramStorage copy = NgramStorage.builder(100).order(3).build();
      storage.initialize(TEXT);
      assertEquals(new Ngram.NextToken(3, true), storage.nextToken(END, 5, 6));
      final Ngram.NextToken unknown = storage.nextToken(new int[] {50}, 5, 6);
      assertFalse(unknown.isKnown());
      assertEquals(unknown, storage.nextToken(new int[] {51}, 5, 6));
      assertTrue(storage.hasGram(new int[] {2, 3}));
      assertFalse(storage.hasGram(new int[] {4, 3}));
      final int[] all = {3, 1, 2, 3};
      assertArrayEquals(all, storage.propose(END, 4, 0, 0));
      assertArrayEquals(all, storage.propose(END, 4, 2, 0));
      assertArrayEquals(new int[0], storage.propose(END, 4, 3, 0));
      assertArrayEquals(all, storage.propose(END, 4, 0, 0.6f));
      assertArrayEquals(new int[0], storage.propose(END, 4, 0, 0.7f));
      final NgramStorage.Stats stats = storage.stats();
      assertEquals(new NgramStorage.Stats(6, 8, 0, stats.memoryBytes()), stats);
      assertTrue(stats.memoryBytes() > 0);
      final byte[] data = storage.serialize();
      copy.deserialize(data);
      assertArrayEquals(all, copy.propose(END, 4, 0, 0));
      data[data.length - 1] ^= 1;
      assertEquals(Status.CORRUPT_DATA,
          assertThrows(SamplerException.class, () -> copy.deserialize(data)).status());
      copy.update(new int[] {3, 1}, new int[] {9, 9, 9});
      assertEquals(9, copy.nextToken(new int[] {3, 1}, 0, 0).tokenId());
      copy.reset();
      assertArrayEquals(new int[0], copy.propose(END, 4, 0, 0));
      assertTrue(assertThrows(InvalidArgumentException.class,
          () -> copy.update(END, new int[] {100})).getMessage().contains("100"));
      assertThrows(InvalidArgumentException.class, () -> copy.propose(END, -1, 0, 0));
      oneLevel.initialize(TEXT);
      assertFalse(oneLevel.hasGram(new int[] {2}));
      copy.close();
      copy.close();
      assertThrows(IllegalStateException.class, () -> copy.hasGram(END));
    }
    assertTrue(assertThrows(InvalidArgumentException.class,
        () -> NgramStorage.builder(9).order(17).build()).getMessage().contains("order is 17"));
    assertTrue(assertThrows(InvalidArgumentException.class,
        () -> NgramStorage.builder(9).memoryLimit(1).build()).getMessage()
        .contains("memory_limit"));
  }

  @Test
  void lookupsFind() {
    try (PromptLookup lookup = PromptLookup.builder(8, 10).minMatch(2).maxMatch(3).build()) {
      final int[] text = {1, 2, 3, 4, 1, 2};
      lookup.append(text);
      assertArrayEquals(new int[] {3, 4, 1}, lookup.proposeNext(3));
      assertArrayEquals(new int[] {3, 4}, lookup.propose(text, 2, 0, 0));
      assertThrows(InvalidArgumentException.class, () -> lookup.append(new int[3]));
      lookup.reset();
      assertArrayEquals(new int[0], lookup.proposeNext(3));
    }
    assertTrue(assertThrows(InvalidArgumentException.class,
        () -> PromptLookup.builder(8, 10).minMatch(2).maxMatch(1).build()).getMessage()
        .contains("max_match is 1"));
  }

  @Test
  void cachesArePruned() {
    assertEquals(new PruneCount(3, 2, 0), PruneCount.of(5, 2));
    assertEquals(1, PruneCount.of(5, 5).missing());
    assertThrows(InvalidArgumentException.class, () -> PruneCount.of(2, 3));
  }

  @Test
  void linesAreLogged() {
    final List<String> lines = new ArrayList<>();
    final Sampler.Builder builder =
        Sampler.builder().log((level, line) -> lines.add(level + " " + line));
    final Sampler sampler = builder.build();
    try (sampler) {
      final String error = assertThrows(InvalidArgumentException.class,
          () -> sampler.sample(new SampleArgs())).getMessage();
      final String second = assertThrows(InvalidArgumentException.class,
          () -> sampler.newSession(new SessionOptions())).getMessage();
      final String third = assertThrows(InvalidArgumentException.class,
          () -> builder.numThreads(-1).build()).getMessage();
      assertTrue(lines.get(0).startsWith("INFO "), lines.toString());
      assertEquals(List.of("ERROR " + error, "ERROR " + second, "ERROR " + third),
          lines.subList(1, lines.size()));
    }
  }

  @Test
  void functionsOfCAreCalled() {
    final long memory = Hooks.newCounts();
    final long tasks = Hooks.newCounts();
    final Allocator allocator = new Allocator(Hooks.allocate(), Hooks.deallocate(), memory);
    final int[] ids = new int[4];
    final float[] logits = {0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0};
    try (Sampler sampler = Sampler.builder().maxRows(4).maxCols(5).numThreads(4)
        .allocator(allocator).parallelFor(Hooks.parallelFor(), tasks).build()) {
      final long ofSampler = Hooks.bytes(memory);
      final NgramStorage storage = NgramStorage.builder(5).allocator(allocator).build();
      final long ofBoth = Hooks.bytes(memory);
      final PromptLookup lookup = PromptLookup.builder(10, 5).allocator(allocator).build();
      assertTrue(ofSampler > 0 && ofBoth > ofSampler && Hooks.bytes(memory) > ofBoth);
      storage.close();
      lookup.close();
      sampler.argmax(new Rows(logits, 4, 5), ids);
      assertArrayEquals(new int[] {1, 0, 3, 2}, ids);
      assertTrue(Hooks.calls(tasks) > 0);
    }
    assertEquals(0, Hooks.bytes(memory));
  }
}
