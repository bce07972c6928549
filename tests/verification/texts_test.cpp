// Texts with SAMPLE_MATCH are, token by token, those of sampler_sample alone: for every preset,
// with the stages that it has turned on, by a state that sampler_accept moves on or by lists.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "problem.h"

namespace verification_test::texts_test {
namespace {

using pipeline_test::Handles;

constexpr std::int64_t kNumCols = 48;
constexpr std::int64_t kNumSequences = 3;
constexpr std::int64_t kNumTokens = 40;
constexpr std::int64_t kNumDrafts = 4;

using Text = std::vector<std::int32_t>;

// The model: any function of the last two tokens.
Row logits_after(const Text &text) {
  const std::uint64_t last = text.empty() ? 99 : std::uint64_t(text.back());
  const std::uint64_t before = text.size() < 2 ? 99 : std::uint64_t(text[text.size() - 2]);
  Random random(seeded(last * 1000 + before));
  Row row(at(kNumCols));
  for (float &x : row) x = 3 * random.within(-1, 1) + 2 * random.within(-1, 1);
  return row;
}

bool has(const sampler_params &params, sampler_stage stage) {
  return params.stages[0] == 0 || std::find(params.stages, params.stages + SAMPLER_MAX_STAGES,
                                            stage) != params.stages + SAMPLER_MAX_STAGES;
}

// Turns on what the preset has.
void turn_on(sampler_params *params) {
  if (has(*params, SAMPLER_STAGE_PENALTIES)) {
    params->repetition_penalty = 1.2F;
    params->frequency_penalty = 0.3F;
    params->presence_penalty = 0.2F;
  }
  if (has(*params, SAMPLER_STAGE_DRY)) {
    params->dry_multiplier = 0.9F;
    params->dry_allowed_length = 1;
  }
  if (has(*params, SAMPLER_STAGE_NO_REPEAT_NGRAM)) params->no_repeat_ngram_size = 3;
  if (has(*params, SAMPLER_STAGE_XTC)) params->xtc_probability = 0.5F;
  if (has(*params, SAMPLER_STAGE_TYPICAL_P)) params->typical_p = 0.95F;
  if (has(*params, SAMPLER_STAGE_TOP_N_SIGMA)) params->top_n_sigma = 2;
  if (has(*params, SAMPLER_STAGE_EPSILON)) params->epsilon_cutoff = 0.003F;
  if (has(*params, SAMPLER_STAGE_ETA)) params->eta_cutoff = 0.003F;
  if (has(*params, SAMPLER_STAGE_TOP_H)) params->top_h = 0.9F;
  if (has(*params, SAMPLER_STAGE_P_LESS)) params->p_less = SAMPLER_P_LESS_NORM;
  if (has(*params, SAMPLER_STAGE_MIN_K)) params->min_k = 40;
  if (has(*params, SAMPLER_STAGE_TOP_A)) params->top_a = 0.05f;
  if (has(*params, SAMPLER_STAGE_TOP_P)) {
    params->top_p = 0.95F;
    params->top_p_decay = 0.9F;
    params->top_p_least = 0.5F;
  }
  if (has(*params, SAMPLER_STAGE_TOP_K)) params->top_k = 30;
  if (has(*params, SAMPLER_STAGE_MIN_P)) params->min_p = 0.02F;
}

struct Setting {
  sampler_params params = sampler_params_default();
  bool has_state = true;
  bool is_tree = false;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
};

class Writer {
 public:
  Writer(sampler_t sampler, const Setting &setting) : sampler_(sampler), setting_(setting) {
    pipeline_.struct_size = sizeof pipeline_;
    if (has(setting.params, SAMPLER_STAGE_MASK)) {
      // Two words of two tokens, and the stop token.
      pipeline_.bad_words = {kWordOffsets, kWords, 2, 4};
      pipeline_.stop = {kStopOffsets, kStop, 1, 1};
      setting_.params.min_new_tokens = 12;
      std::fill(masks_[0], masks_[0] + 2, ~0U);
      masks_[1][0] = 0xFFF0FFFF;
      masks_[1][1] = 0x0000FEFF;
      pipeline_.token_bitmasks = masks_[0];
      pipeline_.num_token_bitmasks = 2;
    }
    texts_ = {{3, 1, 4, 1, 5}, {2}, {6, 7, 6, 7, 6}};
    for (std::int64_t s = 0; s < kNumSequences; ++s) {
      prompt_lengths_.push_back(std::int32_t(texts_[at(s)].size()));
      seeds_.push_back(1000 + std::uint64_t(s));
      offsets_.push_back(50 * std::uint64_t(s));
    }
    if (!setting.has_state) return;
    auto options = sized<sampler_state_options>();
    options.num_slots = kNumSequences;
    options.max_tokens = 400;
    ok(sampler_state_create(sampler_, &options, &state_));
    for (std::int32_t s = 0; s < kNumSequences; ++s) {
      auto append = sized<sampler_state_append_args>();
      const std::int64_t bounds[] = {0, std::int64_t(texts_[at(s)].size())};
      append.state = state_;
      append.slots = &s;
      append.num_rows = 1;
      append.tokens = {bounds, texts_[at(s)].data(), 1, bounds[1]};
      append.token_kind = SAMPLER_TOKENS_PROMPT;
      ok(sampler_state_append(sampler_, &append));
    }
    pipeline_.state = state_;
  }
  ~Writer() { sampler_state_destroy(state_); }
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  // Token by token.
  std::vector<Text> alone() {
    for (std::int64_t step = 0; step < kNumTokens; ++step) {
      std::vector<float> rows;
      std::vector<std::int32_t> masks, ids(at(kNumSequences), -7);
      std::vector<float> observations(at(kNumSequences));
      for (const Text &text : texts_) {
        const Row row = logits_after(text);
        rows.insert(rows.end(), row.begin(), row.end());
        masks.push_back(mask_after(text));
      }
      SampleArgs args;
      args.input = view(rows);
      args.draw_method = setting_.draw_method;
      args.out_token_ids = ids.data();
      args.report_args.out_observations = observations.data();
      set_common(&args);
      pipeline_.token_bitmask_indices = pipeline_.token_bitmasks ? masks.data() : nullptr;
      with_workspace(&args, &sampler_sample_workspace_size);
      ok(sampler_sample(sampler_, &args));
      say(ids, observations, 1);
      if (testing::Test::HasFailure()) break;
    }
    return texts_;
  }

