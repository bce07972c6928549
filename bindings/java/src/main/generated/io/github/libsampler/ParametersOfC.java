// Made from libsampler's headers by bindings/swig/generate_parameters.py; do not edit.
package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import java.nio.ByteBuffer;

/** Parameters as C has them. */
final class ParametersOfC {
  /** Writes the temperature and the filters of {@code params} to {@code to}. */
  static void putFilters(Call call, int to, Params params) {
    call.put(to + Layout.PARAMS_TEMPERATURE, params.temperature);
    call.put(to + Layout.PARAMS_TOP_P, params.topP);
    call.put(to + Layout.PARAMS_MIN_P, params.minP);
    call.put(to + Layout.PARAMS_TOP_K, params.topK);
    call.put(to + Layout.PARAMS_TOP_K_TIES, params.topKTies.ordinal());
    call.put(to + Layout.PARAMS_TOP_P_TIES, params.topPTies.ordinal());
    call.put(to + Layout.PARAMS_FILTER_ORDER, params.filterOrder.ordinal());
    call.put(to + Layout.PARAMS_TEMPERATURE_ORDER, params.temperatureOrder.ordinal());
    call.put(to + Layout.PARAMS_TOP_P_SUM, params.topPSum.ordinal());
  }

  /** Writes all others. */
  static void putOthers(Call call, int to, Params params) {
    call.put(to + Layout.PARAMS_GUIDANCE_SCALE, params.guidanceScale);
    call.put(to + Layout.PARAMS_REPETITION_PENALTY, params.repetitionPenalty);
    call.put(to + Layout.PARAMS_FREQUENCY_PENALTY, params.frequencyPenalty);
    call.put(to + Layout.PARAMS_PRESENCE_PENALTY, params.presencePenalty);
    call.put(to + Layout.PARAMS_PENALTY_WINDOW, params.penaltyWindow);
    call.put(to + Layout.PARAMS_PENALTY_SCOPE, params.penaltyScope.ordinal());
    call.put(to + Layout.PARAMS_PENALTY_FORM, params.penaltyForm.ordinal());
    call.put(to + Layout.PARAMS_EXPONENTIAL_DECAY_START, params.exponentialDecayStart);
    call.put(to + Layout.PARAMS_EXPONENTIAL_DECAY_FACTOR, params.exponentialDecayFactor);
    call.put(to + Layout.PARAMS_DRY_MULTIPLIER, params.dryMultiplier);
    call.put(to + Layout.PARAMS_DRY_BASE, params.dryBase);
    call.put(to + Layout.PARAMS_DRY_ALLOWED_LENGTH, params.dryAllowedLength);
    call.put(to + Layout.PARAMS_DRY_WINDOW, params.dryWindow);
    call.put(to + Layout.PARAMS_NO_REPEAT_NGRAM_SIZE, params.noRepeatNgramSize);
    call.put(to + Layout.PARAMS_MIN_NEW_TOKENS, params.minNewTokens);
    call.put(to + Layout.PARAMS_BAD_WORD_SCOPE, params.badWordScope.ordinal());
    call.put(to + Layout.PARAMS_DYNAMIC_TEMPERATURE_RANGE, params.dynamicTemperatureRange);
    call.put(to + Layout.PARAMS_DYNAMIC_TEMPERATURE_EXPONENT, params.dynamicTemperatureExponent);
    call.put(to + Layout.PARAMS_TYPICAL_P, params.typicalP);
    call.put(to + Layout.PARAMS_TOP_N_SIGMA, params.topNSigma);
    call.put(to + Layout.PARAMS_EPSILON_CUTOFF, params.epsilonCutoff);
    call.put(to + Layout.PARAMS_ETA_CUTOFF, params.etaCutoff);
    call.put(to + Layout.PARAMS_TOP_H, params.topH);
    call.put(to + Layout.PARAMS_P_LESS, params.pLess.ordinal());
    call.put(to + Layout.PARAMS_MIN_K, params.minK);
    call.put(to + Layout.PARAMS_TOP_A, params.topA);
    call.put(to + Layout.PARAMS_XTC_PROBABILITY, params.xtcProbability);
    call.put(to + Layout.PARAMS_XTC_THRESHOLD, params.xtcThreshold);
    call.put(to + Layout.PARAMS_TYPICAL_P_TIES, params.typicalPTies.ordinal());
    call.put(to + Layout.PARAMS_MIN_KEEP, params.minKeep);
    for (int i = 0; i < params.stages.length; ++i) {
      call.put(to + Layout.PARAMS_STAGES + i * Integer.BYTES, params.stages[i]);
    }
    call.put(to + Layout.PARAMS_ADAPTIVE_KIND, params.adaptiveKind.ordinal());
    call.put(to + Layout.PARAMS_ADAPTIVE_TARGET, params.adaptiveTarget);
    call.put(to + Layout.PARAMS_ADAPTIVE_RATE, params.adaptiveRate);
    call.put(to + Layout.PARAMS_TOP_P_DECAY, params.topPDecay);
    call.put(to + Layout.PARAMS_TOP_P_LEAST, params.topPLeast);
    call.put(to + Layout.PARAMS_TYPICAL_P_SUM, params.typicalPSum.ordinal());
    call.put(to + Layout.PARAMS_CUTOFF_TIES, params.cutoffTies.ordinal());
  }

