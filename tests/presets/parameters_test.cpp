// How examples/engine_parameters reads an engine's own parameters, beside what the recorded rows
// show.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine_parameters.h"

namespace presets_test {
namespace {

using engine_parameters::Error;
using engine_parameters::Ids;
using engine_parameters::Pipeline;
using engine_parameters::Request;

Request read(const std::string &preset, const std::string &text) {
  return engine_parameters::read(preset, nlohmann::json::parse(text));
}

std::string error_of(const std::string &preset, const std::string &text) {
  try {
    read(preset, text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Parameters, OfAnEmptyObjectAreThePreset) {
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) {
    sampler_params expected;
    ASSERT_EQ(sampler_params_preset(&expected, sizeof expected, name), SAMPLER_OK);
    const std::string engine = name;
    if (engine.find("hugging_face") == 0 || engine.find("tensorrt_llm") == 0) {
      expected.temperature = 0;  // greedy unless asked
    }
    const Request request = read(name, "{}");
    EXPECT_EQ(std::memcmp(&request.params, &expected, sizeof expected), 0) << name;
    EXPECT_FALSE(request.seed || request.max_new_tokens);
  }
}

TEST(Parameters, AreRefusedByName) {
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) {
    const std::string error = error_of(name, R"({"temperature": 1, "temprature": 1})");
    EXPECT_EQ(error.find("temprature is no parameter of "), 0u) << error;
    EXPECT_EQ(error_of(name, R"({"temperature": "1"})"),
              "temperature is \"1\"; it must be a number");
    EXPECT_EQ(error_of(name, "[]"), "the parameters must be a JSON object");
  }
  // Another engine's.
  EXPECT_NE(error_of("vllm", R"({"repeat_penalty": 1.1})"), "");
  EXPECT_NE(error_of("hugging_face", R"({"frequency_penalty": 1.1})"), "");
  EXPECT_NE(error_of("unknown", "{}"), "");
}

TEST(Parameters, HaveTypes) {
  const char *const bad[] = {
      R"({"top_k": 1.5})",
      R"({"top_k": 3000000000})",
      R"({"top_k": true})",
      R"({"seed": 1.5})",
      R"({"logit_bias": 5})",
      R"({"logit_bias": {"x": 5}})",
      R"({"logit_bias": {"5": "x"}})",
      R"({"logit_bias": {"5": true}})",
      R"({"logit_bias": [[1]]})",
      R"({"logit_bias": [1, 2]})",
      R"({"allowed_token_ids": ["a"]})",
      R"({"bad_words_token_ids": [1]})",
      R"({"bad_words_token_ids": ["word"]})",
      R"({"min_tokens": 3})",
  };
  for (const char *const text : bad) EXPECT_NE(error_of("vllm", text), "") << text;
  EXPECT_NE(error_of("hugging_face", R"({"do_sample": 1})"), "");
  EXPECT_NE(error_of("hugging_face", R"({"num_beams": 4})"), "");
  EXPECT_NE(error_of("hugging_face", R"({"sequence_bias": [[[1, 2], 3.0]]})"), "");
  EXPECT_NE(error_of("flashinfer", R"({"filter_apply_order": "top_p_first"})"), "");
  EXPECT_NE(error_of("llama.cpp", R"({"samplers": ["top_k", "top_k"]})"), "");
  EXPECT_NE(error_of("llama.cpp", R"({"samplers": ["top_q"]})"), "");
  EXPECT_EQ(error_of("llama.cpp", R"({"samplers": ["infill"]})"),
            "samplers is [\"infill\"]; it must be without \"infill\", which looks at the texts of "
            "tokens");
}

TEST(Parameters, WhoseValueIsNullAreLeftOut) {
  const Request request = read("hugging_face", R"({"top_k": null, "do_sample": true})");
  EXPECT_EQ(request.params.top_k, 50);
  EXPECT_EQ(request.params.temperature, 1.0F);
}

TEST(Parameters, OfLists) {
  const Request vllm = read("vllm", R"({"logit_bias": {"7": 200, "3": -1.5}, "seed": 9,
      "stop_token_ids": [1, 2], "max_tokens": 30, "bad_words_token_ids": [[4], [5, 6]]})");
  EXPECT_EQ(vllm.biased, (Ids{3, 7}));
  EXPECT_EQ(vllm.biases, (std::vector<float>{-1.5F, 100}));  // clamped
  EXPECT_EQ(vllm.stop, (Ids{1, 2}));
  EXPECT_EQ(vllm.bad_words, (std::vector<Ids>{{4}, {5, 6}}));
  EXPECT_EQ(vllm.seed, 9u);
  EXPECT_EQ(vllm.max_new_tokens, 30);
  const Request llama = read("llama.cpp", R"({"logit_bias": [[7, 0.5], [3, false]]})");
  EXPECT_EQ(llama.biases, (std::vector<float>{0.5F, -INFINITY}));
  const Request one_end =
      read("hugging_face", R"({"eos_token_id": 5, "bad_words_ids": [[5], [6]]})");
  EXPECT_EQ(one_end.stop, (Ids{5}));
  EXPECT_EQ(one_end.bad_words, (std::vector<Ids>{{6}}));  // an end token is none
}

TEST(Parameters, OfLlamasMirostatAndAdaptiveP) {
  // In place of all samplers but the temperature.
  const sampler_params v2 = read("llama.cpp", R"({"mirostat": 2, "mirostat_tau": 3, "top_k": 0,
      "mirostat_eta": 0.2, "repeat_penalty": 1, "min_p": 0, "dynatemp_range": 0})")
                                .params;
  EXPECT_EQ(v2.adaptive_kind, SAMPLER_ADAPTIVE_MIROSTAT_V2);
  EXPECT_EQ(v2.adaptive_target, 3.0F);
  EXPECT_EQ(v2.adaptive_rate, 0.2F);
  const sampler_stage order[] = {SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_TEMPERATURE,
                                 SAMPLER_STAGE_ADAPTIVE, 0};
  EXPECT_EQ(std::memcmp(v2.stages, order, sizeof order), 0);
  EXPECT_EQ(v2.top_k, 0);
  EXPECT_EQ(v2.top_p, 1.0F);
  EXPECT_EQ(v2.min_p, 0.0F);
  EXPECT_EQ(v2.repetition_penalty, 0.0F);
  EXPECT_EQ(v2.dynamic_temperature_range, 0.0F);
  const sampler_params v1 = read("llama.cpp", R"({"mirostat": 1, "mirostat_eta": 0})").params;
  EXPECT_EQ(v1.adaptive_kind, SAMPLER_ADAPTIVE_MIROSTAT_V1);
  EXPECT_EQ(v1.adaptive_target, 5.0F);
  EXPECT_LT(v1.adaptive_rate, 0.0F);  // which is 0
  EXPECT_EQ(read("llama.cpp", R"({"mirostat": 0, "top_k": 7})").params.top_k, 7);