  // With drafts, most of which are those of `answers`.
  std::vector<Text> with_drafts(const std::vector<Text> &answers, std::int64_t *num_calls) {
    Random random(seeded(5));
    const auto length = [&](std::int64_t s) { return std::int64_t(texts_[at(s)].size()); };
    while (length(0) < std::int64_t(answers[0].size())) {
      ++*num_calls;
      VerifyArgs args;
      std::vector<float> rows, observations(at(kNumSequences * (kNumDrafts + 1)), 7);
      std::vector<std::int32_t> masks, drafts, parents;
      std::vector<std::int32_t> ids(at(kNumSequences * (kNumDrafts + 1)), -7);
      for (std::int64_t s = 0; s < kNumSequences; ++s) {
        const Text &text = texts_[at(s)], &answer = answers[at(s)];
        std::vector<Text> behind = {text};  // by position
        for (std::int64_t i = 0; i < kNumDrafts; ++i) {
          // In a tree draft 1 is a sibling of draft 0, and the others a chain behind draft 1.
          const std::int64_t parent = setting_.is_tree && i == 1 ? -1 : i - 1;
          Text on = behind[at(parent + 1)];
          const bool is_right = !random.one_in(5) && on.size() < answer.size() &&
                                !(setting_.is_tree && i == 0 && random.one_in(2));
          const std::int32_t draft =
              is_right ? answer[on.size()] : std::int32_t(random.between(0, kNumCols - 1));
          drafts.push_back(draft);
          parents.push_back(std::int32_t(parent));
          on.push_back(draft);
          behind.push_back(on);
        }
        for (const Text &on : behind) {
          const Row row = logits_after(on);
          rows.insert(rows.end(), row.begin(), row.end());
          masks.push_back(mask_after(on));
        }
      }
      args.target = view(rows);
      args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
      args.acceptance_params.draw_method = setting_.draw_method;
      args.num_drafts = kNumDrafts;
      args.draft_token_ids = drafts.data();
      if (setting_.is_tree) args.draft_layout.parents = parents.data();
      args.out_token_ids = ids.data();
      args.report_args.out_observations = observations.data();
      set_common(&args);
      pipeline_.token_bitmask_indices = pipeline_.token_bitmasks ? masks.data() : nullptr;
      with_workspace(&args, &sampler_verify_workspace_size);
      ok(sampler_verify(sampler_, &args));
      if (testing::Test::HasFailure()) break;
      say(ids, observations, kNumDrafts + 1);
    }
    return texts_;
  }