  /** Reads a struct at the beginning of {@code memory}. */
  static Params read(ByteBuffer memory) {
    final Params params = new Params();
    params.temperature = memory.getFloat(Layout.PARAMS_TEMPERATURE);
    params.topP = memory.getFloat(Layout.PARAMS_TOP_P);
    params.minP = memory.getFloat(Layout.PARAMS_MIN_P);
    params.topK = memory.getInt(Layout.PARAMS_TOP_K);
    params.topKTies = TieRule.values()[memory.getInt(Layout.PARAMS_TOP_K_TIES)];
    params.topPTies = TieRule.values()[memory.getInt(Layout.PARAMS_TOP_P_TIES)];
    params.filterOrder = FilterOrder.values()[memory.getInt(Layout.PARAMS_FILTER_ORDER)];
    params.temperatureOrder = TemperatureOrder.values()[memory.getInt(Layout.PARAMS_TEMPERATURE_ORDER)];
    params.guidanceScale = memory.getFloat(Layout.PARAMS_GUIDANCE_SCALE);
    params.repetitionPenalty = memory.getFloat(Layout.PARAMS_REPETITION_PENALTY);
    params.frequencyPenalty = memory.getFloat(Layout.PARAMS_FREQUENCY_PENALTY);
    params.presencePenalty = memory.getFloat(Layout.PARAMS_PRESENCE_PENALTY);
    params.penaltyWindow = memory.getInt(Layout.PARAMS_PENALTY_WINDOW);
    params.penaltyScope = PenaltyScope.values()[memory.getInt(Layout.PARAMS_PENALTY_SCOPE)];
    params.penaltyForm = PenaltyForm.values()[memory.getInt(Layout.PARAMS_PENALTY_FORM)];
    params.exponentialDecayStart = memory.getInt(Layout.PARAMS_EXPONENTIAL_DECAY_START);
    params.exponentialDecayFactor = memory.getFloat(Layout.PARAMS_EXPONENTIAL_DECAY_FACTOR);
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
    params.pLess = PLessKind.values()[memory.getInt(Layout.PARAMS_P_LESS)];
    params.minK = memory.getFloat(Layout.PARAMS_MIN_K);
    params.topA = memory.getFloat(Layout.PARAMS_TOP_A);
    params.xtcProbability = memory.getFloat(Layout.PARAMS_XTC_PROBABILITY);
    params.xtcThreshold = memory.getFloat(Layout.PARAMS_XTC_THRESHOLD);
    params.typicalPTies = TieRule.values()[memory.getInt(Layout.PARAMS_TYPICAL_P_TIES)];
    params.minKeep = memory.getInt(Layout.PARAMS_MIN_KEEP);
    params.stages = new int[32];
    for (int i = 0; i < 32; ++i) {
      params.stages[i] = memory.getInt(Layout.PARAMS_STAGES + i * Integer.BYTES);
    }
    params.adaptiveKind = AdaptiveKind.values()[memory.getInt(Layout.PARAMS_ADAPTIVE_KIND)];
    params.adaptiveTarget = memory.getFloat(Layout.PARAMS_ADAPTIVE_TARGET);
    params.adaptiveRate = memory.getFloat(Layout.PARAMS_ADAPTIVE_RATE);
    params.topPDecay = memory.getFloat(Layout.PARAMS_TOP_P_DECAY);
    params.topPLeast = memory.getFloat(Layout.PARAMS_TOP_P_LEAST);
    params.topPSum = SumRule.values()[memory.getInt(Layout.PARAMS_TOP_P_SUM)];
    params.typicalPSum = SumRule.values()[memory.getInt(Layout.PARAMS_TYPICAL_P_SUM)];
    params.cutoffTies = TieRule.values()[memory.getInt(Layout.PARAMS_CUTOFF_TIES)];
    params.hasMore = true;
    return params;
  }

