import io.github.libsampler.Sampler;
import io.github.libsampler.TopKTopPArgs;

/** The program of README.md. */
final class Readme {
  public static void main(String[] arguments) {
    float[] logits = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
    int[] tokenId = new int[1];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
      TopKTopPArgs args = new TopKTopPArgs().input(logits).numRows(1).numCols(5);
      args.temperature(0.8f).topK(3).topP(0.95f).seed(1).outTokenIds(tokenId);
      for (int step = 0; step < 5; ++step) { // one offset a step
        sampler.topKTopP(args.offset(step));
        System.out.println("step " + step + ": token " + tokenId[0]);
      }
    }
  }
}
