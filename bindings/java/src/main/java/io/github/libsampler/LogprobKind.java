package io.github.libsampler;

/** The distribution that log-probabilities and other reports of a row are of. */
public enum LogprobKind {
  /** The whole row, as it is given, at temperature 1. */
  RAW,
  /** What was drawn from: temperature and filters applied. */
  PROCESSED,
  /** The whole row, as its edits left it, at temperature 1. */
  EDITED
}
