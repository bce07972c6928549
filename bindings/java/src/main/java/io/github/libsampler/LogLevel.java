package io.github.libsampler;

/** Of a line that a {@link Sampler} logs. */
public enum LogLevel {
  /** A sampler was made. */
  INFO,
  /** A call failed. */
  ERROR
}