  // Adaptive-p comes last, whatever its place.
  const sampler_params p = read("llama.cpp", R"({"samplers": ["adaptive_p", "top_k"],
      "adaptive_target": 0.4, "adaptive_decay": 0.5})")
                               .params;
  EXPECT_EQ(p.adaptive_kind, SAMPLER_ADAPTIVE_P);
  EXPECT_EQ(p.adaptive_target, 0.4F);
  EXPECT_EQ(p.adaptive_rate, 0.5F);
  EXPECT_EQ(p.stages[2], SAMPLER_STAGE_TOP_K);
  EXPECT_EQ(p.stages[3], SAMPLER_STAGE_ADAPTIVE);
  // Off without a target.
  EXPECT_LT(read("llama.cpp", R"({"samplers": ["adaptive_p"]})").params.adaptive_target, 0.0F);
  EXPECT_NE(error_of("llama.cpp", R"({"adaptive_target": 0.4})"), "");
  EXPECT_EQ(error_of("llama.cpp", R"({"adaptive_target": -1})"), "");
  for (const char *const text :
       {R"({"mirostat": 3})", R"({"mirostat": "2"})", R"({"mirostat_tau": "5"})",
        R"({"samplers": ["adaptive_p", "adaptive_p"]})"}) {
    EXPECT_NE(error_of("llama.cpp", text), "") << text;
  }
}

