package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import io.github.libsampler.internal.RawConstants;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** A watermark of texts, as vLLM has it: Gumbel draws by a key and the tokens before. */
public final class Watermark {
  private static final int OUT_BYTES = 3 * Long.BYTES;

  private Watermark() {}

  /**
   * What {@link DrawMethod#WATERMARK} draws with.
   *
   * @param seed the seed
   * @param offset the offset
   * @param stream the stream
   */
  public record Numbers(long seed, long offset, int stream) {}

  /**
   * What was found in a text.
   *
   * @param score about 1 for each token scored without the watermark, more with it
   * @param numScored how many tokens were scored
   * @param pValue the chance that a text without it scores as much
   */
  public record Detection(double score, long numScored, double pValue) {}

  /**
   * Makes the random numbers of the next draw.
   *
   * @param key the secret key
   * @param context the last tokens of the output, at most 64, oldest first, -1 where it has fewer
   * @return the numbers
   */
  public static Numbers random(long key, long... context) {
    final ByteBuffer memory = memoryOf(context);
    final long address = Raw.javaAddress(memory);
    final long out = address + (long) Long.BYTES * context.length;
    check(Raw.shimWatermarkRandom(key, address, context.length, out, out + OUT_BYTES), memory,
        context.length);
    final int at = Long.BYTES * context.length;
    return new Numbers(memory.getLong(at), memory.getLong(at + Long.BYTES),
        (int) memory.getLong(at + 2 * Long.BYTES));
  }

  /**
   * Looks for the watermark of a key in an output.
   *
   * @param key the secret key
   * @param tokenIds the output, without the prompt
   * @param contextLength tokens of a context, in [1, 64]
   * @param keepsRepeated whether tokens count whose context stood there before
   * @return what was found
   */
  public static Detection detect(
      long key, long[] tokenIds, int contextLength, boolean keepsRepeated) {
    final ByteBuffer memory = memoryOf(tokenIds);
    final long address = Raw.javaAddress(memory);
    final long out = address + (long) Long.BYTES * tokenIds.length;
    check(Raw.shimWatermarkDetect(key, address, tokenIds.length, contextLength,
        keepsRepeated ? 1 : 0, out, out + OUT_BYTES), memory, tokenIds.length);
    final int at = Long.BYTES * tokenIds.length;
    return new Detection(memory.getDouble(at), memory.getLong(at + Long.BYTES),
        memory.getDouble(at + 2 * Long.BYTES));
  }

  /** The tokens, then room for what C writes, and an error's text. */
  private static ByteBuffer memoryOf(long[] tokens) {
    final ByteBuffer memory = new Buffers()
        .ofBytes((long) Long.BYTES * tokens.length + OUT_BYTES + RawConstants.SHIM_ERROR_BYTES);
    memory.asLongBuffer().put(tokens);
    return memory;
  }

  private static void check(int status, ByteBuffer memory, int numTokens) {
    Reference.reachabilityFence(memory);
    if (Status.of(status) != Status.OK) {
      throw SamplerException.of(Status.of(status),
          Presets.text(memory.position(Long.BYTES * numTokens + OUT_BYTES)));
    }
  }
}
