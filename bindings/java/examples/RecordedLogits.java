import io.github.libsampler.Array;
import io.github.libsampler.Rows;
import io.github.libsampler.Sampler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Draws a token from each row of a file of f16 logits and prints the ids, 16 to a line.
 *
 * <p>RecordedLogits logits.f16
 */
final class RecordedLogits {
  private static final int NUM_COLS = 2048;
  private static final int IDS_PER_LINE = 16;

  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 1) {
      System.err.println("usage: RecordedLogits FILE");
      System.exit(2);
    }
    ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[0])));
    file.order(ByteOrder.LITTLE_ENDIAN);
    short[] logits = new short[NUM_COLS];
    int[] tokenId = new int[1];
    StringBuilder text = new StringBuilder();
    try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(NUM_COLS).build()) {
      Rows input = new Rows(Array.f16(logits), 1, NUM_COLS);
      for (int step = 0; file.remaining() >= Short.BYTES * NUM_COLS; ++step) {
        file.asShortBuffer().get(logits);
        file.position(file.position() + Short.BYTES * NUM_COLS);
        sampler.topKTopP(input, 50, 0.95f, 0.8f, 1, step, tokenId); // one offset a step
        text.append(step == 0 ? "" : step % IDS_PER_LINE == 0 ? "\n" : " ").append(tokenId[0]);
      }
    }
    System.out.println(text);
  }
}