  /** Writes the addresses of arrays of {@code numSlots}. */
  static void putArrays(Call call, int to, String of, RowParams params, long numSlots) {
    call.parameter(to + Layout.ROW_PARAMS_TEMPERATURE, of, "temperature",
        params.temperature, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_P, of, "top_p",
        params.topP, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_MIN_P, of, "min_p",
        params.minP, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_K, of, "top_k",
        params.topK, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_GUIDANCE_SCALE, of, "guidance_scale",
        params.guidanceScale, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_REPETITION_PENALTY, of, "repetition_penalty",
        params.repetitionPenalty, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_FREQUENCY_PENALTY, of, "frequency_penalty",
        params.frequencyPenalty, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_PRESENCE_PENALTY, of, "presence_penalty",
        params.presencePenalty, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_PENALTY_WINDOW, of, "penalty_window",
        params.penaltyWindow, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_EXPONENTIAL_DECAY_START, of, "exponential_decay_start",
        params.exponentialDecayStart, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_EXPONENTIAL_DECAY_FACTOR, of, "exponential_decay_factor",
        params.exponentialDecayFactor, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DRY_MULTIPLIER, of, "dry_multiplier",
        params.dryMultiplier, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DRY_BASE, of, "dry_base",
        params.dryBase, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DRY_ALLOWED_LENGTH, of, "dry_allowed_length",
        params.dryAllowedLength, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DRY_WINDOW, of, "dry_window",
        params.dryWindow, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_NO_REPEAT_NGRAM_SIZE, of, "no_repeat_ngram_size",
        params.noRepeatNgramSize, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_MIN_NEW_TOKENS, of, "min_new_tokens",
        params.minNewTokens, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DYNAMIC_TEMPERATURE_RANGE, of, "dynamic_temperature_range",
        params.dynamicTemperatureRange, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_DYNAMIC_TEMPERATURE_EXPONENT, of, "dynamic_temperature_exponent",
        params.dynamicTemperatureExponent, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TYPICAL_P, of, "typical_p",
        params.typicalP, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_N_SIGMA, of, "top_n_sigma",
        params.topNSigma, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_EPSILON_CUTOFF, of, "epsilon_cutoff",
        params.epsilonCutoff, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_ETA_CUTOFF, of, "eta_cutoff",
        params.etaCutoff, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_H, of, "top_h",
        params.topH, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_P_LESS, of, "p_less",
        params.pLess, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_MIN_K, of, "min_k",
        params.minK, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_A, of, "top_a",
        params.topA, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_XTC_PROBABILITY, of, "xtc_probability",
        params.xtcProbability, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_XTC_THRESHOLD, of, "xtc_threshold",
        params.xtcThreshold, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_MIN_KEEP, of, "min_keep",
        params.minKeep, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_FORCED_TOKEN_ID, of, "forced_token_id",
        params.forcedTokenId, Call.I64, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_ADAPTIVE_KIND, of, "adaptive_kind",
        params.adaptiveKind, Call.I32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_ADAPTIVE_TARGET, of, "adaptive_target",
        params.adaptiveTarget, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_ADAPTIVE_RATE, of, "adaptive_rate",
        params.adaptiveRate, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_P_DECAY, of, "top_p_decay",
        params.topPDecay, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_P_LEAST, of, "top_p_least",
        params.topPLeast, Call.F32, numSlots);
    call.parameter(to + Layout.ROW_PARAMS_TOP_P_RESET_TOKEN_ID, of, "top_p_reset_token_id",
        params.topPResetTokenId, Call.I64, numSlots);
  }

  private ParametersOfC() {}
}
