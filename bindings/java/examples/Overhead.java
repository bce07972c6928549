import io.github.libsampler.Sampler;
import io.github.libsampler.TopKTopPArgs;
import java.util.Arrays;
import java.util.Locale;

/**
 * How long a call takes whose row is so short that the way to the library is what counts. Prints
 * one line of JSON, as bench/bindings/overhead.c does.
 */
final class Overhead {
  private static final int NUM_CALLS = 200_000;
  private static final int NUM_REPEATS = 5;
  private static final int NUM_WARM_UPS = 3; // by then the compiler is done

  public static void main(String[] arguments) {
    float[] logits = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
    int[] tokenId = new int[1];
    double[] repeats = new double[NUM_REPEATS];
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
      TopKTopPArgs args = new TopKTopPArgs().input(logits).numRows(1).numCols(5);
      args.temperature(0.8f).topK(3).topP(0.95f).seed(1).outTokenIds(tokenId);
      for (int i = 0; i < NUM_WARM_UPS; ++i) {
        nanosecondsPerCall(sampler, args, i);
      }
      for (int i = 0; i < NUM_REPEATS; ++i) {
        repeats[i] = nanosecondsPerCall(sampler, args, NUM_WARM_UPS + i);
      }
    }
    double[] sorted = repeats.clone();
    Arrays.sort(sorted);
    System.out.printf(Locale.ROOT,
        "{\"language\": \"java\", \"ns_per_call\": %.1f, \"repeats\": [%s]}%n",
        sorted[NUM_REPEATS / 2], formatted(repeats));
  }

  private static double nanosecondsPerCall(Sampler sampler, TopKTopPArgs args, int repeat) {
    final long firstOffset = (long) repeat * NUM_CALLS;
    final long start = System.nanoTime();
    for (int i = 0; i < NUM_CALLS; ++i) {
      sampler.topKTopP(args.offset(firstOffset + i));
    }
    return (double) (System.nanoTime() - start) / NUM_CALLS;
  }

  private static String formatted(double[] values) {
    final StringBuilder text = new StringBuilder();
    for (double value : values) {
      text.append(text.length() == 0 ? "" : ", ").append(String.format(Locale.ROOT, "%.1f", value));
    }
    return text.toString();
  }
}
