package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * Drafts without a model. A context is a text's end, the latest token last.
 *
 * <p>It works on host memory and needs no {@link Sampler}. What its calls take and give is copied.
 * They wait for each other, and fail while a session's call uses the n-grams; they throw {@link
 * InvalidArgumentException}, another {@link SamplerException}, and {@link IllegalStateException}
 * when it is closed. One that is never closed is closed some time after it is no longer reachable.
 */
public abstract class Ngram implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  final NgramMemory memory;
  private final Cleaner.Cleanable cleanable;

  Ngram(NgramMemory memory) {
    this.memory = memory;
    this.cleanable = CLEANER.register(this, memory);
  }

  /** A call with the address of the n-grams. */
  interface Made {
    long run(long ngram, Buffers buffers);
  }

  long call(Made made) {
    final Buffers buffers = new Buffers();
    try {
      return memory.call(address -> made.run(address, buffers));
    } finally {
      Reference.reachabilityFence(buffers);
      Reference.reachabilityFence(this);
    }
  }

  /**
   * What {@link #nextToken} gives.
   *
   * @param tokenId the likeliest token
   * @param isKnown whether anything is known after the context
   */
  public record NextToken(int tokenId, boolean isKnown) {}

  /**
   * Gives the likeliest token to follow the end of the context. Where nothing is known the token is
   * drawn uniformly over the vocabulary.
   *
   * @param context a text's end
   * @param seed what an unknown token is drawn from
   * @param offset what an unknown token is drawn from
   * @return the token
   */
  public NextToken nextToken(int[] context, long seed, long offset) {
    final ByteBuffer found = new Buffers().ofBytes(2 * Integer.BYTES);
    call((ngram, buffers) -> Raw.shimNgramNextToken(
        ngram, buffers.of(context), context.length, seed, offset, Raw.javaAddress(found)));
    return new NextToken(found.getInt(0), found.getInt(Integer.BYTES) != 0);
  }

  /**
   * Returns whether a token is known to follow exactly this context, without back-off.
   *
   * @param context a text's end
   * @return whether there is one
   */
  public boolean hasGram(int[] context) {
    return call((ngram, buffers) ->
        Raw.shimNgramHasGram(ngram, buffers.of(context), context.length)) != 0;
  }

  /**
   * Counts each of the next tokens once, in their order, as following the end of the context. A
   * {@link PromptLookup} appends what the context has beyond its text instead.
   *
   * @param context a text's end
   * @param nextTokenIds what followed
   */
  public void update(int[] context, int[] nextTokenIds) {
    call((ngram, buffers) -> Raw.shimNgramUpdate(ngram, buffers.of(context), context.length,
        buffers.of(nextTokenIds), nextTokenIds.length));
  }

  /**
   * Learns a text. What was known stays.
   *
   * @param tokenIds the text
   */
  public void initialize(int[] tokenIds) {
    call((ngram, buffers) ->
        Raw.shimNgramInitialize(ngram, buffers.of(tokenIds), tokenIds.length));
  }

  /**
   * Gives up to numDrafts tokens, each the likeliest after the context and the tokens before it: up
   * to the first that is unknown, that was counted too rarely, or whose share is too small.
   *
   * @param context a text's end
   * @param numDrafts how many tokens at most
   * @param leastCount how often a token must have been counted there; 0: off
   * @param leastShare its least share of what followed there, in [0, 1]; 0: off
   * @return the tokens
   */
  public int[] propose(int[] context, int numDrafts, long leastCount, float leastShare) {
    return drafts(numDrafts, (ngram, buffers, out) -> Raw.shimNgramPropose(ngram,
        buffers.of(context), context.length, numDrafts, leastCount, leastShare, out));
  }

  /** A call that writes tokens and returns their number. */
  interface Proposing {
    long run(long ngram, Buffers buffers, long out);
  }

  int[] drafts(int numDrafts, Proposing made) {
    final ByteBuffer out = new Buffers().ofBytes(4L * Math.max(numDrafts, 0));
    final long count =
        call((ngram, buffers) -> made.run(ngram, buffers, Raw.javaAddress(out)));
    final int[] tokens = new int[(int) count];
    out.asIntBuffer().get(tokens);
    return tokens;
  }

  /** Forgets all. */
  public void reset() {
    call((ngram, buffers) -> Raw.shimNgramReset(ngram));
  }

  /** Releases the memory, once no session uses it. The second time it does nothing. */
  @Override
  public void close() {
    cleanable.clean();
  }
}