// What llama.cpp itself passes over.
TEST(Parameters, OfSamplersThatAreNotListedAreErrors) {
  const std::pair<const char *, const char *> set[] = {{"repeat_penalty", "1.5"},
                                                       {"frequency_penalty", "-0.5"},
                                                       {"presence_penalty", "0.5"},
                                                       {"dry_multiplier", "0.8"},
                                                       {"top_n_sigma", "2"},
                                                       {"top_k", "7"},
                                                       {"typical_p", "0.5"},
                                                       {"top_p", "0.5"},
                                                       {"min_p", "0.1"},
                                                       {"xtc_probability", "0.5"}};
  const auto with = [](const char *name, const std::string &value, const std::string &rest) {
    return "{\"" + std::string(name) + "\": " + value + ", " + rest + "}";
  };
  for (const auto &[name, value] : set) {
    SCOPED_TRACE(name);
    EXPECT_EQ(error_of("llama.cpp", with(name, value, R"("samplers": ["temperature"])"))
                  .find(std::string(name) + " is set, and \"samplers\" does not list \""),
              0u);
    EXPECT_EQ(error_of("llama.cpp", with(name, value, R"("mirostat": 1)")),
              std::string(name) + " is set, and mirostat has no such sampler beside it");
    EXPECT_EQ(error_of("llama.cpp", with(name, value, R"("mirostat": 0)")), "");
  }
  for (const char *const name : {"temperature", "dynatemp_range"}) {
    EXPECT_EQ(error_of("llama.cpp", with(name, "0.5", R"("samplers": ["top_k"])")),
              std::string(name) + " is set, and \"samplers\" does not list \"temperature\"");
  }
  EXPECT_EQ(error_of("llama.cpp", R"({"mirostat": 2, "temperature": 0.5})"), "");
  EXPECT_NE(error_of("llama.cpp", R"({"mirostat": 2, "dynatemp_range": 0.5})"), "");
  EXPECT_EQ(error_of("llama.cpp", R"({"mirostat": 2, "samplers": ["top_k"]})"),
            "samplers is set, and mirostat takes their place");
  // Defaults and what is off have no part in it.
  EXPECT_EQ(error_of("llama.cpp", R"({"samplers": ["temperature"], "top_k": 0, "top_p": 1})"), "");
}

TEST(Parameters, OfTensorRtsTopPDecay) {
  const Request request =
      read("tensorrt_llm",
           R"({"top_p": 0.9, "top_p_decay": 0.8, "top_p_min": 0.2, "top_p_reset_ids": 5})");
  EXPECT_EQ(request.params.top_p_decay, 0.8F);
  EXPECT_EQ(request.params.top_p_least, 0.2F);
  EXPECT_EQ(request.top_p_reset_token_id, 5);
  EXPECT_FALSE(read("tensorrt_llm", R"({"top_p_reset_ids": -1})").top_p_reset_token_id);
}

TEST(Parameters, OfTensorRtsEmbeddingBias) {
  const Request request = read("tensorrt_llm", R"({"embedding_bias": [0.5, -2, false]})");
  EXPECT_EQ(request.dense_bias, (std::vector<float>{0.5F, -2, -INFINITY}));
  EXPECT_NE(error_of("tensorrt_llm", R"({"embedding_bias": {"3": 1}})"), "");
  EXPECT_NE(error_of("tensorrt_llm", R"({"embedding_bias": [true]})"), "");
}

// As f32, which would make an infinity of them.
TEST(Parameters, AreNumbersThatF32Has) {
  EXPECT_EQ(error_of("vllm", R"({"temperature": 1e39})"),
            "temperature is 1e+39; it must be a number that f32 has");
  EXPECT_NE(error_of("vllm", R"({"logit_bias": {"3": -1e39}})"), "");
  EXPECT_NE(error_of("sampler", R"({"dense_bias": [1e39]})"), "");
  EXPECT_EQ(error_of("llama.cpp", R"({"logit_bias": {"3": -3.4e38}})"), "");
}

