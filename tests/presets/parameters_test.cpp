// How examples/engine_parameters reads an engine's own parameters, beside what the recorded rows
// show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine_parameters.h"

namespace presets_test::parameters_test {
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
  for (const std::string &name : engine_parameters::preset_names()) {
    const std::string error = error_of(name, R"({"temperature": 1, "temprature": 1})");
    EXPECT_EQ(error.find("temprature is no parameter of "), 0u) << error;
    // All of them at once.
    EXPECT_EQ(error_of(name, R"({"temprature": 0, "top_q": 0.9, "temperature": 1})"),
              "temprature, top_q are no parameters of " + name.substr(0, name.find('@')) +
                  " that this program knows");
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
  EXPECT_NE(error_of("hugging_face", R"({"sequence_bias": [[[], 3.0]]})"), "");
  EXPECT_NE(error_of("flashinfer", R"({"filter_apply_order": "top_p_first"})"), "");
  EXPECT_NE(error_of("llama.cpp", R"({"samplers": ["top_k", "top_k"]})"), "");
  EXPECT_NE(error_of("llama.cpp", R"({"samplers": ["top_q"]})"), "");
  EXPECT_EQ(error_of("llama.cpp", R"({"samplers": ["infill"]})"),
            "samplers is [\"infill\"]; it must be without \"infill\", which looks at the texts of "
            "tokens");
}

TEST(Parameters, AreNamedOnOneLine) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"a\nb\u0000\u00e9": 1})", R"(a\nb\u0000\u00e9 is no parameter of llama.cpp that this )"
                                     "program knows"},
      {R"({"\u001b": 1, "generation_settings": {"\u001b": 1}})",
       R"(\u001b stands twice: in generation_settings and beside it)"},
      {R"({"samplers": "\u00e9"})",
       R"(samplers is "\u00e9"; it must be made of e, d, s, k, y, p, m, )"
       "x, t and a, each once"},
      {R"({"samplers": "k\n"})",
       R"(samplers is "k\n"; it must be made of e, d, s, k, y, p, m, x, t and a, each once)"},
      {R"({"samplers": ["\u00e9"]})", R"(samplers is ["\u00e9"]; it must be a list of names, each )"
                                      R"(once: "\u00e9" is not one of them)"}};
  for (const auto &[text, error] : cases) EXPECT_EQ(error_of("llama.cpp", text), error);
  EXPECT_EQ(read("vllm", R"({"\n": []})").notes.back(),
            R"(not known, and passed over as empty: \n)");
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
      {R"({"temperature": -1})", "temperature is -1; it must be in [0, 2], as vLLM has it"},
      {R"({"temperature": 2.5})", "temperature is 2.5; it must be in [0, 2], as vLLM has it"},
      {R"({"max_tokens": 0})", "max_tokens is 0; it must be at least 1, as vLLM has it"},
      {R"({"min_tokens": -1})", "min_tokens is -1; it must be at least 0, as vLLM has it"},
      {R"({"max_completion_tokens": 0})",
       "max_completion_tokens is 0; it must be at least 1, as vLLM has it"},
      {R"({"allowed_token_ids": []})",
       "allowed_token_ids is []; it must be a list of at least one token id, as vLLM has it"},
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

