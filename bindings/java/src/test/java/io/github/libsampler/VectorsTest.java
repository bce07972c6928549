package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.libsampler.internal.Raw;
import java.io.IOException;
import java.io.Reader;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Replays the calls that tests/vectors recorded: the same bits in arrays, in direct buffers and,
 * with a library whose CUDA device reaches the memory of its program, on the device.
 */
final class VectorsTest {
  private static final boolean HAS_DEVICE = Boolean.getBoolean("sampler.test.deviceReachesHost");
  private static final int MAX_ROWS = 16;
  private static final int MAX_COLS = 1500;
  private static final int FILL = 0xCD;

  /** No type of elements in Java is this one. */
  private static final String ERROR_WITHOUT_TYPE = ".*dtype is 3; .*";

  private enum Place {
    ARRAYS,
    BUFFERS,
    DEVICE,
    /** As DEVICE, but what calls take per row or slot as numbers is Java arrays. */
    HOST_PARAMETERS;

    boolean isArray(String path) {
      return this == ARRAYS
          || path.equals("acceptance.synthetic_rates") // on every sampler
          || this == HOST_PARAMETERS
              && path.matches("(draft_)?row_params.*|random.*|selected_counts|acceptances");
    }
  }

  private static final List<Place> PLACES =
      HAS_DEVICE ? List.of(Place.DEVICE, Place.HOST_PARAMETERS)
          : List.of(Place.ARRAYS, Place.BUFFERS);

  static Iterable<String> operations() {
    return Operations.NAMES;
  }

  @ParameterizedTest
  @MethodSource("operations")
  void recordedCallsGiveTheRecordedBits(String operation) throws IOException {
    int replayed = 0;
    int withoutType = 0;
    for (JsonElement element : casesOf(operation)) {
      final JsonObject recorded = element.getAsJsonObject();
      if (recorded.has("error")
          && recorded.get("error").getAsString().matches(ERROR_WITHOUT_TYPE)) {
        ++withoutType;
        continue;
      }
      PLACES.forEach(place -> replay(operation, recorded, place));
      ++replayed;
    }
    assertEquals(1, withoutType);
    assertTrue(replayed >= 25, operation + " has " + replayed + " cases");
  }

  @Test
  void everyFileIsReplayed() throws IOException {
    try (var files = Files.list(Path.of(System.getProperty("sampler.test.vectors")))) {
      assertEquals(Operations.NAMES.size() + 1, // and that of states
          files.filter(file -> file.toString().endsWith(".json")).count());
    }
  }

  /** The played device takes all memory for its own, so parameters of the host are refused. */
  @Test
  void checkedPointers() {
    assumeTrue(HAS_DEVICE, "no device here");
    final Buffer values = Operations.directCopy(new float[] {0, 1}, 0);
    final Buffer tokenId = Operations.directCopy(new int[] {7}, 0);
    final SampleArgs args = new SampleArgs()
        .input(new Rows(Array.onDevice(Raw.javaAddress(values), ElementType.F32), 1, 2))
        .random(new Randomness().seeds(Array.i64(new long[] {1})))
        .outTokenIds(Array.onDevice(Raw.javaAddress(tokenId), ElementType.I32));
    final Sampler.Builder builder =
        Sampler.builder().deviceType(DeviceType.CUDA).maxRows(1).maxCols(2).hostParameters(true);
    try (Sampler sampler = builder.checkPointers(true).build()) {
      final String message =
          assertThrows(InvalidArgumentException.class, () -> sampler.sample(args)).getMessage();
      assertTrue(message.matches(
          "random.seeds is 0x.*; it must be host memory, with host_parameters"), message);
    }
    assertEquals(7, ((IntBuffer) tokenId).get(0));
    try (Sampler sampler = builder.checkPointers(false).build()) {
      sampler.sample(args);
    }
    assertTrue(((IntBuffer) tokenId).get(0) < 2);
  }

  private static JsonArray casesOf(String operation) throws IOException {
    final Path file = Path.of(System.getProperty("sampler.test.vectors"), operation + ".json");
    try (Reader reader = Files.newBufferedReader(file)) {
      final JsonObject root = JsonParser.parseReader(reader).getAsJsonObject();
      assertEquals(operation, root.get("operation").getAsString());
      return root.getAsJsonArray("cases");
    }
  }

  private static void replay(String operation, JsonObject recorded, Place place) {
    final String name = operation + ", " + recorded.get("name").getAsString() + ", " + place;
    final Arguments args = Operations.newArguments(operation);
    try (Sampler sampler = samplerFor(recorded, place)) {
      replay(name, recorded, place, args, () -> {
        final ByteBuffer workspace = workspaceFor(sampler, recorded, args);
        Operations.call(sampler, operation, args);
        Reference.reachabilityFence(workspace);
      });
    }
  }

