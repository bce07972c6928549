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
    return read(memory);
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

  /** The reverse of what {@link Call#params} writes, of a struct at the beginning. */
  static Params read(ByteBuffer memory) {
    final Params params = new Params();
    params.temperature = memory.getFloat(Layout.PARAMS_TEMPERATURE);
    params.topP = memory.getFloat(Layout.PARAMS_TOP_P);
    params.minP = memory.getFloat(Layout.PARAMS_MIN_P);
    params.topK = memory.getInt(Layout.PARAMS_TOP_K);
    params.topKTies = TieRule.values()[memory.getInt(Layout.PARAMS_TOP_K_TIES)];
    params.topPTies = TieRule.values()[memory.getInt(Layout.PARAMS_TOP_P_TIES)];
    params.topPSum = SumRule.values()[memory.getInt(Layout.PARAMS_TOP_P_SUM)];
    params.filterOrder = FilterOrder.values()[memory.getInt(Layout.PARAMS_FILTER_ORDER)];
    params.temperatureOrder =
        TemperatureOrder.values()[memory.getInt(Layout.PARAMS_TEMPERATURE_ORDER)];
    params.repetitionPenalty = memory.getFloat(Layout.PARAMS_REPETITION_PENALTY);
    params.frequencyPenalty = memory.getFloat(Layout.PARAMS_FREQUENCY_PENALTY);
    params.presencePenalty = memory.getFloat(Layout.PARAMS_PRESENCE_PENALTY);
    params.penaltyWindow = memory.getInt(Layout.PARAMS_PENALTY_WINDOW);
    params.penaltyScope = PenaltyScope.values()[memory.getInt(Layout.PARAMS_PENALTY_SCOPE)];
    params.penaltyForm = PenaltyForm.values()[memory.getInt(Layout.PARAMS_PENALTY_FORM)];
    params.dryMultiplier = memory.getFloat(Layout.PARAMS_DRY_MULTIPLIER);
    params.dryBase = memory.getFloat(Layout.PARAMS_DRY_BASE);
    params.dryAllowedLength = memory.getInt(Layout.PARAMS_DRY_ALLOWED_LENGTH);
    params.dryWindow = memory.getInt(Layout.PARAMS_DRY_WINDOW);
    params.noRepeatNgramSize = memory.getInt(Layout.PARAMS_NO_REPEAT_NGRAM_SIZE);
    params.minNewTokens = memory.getInt(Layout.PARAMS_MIN_NEW_TOKENS);
    params.badWordScope = PenaltyScope.values()[memory.getInt(Layout.PARAMS_BAD_WORD_SCOPE)];
    params.dynamicTemperatureRange = memory.getFloat(Layout.PARAMS_DYNAMIC_TEMPERATURE_RANGE);
    params.dynamicTemperatureExponent = memory.getFloat(Layout.PARAMS_DYNAMIC_TEMPERATURE_EXPONENT);
    params.typicalP = memory.getFloat(Layout.PARAMS_TYPICAL_P);
    params.topNSigma = memory.getFloat(Layout.PARAMS_TOP_N_SIGMA);
    params.epsilonCutoff = memory.getFloat(Layout.PARAMS_EPSILON_CUTOFF);
    params.etaCutoff = memory.getFloat(Layout.PARAMS_ETA_CUTOFF);
    params.topH = memory.getFloat(Layout.PARAMS_TOP_H);
    params.xtcProbability = memory.getFloat(Layout.PARAMS_XTC_PROBABILITY);
    params.xtcThreshold = memory.getFloat(Layout.PARAMS_XTC_THRESHOLD);
    params.typicalPTies = TieRule.values()[memory.getInt(Layout.PARAMS_TYPICAL_P_TIES)];
    params.typicalPSum = SumRule.values()[memory.getInt(Layout.PARAMS_TYPICAL_P_SUM)];
    params.cutoffTies = TieRule.values()[memory.getInt(Layout.PARAMS_CUTOFF_TIES)];
    params.minKeep = memory.getInt(Layout.PARAMS_MIN_KEEP);
    params.adaptiveKind = AdaptiveKind.values()[memory.getInt(Layout.PARAMS_ADAPTIVE_KIND)];
    params.adaptiveTarget = memory.getFloat(Layout.PARAMS_ADAPTIVE_TARGET);
    params.adaptiveRate = memory.getFloat(Layout.PARAMS_ADAPTIVE_RATE);
    params.topPDecay = memory.getFloat(Layout.PARAMS_TOP_P_DECAY);
    params.topPLeast = memory.getFloat(Layout.PARAMS_TOP_P_LEAST);
    params.stages = new int[Params.MAX_STAGES];
    for (int i = 0; i < Params.MAX_STAGES; ++i) {
      params.stages[i] = memory.getInt(Layout.PARAMS_STAGES + i * Integer.BYTES);
    }
    params.hasMore = true;
    return params;
  }
}
