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
 * An array of a call: a Java array from its first element on; a direct buffer in the machine's byte
 * order, from its position to its limit as they are now; or, on a CUDA sampler, an address of
 * device memory. Null gives null, which is no array.
 *
 * <p>Nothing is copied: the library reads and writes the memory itself. Lengths are checked at the
 * call; arrays may be longer than needed.
 */
public final class Array {
  /** A Java array, or the buffer that owns the memory at {@code address}; null on a device. */
  final Object memory;

  /** The address of a buffer or of device memory; 0 for a Java array, which may move. */
  final long address;

  /** Null for a workspace. */
  final ElementType type;

  /** In elements; 0 for device memory. */
  final long length;

  final boolean isReadOnly;

  private Array(Object memory, long address, ElementType type, long length, boolean isReadOnly) {
    this.memory = memory;
    this.address = address;
    this.type = type;
    this.length = length;
    this.isReadOnly = isReadOnly;
  }

  private static Array ofJava(Object array, ElementType type, int length) {
    return new Array(array, 0, type, length, false);
  }

  /**
   * An array of floats.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array f32(float[] array) {
    return array == null ? null : ofJava(array, ElementType.F32, array.length);
  }

  /**
   * An array of the bits of IEEE binary16.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array f16(short[] array) {
    return array == null ? null : ofJava(array, ElementType.F16, array.length);
  }

  /**
   * An array of the bits of bfloat16.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array bf16(short[] array) {
    return array == null ? null : ofJava(array, ElementType.BF16, array.length);
  }

  /**
   * An array of integers of 32 bits.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array i32(int[] array) {
    return array == null ? null : ofJava(array, ElementType.I32, array.length);
  }

  /**
   * An array of integers of 64 bits.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array i64(long[] array) {
    return array == null ? null : ofJava(array, ElementType.I64, array.length);
  }

  /**
   * An array of integers of 8 bits.
   *
   * @param array null for none
   * @return null for null
   */
  public static Array i8(byte[] array) {
    return array == null ? null : ofJava(array, ElementType.I8, array.length);
  }

  /**
   * A direct buffer.
   *
   * @param buffer of the type's elements, shorts for F16 and BF16, or of bytes; null for none
   * @param type what it holds
   * @return null for null
   * @throws InvalidArgumentException when the buffer is not direct, or of another byte order or
   *     type
   */
  public static Array of(Buffer buffer, ElementType type) {
    Arguments.required("type", type);
    if (buffer == null) {
      return null;
    }
    final ByteOrder order = orderOf(buffer, type);
    if (order != ByteOrder.nativeOrder()) {
      throw new InvalidArgumentException("the buffer is of order " + order
          + "; it must be of this machine's, " + ByteOrder.nativeOrder());
    }
    return buffer instanceof ByteBuffer
        ? direct(buffer, 1, type, buffer.remaining() / type.bytes)
        : direct(buffer, type.bytes, type, buffer.remaining());
  }

  /** A workspace, of which the order of bytes is nobody's business. */
  static Array bytes(ByteBuffer buffer) {
    return buffer == null ? null : direct(buffer, 1, null, buffer.remaining());
  }

  private static Array direct(Buffer buffer, int unit, ElementType type, long length) {
    if (!buffer.isDirect()) {
      throw new InvalidArgumentException(
          "the buffer is on the Java heap; it must be direct, or an array");
    }
    final long address = Raw.javaAddress(buffer) + (long) buffer.position() * unit;
    return new Array(buffer, address, type, length, buffer.isReadOnly());
  }

  private static ByteOrder orderOf(Buffer buffer, ElementType type) {
    if (buffer instanceof ByteBuffer && type == ElementType.I8) {
      return ByteOrder.nativeOrder(); // a byte has none
    } else if (buffer instanceof ByteBuffer) {
      return ((ByteBuffer) buffer).order();
    } else if (buffer instanceof FloatBuffer && type == ElementType.F32) {
      return ((FloatBuffer) buffer).order();
    } else if (buffer instanceof ShortBuffer
        && (type == ElementType.F16 || type == ElementType.BF16)) {
      return ((ShortBuffer) buffer).order();
    } else if (buffer instanceof IntBuffer && type == ElementType.I32) {
      return ((IntBuffer) buffer).order();
    } else if (buffer instanceof LongBuffer && type == ElementType.I64) {
      return ((LongBuffer) buffer).order();
    }
    throw new InvalidArgumentException(
        "the buffer has elements of another type; they must be of " + type + ", or bytes");
  }

  /**
   * Memory of a CUDA sampler's device. It is taken as it is: neither its length nor its place is
   * known.
   *
   * @param address 0 for none
   * @param type what it holds
   * @return null for 0
   */
  public static Array onDevice(long address, ElementType type) {
    Arguments.required("type", type);
    return device(address, type);
  }

  /** Without a type for a workspace. */
  static Array device(long address, ElementType type) {
    return address == 0 ? null : new Array(null, address, type, 0, false);
  }

  boolean isOnDevice() {
    return memory == null;
  }

  /** Whether its address is only known while it is pinned. */
  boolean isOnHeap() {
    return memory != null && !(memory instanceof Buffer);
  }
}
