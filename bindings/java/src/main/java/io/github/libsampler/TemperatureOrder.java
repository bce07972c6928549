package io.github.libsampler;

/** When the temperature applies. The draw always uses it. */
public enum TemperatureOrder {
  /** Filters see the row at the temperature. */
  FIRST,
  /** Filters see the row at temperature 1. */
  LAST
}
