package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;

/**
 * One growing text. It knows what followed the longest earlier occurrence of the text's end. As an
 * {@link Ngram} it is of one sequence: contexts begin with the text.
 */
public final class PromptLookup extends Ngram {
  private PromptLookup(NgramMemory memory) {
    super(memory);
  }

  /**
   * Starts the creation of a lookup.
   *
   * @param maxTokens room for the text, in [1, 2^27], of 132 bytes a token
   * @param vocabularySize token ids lie below it; in [1, 2^20)
   * @return options at their defaults: one token must match
   */
  public static Builder builder(int maxTokens, int vocabularySize) {
    return new Builder(maxTokens, vocabularySize);
  }

  /** What a lookup is made with. */
  public static final class Builder {
    private final int maxTokens;
    private final int vocabularySize;
    private int minMatch;
    private int maxMatch;
    private Allocator allocator = Allocator.NONE;

    private Builder(int maxTokens, int vocabularySize) {
      this.maxTokens = maxTokens;
      this.vocabularySize = vocabularySize;
    }

    /**
     * Sets how many tokens of the text's end must match.
     *
     * @param minMatch at least 1; 0, the default: 1
     * @return this
     */
    public Builder minMatch(int minMatch) {
      this.minMatch = minMatch;
      return this;
    }

    /**
     * Sets how many tokens of the text's end are looked at.
     *
     * @param maxMatch at least minMatch; 0, the default: all
     * @return this
     */
    public Builder maxMatch(int maxMatch) {
      this.maxMatch = maxMatch;
      return this;
    }

    /**
     * Sets where memory comes from.
     *
     * @param allocator null, the default: the C library's
     * @return this
     */
    public Builder allocator(Allocator allocator) {
      this.allocator = allocator == null ? Allocator.NONE : allocator;
      return this;
    }

    /**
     * Creates the lookup, with an empty text.
     *
     * @return a lookup to be closed
     */
    public PromptLookup build() {
      final ByteBuffer options = new Buffers().ofBytes(Layout.PROMPT_LOOKUP_OPTIONS_SIZE);
      options.putLong(Layout.PROMPT_LOOKUP_OPTIONS_STRUCT_SIZE, Layout.PROMPT_LOOKUP_OPTIONS_SIZE);
      options.putLong(Layout.PROMPT_LOOKUP_OPTIONS_MIN_MATCH, minMatch);
      options.putLong(Layout.PROMPT_LOOKUP_OPTIONS_MAX_MATCH, maxMatch);
      options.putLong(Layout.PROMPT_LOOKUP_OPTIONS_MAX_TOKENS, maxTokens);
      options.putLong(Layout.PROMPT_LOOKUP_OPTIONS_VOCABULARY_SIZE, vocabularySize);
      allocator.write(options, Layout.PROMPT_LOOKUP_OPTIONS_ALLOCATOR);
      return new PromptLookup(new NgramMemory(options, true));
    }
  }

  /**
   * Appends tokens to the text: all or, where they are more than there is room for, none.
   *
   * @param tokenIds the tokens
   */
  public void append(int[] tokenIds) {
    call((ngram, buffers) -> Raw.shimLookupAppend(ngram, buffers.of(tokenIds), tokenIds.length));
  }

  /**
   * Gives up to numDrafts tokens that followed the match of the text's end.
   *
   * @param numDrafts how many at most
   * @return none where fewer than minMatch tokens match
   */
  public int[] proposeNext(int numDrafts) {
    return drafts(numDrafts,
        (ngram, buffers, out) -> Raw.shimLookupPropose(ngram, numDrafts, out));
  }
}