TEST(Parameters, ThatVllmRefusesAreErrors) {
  const std::pair<const char *, const char *> refused[] = {
      {R"({"top_p": 0})", "top_p is 0; it must be in (0, 1], as vLLM has it"},
      {R"({"top_p": 1.5})", "top_p is 1.5; it must be in (0, 1], as vLLM has it"},
      {R"({"min_p": 2})", "min_p is 2; it must be in [0, 1], as vLLM has it"},
      {R"({"min_p": -0.1})", "min_p is -0.1; it must be in [0, 1], as vLLM has it"},
      {R"({"top_k": -2})",
       "top_k is -2; it must be 0 or -1, which are off, or at least 1, as vLLM has it"},
      {R"({"repetition_penalty": 0})",
       "repetition_penalty is 0; it must be above 0, as vLLM has it"},
      {R"({"frequency_penalty": 2.5})",
       "frequency_penalty is 2.5; it must be in [-2, 2], as vLLM has it"},
      {R"({"presence_penalty": -3})",
       "presence_penalty is -3; it must be in [-2, 2], as vLLM has it"},
      {R"({"temperature": -1})", "temperature is -1; it must be at least 0, as vLLM has it"},
      {R"({"max_tokens": 0})", "max_tokens is 0; it must be at least 1, as vLLM has it"},
      {R"({"min_tokens": -1})", "min_tokens is -1; it must be at least 0, as vLLM has it"},
      {R"({"min_tokens": 4, "max_tokens": 3, "stop_token_ids": [1]})",
       "min_tokens is 4; it must be at most max_tokens, 3, as vLLM has it"}};
  for (const auto &[text, error] : refused) EXPECT_EQ(error_of("vllm", text), error);
  EXPECT_EQ(error_of("vllm", R"({"top_p": 1, "min_p": 1, "top_k": -1, "temperature": 0,
      "repetition_penalty": 0.1, "frequency_penalty": -2, "presence_penalty": 2, "max_tokens": 3,
      "min_tokens": 3, "stop_token_ids": [1]})"),
            "");
  // Others' are theirs.
  EXPECT_EQ(error_of("llama.cpp", R"({"top_p": 0, "top_k": -2})"), "");
}

TEST(Parameters, OfVllmHaveItsLeastTemperature) {
  for (const char *const engine : {"vllm", "vllm_v2"}) {
    EXPECT_EQ(read(engine, R"({"temperature": 0})").params.temperature, 0.0F);
    EXPECT_EQ(read(engine, R"({"temperature": 1e-6})").params.temperature, 0.01F);
    EXPECT_EQ(read(engine, R"({"temperature": 0.009})").params.temperature, 0.01F);
    EXPECT_EQ(read(engine, R"({"temperature": 0.02})").params.temperature, 0.02F);
  }
}

// vLLM's first runner, and all others, have room for more.
TEST(Parameters, OfVllmsSecondRunnerAreAsManyAsItHasRoomFor) {
  using Json = nlohmann::json;
  const auto ids = [](int number) {
    Json all = Json::array();
    for (int i = 0; i < number; ++i) all.push_back(i);
    return all;
  };
  const auto biases = [](int number) {
    Json all = Json::object();
    for (int i = 0; i < number; ++i) all[std::to_string(i)] = 1;
    return all;
  };
  const auto words = [&](int number, int length) {
    return Json(std::vector<Json>(std::size_t(number), ids(length)));
  };
  const auto stopped = [&](int number) {
    return Json{{"min_tokens", 1}, {"stop_token_ids", ids(number)}};
  };
  struct Limit {
    Json most, more;
    const char *error;
  };
  const Limit limits[] = {
      {{{"allowed_token_ids", ids(1024)}},
       {{"allowed_token_ids", ids(1025)}},
       "allowed_token_ids has 1025 tokens; it must have at most 1024"},
      {{{"logit_bias", biases(1024)}},
       {{"logit_bias", biases(1025)}},
       "logit_bias has 1025 tokens; it must have at most 1024"},
      {{{"bad_words_token_ids", words(128, 8)}},
       {{"bad_words_token_ids", words(129, 1)}},
       "bad_words_token_ids has 129 words; it must have at most 128"},
      {{{"bad_words_token_ids", words(1, 1024)}},
       {{"bad_words_token_ids", words(5, 205)}},
       "bad_words_token_ids has 1025 tokens; it must have at most 1024"},
      {stopped(128), stopped(129), "stop_token_ids has 129 tokens; it must have at most 128"}};
  for (const Limit &one : limits) {
    EXPECT_EQ(error_of("vllm_v2", one.most.dump()), "");
    EXPECT_EQ(error_of("vllm_v2", one.more.dump()),
              one.error + std::string(", as vLLM's second runner has it"));
    EXPECT_EQ(error_of("vllm", one.more.dump()), "");
  }
  // Stop tokens are banned below a least length alone.
  EXPECT_EQ(error_of("vllm_v2", Json{{"stop_token_ids", ids(129)}}.dump()), "");
}

TEST(Parameters, OfAnUnknownPresetNameTheKnown) {
  const std::string error = engine_parameters::preset_error("vll");
  EXPECT_EQ(error.rfind("\"vll\" is given; it must be one of sampler, ", 0), 0u) << error;
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) {
    EXPECT_NE(error.find(name), std::string::npos) << name;
    EXPECT_EQ(engine_parameters::preset_error(name), "");
  }
  EXPECT_EQ(engine_parameters::preset_error("sampler"), "");
  EXPECT_EQ(error_of("vll", "{}"), "the preset: " + error);
}

