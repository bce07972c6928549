package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import io.github.libsampler.internal.RawConstants;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * Watermarks of texts. vLLM's, by {@link #random} and {@link #detect}: Gumbel draws by a key and
 * the tokens before. Hugging Face's, by {@link WatermarkParams}: green lists and tournaments.
 */
public final class Watermark {
  private static final int OUT_BYTES = 3 * Long.BYTES;
  private static final int MAX_CONTEXT = 64;
  private static final int MAX_VOCABULARY = 1 << 20;

  /** After the params. */
  private static final int SCORE = Layout.WATERMARK_PARAMS_SIZE;
  private static final int ERROR = SCORE + OUT_BYTES;

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
   * @param score about 1 for each token scored without the watermark, more with it; of green lists
   *     by how many standard deviations there are more green tokens than by chance; of tournaments
   *     the mean of the bits, 1/2 without the watermark
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
    final int at = Long.BYTES * context.length;
    check(Raw.shimWatermarkRandom(key, address, context.length, out, out + OUT_BYTES), memory,
        at + OUT_BYTES);
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
    final int at = Long.BYTES * tokenIds.length;
    check(Raw.shimWatermarkDetect(key, address, tokenIds.length, contextLength,
        keepsRepeated ? 1 : 0, out, out + OUT_BYTES), memory, at + OUT_BYTES);
    return new Detection(memory.getDouble(at), memory.getLong(at + Long.BYTES),
        memory.getDouble(at + 2 * Long.BYTES));
  }

  /**
   * Makes the table of a scheme, for {@link WatermarkParams#table} of any number of calls. That of
   * SELFHASH takes some 10 ms.
   *
   * @param params SELFHASH or TOURNAMENT
   * @return the table
   */
  public static int[] table(WatermarkParams params) {
    final WatermarkParams own = new WatermarkParams(params);
    final int[] table = own.newTable();
    final ByteBuffer out = new Buffers().ofBytes((long) Integer.BYTES * table.length);
    call(own, false, (buffers, address) ->
        Raw.shimWatermarkTable(address, buffers.of(out), address + ERROR));
    out.asIntBuffer().get(table);
    return table;
  }

  /**
   * Makes the biases of green lists: the bias for green tokens, 0 for the others. They are for a
   * {@link Pipeline}.
   *
   * @param params LEFTHASH or SELFHASH
   * @param context the contextLength last tokens, the prompt's too, oldest first
   * @param candidateTokenIds of SELFHASH, at most as many as the vocabulary has; transformers takes
   *     the 40 likeliest tokens, each takes about 0.15 ms; of LEFTHASH none
   * @return of SELFHASH a number for each candidate, of LEFTHASH for each token of the vocabulary,
   *     as of denseBias
   */
  public static float[] bias(WatermarkParams params, long[] context, int... candidateTokenIds) {
    final WatermarkParams own = new WatermarkParams(params);
    checkContext(own, context);
    // The library refuses a larger vocabulary, and writes nothing then.
    final float[] biases = new float[own.scheme == WatermarkScheme.LEFTHASH
        ? Math.min(Math.max(own.vocabularySize, 0), MAX_VOCABULARY) : candidateTokenIds.length];
    final ByteBuffer out = new Buffers().ofBytes((long) Float.BYTES * biases.length);
    call(own, true, (buffers, address) -> Raw.shimWatermarkBias(address, buffers.of(context),
        buffers.of(candidateTokenIds), candidateTokenIds.length, buffers.of(out),
        address + ERROR));
    out.asFloatBuffer().get(biases);
    return biases;
  }

  /**
   * Holds the tournament of a token's distribution: changes the probabilities of tokens, those that
   * the filters keep, into those to draw by, with the same sum: rows of {@link
   * InputKind#PROBABILITIES} with candidates, drawn without filters. After a context that came
   * before in the output transformers leaves the distribution as it is: do not call it then.
   *
   * @param params TOURNAMENT
   * @param context the contextLength last tokens of the output, oldest first, 0 where it has fewer
   * @param tokenIds at least one
   * @param probabilities [tokenIds] changed
   */
  public static void tournament(
      WatermarkParams params, long[] context, int[] tokenIds, float[] probabilities) {
    final WatermarkParams own = new WatermarkParams(params);
    checkContext(own, context);
    WatermarkParams.checkLength(
        "probabilities", probabilities.length, tokenIds.length, Integer.MAX_VALUE);
    final ByteBuffer memory = new Buffers().ofBytes((long) Float.BYTES * probabilities.length);
    memory.asFloatBuffer().put(probabilities);
    call(own, true, (buffers, address) -> Raw.shimWatermarkTournament(address,
        buffers.of(context), buffers.of(tokenIds), tokenIds.length, buffers.of(memory),
        address + ERROR));
    memory.asFloatBuffer().get(probabilities);
  }

  /**
   * Looks for the watermark of a scheme in an output. Tokens with fewer than contextLength tokens
   * before them are not scored.
   *
   * @param params the scheme
   * @param tokenIds the output
   * @return what was found; of no tokens the score is 0, of TOURNAMENT 1/2, and the p-value 1
   */
  public static Detection score(WatermarkParams params, long... tokenIds) {
    final WatermarkParams own = new WatermarkParams(params);
    final ByteBuffer memory = call(own, true, (buffers, address) -> Raw.shimWatermarkScore(
        address, buffers.of(tokenIds), tokenIds.length, address + SCORE, address + ERROR));
    return new Detection(memory.getDouble(SCORE), memory.getLong(SCORE + Long.BYTES),
        memory.getDouble(SCORE + 2 * Long.BYTES));
  }

  private static void checkContext(WatermarkParams params, long[] context) {
    WatermarkParams.checkLength("context", context.length, params.contextLength, MAX_CONTEXT);
  }

  /** A call with the address of the params, then of a score, then of an error's text. */
  private interface Made {
    int run(Buffers buffers, long address);
  }

  private static ByteBuffer call(WatermarkParams params, boolean readsTable, Made made) {
    final Buffers buffers = new Buffers();
    final ByteBuffer memory = buffers.ofBytes(ERROR + RawConstants.SHIM_ERROR_BYTES);
    params.write(memory, buffers, readsTable);
    final int status = made.run(buffers, Raw.javaAddress(memory));
    Reference.reachabilityFence(buffers);
    check(status, memory, ERROR);
    return memory;
  }

  /** The tokens, then room for what C writes, and an error's text. */
  private static ByteBuffer memoryOf(long[] tokens) {
    final ByteBuffer memory = new Buffers()
        .ofBytes((long) Long.BYTES * tokens.length + OUT_BYTES + RawConstants.SHIM_ERROR_BYTES);
    memory.asLongBuffer().put(tokens);
    return memory;
  }

  /** {@code error}: where its text is. */
  private static void check(int status, ByteBuffer memory, int error) {
    Reference.reachabilityFence(memory);
    if (Status.of(status) != Status.OK) {
      throw SamplerException.of(Status.of(status), Presets.text(memory.position(error)));
    }
  }
}
