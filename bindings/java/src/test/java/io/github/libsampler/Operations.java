package io.github.libsampler;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The full calls and their members, by the names and paths that the C headers give them. */
final class Operations {
  static final List<String> NAMES = List.of("sample", "filter", "select", "verify", "residual");

  /** Types of elements by the names of recorded calls. */
  static final Map<String, ElementType> TYPES =
      Map.of("f32", ElementType.F32, "f16", ElementType.F16, "bf16", ElementType.BF16, "i32",
          ElementType.I32, "u32", ElementType.I32, "i64", ElementType.I64, "u64", ElementType.I64,
          "u8", ElementType.I8);

  /** What arguments are made of, and has arrays. */
  private static final List<Class<?>> PARTS =
      List.of(Rows.class, RowParams.class, Randomness.class, Pipeline.class, TokenLists.class,
          ReportArgs.class, DraftLayout.class, AcceptanceParams.class);

  /** Parts that stand for none. */
  private static final List<Object> DEFAULTS =
      List.of(Rows.NONE, Randomness.DEFAULT, TokenLists.NONE);

  private Operations() {}

  private static String camel(String name) {
    final StringBuilder result = new StringBuilder();
    for (String word : name.split("_")) {
      result.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
    }
    return result.toString();
  }

  private static String lowerCamel(String name) {
    final String camel = camel(name);
    return Character.toLowerCase(camel.charAt(0)) + camel.substring(1);
  }

  /** out_token_ids of outTokenIds. */
  private static String nameInC(String member) {
    return member.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  static Arguments newArguments(String operation) {
    try {
      final Class<?> type = Class.forName("io.github.libsampler." + camel(operation) + "Args");
      return (Arguments) type.getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /** A call of a sampler or a state. */
  static void call(Object of, String operation, Arguments args) {
    invoke(of, setter(of.getClass(), operation, args.getClass()), args);
  }

  /** The paths of an operation's arrays, the workspace not among them. */
  static List<String> arrays(String operation) {
    final List<String> paths = new ArrayList<>();
    addArrays(newArguments(operation).getClass(), "", paths);
    Collections.sort(paths);
    return paths;
  }

  private static void addArrays(Class<?> type, String prefix, List<String> paths) {
    for (Method method : type.getMethods()) {
      if (method.getReturnType() != type || method.getParameterCount() != 1) {
        continue;
      }
      final Class<?> parameter = method.getParameterTypes()[0];
      final String path = prefix + nameInC(method.getName());
      if (parameter == Array.class) {
        paths.add(path);
      } else if (PARTS.contains(parameter)) {
        addArrays(parameter, path + ".", paths);
      }
    }
  }

  /** The object that has a path's last member: `args`, or a part of it, which is made. */
  private static Object owner(Arguments args, String path) {
    Object owner = args;
    try {
      for (String part : path.substring(0, Math.max(path.lastIndexOf('.'), 0)).split("\\.")) {
        owner = part.isEmpty() ? owner : partOf(owner, lowerCamel(part));
      }
      return owner;
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private static Object partOf(Object owner, String name) throws ReflectiveOperationException {
    final Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    final Object found = field.get(owner);
    if (found != null && !DEFAULTS.contains(found)) {
      return found;
    }
    final Object made = field.getType().getConstructor().newInstance();
    invoke(owner, setter(owner.getClass(), name, field.getType()), made);
    return made;
  }

  private static String member(String path) {
    return lowerCamel(path.substring(path.lastIndexOf('.') + 1));
  }

  static void setArray(Arguments args, String path, Array array) {
    final Object owner = owner(args, path);
    invoke(owner, setter(owner.getClass(), member(path), Array.class), array);
  }

  /** Sets a list of stages, which 0 ends. */
  static void setStages(Arguments args, String path, int[] numbers) {
    final List<Stage> stages = new ArrayList<>();
    for (int i = 0; i < numbers.length && numbers[i] != 0; ++i) {
      stages.add(Stage.values()[numbers[i] - 1]);
    }
    ((Params) owner(args, path)).stages(stages.toArray(new Stage[0]));
  }

  static void setExec(Arguments args, Exec exec) {
    invoke(args, setter(args.getClass(), "exec", Exec.class), exec);
  }

  static boolean has(Arguments args, String path) {
    try {
      Class<?> type = args.getClass();
      for (String member : path.split("\\.")) {
        type = type.getDeclaredField(lowerCamel(member)).getType();
      }
      return true;
    } catch (NoSuchFieldException e) {
      return false;
    }
  }

  /** Sets a scalar member: an enumeration from its number, a float from its bits. */
  static void setScalar(Arguments args, String path, long value) {
    final Object owner = owner(args, path);
    for (Method method : owner.getClass().getMethods()) {
      if (method.getName().equals(member(path)) && method.getParameterCount() == 1) {
        invoke(owner, method, scalar(method.getParameterTypes()[0], value));
        return;
      }
    }
    throw new AssertionError(args.getClass() + " has no " + path);
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

  private static Method setter(Class<?> type, String name, Class<?> parameter) {
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

  static Object newArray(ElementType type, int length) {
    switch (type) {
      case F32:
        return new float[length];
      case F16:
      case BF16:
        return new short[length];
      case I32:
        return new int[length];
      case I8:
        return new byte[length];
      default:
        return new long[length];
    }
  }

  static Array arrayOf(Object array, ElementType type) {
    switch (type) {
      case F32:
        return Array.f32((float[]) array);
      case F16:
        return Array.f16((short[]) array);
      case BF16:
        return Array.bf16((short[]) array);
      case I32:
        return Array.i32((int[]) array);
      case I8:
        return Array.i8((byte[]) array);
      default:
        return Array.i64((long[]) array);
    }
  }

  static int length(Object array) {
    return java.lang.reflect.Array.getLength(array);
  }

  static int elementBytes(Object array) {
    return array instanceof long[] ? 8 : array instanceof short[] ? 2
        : array instanceof byte[] ? 1 : 4;
  }

  /** A direct buffer with the array's contents from the position `skipped` on. */
  static Buffer directCopy(Object array, int skipped) {
    final int bytes = elementBytes(array) * (length(array) + skipped);
    final ByteBuffer memory = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    final ByteBuffer target = memory.duplicate().order(ByteOrder.nativeOrder());
    put(target.position(elementBytes(array) * skipped), array);
    final Buffer buffer = array instanceof float[] ? memory.asFloatBuffer()
        : array instanceof short[] ? memory.asShortBuffer()
        : array instanceof int[] ? memory.asIntBuffer()
        : array instanceof byte[] ? memory : memory.asLongBuffer();
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
    } else if (array instanceof byte[]) {
      memory.put((byte[]) array);
    } else {
      memory.asLongBuffer().put((long[]) array);
    }
  }
}
