package io.github.libsampler;

/** Of which distribution a log-probability, and what else is reported of a row, is. */
public enum LogprobKind {
  /** The whole row, as it is given, at temperature 1. */
  RAW,
  /** What was drawn from: temperature and filters applied. */
  PROCESSED,
  /** The whole row, as its edits left it, at temperature 1. */
  EDITED
}
