package io.github.libsampler;

/** Of which distribution a log-probability is. */
public enum LogprobKind {
  /** The whole row at temperature 1. */
  RAW,
  /** What was drawn from: temperature and filters applied. */
  PROCESSED
}