TEST(Parameters, ThatOtherEnginesRefuseAreErrors) {
  struct Case {
    const char *preset, *text, *error;
  };
  const Case refused[] = {
      {"sglang", R"({"top_p": 0})", "top_p is 0; it must be in (0, 1], as SGLang has it"},
      {"sglang", R"({"top_p": 1.5})", "top_p is 1.5; it must be in (0, 1], as SGLang has it"},
      {"sglang", R"({"min_p": 2})", "min_p is 2; it must be in [0, 1], as SGLang has it"},
      {"sglang", R"({"top_k": 0})",
       "top_k is 0; it must be -1, which is off, or at least 1, as SGLang has it"},
      {"sglang", R"({"top_k": -2})",
       "top_k is -2; it must be -1, which is off, or at least 1, as SGLang has it"},
      {"sglang", R"({"temperature": -1})",
       "temperature is -1; it must be at least 0, as SGLang has it"},
      {"sglang", R"({"repetition_penalty": 2.5})",
       "repetition_penalty is 2.5; it must be in (0, 2], as SGLang has it"},
      {"sglang", R"({"frequency_penalty": -3})",
       "frequency_penalty is -3; it must be in [-2, 2], as SGLang has it"},
      {"sglang", R"({"presence_penalty": 3})",
       "presence_penalty is 3; it must be in [-2, 2], as SGLang has it"},
      {"sglang", R"({"min_new_tokens": -1})",
       "min_new_tokens is -1; it must be at least 0, as SGLang has it"},
      {"sglang", R"({"max_new_tokens": -1})",
       "max_new_tokens is -1; it must be at least 0, as SGLang has it"},
      {"sglang", R"({"min_new_tokens": 4, "max_new_tokens": 3, "stop_token_ids": [1]})",
       "min_new_tokens is 4; it must be at most max_new_tokens, 3, as SGLang has it"},
      {"hugging_face", R"({"do_sample": true, "temperature": -1})",
       "temperature is -1; it must be above 0, as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "temperature": 0.0})",
       "temperature is 0.0; it must be above 0, as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "top_k": -1})",
       "top_k is -1; it must be 0, which is off, or at least 1, as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "top_p": -0.1})",
       "top_p is -0.1; it must be at least 0, as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "min_p": 2})",
       "min_p is 2; it must be in [0, 1], as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "typical_p": 0})",
       "typical_p is 0; it must be above 0, as Hugging Face has it"},
      {"hugging_face", R"({"do_sample": true, "top_h": 1.5})",
       "top_h is 1.5; it must be in (0, 1], as Hugging Face has it"},
      {"hugging_face", R"({"repetition_penalty": 0})",
       "repetition_penalty is 0; it must be above 0, as Hugging Face has it"},
      {"hugging_face", R"({"max_new_tokens": 0})",
       "max_new_tokens is 0; it must be at least 1, as Hugging Face has it"},
      {"hugging_face", R"({"bad_words_ids": []})",
       "bad_words_ids is []; it must be null or a list that is not empty, as Hugging Face has it"},
      {"hugging_face", R"({"sequence_bias": []})",
       "sequence_bias is []; it must be null or a list that is not empty, as Hugging Face has it"},
      {"tensorrt_llm", R"({"top_p": 1.5})",
       "top_p is 1.5; it must be in [0, 1], as TensorRT-LLM has it"},
      {"tensorrt_llm", R"({"min_p": -1})",
       "min_p is -1; it must be in [0, 1], as TensorRT-LLM has it"},
      {"tensorrt_llm", R"({"temperature": -1})",
       "temperature is -1; it must be at least 0, as TensorRT-LLM has it"},
      {"tensorrt_llm", R"({"top_p_decay": 0})",
       "top_p_decay is 0; it must be in (0, 1], as TensorRT-LLM has it"},
      {"tensorrt_llm", R"({"repetition_penalty": 0})",
       "repetition_penalty is 0; it must be above 0, as TensorRT-LLM has it"},
      {"llama.cpp", R"({"repeat_last_n": -2})",
       "repeat_last_n is -2; it must be -1, which is all, or at least 0, as llama.cpp has it"},
      {"llama.cpp", R"({"repeat_penalty": 0})",
       "repeat_penalty is 0; it must be above 0, as llama.cpp has it"},
      {"llama.cpp", R"({"dry_allowed_length": -1})",
       "dry_allowed_length is -1; it must be at least 0, as llama.cpp has it"},
      {"llama.cpp", R"({"min_keep": -1})",
       "min_keep is -1; it must be at least 0, as llama.cpp has it"},
      {"llama.cpp", R"({"n_predict": -2})",
       "n_predict is -2; it must be -1, which is no limit, or at least 0, as llama.cpp has it"},
      {"llama.cpp", R"({"adaptive_decay": 1})",
       "adaptive_decay is 1; it must be in [0, 0.99], as llama.cpp has it"},
      {"koboldcpp", R"({"rep_pen": 0})", "rep_pen is 0; it must be above 0, as koboldcpp has it"},
      {"nano_vllm", R"({"temperature": 0})",
       "temperature is 0; it must be above 1e-10, as nano-vLLM has it"}};
  for (const Case &one : refused) EXPECT_EQ(error_of(one.preset, one.text), one.error);

  // At the ends of the ranges they are taken.
  EXPECT_EQ(error_of("sglang", R"({"top_p": 1, "min_p": 1, "top_k": -1, "temperature": 0,
      "repetition_penalty": 2, "frequency_penalty": -2, "presence_penalty": 2,
      "max_new_tokens": 3, "min_new_tokens": 3, "stop_token_ids": [1]})"),
            "");
  EXPECT_EQ(error_of("hugging_face", R"({"do_sample": true, "top_k": 0, "top_p": 0, "min_p": 1,
      "typical_p": 1, "top_h": 1, "epsilon_cutoff": 0, "eta_cutoff": 2, "min_length": -1})"),
            "");
  EXPECT_EQ(read("hugging_face", R"({"do_sample": true, "top_p": 1.5})").params.top_p, 1.0F);
  // llama.cpp's server clamps these.
  const sampler_params clamped = read("llama.cpp", R"({"top_k": -2, "top_p": -1, "min_p": 3,
      "temperature": -1, "xtc_probability": 2, "xtc_threshold": 2})")
                                     .params;
  EXPECT_EQ(clamped.top_k, 0);
  EXPECT_EQ(clamped.top_p, 0.0F);
  EXPECT_EQ(clamped.min_p, 1.0F);
  EXPECT_EQ(clamped.temperature, 0.0F);
  EXPECT_EQ(clamped.xtc_probability, 1.0F);
  EXPECT_EQ(clamped.xtc_threshold, 1.0F);
}

// Where nothing is sampled transformers does not look at them.
TEST(Parameters, OfHuggingFaceThatNeedDoSampleAreNotUsedWithoutIt) {
  const Request greedy = read("hugging_face", R"({"temperature": 0.0, "top_k": -1, "top_p": 0.9,
      "repetition_penalty": 1.5})");
  EXPECT_EQ(greedy.params.temperature, 0.0F);
  EXPECT_EQ(greedy.params.top_k, 50);
  EXPECT_EQ(greedy.params.repetition_penalty, 1.5F);
  EXPECT_EQ(greedy.notes, (std::vector<std::string>{
                              "not used without do_sample, and passed over: temperature, top_k, "
                              "top_p"}));
}

