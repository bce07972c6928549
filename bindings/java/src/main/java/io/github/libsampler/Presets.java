package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import io.github.libsampler.internal.RawConstants;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Parameters by an engine's name. */
final class Presets {
  private Presets() {}

  static List<String> names() {
    final List<String> names = new ArrayList<>();
    for (String name = Raw.shimPresetName(0); name != null;
        name = Raw.shimPresetName(names.size())) {
      names.add(name);
    }
    return names;
  }

  static Params find(String name) {
    final ByteBuffer memory =
        ByteBuffer.allocateDirect(Layout.PARAMS_SIZE + RawConstants.SHIM_ERROR_BYTES)
            .order(ByteOrder.nativeOrder());
    final long address = Raw.javaAddress(memory);
    final Status status =
        Status.of(Raw.shimParamsPreset(address, name, address + Layout.PARAMS_SIZE));
    Reference.reachabilityFence(memory);
    if (status != Status.OK) {
      throw SamplerException.of(status, text(memory.position(Layout.PARAMS_SIZE)));
    }
    return ParametersOfC.read(memory);
  }

  /** A C string. */
  static String text(ByteBuffer memory) {
    final byte[] bytes = new byte[memory.remaining()];
    memory.get(bytes);
    int length = 0;
    while (bytes[length] != 0) {
      ++length;
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
