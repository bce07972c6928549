// Presets: their names, what they write, and that calls take them.
#include <cstring>
#include <string>
#include <vector>

#include "expect.h"

namespace capi_test {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) names.push_back(name);
  return names;
}

std::string engine_of(const std::string &name) {
  return name.substr(0, name.find('@'));
}

sampler_params preset(const std::string &name) {
  sampler_params params;
  EXPECT_EQ(sampler_params_preset(&params, sizeof params, name.c_str()), SAMPLER_OK)
      << sampler_last_error();
  return params;
}

std::string bytes_of(const sampler_params &params) {
  return {reinterpret_cast<const char *>(&params), sizeof params};
}

TEST(Presets, AreListed) {
  const std::vector<std::string> names = preset_names();
  const std::set<std::string> distinct(names.begin(), names.end());
  EXPECT_EQ(distinct.size(), names.size());
  std::set<std::string> engines;
  for (const std::string &name : names) engines.insert(engine_of(name));
  EXPECT_EQ(engines,
            (std::set<std::string>{"llama.cpp", "vllm", "sglang", "tensorrt_llm", "hugging_face",
                                   "flashinfer", "hf_vllm_aligned", "nano_vllm"}));
  for (const std::int32_t index : {-1, INT32_MIN, INT32_MAX, std::int32_t(names.size())}) {
    EXPECT_EQ(sampler_preset_name(index), nullptr) << index;
  }
}

TEST(Presets, WithoutAVersionAreTheNewest) {
  std::set<std::string> seen;
  for (const std::string &name : preset_names()) {
    if (!seen.insert(engine_of(name)).second) continue;
    EXPECT_EQ(bytes_of(preset(engine_of(name))), bytes_of(preset(name)));
  }
}

// One row by every preset, with a list for each stage that it names: the call takes what it says.
TEST(Presets, AreTakenByCalls) {
  const float logits[4] = {0.0f, 1.0f, 3.0f, 2.0f};
  const std::int64_t offsets[2] = {0, 3};
  const std::int32_t history[3] = {2, 1, 2};
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history = {offsets, history, 1, 3};
  const Sampler sampler = roomy_sampler();
  for (const std::string &name : preset_names()) {
    SCOPED_TRACE(name);
    sampler_params params = preset(name);
    EXPECT_EQ(params.struct_size, sizeof params);
    bool has_penalties = false;
    for (const sampler_stage stage : params.stages) {
      if (stage == SAMPLER_STAGE_PENALTIES) has_penalties = true;
    }
    std::int32_t token = -7;
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input.values = logits;
    args.input.num_rows = 1;
    args.input.num_cols = 4;
    args.params = &params;
    args.out_token_ids = &token;
    EXPECT_EQ(sampler_sample(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_GE(token, 0);

    // What the engine does not have is refused.
    params.presence_penalty = 0.5f;
    args.pipeline = &pipeline;
    EXPECT_EQ(sampler_sample(sampler.get(), &args),
              has_penalties ? SAMPLER_OK : SAMPLER_ERROR_INVALID_ARGUMENT);
    if (!has_penalties) {
      EXPECT_STREQ(sampler_last_error(),
                   "SAMPLER_STAGE_PENALTIES is on and params->stages does not list it");
    }
  }
}

TEST(Presets, TakeTheSizesThatInitTakes) {
  struct Bytes {
    unsigned char bytes[70000];
  };
  static Bytes params, before;
  const auto params_of = [](Bytes *bytes) { return reinterpret_cast<sampler_params *>(bytes); };
  std::vector<std::size_t> sizes = {65536, 65537, SIZE_MAX};
  for (std::size_t size = 0; size < 2 * sizeof(sampler_params); ++size) sizes.push_back(size);
  for (const std::size_t size : sizes) {
    std::memset(&params, 0xA5, sizeof params);
    before = params;
    const sampler_status expected = sampler_params_init(params_of(&params), size);
    const std::string expected_error = expected ? sampler_last_error() : "";
    params = before;
    ASSERT_EQ(sampler_params_preset(params_of(&params), size, "vllm"), expected) << size;
    if (expected) {
      ASSERT_EQ(sampler_last_error(), expected_error);
      ASSERT_EQ(std::memcmp(&params, &before, sizeof params), 0) << size;
      continue;
    }
    // As much as fits, 0 after it, and nothing beyond.
    sampler_params whole = preset("vllm");
    whole.struct_size = size;
    const std::size_t known = std::min(size, sizeof whole);
    ASSERT_EQ(std::memcmp(&params, &whole, known), 0) << size;
    for (std::size_t i = known; i < sizeof params; ++i) {
      ASSERT_EQ(params.bytes[i], i < size ? 0 : 0xA5) << size << ", byte " << i;
    }
  }
}

TEST(Presets, RefuseOtherNames) {
  const std::string before = bytes_of(preset("llama.cpp"));
  sampler_params params = preset("llama.cpp");
  for (const std::string name : {"", "vllm@", "@0.33", "vllm@0", "vllm@0.33 ", "vllm@0.3", "VLLM",
                                 "vll", "llama.cp", "llama_cpp", "nano_vllm@1", "huggingface"}) {
    EXPECT_EQ(sampler_params_preset(&params, sizeof params, name.c_str()),
              SAMPLER_ERROR_INVALID_ARGUMENT)
        << name;
    EXPECT_EQ(bytes_of(params), before);
    const std::string error = sampler_last_error();
    EXPECT_EQ(error.find("name is \"" + name + "\"; it must be one of "), 0u) << error;
    for (const std::string &known : preset_names()) {
      EXPECT_NE(error.find(known), std::string::npos) << error << " lacks " << known;
    }
  }
  const std::string long_name(100000, 'x');
  EXPECT_EQ(sampler_params_preset(&params, sizeof params, long_name.c_str()),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(sampler_last_error()).find("the version may be left out"),
            std::string::npos)
      << sampler_last_error();
  EXPECT_EQ(sampler_params_preset(&params, sizeof params, nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "name is NULL; it is required");
  EXPECT_EQ(bytes_of(params), before);
  EXPECT_EQ(sampler_params_preset(nullptr, sizeof params, "vllm"), SAMPLER_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace capi_test
