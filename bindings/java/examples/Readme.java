import io.github.libsampler.Rows;
import io.github.libsampler.Sampler;

/** The program of README.md. */
final class Readme {
  public static void main(String[] arguments) {
    float[] logits = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
    int[] tokenId = new int[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
      Rows input = new Rows(logits, 1, 5);
      for (int step = 0; step < 5; ++step) { // one offset a step
        // top-k, top-p, temperature, seed, offset
        sampler.topKTopP(input, 3, 0.95f, 0.8f, 1, step, tokenId);
        System.out.println("step " + step + ": token " + tokenId[0]);
      }
    }
  }
}