TEST(Parameters, OfNanoVllmAreALengthAndWhatEndsAText) {
  const Request request = read("nano_vllm", R"({"max_tokens": 7, "ignore_eos": true})");
  EXPECT_EQ(request.max_new_tokens, 7);
  EXPECT_TRUE(request.ignores_end);
  EXPECT_FALSE(read("nano_vllm", R"({"ignore_eos": false})").ignores_end);
  EXPECT_EQ(error_of("nano_vllm", R"({"ignore_eos": 1})"),
            "ignore_eos is 1; it must be true or false");
  for (const char *const engine : {"vllm", "vllm_v2", "sglang"}) {
    EXPECT_TRUE(read(engine, R"({"ignore_eos": true})").ignores_end);
  }
}

// What a program knows of a text's end beside the parameters.
TEST(Parameters, OfALeastLengthWaitForTheTextsEnd) {
  const auto ended = [](const char *preset, const char *text, const Ids &ends) {
    Request request = engine_parameters::read_before_end(preset, nlohmann::json::parse(text));
    engine_parameters::end_at(ends, &request);
    return request;
  };
  const char *const least = R"({"min_tokens": 3})";
  EXPECT_THROW(ended("vllm", least, {}), Error);
  EXPECT_EQ(ended("vllm", least, {5}).stop, (Ids{5}));
  EXPECT_EQ(ended("vllm", least, {5}).params.min_new_tokens, 3);
  EXPECT_EQ(ended("vllm", R"({"min_tokens": 3, "stop_token_ids": [4]})", {5}).stop, (Ids{4, 5}));
  // Nothing ends the text, which is as long as it may be.
  const Request ignored = ended("vllm", R"({"min_tokens": 3, "ignore_eos": true})", {});
  EXPECT_EQ(ignored.params.min_new_tokens, 0);
  // Hugging Face's is none without an end.
  EXPECT_EQ(ended("hugging_face", R"({"min_length": 3})", {}).min_length, 0);
  EXPECT_EQ(ended("hugging_face", R"({"min_length": 3})", {5}).min_length, 3);
}

TEST(Parameters, OfForcedTokensAreByTheNumberOfTheNewToken) {
  const Request some = read("sampler", R"({"forced_token_id": [4, -2, 6]})");
  const Ids expected = {4, -1, 6, -1};
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(some.forced_token(i), expected[i]) << i;
  }
  EXPECT_EQ(read("sampler", R"({"forced_token_id": 4})").forced_token(1U << 31), 4);
  EXPECT_EQ(read("sampler", R"({"forced_token_id": -1})").forced_token(0), -1);
  EXPECT_EQ(read("sampler", "{}").forced_token(0), -1);
  EXPECT_NE(error_of("sampler", R"({"forced_token_id": "4"})"), "");
}

// Every member of the structs, by tests/abi/layout.txt.
TEST(Parameters, OfTheLibrarysOwnNamesAreAllMembers) {
  for (const std::string name : {"sampler_params ", "sampler_row_params "}) {
    std::ifstream layout(SAMPLER_SOURCE_DIR "/tests/abi/layout.txt");
    std::string line;
    while (std::getline(layout, line) && line.rfind(name, 0) != 0) continue;
    int num_members = 0;
    while (std::getline(layout, line) && line.rfind("  ", 0) == 0) {
      const std::string member = line.substr(2, line.find(' ', 2) - 2);
      if (member == "struct_size" || member == "reserved") continue;
      ++num_members;
      // Known, of another type, and with what the type is.
      const std::string error = error_of("sampler", "{\"" + member + "\": {}}");
      EXPECT_EQ(error.rfind(member + " is {}; it must be ", 0), 0u) << error;
    }
    EXPECT_GT(num_members, 25);
  }
}

