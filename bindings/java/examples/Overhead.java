import io.github.libsampler.Rows;
import io.github.libsampler.Sampler;
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
      Rows input = new Rows(logits, 1, 5);
      for (int i = 0; i < NUM_WARM_UPS; ++i) {
        nanosecondsPerCall(sampler, input, tokenId, i);
      }
      for (int i = 0; i < NUM_REPEATS; ++i) {
        repeats[i] = nanosecondsPerCall(sampler, input, tokenId, NUM_WARM_UPS + i);
      }
    }
    double[] sorted = repeats.clone();
    Arrays.sort(sorted);
    System.out.printf(Locale.ROOT,
        "{\"language\": \"java\", \"ns_per_call\": %.1f, \"repeats\": [%s]}%n",
        sorted[NUM_REPEATS / 2], formatted(repeats));
  }

  private static double nanosecondsPerCall(
      Sampler sampler, Rows input, int[] tokenId, int repeat) {
    final long firstOffset = (long) repeat * NUM_CALLS;
    final long start = System.nanoTime();
    for (int i = 0; i < NUM_CALLS; ++i) {
      sampler.topKTopP(input, 3, 0.95f, 0.8f, 1, firstOffset + i, tokenId);
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
