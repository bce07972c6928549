package io.github.libsampler;

/** A threshold of {@link Stage#P_LESS}: Tan, Wu, Howard 2025. */
public enum PLessKind {
  /** The stage is off. */
  NONE,
  /** The sum c of squared probabilities. */
  PLAIN,
  /** (n c - 1) / (n - 1), which is lower; n tokens are left. */
  NORM
}
