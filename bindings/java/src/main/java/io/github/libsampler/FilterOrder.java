package io.github.libsampler;

/** Which filter sees what. */
public enum FilterOrder {
  /** top-k; then top-p of the weight that top-k kept; then min-p. */
  SEQUENTIAL,
  /** Each filter sees the whole row; what all of them keep is kept. */
  JOINT,
  /** min-p; then top-k; then top-p of the weight that is left. */
  MIN_P_FIRST
}
