package io.github.libsampler;

/** A window that the tokens drawn before move. */
public enum AdaptiveKind {
  /** There is none. */
  NONE,
  /** Mirostat, Basu, Ramachandran, Keskar, Varshney 2021. */
  MIROSTAT_V1,
  /** Its second version. */
  MIROSTAT_V2,
  /** The adaptive-p of llama.cpp: changes the weights of the tokens that it sees. */
  P
}
