package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/**
 * Where a call finds an array. Immutable: a call that reads a member once cannot see the address of
 * one memory and the length of another, whatever other threads do.
 */
final class Memory {
  /** No memory: NULL. */
  static final Memory NONE = new Memory(null, 0, ElementType.BYTE, 0, null);

  /** A primitive array, or null: then {@code at} is an address. */
  final Object array;

  final long at;

  /** Of the array, of a buffer from its position to its limit; of device memory in bytes. */
  final long length;

  /** Null in device memory. */
  private final ElementType type;

  /** Owns the memory at {@code at}; null for an array. */
  private final Buffer buffer;

  private Memory(Object array, long at, ElementType type, long length, Buffer buffer) {
    this.array = array;
    this.at = at;
    this.type = type;
    this.length = length;
    this.buffer = buffer;
  }

  static Memory of(float[] array) {
    return array == null ? NONE : new Memory(array, 0, ElementType.FLOAT, array.length, null);
  }

  static Memory of(short[] array) {
    return array == null ? NONE : new Memory(array, 0, ElementType.SHORT, array.length, null);
  }

  static Memory of(int[] array) {
    return array == null ? NONE : new Memory(array, 0, ElementType.INT, array.length, null);
  }

  static Memory of(long[] array) {
    return array == null ? NONE : new Memory(array, 0, ElementType.LONG, array.length, null);
  }

  static Memory ofDevice(long address) {
    return ofDevice(address, 0);
  }

  /** An address of 0 with bytes is left to the library, which refuses it. */
  static Memory ofDevice(long address, long bytes) {
    return address == 0 && bytes == 0 ? NONE : new Memory(null, address, null, bytes, null);
  }

  static Memory of(String name, Buffer buffer, boolean isWritten) {
    if (buffer == null) {
      return NONE;
    }
    if (orderOf(name, buffer) != ByteOrder.nativeOrder()) {
      throw refused(name, "is a buffer of order %s; it must be of this machine's, %s",
          orderOf(name, buffer), ByteOrder.nativeOrder());
    }
    return ofDirect(name, buffer, isWritten);
  }

  /** The order of bytes in a workspace is nobody's business. */
  static Memory ofWorkspace(ByteBuffer buffer) {
    return buffer == null ? NONE : ofDirect("workspace", buffer, true);
  }

  private static Memory ofDirect(String name, Buffer buffer, boolean isWritten) {
    if (!buffer.isDirect()) {
      throw refused(name, "is a buffer on the Java heap; it must be direct, or an array");
    }
    if (isWritten && buffer.isReadOnly()) {
      throw refused(name, "is a read-only buffer; it is written");
    }
    final ElementType type = typeOf(name, buffer);
    final long at = Raw.shimBufferAddress(buffer) + (long) buffer.position() * type.bytes;
    return new Memory(null, at, type, buffer.remaining(), buffer);
  }

  private static ElementType typeOf(String name, Buffer buffer) {
    if (buffer instanceof FloatBuffer) {
      return ElementType.FLOAT;
    } else if (buffer instanceof ShortBuffer) {
      return ElementType.SHORT;
    } else if (buffer instanceof IntBuffer) {
      return ElementType.INT;
    } else if (buffer instanceof LongBuffer) {
      return ElementType.LONG;
    } else if (buffer instanceof ByteBuffer) {
      return ElementType.BYTE;
    }
    throw refused(name, "is a buffer of double or char; it must be of the elements or of bytes");
  }

  private static ByteOrder orderOf(String name, Buffer buffer) {
    switch (typeOf(name, buffer)) {
      case FLOAT:
        return ((FloatBuffer) buffer).order();
      case SHORT:
        return ((ShortBuffer) buffer).order();
      case INT:
        return ((IntBuffer) buffer).order();
      case LONG:
        return ((LongBuffer) buffer).order();
      default:
        return ((ByteBuffer) buffer).order();
    }
  }

  /**
   * Throws where the call must not touch this memory: it is not where the sampler's arrays are, has
   * other elements, or fewer. Device memory is taken as it is.
   */
  void check(String name, ElementType wanted, long wantedLength, boolean onDevice) {
    if (this == NONE) {
      return;
    }
    final boolean isOnDevice = type == null;
    if (isOnDevice != onDevice) {
      throw refused(name, onDevice
          ? "is a Java array or buffer; here it must be an address of device memory"
          : "is an address of device memory; here it must be an array or a direct buffer");
    }
    if (isOnDevice) {
      return;
    }
    if (type != wanted && type != ElementType.BYTE) {
      throw refused(name, "has elements of type %s; they must be of type %s", type.javaName,
          wanted.javaName);
    }
    final long found = type == wanted ? length : length / wanted.bytes;
    if (found < wantedLength) {
      throw refused(name, "has %d elements; it must have at least %d for these rows, columns and"
          + " strides", found, wantedLength);
    }
  }

  private static InvalidArgumentException refused(String name, String rule, Object... values) {
    return new InvalidArgumentException(name + " " + String.format(rule, values));
  }
}