  @Test
  void recordedCallsOfStatesGiveTheRecordedBits() throws IOException {
    assumeTrue(!HAS_DEVICE, "of the CPU");
    for (JsonElement element : casesOf("state")) {
      final JsonObject recorded = element.getAsJsonObject();
      for (Place place : PLACES) {
        try (Sampler sampler = samplerFor(new JsonObject(), place);
            State state = sampler.newState(stateOptions(recorded.getAsJsonObject("options")))) {
          int number = 0;
          for (JsonElement call : recorded.getAsJsonArray("calls")) {
            replayOfState(sampler, state, call.getAsJsonObject(), place, number++);
          }
          assertTrue(number > 20);
        }
      }
    }
  }

  private static StateOptions stateOptions(JsonObject options) {
    return new StateOptions().numSlots(options.get("num_slots").getAsInt())
        .maxTokens(options.get("max_tokens").getAsLong())
        .maxDistinctTokens(options.get("max_distinct_tokens").getAsLong())
        .keepAdaptiveValues(options.get("keep_adaptive_values").getAsInt() != 0);
  }

  private static void replayOfState(
      Sampler sampler, State state, JsonObject recorded, Place place, int number) {
    final String call = recorded.get("name").getAsString();
    final String name = "state, " + number + ", " + call + ", " + place;
    final JsonObject args = recorded.getAsJsonObject("args");
    final int firstSlot = args.has("first_slot") ? args.get("first_slot").getAsInt() : 0;
    final JsonObject outputs = recorded.getAsJsonObject("outputs");
    if (call.equals("serialize")) {
      assertArrayEquals((byte[]) parse(outputs.getAsJsonObject("out_data")),
          state.serialize(firstSlot, args.get("num_slots").getAsInt()), name);
    } else if (call.equals("deserialize")) {
      final JsonObject data = recorded.getAsJsonObject("inputs").getAsJsonObject("data");
      check(name, recorded, () -> {
        final int numSlots = state.deserialize(firstSlot, (byte[]) parse(data));
        assertArrayEquals(
            (long[]) parse(outputs.getAsJsonObject("out_num_slots")), new long[] {numSlots}, name);
      });
    } else if (call.equals("sample")) {
      final SampleArgs sample = (SampleArgs) Operations.newArguments(call);
      replay(name, recorded, place, sample.pipeline(new Pipeline().state(state)), () -> {
        final ByteBuffer workspace = workspaceFor(sampler, recorded, sample);
        sampler.sample(sample);
        Reference.reachabilityFence(workspace);
      });
    } else {
      final Arguments ofState = Operations.newArguments(call);
      replay(name, recorded, place, ofState, () -> Operations.call(state, call, ofState));
    }
  }

  /** Makes a call that gives the recorded error, if any. */
  private static void check(String name, JsonObject recorded, Runnable call) {
    if (recorded.get("status").getAsInt() == 0) {
      call.run();
      return;
    }
    final SamplerException error = assertThrows(SamplerException.class, call::run, name);
    assertEquals(recorded.get("error").getAsString(), error.getMessage(), name);
    assertEquals(Status.of(recorded.get("status").getAsInt()), error.status(), name);
  }

  private static void replay(
      String name, JsonObject recorded, Place place, Arguments args, Runnable call) {
    recorded.getAsJsonObject("args").entrySet().stream()
        .filter(member -> !member.getKey().matches(".*(dtype|id_type)")) // an array tells it
        .forEach(member ->
            Operations.setScalar(args, member.getKey(), number(member.getValue())));
    final Map<String, Object> arrays = new HashMap<>();
    final Map<String, ElementType> types = new HashMap<>();
    recorded.getAsJsonObject("outputs").entrySet().forEach(output -> {
      final JsonObject array = output.getValue().getAsJsonObject();
      arrays.put(output.getKey(), filled(parse(array), type(array)));
      types.put(output.getKey(), type(array));
    });
    recorded.getAsJsonObject("inputs").entrySet().forEach(input -> {
      final JsonObject array = input.getValue().getAsJsonObject();
      if (input.getKey().equals("params.stages")) {
        Operations.setStages(args, input.getKey(), (int[]) parse(array));
        return;
      }
      arrays.put(input.getKey(), parse(array));
      types.put(input.getKey(), type(array));
    });
    final Map<String, Buffer> buffers = new HashMap<>();
    arrays.forEach((path, array) -> {
      final ElementType type = types.get(path);
      if (place.isArray(path)) {
        Operations.setArray(args, path, Operations.arrayOf(array, type));
        return;
      }
      final Buffer buffer = Operations.directCopy(array, 1);
      buffers.put(path, buffer);
      Operations.setArray(args, path, place == Place.BUFFERS ? Array.of(buffer, type)
          : Array.onDevice(Raw.javaAddress(buffer) + Operations.elementBytes(array), type));
    });
    final Map<String, byte[]> before = new HashMap<>();
    arrays.forEach((member, array) -> before.put(member, Operations.bytes(array)));

    check(name, recorded, call);
    arrays.forEach((member, array) -> {
      final JsonElement output = recorded.getAsJsonObject("outputs").get(member);
      final byte[] wanted = output == null || recorded.get("status").getAsInt() != 0
          ? before.get(member)
          : Operations.bytes(parse(output.getAsJsonObject()));
      final byte[] found =
          place.isArray(member) ? Operations.bytes(array) : bytes(buffers.get(member));
      assertArrayEquals(wanted, found, name + ", " + member);
    });
  }

