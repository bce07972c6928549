package io.github.libsampler;

/**
 * Elements that arrays reach to. Negative numbers count as 0, since the library refuses them; what
 * does not fit a long gives Long.MAX_VALUE, which no array has.
 */
final class Lengths {
  private Lengths() {}

  static long product(long rows, long cols) {
    return rows <= 0 || cols <= 0 ? 0 : saturated(rows, cols, 0);
  }

  /** Rows of {@code cols} elements, {@code stride} apart; a stride of 0 is {@code cols}. */
  static long rows(long rows, long cols, long stride) {
    final long step = stride == 0 ? cols : Math.max(stride, 0);
    return rows <= 0 || cols <= 0 ? 0 : saturated(rows - 1, step, cols);
  }

  /** Sequences of {@code positions} rows; a stride of 0 has them one after the other. */
  static long positions(
      long sequences, long positions, long cols, long sequenceStride, long rowStride) {
    final long contiguous = product(positions, rowStride == 0 ? cols : rowStride);
    return rows(sequences, rows(positions, cols, rowStride),
        sequenceStride == 0 ? contiguous : sequenceStride);
  }

  /** factor * step + rest of numbers that are not negative. */
  private static long saturated(long factor, long step, long rest) {
    final long product = factor * step;
    final boolean fits = Math.multiplyHigh(factor, step) == 0 && product >= 0;
    return fits && product + rest >= 0 ? product + rest : Long.MAX_VALUE;
  }
}
