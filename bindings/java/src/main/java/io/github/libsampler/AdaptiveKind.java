package io.github.libsampler;

/** The last stage. All but SMOOTHING are moved by the tokens drawn before. */
public enum AdaptiveKind {
  /** There is none. */
  NONE,
  /** Mirostat, Basu, Ramachandran, Keskar, Varshney 2021. */
  MIROSTAT_V1,
  /** Its second version. */
  MIROSTAT_V2,
  /** The adaptive-p of llama.cpp: changes the weights of the tokens that it sees. */
  P,
  /**
   * Quadratic and cubic smoothing (koboldcpp): {@code adaptiveTarget} is its factor, {@code
   * adaptiveRate} its curve.
   */
  SMOOTHING
}
