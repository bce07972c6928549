package io.github.libsampler;

/** Type of the elements of logits and probabilities. All widen exactly to f32. */
public enum Dtype {
  /** IEEE binary32: a {@code float[]}. */
  F32(ElementType.FLOAT),
  /** IEEE binary16: its bits in a {@code short[]}. */
  F16(ElementType.SHORT),
  /** The upper half of an f32: its bits in a {@code short[]}. */
  BF16(ElementType.SHORT);

  final ElementType elementType;

  Dtype(ElementType elementType) {
    this.elementType = elementType;
  }
}