TEST(Parameters, WithADryBaseBelowOneHaveItsDefault) {
  const char *const text = R"({"dry_multiplier": 0.8, "dry_base": 0.5})";
  const sampler_params params = read("llama.cpp", text).params;
  EXPECT_EQ(params.dry_multiplier, 0.8F);
  EXPECT_EQ(params.dry_base, 0.0F);  // 1.75
  EXPECT_EQ(read("llama.cpp", R"({"dry_multiplier": 1, "dry_base": 1})").params.dry_base, 1.0F);
  EXPECT_EQ(error_of("koboldcpp", text), "dry_base is 0.5; it must be at least 1 where DRY is on");
  EXPECT_EQ(read("koboldcpp", R"({"dry_multiplier": 1, "dry_base": 0})").params.dry_multiplier,
            0.0F);
}

TEST(Parameters, MayWantARandomSeed) {
  const std::pair<const char *, const char *> random[] = {{"vllm", R"({"seed": -1})"},
                                                          {"vllm_v2", R"({"seed": -1})"},
                                                          {"hf_vllm_aligned", R"({"seed": -1})"},
                                                          {"llama.cpp", R"({"seed": -1})"},
                                                          {"llama.cpp", R"({"seed": 4294967295})"},
                                                          {"ollama", R"({"seed": -1})"},
                                                          {"koboldcpp", R"({"sampler_seed": -1})"},
                                                          {"koboldcpp", R"({"sampler_seed": 0})"}};
  for (const auto &[preset, text] : random) {
    SCOPED_TRACE(std::string(preset) + text);
    Request request = read(preset, text), other = request;
    EXPECT_TRUE(request.has_random_seed && !request.seed);
    engine_parameters::draw_random_seed(&request);
    engine_parameters::draw_random_seed(&other);
    ASSERT_TRUE(request.seed && other.seed);
    EXPECT_NE(*request.seed, *other.seed);  // but for a chance of 2^-31
    EXPECT_EQ(request.notes.back(), "the seed is a random one: " + std::to_string(*request.seed));
  }
  // Others' are seeds as any.
  EXPECT_EQ(read("sglang", R"({"sampling_seed": -1})").seed, ~std::uint64_t{0});
  for (const char *const preset : {"vllm", "hf_vllm_aligned", "llama.cpp"}) {
    EXPECT_EQ(read(preset, R"({"seed": 18446744073709551615})").seed, ~std::uint64_t{0});
  }
  Request fixed = read("vllm", R"({"seed": 0})");
  engine_parameters::draw_random_seed(&fixed);
  EXPECT_EQ(fixed.seed, 0u);
  EXPECT_TRUE(fixed.notes.empty());
  for (const char *const preset : {"sampler", "vllm", "tensorrt_llm", "flashinfer", "llama.cpp"}) {
    EXPECT_EQ(error_of(preset, R"({"seed": -2})"),
              "seed is -2; it must be an integer of at least 0");
  }
}

TEST(Parameters, OfTheVocabularyAreChecked) {
  const auto error = [](const char *preset, const char *text) -> std::string {
    const Request request = read(preset, text);
    engine_parameters::check_vocabulary(request, 100000);
    try {
      engine_parameters::check_vocabulary(request, 1000);
    } catch (const Error &found) {
      return found.what();
    }
    return "";
  };
  struct Case {
    const char *preset, *text, *error;
  };
  const Case cases[] = {
      {"vllm", R"({"logit_bias": {"7": 1, "1000": 1}})",
       "logit_bias has token 1000; it must be of the vocabulary, [0, 1000), as vLLM has it"},
      {"vllm_v2", R"({"bad_words_token_ids": [[1], [2, 5000]]})",
       "bad_words_token_ids has token 5000; it must be of the vocabulary, [0, 1000), as vLLM has "
       "it"},
      {"vllm", R"({"allowed_token_ids": [1, 5000]})",
       "allowed_token_ids has token 5000; it must be of the vocabulary, [0, 1000), as vLLM has it"},
      {"vllm", R"({"stop_token_ids": [5000]})",
       "stop_token_ids has token 5000; it must be of the vocabulary, [0, 1000), as vLLM has it"},
      {"vllm", R"({"trace_decode_token_ids": [4, 5000]})",
       "trace_decode_token_ids has token 5000; it must be of the vocabulary, [0, 1000), as vLLM "
       "has it"},
      {"sglang", R"({"logit_bias": {"5000": 1}})",
       "logit_bias has token 5000; it must be of the vocabulary, [0, 1000), as SGLang has it"},
      {"hugging_face", R"({"bad_words_ids": [[5000]]})",
       "bad_words_ids has token 5000; it must be of the vocabulary, [0, 1000), as Hugging Face "
       "has it"},
      {"hugging_face", R"({"sequence_bias": [[[5000], 1.5]]})",
       "sequence_bias has token 5000; it must be of the vocabulary, [0, 1000), as Hugging Face "
       "has it"},
      {"llama.cpp", R"({"logit_bias": [[5000, 1]]})",
       "logit_bias has token 5000; it must be of the vocabulary, [0, 1000); llama.cpp passes over "
       "it without a word"},
      {"koboldcpp", R"({"logit_bias": {"5000": 1}})",
       "logit_bias has token 5000; it must be of the vocabulary, [0, 1000); koboldcpp does not "
       "look whether it is"},
      {"vllm", R"({"logit_bias": {"999": 1}, "stop_token_ids": [0]})", ""},
      // Models' own end tokens are not drawn from a smaller vocabulary.
      {"hugging_face", R"({"eos_token_id": [5000]})", ""}};
  for (const Case &one : cases) EXPECT_EQ(error(one.preset, one.text), one.error);
  EXPECT_THROW(
      engine_parameters::check_vocabulary(read("vllm", R"({"logit_bias": {"-1": 1}})"), 1000),
      Error);
}

