package io.github.libsampler;

import java.util.List;

/** What to run in a step. A sequence has a span of one of the two models. */
public final class Plan {
  final List<Span> spans;
  final List<Span> drafterSpans;

  Plan(List<Span> spans, List<Span> drafterSpans) {
    this.spans = spans;
    this.drafterSpans = drafterSpans;
  }

  /**
   * Returns what the target is to run.
   *
   * @return spans
   */
  public List<Span> spans() {
    return spans;
  }

  /**
   * Returns what the drafter is to run.
   *
   * @return spans
   */
  public List<Span> drafterSpans() {
    return drafterSpans;
  }
}
