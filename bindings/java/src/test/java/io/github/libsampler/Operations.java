package io.github.libsampler;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The operations by the names that the C headers give them and their members. */
final class Operations {
  static final List<String> NAMES =
      List.of("sample", "top_k_top_p", "top_k", "top_p", "min_p", "argmax", "softmax",
          "top_k_renorm", "top_p_renorm", "top_k_mask", "top_k_select", "chain_speculative",
          "residual");

  private Operations() {}

  static String camel(String name) {
    final StringBuilder result = new StringBuilder();
    for (String word : name.split("_")) {
      result.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
    }
    return result.toString();
  }

  static String lowerCamel(String name) {
    final String camel = camel(name);
    return Character.toLowerCase(camel.charAt(0)) + camel.substring(1);
  }

  static Arguments newArguments(String operation) {
    try {
      final Class<?> type = Class.forName("io.github.libsampler." + camel(operation) + "Args");
      return (Arguments) type.getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  static void call(Sampler sampler, String operation, Arguments args) {
    invoke(sampler, find(Sampler.class, lowerCamel(operation), args.getClass()), args);
  }

  /** The arrays of an operation but the workspace. */
  static List<String> arrays(Arguments args) {
    final List<String> names = new ArrayList<>();
    for (Method method : args.getClass().getMethods()) {
      if (Arrays.equals(method.getParameterTypes(), new Class<?>[] {Buffer.class})) {
        names.add(method.getName());
      }
    }
    return names;
  }

  /** The Java arrays that a member takes: float[].class, short[].class. */
  static List<Class<?>> arrayTypes(Arguments args, String member) {
    final List<Class<?>> types = new ArrayList<>();
    for (Method method : args.getClass().getMethods()) {
      if (method.getName().equals(member) && method.getParameterTypes()[0].isArray()) {
        types.add(method.getParameterTypes()[0]);
      }
    }
    return types;
  }

  static boolean has(Arguments args, String member) {
    return Arrays.stream(args.getClass().getMethods()).anyMatch(m -> m.getName().equals(member));
  }

  static void setArray(Arguments args, String member, Object array) {
    invoke(args, find(args.getClass(), member, array.getClass()), array);
  }

  static void setBuffer(Arguments args, String member, Buffer buffer) {
    invoke(args, find(args.getClass(), member, Buffer.class), buffer);
  }

  static void setAddress(Arguments args, String member, long address) {
    invoke(args, find(args.getClass(), member + "Address", long.class), address);
  }

  /** Sets a scalar member: an enumeration from its number, a float from its bits. */
  static void setScalar(Arguments args, String member, long value) {
    for (Method method : args.getClass().getMethods()) {
      final Class<?> type = method.getParameterCount() == 1 ? method.getParameterTypes()[0] : null;
      if (!method.getName().equals(member) || type == null || type.isArray()
          || Buffer.class.isAssignableFrom(type)) {
        continue;
      }
      invoke(args, method, scalar(type, value));
      return;
    }
    throw new AssertionError(args.getClass() + " has no " + member);
  }

  private static Object scalar(Class<?> type, long value) {
    if (type == long.class) {
      return value;
    } else if (type == int.class) {
      return Math.toIntExact(value);
    } else if (type == float.class) {
      return Float.intBitsToFloat((int) value);
    } else if (type == boolean.class) {
      return value != 0;
    }
    return type.getEnumConstants()[Math.toIntExact(value)];
  }

  private static Method find(Class<?> type, String name, Class<?> parameter) {
    try {
      return type.getMethod(name, parameter);
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }

  private static void invoke(Object object, Method method, Object argument) {
    try {
      method.invoke(object, argument);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw new AssertionError(e.getCause());
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  // ---- Arrays and buffers of any type ----------------------------------------------------------

  static Object newArray(Class<?> arrayType, int length) {
    return java.lang.reflect.Array.newInstance(arrayType.getComponentType(), length);
  }

  static int length(Object array) {
    return java.lang.reflect.Array.getLength(array);
  }

  static int elementBytes(Object array) {
    return array instanceof long[] ? 8 : array instanceof short[] ? 2 : 4;
  }

  /** A direct buffer with the array's contents from the position `skipped` on. */
  static Buffer directCopy(Object array, int skipped) {
    final int bytes = elementBytes(array) * (length(array) + skipped);
    final ByteBuffer memory = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    final ByteBuffer target = memory.duplicate().order(ByteOrder.nativeOrder());
    put(target.position(elementBytes(array) * skipped), array);
    final Buffer buffer = array instanceof float[] ? memory.asFloatBuffer()
        : array instanceof short[] ? memory.asShortBuffer()
        : array instanceof int[] ? memory.asIntBuffer() : memory.asLongBuffer();
    return buffer.position(skipped);
  }

  /** The array's bytes, whatever NaNs it holds. */
  static byte[] bytes(Object array) {
    final ByteBuffer result =
        ByteBuffer.allocate(elementBytes(array) * length(array)).order(ByteOrder.nativeOrder());
    put(result.duplicate().order(ByteOrder.nativeOrder()), array);
    return result.array();
  }

  private static void put(ByteBuffer memory, Object array) {
    if (array instanceof float[]) {
      for (float value : (float[]) array) {
        memory.putInt(Float.floatToRawIntBits(value));
      }
    } else if (array instanceof short[]) {
      memory.asShortBuffer().put((short[]) array);
    } else if (array instanceof int[]) {
      memory.asIntBuffer().put((int[]) array);
    } else {
      memory.asLongBuffer().put((long[]) array);
    }
  }
}
