package io.github.libsampler;

/** Tokens to run through a model, which {@link Session#plan} gives. */
public final class Span {
  final int sequence;
  final int plan;
  final long start;
  final int[] tokenIds;
  final long address;
  final int numLogits;
  final int[] parents;

  Span(int sequence, int plan, long start, int[] tokenIds, long address, int numLogits,
      int[] parents) {
    this.sequence = sequence;
    this.plan = plan;
    this.start = start;
    this.tokenIds = tokenIds;
    this.address = address;
    this.numLogits = numLogits;
    this.parents = parents;
  }

  /**
   * Returns whose tokens they are.
   *
   * @return the number of a sequence
   */
  public int sequence() {
    return sequence;
  }

  /**
   * Returns which plan of the session it is of.
   *
   * @return the number of a plan
   */
  public int plan() {
    return plan;
  }

  /**
   * Returns how long the cache must be: what it holds beyond is cut off.
   *
   * @return a number of tokens
   */
  public long start() {
    return start;
  }

  /**
   * Returns which tokens to run; the last of them, as many as there are {@link #parents}, are
   * drafts. With {@link AddArgs#unmask} they end with a block, masked positions included.
   *
   * @return at least one
   */
  public int[] tokenIds() {
    return tokenIds;
  }

  /**
   * Returns how many rows of logits are wanted: those that follow the last tokens, one each.
   *
   * @return 0 of a part of a long text
   */
  public int numLogits() {
    return numLogits;
  }

  /**
   * Returns what each draft follows: a lower one of the drafts, or -1, the text. In a chain draft i
   * follows i - 1. In a tree ({@link AddArgs#draftTopK}) drafts see those that they follow, and not
   * the others; their positions in the text are their depths. The first path comes first, so that a
   * cache that is cut holds the text: a kept draft beside that path is fed again.
   *
   * @return one for each draft; none of a span of the drafter, or of a text that grows by blocks
   */
  public int[] parents() {
    return parents;
  }
}