 private:
  static void ok(sampler_status status) { ASSERT_EQ(status, SAMPLER_OK) << sampler_last_error(); }

  static std::int32_t mask_after(const Text &text) { return std::int32_t(text.size() % 3) - 1; }

  static sampler_rows view(const std::vector<float> &rows) {
    sampler_rows result = {};
    result.values = rows.data();
    result.num_cols = kNumCols;
    result.num_rows = std::int64_t(rows.size()) / kNumCols;
    return result;
  }

  template <class Args>
  void set_common(Args *args) {
    args->params = &setting_.params;
    args->pipeline = &pipeline_;
    args->random.seeds = seeds_.data();
    args->random.offsets = offsets_.data();
    args->random.num_seeds = args->random.num_offsets = kNumSequences;
    if (setting_.has_state) return;
    history_offsets_ = {0};
    history_.clear();
    for (const Text &text : texts_) {
      history_.insert(history_.end(), text.begin(), text.end());
      history_offsets_.push_back(std::int64_t(history_.size()));
    }
    pipeline_.history = {history_offsets_.data(), history_.data(), kNumSequences,
                         std::int64_t(history_.size())};
    pipeline_.prompt_lengths = prompt_lengths_.data();
  }

  template <class Args, class Size>
  void with_workspace(Args *args, Size size) {
    std::size_t bytes = 0;
    ok(size(sampler_, args, &bytes));
    workspace_.resize(bytes);
    args->exec.workspace = workspace_.data();
    args->exec.workspace_bytes = bytes;
  }

  void say(const std::vector<std::int32_t> &ids, const std::vector<float> &observations,
           std::int64_t each) {
    for (std::int64_t s = 0; s < kNumSequences; ++s) {
      ASSERT_GE(ids[at(s * each)], 0);
      std::uint64_t count = 0;
      for (std::int64_t i = 0; i < each && ids[at(s * each + i)] >= 0; ++i, ++count) {
        texts_[at(s)].push_back(ids[at(s * each + i)]);
      }
      if (!setting_.has_state) offsets_[at(s)] += count;
    }
    if (!setting_.has_state) return;
    auto accept = sized<sampler_accept_args>();
    accept.state = state_;
    accept.num_rows = kNumSequences;
    accept.token_ids = ids.data();
    accept.num_tokens = each;
    accept.observations = observations.data();
    accept.params = &setting_.params;
    accept.offsets = offsets_.data();
    ok(sampler_accept(sampler_, &accept));
  }

  static constexpr std::int64_t kWordOffsets[] = {0, 2, 4}, kStopOffsets[] = {0, 1};
  static constexpr std::int32_t kWords[] = {1, 2, 5, 9}, kStop[] = {7};