// A request's other words.
TEST(Parameters, ThatAreNotAboutSamplingArePassedOver) {
  using Strings = std::vector<std::string>;
  const Request request = read("llama.cpp", R"({"top_k": 7, "stream": true, "cache_prompt": true,
      "lora": [], "grammar": "", "n_probs": 3, "stop": ["User:"]})");
  EXPECT_EQ(request.params.top_k, 7);
  EXPECT_EQ(request.notes,
            (Strings{"not about sampling, and passed over: cache_prompt, n_probs, stop, stream"}));
  // What is not known, and is off or empty, too; a number is not.
  EXPECT_EQ(read("vllm", R"({"new": false, "newer": [], "newest": "", "none": null})").notes,
            (Strings{"not known, and passed over as empty: new, newer, newest"}));
  EXPECT_EQ(error_of("vllm", R"({"new": 0})"),
            "new is no parameter of vllm that this program knows");
  EXPECT_TRUE(read("vllm", R"({"temperature": 1})").notes.empty());
}

// And cannot be done here, unless their values say nothing.
TEST(Parameters, ThatAreAboutSamplingAndCannotBeDoneAreErrors) {
  struct Case {
    const char *preset, *name, *value, *neutral;
  };
  const Case cases[] = {
      {"vllm", "bad_words", R"(["damn"])", "[]"},
      {"vllm", "structured_outputs", R"({"regex": "a"})", "null"},
      {"vllm", "thinking_token_budget", "9", "-1"},
      {"vllm", "use_beam_search", "true", "false"},
      {"vllm", "response_format", R"({"type": "json_object"})", R"({"type": "text"})"},
      {"sglang", "regex", R"("a")", R"("")"},
      {"sglang", "beam_width", "2", "1"},
      {"tensorrt_llm", "bad", R"(["damn"])", "null"},
      {"tensorrt_llm", "prompt_ignore_length", "3", "0"},
      {"hugging_face", "guidance_scale", "1.5", "1.0"},
      {"hugging_face", "num_beam_groups", "2", "1"},
      {"llama.cpp", "grammar", R"("root ::= [a]")", R"("")"},
      {"llama.cpp", "reasoning_budget_tokens", "9", "-1"},
      {"koboldcpp", "tfs", "0.9", "1.0"},
      {"koboldcpp", "banned_tokens", R"(["damn"])", "[]"},
      {"ollama", "mirostat", "2", "0"},
      {"ollama", "format", R"("json")", R"("")"}};
  for (const Case &one : cases) {
    const auto with = [&](const char *value) {
      return "{\"" + std::string(one.name) + "\": " + value + "}";
    };
    const std::string error = error_of(one.preset, with(one.value));
    EXPECT_EQ(error.rfind(std::string(one.name) + " is ", 0), 0u) << one.name << ": " << error;
    EXPECT_NE(error.find("; it must be "), std::string::npos) << error;
    EXPECT_EQ(error_of(one.preset, with(one.neutral)), "");
    EXPECT_TRUE(read(one.preset, with(one.neutral)).notes.empty()) << one.name;
  }
  // With what is not known, at once.
  EXPECT_EQ(error_of("koboldcpp", R"({"guidance_scale": 2, "tfs": 0.5, "top_q": 1})"),
            "top_q is no parameter of koboldcpp that this program knows; guidance_scale is 2; "
            "it must be 1: there is no second model here; tfs is 0.5; it must be 1: there is no "
            "tail-free sampling here");
  // Texts of breakers stand in every request.
  const char *const texts = R"({"dry_sequence_breakers": ["\n"], "dry_multiplier": 0})";
  for (const char *const preset : {"llama.cpp", "koboldcpp"}) {
    EXPECT_EQ(error_of(preset, texts), "");
    EXPECT_EQ(error_of(preset, R"({"dry_sequence_breakers": ["\n"], "dry_multiplier": 1})"),
              "dry_sequence_breakers is [\"\\n\"]; it must be lists of token ids where DRY is on: "
              "texts need a tokenizer");
  }
  EXPECT_EQ(error_of("llama.cpp", R"({"dry_sequence_breakers": ["\n"], "dry_multiplier": 1,
      "dry_penalty_last_n": 0})"),
            "");
}

// Texts that end a text are the server's; tokens are the library's.
TEST(Parameters, OfStopAreTokensByTheLibrarysOwnNamesAlone) {
  for (const char *const preset : {"vllm", "sglang", "llama.cpp", "ollama", "tensorrt_llm"}) {
    const Request request = read(preset, R"({"stop": ["User:"]})");
    EXPECT_TRUE(request.stop.empty());
    EXPECT_EQ(request.notes.size(), 1u);
  }
  EXPECT_EQ(read("sampler", R"({"stop": [5]})").stop, (Ids{5}));
  EXPECT_EQ(error_of("sampler", R"({"stop": ["User:"]})"),
            "stop is [\"User:\"]; it must be made of token ids");
}

