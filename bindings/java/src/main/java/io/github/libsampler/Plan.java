package io.github.libsampler;

import java.util.List;

/** What to run in a step. A sequence has a span of one of the two models. */
public final class Plan {
  final List<Span> spans;
  final List<Span> drafterSpans;
  final int[][] parents;

  Plan(List<Span> spans, List<Span> drafterSpans, int[][] parents) {
    this.spans = spans;
    this.drafterSpans = drafterSpans;
    this.parents = parents;
  }

  /**
   * Tells what the target is to run.
   *
   * @return spans
   */
  public List<Span> spans() {
    return spans;
  }

  /**
   * Tells what the drafter is to run.
   *
   * @return spans
   */
  public List<Span> drafterSpans() {
    return drafterSpans;
  }

  /**
   * Tells what each draft of a target's span follows, in a session with {@link
   * SessionOptions#hasDraftTrees}: a lower one of its drafts, or -1, the text. In a tree drafts see
   * those that they follow, and not the others; their positions in the text are their depths. The
   * first path comes first, so that a cache that is cut holds the text: a kept draft beside that
   * path is fed again.
   *
   * @return [spans, maxDrafts] of it, -1 after the drafts; rows of none without trees
   */
  public int[][] parents() {
    return parents;
  }
}