  sampler_t sampler_;
  Setting setting_;
  sampler_state_t state_ = nullptr;
  sampler_pipeline pipeline_ = {};
  std::uint32_t masks_[2][2] = {};
  std::vector<Text> texts_;
  std::vector<std::int32_t> prompt_lengths_, history_;
  std::vector<std::int64_t> history_offsets_;
  std::vector<std::uint64_t> seeds_, offsets_;
  std::vector<unsigned char> workspace_;
};

void compare(const Setting &setting) {
  const Handles handles;
  const std::vector<Text> answers = Writer(handles.reference.get(), setting).alone();
  ASSERT_FALSE(testing::Test::HasFailure());
  // Texts that end alike would let a draft of another sequence pass.
  ASSERT_NE(answers[0], answers[1]);
  for (const bool is_simd : {false, true}) {
    for (const bool is_tree : {false, true}) {
      Setting own = setting;
      own.is_tree = is_tree;
      SCOPED_TRACE(std::string(is_simd ? "SIMD" : "scalar") + (is_tree ? ", tree" : ", chain"));
      sampler_t const sampler = is_simd ? handles.simd.get() : handles.reference.get();
      std::int64_t num_calls = 0;
      const auto texts = Writer(sampler, own).with_drafts(answers, &num_calls);
      ASSERT_FALSE(testing::Test::HasFailure());
      for (std::size_t s = 0; s < texts.size(); ++s) {
        // Tokens beyond the answers have none to compare with.
        const std::size_t length = std::min(texts[s].size(), answers[s].size());
        ASSERT_GT(length, 20U);
        EXPECT_EQ(Text(texts[s].begin(), texts[s].begin() + std::ptrdiff_t(length)),
                  Text(answers[s].begin(), answers[s].begin() + std::ptrdiff_t(length)))
            << "sequence " << s;
      }
      EXPECT_LT(num_calls, kNumTokens * 3 / 4) << "few drafts were accepted";
    }
  }
}

TEST(SampleMatch, IsTheTextOfEveryPreset) {
  for (std::int32_t i = 0; sampler_preset_name(i); ++i) {
    Setting setting;
    const std::string name = sampler_preset_name(i);
    ASSERT_EQ(sampler_params_preset(&setting.params, sizeof setting.params, name.c_str()),
              SAMPLER_OK);
    turn_on(&setting.params);
    for (const bool has_state : {true, false}) {
      SCOPED_TRACE(name + (has_state ? ", state" : ", lists"));
      setting.has_state = has_state;
      if (!has_state) setting.params.top_p_decay = 0;  // whose values no one would move on
      compare(setting);
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(SampleMatch, IsTheTextOfAdaptiveStages) {
  for (sampler_adaptive_kind kind = 1; kind <= 3; ++kind) {
    for (const sampler_draw_method draw_method : {SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_GUMBEL}) {
      SCOPED_TRACE("kind " + std::to_string(kind) + ", draw " + std::to_string(draw_method));
      Setting setting;
      setting.draw_method = draw_method;
      setting.params.adaptive_kind = kind;
      setting.params.adaptive_target = kind == SAMPLER_ADAPTIVE_P ? 0.2F : 2.5F;
      setting.params.adaptive_rate = kind == SAMPLER_ADAPTIVE_P ? 0.8F : 0.7F;
      setting.params.top_p = 0.97F;
      setting.params.top_p_decay = 0.8F;
      setting.params.top_p_least = 0.6F;
      setting.params.repetition_penalty = 1.1F;
      compare(setting);
    }
  }
}

TEST(SampleMatch, IsTheTextOfAllStages) {
  for (const bool has_state : {true, false}) {
    Setting setting;
    setting.has_state = has_state;
    turn_on(&setting.params);
    if (!has_state) setting.params.top_p_decay = 0;
    setting.params.dynamic_temperature_range = 0.4F;
    setting.params.temperature = 1.2F;
    compare(setting);
  }
}

TEST(SampleMatch, IsTheGreedyText) {
  Setting setting;
  turn_on(&setting.params);
  setting.params.temperature = 0;
  compare(setting);
}

}  // namespace
}  // namespace verification_test::texts_test
