// How examples/engine_parameters reads an engine's own parameters, beside what the recorded rows
// show.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
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
