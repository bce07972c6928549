package io.github.libsampler;

/** The level of a line that a {@link Sampler} logs. */
public enum LogLevel {
  /** A sampler was made. */
  INFO,
  /** A call failed. */
  ERROR
}
