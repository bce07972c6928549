// Presets: their names, what they write, and that calls take them; and the names of stages.
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "expect.h"

namespace capi_test::presets_test {
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
            (std::set<std::string>{"llama.cpp", "vllm", "vllm_v2", "sglang", "tensorrt_llm",
                                   "hugging_face", "flashinfer", "hf_vllm_aligned", "nano_vllm"}));
  for (const std::int32_t index : {-1, INT32_MIN, INT32_MAX, std::int32_t(names.size())}) {
    EXPECT_EQ(sampler_preset_name(index), nullptr) << index;
  }
}

TEST(StageNames, AreThoseOfTheConstants) {
#define STAGE(name) \
  { SAMPLER_STAGE_##name, #name }
  const std::pair<sampler_stage, const char *> stages[] = {STAGE(BIAS),
                                                           STAGE(MASK),
                                                           STAGE(PENALTIES),
                                                           STAGE(DRY),
                                                           STAGE(NO_REPEAT_NGRAM),
                                                           STAGE(TEMPERATURE),
                                                           STAGE(TYPICAL_P),
                                                           STAGE(TOP_N_SIGMA),
                                                           STAGE(EPSILON),
                                                           STAGE(ETA),
                                                           STAGE(TOP_H),
                                                           STAGE(P_LESS),
                                                           STAGE(MIN_K),
                                                           STAGE(TOP_A),
                                                           STAGE(XTC),
                                                           STAGE(TOP_K),
                                                           STAGE(TOP_P),
                                                           STAGE(MIN_P),
                                                           STAGE(ADAPTIVE)};
#undef STAGE
  for (const auto &[stage, name] : stages) EXPECT_STREQ(sampler_stage_name(stage), name);
  EXPECT_EQ(std::size(stages), std::size_t(SAMPLER_STAGE_ADAPTIVE)) << "some are not listed";
  for (const sampler_stage none : {0, -1, SAMPLER_STAGE_ADAPTIVE + 1, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(sampler_stage_name(none), nullptr) << none;
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

    // A stage that the engine does not have is refused.
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

// The penalty of a long repeat is beyond f32; it lowers the token, and a bitmask leaves no other.
TEST(Presets, OfLlamasRepeatsForbidNothing) {
  std::vector<float> logits(40, 0.0f);
  logits[7] = 3.0f;
  const std::vector<std::int32_t> history(162, 7);
  const std::int64_t offsets[2] = {0, std::int64_t(history.size())};
  const std::uint32_t bitmask[2] = {1u << 7, 0};
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history = {offsets, history.data(), 1, std::int64_t(history.size())};
  pipeline.token_bitmasks = bitmask;
  pipeline.num_token_bitmasks = 1;
  pipeline.token_bitmask_stride = 2;
  const Sampler sampler = roomy_sampler();
  sampler_params params = preset("llama.cpp");
  params.dry_multiplier = 1.05f;
  std::int32_t token = -7;
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = logits.data();
  args.input.num_rows = 1;
  args.input.num_cols = std::int64_t(logits.size());
  args.params = &params;
  args.pipeline = &pipeline;
  args.out_token_ids = &token;
  for (const float base : {1.75f, 4.0f, 3e38f}) {
    params.dry_base = base;
    ASSERT_EQ(sampler_sample(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(token, 7) << base;
  }
}

// With only temperature, top-k, top-p and min-p on, a preset does what a call without stages does,
// on devices, too: docs/coming-from.md.
TEST(Presets, AreRulesWithoutOtherStages) {
  struct Rules {
    const char *preset;
    sampler_filter_order filter_order;
    sampler_temperature_order temperature_order;
    sampler_tie_rule top_k_ties, top_p_ties;
    sampler_sum_rule top_p_sum = SAMPLER_SUM_REACHES;
  };
  constexpr sampler_tie_rule kExact = SAMPLER_TIES_EXACT, kKeep = SAMPLER_TIES_KEEP;
  const Rules all[] = {
      {"hugging_face", SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_TEMPERATURE_FIRST, kKeep, kExact},
      {"vllm", SAMPLER_FILTERS_MIN_P_FIRST, SAMPLER_TEMPERATURE_FIRST, kKeep, kExact},
      {"vllm_v2", SAMPLER_FILTERS_MIN_P_FIRST, SAMPLER_TEMPERATURE_FIRST, kExact, kExact},
      {"tensorrt_llm", SAMPLER_FILTERS_MIN_P_FIRST, SAMPLER_TEMPERATURE_FIRST, kExact, kExact},
      {"sglang", SAMPLER_FILTERS_JOINT, SAMPLER_TEMPERATURE_FIRST, kExact, kExact,
       SAMPLER_SUM_EXCEEDS},
      {"llama.cpp", SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_TEMPERATURE_LAST, kExact, kExact},
      {"flashinfer", SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_TEMPERATURE_FIRST, kKeep, kKeep}};
  constexpr std::int64_t kCols = 500;
  Random random(1);
  std::vector<float> logits;
  for (std::int64_t i = 0; i < kCols; ++i) logits.push_back(float(random.between(-40, 40)) / 8);
  const Sampler sampler = roomy_sampler();
  struct Numbers {
    std::int32_t top_k;
    float top_p, min_p;
  };
  const Numbers numbers[] = {
      {60, 0.8f, 0.3f}, {100, 0.6f, 0.2f}, {300, 0.9f, 0.05f}, {20, 0.5f, 0.3f}};
  const auto softmax = [&](sampler_params params) {
    std::vector<float> rows(std::size(numbers) * logits.size());
    for (std::size_t i = 0; i < std::size(numbers); ++i) {
      params.temperature = 1.7f;
      params.top_k = numbers[i].top_k;
      params.top_p = numbers[i].top_p;
      params.min_p = numbers[i].min_p;
      sampler_filter_args args = {};
      args.struct_size = sizeof args;
      args.input.values = logits.data();
      args.input.num_rows = 1;
      args.input.num_cols = kCols;
      args.output = &rows[i * logits.size()];
      // Stages would take more.
      std::size_t bytes = 0, plain_bytes = 0;
      EXPECT_EQ(sampler_filter_workspace_size(sampler.get(), &args, &plain_bytes), SAMPLER_OK);
      args.params = &params;
      EXPECT_EQ(sampler_filter_workspace_size(sampler.get(), &args, &bytes), SAMPLER_OK);
      EXPECT_EQ(bytes, plain_bytes);
      EXPECT_EQ(sampler_filter(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    }
    return rows;
  };
  std::set<std::vector<float>> results;
  for (const Rules &rules : all) {
    sampler_params by_hand = sampler_params_default();
    by_hand.filter_order = rules.filter_order;
    by_hand.temperature_order = rules.temperature_order;
    by_hand.top_k_ties = rules.top_k_ties;
    by_hand.top_p_ties = rules.top_p_ties;
    by_hand.top_p_sum = rules.top_p_sum;
    const std::vector<float> row = softmax(by_hand);
    EXPECT_EQ(softmax(preset(rules.preset)), row) << rules.preset;
    results.insert(row);
  }
  // TensorRT-LLM's are those of vLLM's second runner; no other two do the same.
  EXPECT_EQ(results.size(), std::size(all) - 1);
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

// The second name's 32nd byte is the first of a letter's two.
TEST(Presets, OfOtherNamesAreToldInALineOfPrintableAscii) {
  sampler_params params;
  const std::string letters = "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9";
  const std::pair<std::string, std::string> names[] = {
      {"vllm\r\n\x1B[2J\x7F", "vllm???[2J?"},
      {"v" + letters + letters, "v" + std::string(31, '?')}};
  for (const auto &[name, told] : names) {
    EXPECT_EQ(sampler_params_preset(&params, sizeof params, name.c_str()),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    const std::string error = sampler_last_error();
    EXPECT_EQ(error.find("name is \"" + told + "\"; it must be one of "), 0u) << error;
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
}  // namespace capi_test::presets_test
