package io.github.libsampler;

/** What an array has as elements. */
public enum ElementType {
  /** IEEE binary32. */
  F32(4),
  /** IEEE binary16. */
  F16(2),
  /** The upper half of an f32. */
  BF16(2),
  /** Integers of 32 bits. */
  I32(4),
  /** Integers of 64 bits. */
  I64(8),
  /** Integers of 8 bits. */
  I8(1);

  final int bytes;

  ElementType(int bytes) {
    this.bytes = bytes;
  }
}