TEST(Parameters, OfTokensThatEndATextFollowWhatIsIgnored) {
  // SGLang's ignore_eos is of its own stop tokens, too; vLLM's is not.
  const char *const text = R"({"stop_token_ids": [5], "ignore_eos": true})";
  EXPECT_EQ(read("vllm", text).ends(), (Ids{5}));
  EXPECT_TRUE(read("sglang", text).ends().empty());
  EXPECT_EQ(read("sglang", R"({"stop_token_ids": [5], "ignore_eos": false})").ends(), (Ids{5}));
  EXPECT_EQ(
      read("tensorrt_llm", R"({"end_id": 4, "stop_token_ids": [5], "ignore_eos": true})").ends(),
      (Ids{5}));
  EXPECT_TRUE(read("tensorrt_llm", R"({"end_id": -1})").stop.empty());
  EXPECT_EQ(error_of("tensorrt_llm", R"({"end_id": 18446744073709551615})"),
            "end_id is 18446744073709551615; it must be an integer of 32 bits");
  EXPECT_EQ(read("hugging_face", R"({"eos_token_id": [5, 6]})").ends(), (Ids{5, 6}));
  // llama.cpp's bans them.
  EXPECT_TRUE(read("llama.cpp", R"({"ignore_eos": true})").bans_end);
  EXPECT_TRUE(read("koboldcpp", R"({"ban_eos_token": true})").bans_end);
  EXPECT_TRUE(read("koboldcpp", R"({"bypass_eos": true})").ignores_end);
}

TEST(Parameters, OfATraceAreForcedTokens) {
  const Request request = read("vllm", R"({"trace_decode_token_ids": [4, 9]})");
  EXPECT_EQ(request.forced_token(0), 4);
  EXPECT_EQ(request.forced_token(1), 9);
  EXPECT_EQ(request.forced_token(2), -1);
  EXPECT_NE(error_of("vllm", R"({"trace_decode_token_ids": []})"), "");
}

TEST(Parameters, InsideARequestsBody) {
  const Request request = read("sglang", R"({"text": "a", "sampling_params": {"top_k": 7}})");
  EXPECT_EQ(request.params.top_k, 7);
  EXPECT_EQ(read("ollama", R"({"model": "a", "options": {"top_k": 7}})").params.top_k, 7);
  EXPECT_EQ(error_of("ollama", R"({"top_k": 7, "options": {"top_k": 7}})"),
            "top_k stands twice: in options and beside it");
  EXPECT_EQ(error_of("ollama", R"({"options": 7})"), "options is 7; it must be an object");
  EXPECT_EQ(error_of("ollama", R"({"options": {"top_q": 1}})"),
            "top_q is no parameter of ollama that this program knows");
}

TEST(Parameters, OfSamplersHaveOtherNamesToo) {
  const auto stages = [](const char *text) {
    const sampler_params params = read("llama.cpp", text).params;
    return std::vector<sampler_stage>(params.stages, params.stages + SAMPLER_MAX_STAGES);
  };
  const auto names = stages(R"({"samplers": ["top_k", "typ_p", "top_p", "temperature"]})");
  EXPECT_EQ(names, stages(R"({"samplers": ["top-k", "typ", "nucleus", "temp"]})"));
  EXPECT_EQ(names, stages(R"({"samplers": ["TopK", "typp", "topp", "Temperature"]})"));
  EXPECT_EQ(names, stages(R"({"samplers": "kypt"})"));
  EXPECT_EQ(
      error_of("llama.cpp", R"({"samplers": "kq"})"),
      "samplers is \"kq\"; it must be made of e, d, s, k, y, p, m, x, t and a, each once: 'q' "
      "is not one of them");
  EXPECT_NE(error_of("llama.cpp", R"({"samplers": "kk"})"), "");
  // A default that a whole request spells out does not turn on what is not listed.
  EXPECT_EQ(error_of("llama.cpp", R"({"samplers": ["temperature"], "top_k": 40, "min_p": 0.05})"),
            "");
  EXPECT_EQ(error_of("llama.cpp", R"({"mirostat": 2, "top_k": 40, "top_p": 0.95})"), "");
}

using Stages = std::vector<sampler_stage>;
Stages stages_of(const Request &request) {
  Stages stages(request.params.stages, request.params.stages + SAMPLER_MAX_STAGES);
  while (!stages.empty() && stages.back() == 0) stages.pop_back();
  return stages;
}

TEST(Koboldcpp, HasItsDefaultsAndOrder) {
  const Request request = read("koboldcpp", "{}");
  EXPECT_EQ(
      stages_of(request),
      (Stages{SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_DRY, SAMPLER_STAGE_PENALTIES,
              SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_TOP_A, SAMPLER_STAGE_TYPICAL_P,
              SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_MIN_P, SAMPLER_STAGE_TEMPERATURE,
              SAMPLER_STAGE_TOP_N_SIGMA, SAMPLER_STAGE_XTC, SAMPLER_STAGE_ADAPTIVE}));
  const sampler_params &params = request.params;
  EXPECT_EQ(params.temperature, 0.75F);
  EXPECT_EQ(params.top_k, 100);
  EXPECT_EQ(params.top_p, 0.92F);
  EXPECT_EQ(params.min_p, 0.0F);
  EXPECT_EQ(params.penalty_window, 320);
  EXPECT_EQ(params.dry_window, 320);
  EXPECT_EQ(params.xtc_threshold, 0.2F);
  EXPECT_EQ(params.penalty_scope, SAMPLER_PENALTY_SCOPE_ALL);
}

