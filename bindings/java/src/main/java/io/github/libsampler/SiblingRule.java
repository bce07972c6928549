package io.github.libsampler;

/** How siblings of a tree were drafted. */
public enum SiblingRule {
  /** Each was drawn from its own row. */
  INDEPENDENT,
  /** Each was drawn from its row without its earlier siblings. */
  WITHOUT_REPLACEMENT
}
