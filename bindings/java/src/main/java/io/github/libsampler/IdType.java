package io.github.libsampler;

/** Type of token ids. */
public enum IdType {
  /** 32 bits: an {@code int[]}. */
  I32(ElementType.INT),
  /** 64 bits: a {@code long[]}. */
  I64(ElementType.LONG);

  final ElementType elementType;

  IdType(ElementType elementType) {
    this.elementType = elementType;
  }
}