TEST(Koboldcpp, TakesAnOrder) {
  const Request request = read("koboldcpp", R"({"sampler_order": [6, 5, 2, 0], "top_k": 9})");
  EXPECT_EQ(stages_of(request),
            (Stages{SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_DRY,
                    SAMPLER_STAGE_PENALTIES, SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_TOP_N_SIGMA,
                    SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_MIN_P, SAMPLER_STAGE_TOP_K,
                    SAMPLER_STAGE_XTC, SAMPLER_STAGE_ADAPTIVE}));
  EXPECT_EQ(request.params.top_k, 9);
  // Without a top-k it is koboldcpp's own, before all others.
  for (const char *const text :
       {R"({"sampler_order": [6, 5, 2, 0], "top_k": 0})", R"({"sampler_order": [6, 5, 2]})"}) {
    const Request most = read("koboldcpp", text);
    EXPECT_EQ(stages_of(most)[4], SAMPLER_STAGE_TOP_K);
    EXPECT_EQ(most.params.top_k, 3000);
  }
  EXPECT_EQ(read("koboldcpp", R"({"top_k": 5000})").params.top_k, 3000);
  EXPECT_EQ(read("koboldcpp", R"({"sampler_order": []})").params.top_k, 100);

  EXPECT_EQ(error_of("koboldcpp", R"({"sampler_order": [6, 0, 1, 3, 2, 5], "typical": 0.9})"),
            "typical is set, and sampler_order does not list 4");
  EXPECT_EQ(error_of("koboldcpp", R"({"sampler_order": [0], "rep_pen": 1.1})"),
            "rep_pen is set, and sampler_order does not list 6");
  EXPECT_NE(error_of("koboldcpp", R"({"sampler_order": [0, 6], "rep_pen": 1.1})"), "");
  EXPECT_EQ(error_of("koboldcpp", R"({"sampler_order": [0, 6], "rep_pen": 1})"), "");
  EXPECT_EQ(error_of("koboldcpp", R"({"sampler_order": [1, 3, 6, 0], "rep_pen": 1.1})"), "");
  EXPECT_NE(error_of("koboldcpp", R"({"sampler_order": [1, 6, 0], "rep_pen": 1.1, "top_a": 0.5})"),
            "");
  EXPECT_EQ(error_of("koboldcpp", R"({"sampler_order": [6, 0], "top_a": 0.5})"),
            "top_a is set, and sampler_order does not list 1");
  const Request top_a = read("koboldcpp", R"({"sampler_order": [0, 1, 5], "top_a": 0.5})");
  EXPECT_EQ(top_a.params.top_a, 0.5F);
  EXPECT_EQ(top_a.params.stages[4], SAMPLER_STAGE_TOP_A);
  for (const char *const bad :
       {"[7]", "[-1]", "[0, 0]", "[\"top_k\"]", "[0.5]", "5", "[0, 1, 2, 3, 4, 5, 6, 0]"}) {
    const std::string text = "{\"sampler_order\": " + std::string(bad) + "}";
    EXPECT_EQ(error_of("koboldcpp", text),
              "sampler_order is " + nlohmann::json::parse(bad).dump() +
                  "; it must be a list of at most 7 numbers from 0 to 6, each once");
  }
}

TEST(Koboldcpp, HasWordsOfItsOwn) {
  const Request request = read("koboldcpp", R"({"rep_pen": 1.2, "rep_pen_range": 0, "typical": 0.9,
      "nsigma": 1.5, "max_length": 30, "sampler_seed": 4, "dry_penalty_last_n": 0,
      "logit_bias": {"3": 200, "5": 1}, "custom_token_bans": "5, 7"})");
  EXPECT_EQ(request.params.repetition_penalty, 1.2F);
  EXPECT_EQ(request.params.penalty_window, 1);
  EXPECT_EQ(request.params.dry_window, 0);
  EXPECT_EQ(request.params.typical_p, 0.9F);
  EXPECT_EQ(request.params.top_n_sigma, 1.5F);
  EXPECT_EQ(request.max_new_tokens, 30);
  EXPECT_EQ(request.seed, 4u);
  EXPECT_EQ(request.biased, (Ids{3, 5, 7}));
  EXPECT_EQ(request.biases, (std::vector<float>{100, -100, -100}));
  EXPECT_NE(error_of("koboldcpp", R"({"custom_token_bans": "5, x"})"), "");
  EXPECT_EQ(error_of("koboldcpp", R"({"rep_pen": 1.1, "rep_pen_slope": 0.7})"),
            "rep_pen_slope is 0.7; it must be 1 where rep_pen is above 1: tokens count alike here");
  EXPECT_EQ(error_of("koboldcpp", R"({"rep_pen_slope": 0.7})"), "");
}

double cpu_seconds() {
  return double(std::clock()) / CLOCKS_PER_SEC;
}

// A second at most; a pass over all for each one would take minutes.
TEST(Requests, OfManyTokensAreReadInOnePass) {
  constexpr int kMany = 1000000;
  std::string ids, words;
  for (int id = 0; id < kMany; ++id) {
    ids += (id == 0 ? "" : ",") + std::to_string(id);
    words += (id == 0 ? "[" : ",[") + std::to_string(id) + "]";
  }
  const double start = cpu_seconds();
  const Request bans =
      read("koboldcpp", R"({"logit_bias": {"7": 1}, "custom_token_bans": ")" + ids + "\"}");
  EXPECT_EQ(bans.biased.size(), std::size_t{kMany});
  EXPECT_EQ(std::count(bans.biases.begin(), bans.biases.end(), -100.0f), kMany);
  const Request ends = read(
      "hugging_face", R"({"bad_words_ids": [)" + words + R"(], "eos_token_id": [)" + ids + "]}");
  EXPECT_TRUE(ends.bad_words.empty());
  EXPECT_LT(cpu_seconds() - start, 30);
}

