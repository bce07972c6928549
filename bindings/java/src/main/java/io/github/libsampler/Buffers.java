package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Direct buffers of one call, and what else it reads, which stay reachable as long as it does. */
final class Buffers {
  private final List<Object> all = new ArrayList<>();

  ByteBuffer ofBytes(long bytes) {
    if (bytes > Integer.MAX_VALUE - 8) {
      throw new InvalidArgumentException("an array takes " + bytes + " bytes; a buffer has less");
    }
    final ByteBuffer buffer =
        ByteBuffer.allocateDirect((int) Math.max(bytes, 8)).order(ByteOrder.nativeOrder());
    all.add(buffer);
    return buffer;
  }

  long of(int[] values) {
    final ByteBuffer buffer = ofBytes(4L * values.length);
    buffer.asIntBuffer().put(values);
    return Raw.javaAddress(buffer);
  }

  long of(long[] values) {
    final ByteBuffer buffer = ofBytes(8L * values.length);
    buffer.asLongBuffer().put(values);
    return Raw.javaAddress(buffer);
  }

  /** The address of a direct buffer. */
  long of(ByteBuffer buffer) {
    all.add(buffer);
    return Raw.javaAddress(buffer);
  }

  /** The array itself, or where that is on the Java heap a copy, which does not move. */
  Array fixed(Array array) {
    if (array == null || !array.isOnHeap()) {
      all.add(array);
      return array;
    }
    final ByteBuffer copy = ofBytes(array.length * array.type.bytes);
    final Object values = array.memory;
    if (values instanceof float[]) {
      copy.asFloatBuffer().put((float[]) values);
    } else if (values instanceof short[]) {
      copy.asShortBuffer().put((short[]) values);
    } else if (values instanceof int[]) {
      copy.asIntBuffer().put((int[]) values);
    } else if (values instanceof long[]) {
      copy.asLongBuffer().put((long[]) values);
    } else {
      copy.duplicate().put((byte[]) values);
    }
    return Array.of(copy.limit((int) array.length * array.type.bytes), array.type);
  }
}
