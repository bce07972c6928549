package io.github.libsampler;

/** What an array or buffer has as elements. */
enum ElementType {
  FLOAT("float", 4),
  SHORT("short", 2),
  INT("int", 4),
  LONG("long", 8),
  /** Memory without a type: a ByteBuffer's, which may hold elements of any. */
  BYTE("byte", 1);

  final String javaName;
  final int bytes;

  ElementType(String javaName, int bytes) {
    this.javaName = javaName;
    this.bytes = bytes;
  }
}