TEST(Parameters, OfTheLibrarysOwnNames) {
  const sampler_params defaults = sampler_params_default();
  const Request none = read("sampler", "{}");
  EXPECT_EQ(std::memcmp(&none.params, &defaults, sizeof defaults), 0);
  const Request request = read("sampler", R"({
      "top_p_ties": "keep", "filter_order": "min_p_first", "penalty_form": "counts_first",
      "adaptive_kind": "mirostat_v2", "stages": ["TOP_H", "ADAPTIVE"], "draw_method": "gumbel",
      "dense_bias": [0.5, false], "token_bitmask": [4294967295, -1, 7],
      "token_bitmask_rule": "forbids", "biased": {"3": -2}, "dry_breakers": [[4, 5]]})");
  EXPECT_EQ(request.params.top_p_ties, SAMPLER_TIES_KEEP);
  EXPECT_EQ(request.params.filter_order, SAMPLER_FILTERS_MIN_P_FIRST);
  EXPECT_EQ(request.params.penalty_form, SAMPLER_PENALTY_COUNTS_FIRST);
  EXPECT_EQ(request.params.adaptive_kind, SAMPLER_ADAPTIVE_MIROSTAT_V2);
  EXPECT_EQ(request.params.stages[0], SAMPLER_STAGE_TOP_H);
  EXPECT_EQ(request.params.stages[1], SAMPLER_STAGE_ADAPTIVE);
  EXPECT_EQ(request.params.stages[2], 0);
  EXPECT_EQ(request.draw_method, SAMPLER_DRAW_GUMBEL);
  EXPECT_EQ(request.dense_bias, (std::vector<float>{0.5F, -INFINITY}));
  EXPECT_EQ(request.token_bitmask, (std::vector<std::uint32_t>{0xffffffff, 0xffffffff, 7}));
  const Pipeline pipeline(request, {}, 0);
  EXPECT_EQ(pipeline.get()->dense_bias_stride, 2);
  EXPECT_EQ(pipeline.get()->num_dense_biases, 1);
  EXPECT_EQ(pipeline.get()->token_bitmask_stride, 3);
  EXPECT_EQ(pipeline.get()->num_token_bitmasks, 1);
  EXPECT_EQ(pipeline.get()->token_bitmask_rule, SAMPLER_MASK_FORBIDS);
  for (const char *const text :
       {R"({"top_p_ties": "some"})", R"({"top_p_ties": 1})", R"({"stages": ["TOP_Q"]})",
        R"({"stages": "TOP_P"})", R"({"dense_bias": [true]})", R"({"token_bitmask": [4294967296]})",
        R"({"token_bitmask": [1.5]})", R"({"repeat_penalty": 1.1})"}) {
    EXPECT_NE(error_of("sampler", text), "") << text;
  }
  EXPECT_EQ(error_of("sampler", R"({"adaptive_kind": "mirostat"})"),
            "adaptive_kind is \"mirostat\"; it must be one of none, mirostat_v1, mirostat_v2, "
            "adaptive_p");
}

TEST(Parameters, ThatMakeTensorRtGreedy) {
  for (const char *const text : {R"({"top_p": 0, "temperature": 1})", R"({"top_k": 1})",
                                 R"({"min_p": 1})", R"({"temperature": 0})"}) {
    EXPECT_EQ(read("tensorrt_llm", text).params.temperature, 0.0F) << text;
  }
  EXPECT_EQ(read("tensorrt_llm", R"({"top_k": 2})").params.temperature, 1.0F);
}

TEST(Pipeline, HasWhatTheRequestHas) {
  const Request request = read("hugging_face", R"({"min_length": 9, "eos_token_id": [5, 6],
      "suppress_tokens": [1]})");
  const Pipeline shorter(request, {1, 2, 3, 4, 5, 6, 7}, 4);
  EXPECT_EQ(shorter.params()->min_new_tokens, 5);
  EXPECT_EQ(shorter.get()->stop.num_token_ids, 2);
  EXPECT_EQ(shorter.get()->banned.num_token_ids, 1);
  EXPECT_EQ(shorter.get()->history.num_token_ids, 7);
  EXPECT_EQ(*shorter.get()->prompt_lengths, 4);
  EXPECT_EQ(shorter.get()->biased.num_lists, 0);
  const Pipeline longer(request, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
  EXPECT_EQ(longer.params()->min_new_tokens, 0);
  // Breakers are sorted, and each once.
  const Pipeline dry(read("llama.cpp", R"({"dry_sequence_breakers": [[9], [3, 1], [9], [3]]})"), {},
                     0);
  const sampler_token_lists &breakers = dry.get()->dry_breakers;
  ASSERT_EQ(breakers.num_lists, 3);
  const auto *const ids = static_cast<const std::int32_t *>(breakers.token_ids);
  EXPECT_EQ(Ids(ids, ids + breakers.num_token_ids), (Ids{3, 3, 1, 9}));
}

}  // namespace
}  // namespace presets_test