TEST(Koboldcpp, HasMirostatAndAdaptiveP) {
  const Request mirostat =
      read("koboldcpp", R"({"mirostat": 2, "mirostat_tau": 3, "rep_pen": 1.1, "top_k": 100})");
  EXPECT_EQ(stages_of(mirostat), (Stages{SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_DRY,
                                         SAMPLER_STAGE_PENALTIES, SAMPLER_STAGE_TOP_K,
                                         SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_ADAPTIVE}));
  EXPECT_EQ(mirostat.params.adaptive_kind, SAMPLER_ADAPTIVE_MIROSTAT_V2);
  EXPECT_EQ(mirostat.params.adaptive_target, 3.0F);
  EXPECT_EQ(mirostat.params.top_k, 3000);
  EXPECT_EQ(mirostat.params.top_p, 1.0F);
  EXPECT_EQ(error_of("koboldcpp", R"({"mirostat": 1, "top_p": 0.5})"),
            "top_p is set, and mirostat has no such sampler beside it");
  EXPECT_EQ(error_of("koboldcpp", R"({"mirostat": 1, "dynatemp_range": 0.5})"),
            "dynatemp_range is set, and mirostat has no such sampler beside it");

  const Request adaptive = read("koboldcpp", R"({"adaptive_target": 0.4, "top_p": 1})");
  EXPECT_EQ(adaptive.params.adaptive_kind, SAMPLER_ADAPTIVE_P);
  EXPECT_EQ(adaptive.params.min_p, 0.002F);  // where no filter comes first
  EXPECT_EQ(read("koboldcpp", R"({"adaptive_target": 0.4})").params.min_p, 0.0F);
  EXPECT_EQ(read("koboldcpp", R"({"adaptive_target": 0})").params.adaptive_kind,
            SAMPLER_ADAPTIVE_NONE);
}

TEST(Koboldcpp, SmoothsLast) {
  const sampler_params smoothed = read("koboldcpp", R"({"smoothing_factor": 0.3})").params;
  EXPECT_EQ(smoothed.adaptive_kind, SAMPLER_ADAPTIVE_SMOOTHING);
  EXPECT_EQ(smoothed.adaptive_target, 0.3F);
  EXPECT_EQ(smoothed.adaptive_rate, 1.0F);
  EXPECT_EQ(read("koboldcpp", R"({"smoothing_factor": 0.3, "smoothing_curve": 2.5})")
                .params.adaptive_rate,
            2.5F);
  EXPECT_EQ(
      read("koboldcpp", R"({"smoothing_factor": 0, "smoothing_curve": 9})").params.adaptive_kind,
      SAMPLER_ADAPTIVE_NONE);
  const std::pair<const char *, const char *> refused[] = {
      {R"("smoothing_curve": 4)", "smoothing_curve is 4; it must be from 1 to 3"},
      {R"("sampler_order": [6, 5, 0, 1, 3, 4, 2])",
       "0 where sampler_order does not end in 5, the temperature"},
      {R"("adaptive_target": 0.5)", "0 beside adaptive_target"},
      {R"("mirostat": 2)", "0 beside mirostat"},
      {R"("nsigma": 1)", "0 beside nsigma"},
      {R"("xtc_probability": 0.5)", "0 beside xtc_probability"}};
  for (const auto &[other, message] : refused) {
    const std::string error =
        error_of("koboldcpp", R"({"smoothing_factor": 0.3, )" + std::string(other) + "}");
    EXPECT_NE(error.find(message), std::string::npos) << error;
  }
}

TEST(Ollama, HasItsDefaultsAndLlamaCppsStages) {
  const Request request = read("ollama", "{}");
  EXPECT_EQ(stages_of(request), stages_of(read("llama.cpp", "{}")));
  EXPECT_EQ(request.params.temperature, 0.8F);
  EXPECT_EQ(request.params.top_k, 40);
  EXPECT_EQ(request.params.top_p, 0.9F);
  EXPECT_EQ(request.params.min_p, 0.0F);
  EXPECT_EQ(request.params.penalty_window, 64);
  EXPECT_EQ(read("ollama", R"({"num_predict": 9})").max_new_tokens, 9);
  for (const char *const text : {R"({"num_predict": -1})", R"({"num_predict": -2})"}) {
    EXPECT_FALSE(read("ollama", text).max_new_tokens) << text;
  }
  EXPECT_EQ(read("ollama", R"({"typical_p": 0})").params.typical_p, 1.0F);
  EXPECT_NE(error_of("ollama", R"({"samplers": ["top_k"]})"), "");
}

