package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/** Direct buffers of one call, which stay reachable as long as it does. */
final class Buffers {
  private final List<ByteBuffer> all = new ArrayList<>();

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

  long of(float[] values) {
    final ByteBuffer buffer = ofBytes(4L * values.length);
    buffer.asFloatBuffer().put(values);
    return Raw.javaAddress(buffer);
  }

  /** A copy that does not move. */
  Array copy(float[] values) {
    final FloatBuffer copy = ofBytes(4L * values.length).asFloatBuffer();
    return Array.of(copy.put(values).flip(), ElementType.F32);
  }
}