  /** The call's own, where the sampler's may have no room for it. */
  private static ByteBuffer workspaceFor(Sampler sampler, JsonObject recorded, Arguments args) {
    final boolean isRefused = recorded.get("status").getAsInt() != 0;
    if (!recorded.has("workspace") || isRefused) {
      return null;
    }
    final int bytes = Math.toIntExact(sampler.workspaceSize(args));
    final ByteBuffer workspace = ByteBuffer.allocateDirect(bytes);
    if (bytes > 0) {
      Operations.setExec(args, HAS_DEVICE
          ? new Exec().workspaceAddress(Raw.javaAddress(workspace), bytes)
          : new Exec().workspace(workspace));
    }
    return workspace;
  }

  private static Sampler samplerFor(JsonObject recorded, Place place) {
    final Sampler.Builder builder = Sampler.builder().maxRows(MAX_ROWS).maxCols(MAX_COLS);
    builder.deviceType(HAS_DEVICE ? DeviceType.CUDA : DeviceType.CPU)
        .hostParameters(place == Place.HOST_PARAMETERS);
    if (recorded.has("options")) {
      final JsonObject options = recorded.getAsJsonObject("options");
      assertEquals(2, options.size());
      assertEquals(1, options.get("use_fallback_token").getAsInt());
      builder.fallbackTokenId(options.get("fallback_token_id").getAsLong());
    }
    return builder.build();
  }

  /** Seeds and offsets are strings, unsigned. */
  private static long number(JsonElement value) {
    return value.getAsJsonPrimitive().isString()
        ? Long.parseUnsignedLong(value.getAsString()) : value.getAsLong();
  }

  private static ElementType type(JsonObject array) {
    return Operations.TYPES.get(array.get("type").getAsString());
  }

  private static Object parse(JsonObject array) {
    final JsonArray data = array.getAsJsonArray("data");
    final int length = data.size();
    switch (array.get("type").getAsString()) {
      case "f32":
        final float[] floats = new float[length];
        for (int i = 0; i < length; ++i) {
          floats[i] = Float.intBitsToFloat((int) number(data.get(i)));
        }
        return floats;
      case "f16":
      case "bf16":
        final short[] shorts = new short[length];
        for (int i = 0; i < length; ++i) {
          shorts[i] = (short) number(data.get(i));
        }
        return shorts;
      case "i32":
      case "u32":
        final int[] ints = new int[length];
        for (int i = 0; i < length; ++i) {
          ints[i] = (int) number(data.get(i));
        }
        return ints;
      case "u8":
        final byte[] bytes = new byte[length];
        for (int i = 0; i < length; ++i) {
          bytes[i] = (byte) number(data.get(i));
        }
        return bytes;
      default:
        final long[] longs = new long[length];
        for (int i = 0; i < length; ++i) {
          longs[i] = number(data.get(i));
        }
        return longs;
    }
  }

  /** An array like it, of bytes that no output has by chance. */
  private static Object filled(Object array, ElementType type) {
    final Object result = Operations.newArray(type, Operations.length(array));
    final long word = 0x0101010101010101L * FILL;
    for (int i = 0; i < Operations.length(array); ++i) {
      if (result instanceof float[]) {
        ((float[]) result)[i] = Float.intBitsToFloat((int) word);
      } else if (result instanceof short[]) {
        ((short[]) result)[i] = (short) word;
      } else if (result instanceof int[]) {
        ((int[]) result)[i] = (int) word;
      } else if (result instanceof byte[]) {
        ((byte[]) result)[i] = (byte) word;
      } else {
        ((long[]) result)[i] = word;
      }
    }
    return result;
  }

  private static byte[] bytes(Buffer buffer) {
    final Object array;
    if (buffer instanceof FloatBuffer) {
      array = new float[buffer.remaining()];
      ((FloatBuffer) buffer).duplicate().get((float[]) array);
    } else if (buffer instanceof ShortBuffer) {
      array = new short[buffer.remaining()];
      ((ShortBuffer) buffer).duplicate().get((short[]) array);
    } else if (buffer instanceof IntBuffer) {
      array = new int[buffer.remaining()];
      ((IntBuffer) buffer).duplicate().get((int[]) array);
    } else if (buffer instanceof ByteBuffer) {
      array = new byte[buffer.remaining()];
      ((ByteBuffer) buffer).duplicate().get((byte[]) array);
    } else {
      array = new long[buffer.remaining()];
      ((LongBuffer) buffer).duplicate().get((long[]) array);
    }
    return Operations.bytes(array);
  }
}
