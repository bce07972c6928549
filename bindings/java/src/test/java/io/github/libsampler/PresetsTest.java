package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Parameters by an engine's name. */
final class PresetsTest {
  private static int place(Params params, Stage stage) {
    for (int i = 0; i < params.stages.length; ++i) {
      if (params.stages[i] == stage.number()) {
        return i;
      }
    }
    throw new AssertionError(stage + " is not there");
  }

  /** Rules of two engines that docs/coming-from.md has. */
  @Test
  void rulesOfEngines() {
    final Params llama = Params.preset("llama.cpp");
    assertEquals(0.8f, llama.temperature);
    assertEquals(40, llama.topK);
    assertEquals(0.95f, llama.topP);
    assertEquals(0.05f, llama.minP);
    assertEquals(64, llama.penaltyWindow);
    assertEquals(PenaltyScope.ALL, llama.penaltyScope);
    assertTrue(place(llama, Stage.DRY) < place(llama, Stage.TOP_K));
    assertTrue(place(llama, Stage.TOP_K) < place(llama, Stage.TOP_P));
    assertTrue(place(llama, Stage.XTC) < place(llama, Stage.TEMPERATURE));
    final Params vllm = Params.preset("vllm");
    assertEquals(1, vllm.temperature);
    assertEquals(TieRule.KEEP, vllm.topKTies);
    assertEquals(PenaltyForm.RECIPROCAL, vllm.penaltyForm);
    assertEquals(PenaltyScope.OUTPUT, vllm.badWordScope);

    // What they say is taken.
    final int[] tokens = {-1};
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
      sampler.sample(new SampleArgs().input(new Rows(new float[] {2, 2.5f, 1.5f, -1, 0}, 1, 5))
          .params(vllm.topK(2)).outTokenIds(Array.i32(tokens)));
    }
    assertTrue(tokens[0] == 0 || tokens[0] == 1);
  }

  @Test
  void names() {
    final List<String> names = Params.presetNames();
    for (String name : names) {
      Params.preset(name);
      Params.preset(name.split("@")[0]);
    }
    for (String engine : List.of("llama.cpp", "vllm", "vllm_v2", "sglang", "tensorrt_llm",
        "hugging_face", "flashinfer", "hf_vllm_aligned", "nano_vllm")) {
      assertTrue(names.stream().anyMatch(name -> name.startsWith(engine)), engine);
    }
  }

  @Test
  void otherNames() {
    final String rule =
        "; it must be one of " + String.join(", ", Params.presetNames())
            + ", the version may be left out";
    for (String name : List.of("", "llama", "vllm@9", "vllm@")) {
      assertEquals("name is \"" + name + "\"" + rule,
          assertThrows(InvalidArgumentException.class, () -> Params.preset(name)).getMessage());
    }
    assertEquals("name is \"" + "x".repeat(32) + "\"" + rule,
        assertThrows(InvalidArgumentException.class, () -> Params.preset("x".repeat(1000)))
            .getMessage());
    assertThrows(InvalidArgumentException.class, () -> Params.preset("vllm\0"));
    assertThrows(NullPointerException.class, () -> Params.preset(null));
  }
}
