package io.github.libsampler;

/**
 * Elements that arrays reach to. Numbers that break a rule give 0, since the library refuses them
 * before it looks at an array; what does not fit a long gives Long.MAX_VALUE, which no array has.
 */
final class Lengths {
  private Lengths() {}

  static long product(long rows, long cols) {
    return rows <= 0 || cols <= 0 ? 0 : saturated(rows, cols, 0);
  }

  /** Rows of {@code cols} elements, {@code stride} apart; a stride of 0 is {@code cols}. */
  static long rows(long rows, long cols, long stride) {
    final long step = stride == 0 ? cols : stride;
    return rows <= 0 || cols <= 0 || step < cols ? 0 : saturated(rows - 1, step, cols);
  }

  /** Rows of {@code positions} rows of {@code cols} elements. */
  static long positions(
      long rows, long positions, long cols, long rowStride, long positionStride) {
    final long row = rows(positions, cols, positionStride);
    final long contiguous = product(positions, positionStride == 0 ? cols : positionStride);
    return row == 0 ? 0 : rows(rows, row, rowStride == 0 ? contiguous : rowStride);
  }

  /** factor * step + rest of numbers that are not negative. */
  private static long saturated(long factor, long step, long rest) {
    final long product = factor * step;
    final boolean fits = Math.multiplyHigh(factor, step) == 0 && product >= 0;
    return fits && product + rest >= 0 ? product + rest : Long.MAX_VALUE;
  }
}