// Whole files as people have them.
TEST(Requests, OfEnginesAreRead) {
  const auto read_file = [](const char *preset, const std::string &name) {
    std::ifstream file(SAMPLER_RECORDED_DIR "requests/" + name);
    return engine_parameters::read(preset, nlohmann::json::parse(file));
  };
  const Request llama = read_file("llama.cpp", "llama_cpp_completion.json");
  EXPECT_EQ(llama.params.repetition_penalty, 1.1F);
  EXPECT_EQ(llama.params.penalty_window, 128);
  EXPECT_EQ(llama.params.top_k, 50);
  EXPECT_EQ(llama.seed, 7u);
  EXPECT_EQ(llama.max_new_tokens, 24);
  EXPECT_EQ(llama.biased, (Ids{17, 42}));
  EXPECT_EQ(llama.notes, (std::vector<std::string>{
                             "not about sampling, and passed over: cache_prompt, id_slot, n_keep, "
                             "n_probs, prompt, response_fields, return_tokens, stop, "
                             "t_max_predict_ms"}));
  const Request settings = read_file("llama.cpp", "llama_cpp_settings.json");
  EXPECT_EQ(settings.params.adaptive_kind, SAMPLER_ADAPTIVE_MIROSTAT_V2);
  EXPECT_EQ(settings.params.adaptive_target, 3.0F);
  EXPECT_TRUE(settings.has_random_seed);
  EXPECT_EQ(settings.biased, (Ids{11}));
  EXPECT_EQ(settings.biases, (std::vector<float>{2.5F}));

  const Request vllm = read_file("vllm", "vllm_sampling_params.json");
  EXPECT_EQ(vllm.params.presence_penalty, 0.3F);
  EXPECT_EQ(vllm.params.top_k, 20);
  EXPECT_EQ(vllm.stop, (Ids{12, 2047}));
  EXPECT_EQ(vllm.params.min_new_tokens, 2);
  EXPECT_TRUE(vllm.has_random_seed);
  const Request chat = read_file("vllm_v2", "vllm_chat.json");
  EXPECT_EQ(chat.params.temperature, 0.6F);
  EXPECT_EQ(chat.params.presence_penalty, 1.5F);
  EXPECT_EQ(chat.max_new_tokens, 16);  // the newer name's

  const Request sglang = read_file("sglang", "sglang_generate.json");
  EXPECT_EQ(sglang.params.min_p, 0.05F);
  EXPECT_EQ(sglang.params.frequency_penalty, 0.2F);
  EXPECT_EQ(sglang.stop, (Ids{2}));

  const Request kobold = read_file("koboldcpp", "koboldcpp_generate.json");
  EXPECT_EQ(kobold.params.repetition_penalty, 1.07F);
  EXPECT_EQ(kobold.params.dynamic_temperature_range, 0.2F);
  EXPECT_EQ(kobold.max_new_tokens, 20);

  const Request ollama = read_file("ollama", "ollama_generate.json");
  EXPECT_EQ(ollama.params.typical_p, 0.7F);
  EXPECT_EQ(ollama.params.frequency_penalty, 1.0F);
  EXPECT_EQ(ollama.params.penalty_window, 33);
  EXPECT_EQ(ollama.seed, 42u);

  const Request gemma = read_file("hugging_face", "gemma3_generation_config.json");
  EXPECT_EQ(gemma.params.top_k, 64);
  EXPECT_EQ(gemma.params.top_p, 0.95F);
  EXPECT_EQ(gemma.params.temperature, 1.0F);
  EXPECT_EQ(gemma.stop, (Ids{1, 106}));
  const Request phi = read_file("hugging_face", "phi_generation_config.json");
  EXPECT_EQ(phi.params.temperature, 0.0F);
  EXPECT_EQ(phi.stop, (Ids{200020, 199999}));
  EXPECT_EQ(read_file("hugging_face", "llama2_generation_config.json").params.temperature, 0.0F);

  const Request tensorrt = read_file("tensorrt_llm", "tensorrt_llm_sampling_params.json");
  EXPECT_EQ(tensorrt.params.no_repeat_ngram_size, 4);
  EXPECT_EQ(tensorrt.banned, (Ids{9}));
  EXPECT_EQ(tensorrt.stop, (Ids{2, 3}));
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
  const std::vector<std::string> names = engine_parameters::preset_names();
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  for (const std::string &name : names) {
    EXPECT_NE(error.find(name), std::string::npos) << name;
    EXPECT_EQ(engine_parameters::preset_error(name), "");
  }
  for (const char *const name : {"sampler", "koboldcpp", "ollama"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    EXPECT_NE(engine_parameters::preset_error(name + std::string("@1")), "");
  }
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
      if (member == "struct_size" || member.rfind("reserved", 0) == 0) continue;
      ++num_members;
      // Known, of another type, and with what the type is.
      const std::string error = error_of("sampler", "{\"" + member + "\": {}}");
      EXPECT_EQ(error.rfind(member + " is {}; it must be ", 0), 0u) << error;
    }
    EXPECT_GT(num_members, 25);
  }
}

TEST(Parameters, OfTheLibrarysOwnNamesHaveAsManyStagesAsACall) {
  std::string stages = R"("TOP_K")";
  for (int i = 1; i < SAMPLER_MAX_STAGES; ++i) stages += R"(,"TOP_K")";
  EXPECT_EQ(error_of("sampler", R"({"stages": [)" + stages + "]}"), "");
  const std::string error = error_of("sampler", R"({"stages": [)" + stages + R"(,"TOP_K"]})");
  EXPECT_NE(error.find("it must be a list of at most 32 names"), std::string::npos) << error;
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
            "adaptive_p, smoothing");
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
}  // namespace presets_test::parameters_test
