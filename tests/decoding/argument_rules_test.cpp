// Every rule of the loops' arguments, broken one at a time: the status, the error text, that no
// callback is called and nothing written. Then what the rules allow at their edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "../sized.h"
#include "generation.h"
#include "model.h"

namespace decoding_test::argument_rules_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

enum class LoopKind { kAutoregressive, kSpeculative, kNgrams, kBeamSearch };
constexpr LoopKind kAllLoops[] = {LoopKind::kAutoregressive, LoopKind::kSpeculative,
                                  LoopKind::kNgrams, LoopKind::kBeamSearch};

// A call of any loop that is as it should be, with outputs full of sentinels.
class AnyCall {
 public:
  static constexpr std::int64_t kNumTexts = 3;
  static constexpr std::int64_t kMaxNewTokens = 4;

  explicit AnyCall(LoopKind kind) : kind_(kind) {
    Limits limits;
    limits.vocabulary_size = 5;
    limits.max_context = 20;
    limits.max_sequences = 50;
    target_model_ = std::make_unique<Model>(limits, table_logits(1, 5), &calls);
    drafter_model_ = std::make_unique<Model>(limits, table_logits(2, 5), &calls);
    storage_ = std::make_unique<ScriptedNgram>(
        [](const Tokens &) {
          return ScriptedNgram::Next{0, true};
        },
        &calls);
    target = target_model_->interface();
    drafter = drafter_model_->interface();
    ngram = storage_->interface();
    generation.target = &target;
    generation.num_sequences = kNumTexts;
    generation.prompt_offsets = offsets;
    generation.prompt_token_ids = prompts;
    generation.max_new_tokens = kMaxNewTokens;
    generation.end_token_ids = ends;
    generation.num_end_tokens = 2;
    generation.out_token_ids = token_ids;
    generation.out_lengths = lengths;
    generation.out_finish_reasons = reasons;
    generation.out_stats = &stats;
    generation.params = &params;
    speculative.generation = beam_search.generation = &generation;
    if (kind == LoopKind::kNgrams) {
      speculative.ngram = &ngram;
    } else {
      speculative.drafter = &drafter;
    }
    beam_search.out_scores = scores;
    std::fill_n(token_ids, kNumTexts * kMaxNewTokens, kUntouched);
    std::fill_n(lengths, kNumTexts, kUntouched);
    std::fill_n(reasons, kNumTexts, kUntouched);
    std::fill_n(scores, kNumTexts, float(kUntouched));
    stats.num_rounds = kUntouched;
  }
  AnyCall(const AnyCall &) = delete;
  AnyCall &operator=(const AnyCall &) = delete;

  sampler_status run(sampler_t sampler) {
    switch (kind_) {
      case LoopKind::kAutoregressive:
        return sampler_autoregressive(sampler, &generation);
      case LoopKind::kSpeculative:
      case LoopKind::kNgrams:
        return sampler_speculative(sampler, &speculative);
      default:
        return sampler_beam_search(sampler, &beam_search);
    }
  }

  bool is_untouched() const {
    const auto all = [](const auto *values, std::int64_t count) {
      return std::all_of(values, values + count, [](auto x) { return x == kUntouched; });
    };
    return all(token_ids, kNumTexts * kMaxNewTokens) && all(lengths, kNumTexts) &&
           all(reasons, kNumTexts) && all(scores, kNumTexts) && stats.num_rounds == kUntouched;
  }

  Calls calls;
  sampler_model target, drafter;
  sampler_ngram ngram;
  sampler_generation_args generation = sampler_generation_args_default();
  SpeculativeArgs speculative;
  sampler_params params = sampler_params_default();
  sampler_beam_search_args beam_search = sampler_beam_search_args_default();

  // Far enough apart that each array could lie at another's place without reaching the next.
  alignas(64) std::int64_t offsets[kNumTexts + 1] = {0, 2, 3, 6};
  alignas(64) std::int32_t prompts[6] = {0, 1, 2, 3, 4, 0};
  alignas(64) std::int32_t ends[2] = {3, 4};
  alignas(64) std::int32_t token_ids[kNumTexts * kMaxNewTokens];
  alignas(64) std::int64_t lengths[kNumTexts];
  alignas(64) sampler_finish_reason reasons[kNumTexts];
  alignas(64) float scores[kNumTexts];
  alignas(64) sampler_generation_stats stats = sized<sampler_generation_stats>();

 private:
  static constexpr std::int32_t kUntouched = -54321;
  LoopKind kind_;
  std::unique_ptr<Model> target_model_, drafter_model_;
  std::unique_ptr<ScriptedNgram> storage_;
};

using Change = std::function<void(AnyCall *)>;

std::string text_of(std::int64_t value) {
  return std::to_string(value);
}

class Rules : public testing::Test {
 protected:
  // The call is refused, with a text that begins so.
  void refuse(LoopKind kind, const Change &change, const std::string &start,
              sampler_status status = SAMPLER_ERROR_INVALID_ARGUMENT) {
    SCOPED_TRACE(testing::Message() << "loop " << int(kind) << ": " << start);
    AnyCall call(kind);
    change(&call);
    EXPECT_EQ(call.run(sampler_.get()), status);
    EXPECT_EQ(std::string(sampler_last_error()).substr(0, start.size()), start)
        << sampler_last_error();
    EXPECT_EQ(call.calls.count(), 0);
    EXPECT_TRUE(call.is_untouched());
  }

  void refuse_all(const Change &change, const std::string &start) {
    for (const LoopKind kind : kAllLoops) refuse(kind, change, start);
  }

  // `member(call)` is a reference. Values that are refused, with "NAME is VALUE; it must be".
  template <class Member, class T>
  void refuse_values(const std::vector<LoopKind> &kinds, const std::string &name,
                     const Member &member, const std::vector<T> &values) {
    for (const LoopKind kind : kinds) {
      for (const T value : values) {
        refuse(
            kind, [&](AnyCall *call) { member(call) = value; },
            name + " is " + text_of(value) + "; it must be");
      }
    }
  }

  void accept(LoopKind kind, const Change &change) {
    AnyCall call(kind);
    change(&call);
    EXPECT_EQ(call.run(sampler_.get()), SAMPLER_OK)
        << "loop " << int(kind) << ": " << sampler_last_error();
    EXPECT_GT(call.calls.count(), 0);
    EXPECT_FALSE(call.is_untouched());
  }
  void accept_all(const Change &change) {
    for (const LoopKind kind : kAllLoops) accept(kind, change);
  }

  Sampler sampler_ = make_sampler();
  const std::vector<LoopKind> all_{std::begin(kAllLoops), std::end(kAllLoops)};
  const std::vector<LoopKind> drafting_{LoopKind::kSpeculative, LoopKind::kNgrams};
};

#define MEMBER(expression)    \
  [](AnyCall * c) -> auto & { \
    return c->expression;     \
  }

TEST_F(Rules, TheCallIsWell) {
  accept_all([](AnyCall *) {});
}

TEST_F(Rules, RequiredPointers) {
  for (const LoopKind kind : kAllLoops) {
    AnyCall call(kind);
    EXPECT_EQ(call.run(nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), "sampler is NULL; it must come from sampler_create");
    EXPECT_TRUE(call.is_untouched());
  }
  const std::string null_args = "args is NULL; it must point to a struct";
  EXPECT_EQ(sampler_autoregressive(sampler_.get(), nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), null_args);
  EXPECT_EQ(sampler_speculative(sampler_.get(), nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), null_args);
  EXPECT_EQ(sampler_beam_search(sampler_.get(), nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), null_args);

  for (const LoopKind kind : drafting_) {
    refuse(
        kind, [](AnyCall *c) { c->speculative.generation = nullptr; },
        "generation is NULL; it must point to a struct");
    refuse(
        kind, [](AnyCall *c) { c->speculative.drafter = nullptr, c->speculative.ngram = nullptr; },
        "drafter and ngram are both NULL; one of them must be set, and the other NULL");
    refuse(
        kind,
        [](AnyCall *c) { c->speculative.drafter = &c->drafter, c->speculative.ngram = &c->ngram; },
        "drafter and ngram are both set; one of them must be set, and the other NULL");
  }
  refuse(
      LoopKind::kBeamSearch, [](AnyCall *c) { c->beam_search.generation = nullptr; },
      "generation is NULL; it must point to a struct");
  refuse_all([](AnyCall *c) { c->generation.target = nullptr; },
             "target is NULL; it must point to a struct");
  refuse_all([](AnyCall *c) { c->generation.prompt_offsets = nullptr; },
             "prompt_offsets is NULL; it is required");
  refuse_all([](AnyCall *c) { c->generation.prompt_token_ids = nullptr; },
             "prompt_token_ids is NULL; it is required");
  refuse_all([](AnyCall *c) { c->generation.out_token_ids = nullptr; },
             "out_token_ids is NULL; it is required");
  refuse_all([](AnyCall *c) { c->generation.end_token_ids = nullptr; },
             "end_token_ids is NULL; num_end_tokens, 2, needs it");
  for (const char *model : {"target", "drafter"}) {
    const auto of = [model](AnyCall *c) -> sampler_model & {
      return model[0] == 't' ? c->target : c->drafter;
    };
    for (const LoopKind kind :
         model[0] == 't' ? all_ : std::vector<LoopKind>{LoopKind::kSpeculative}) {
      refuse(
          kind, [&](AnyCall *c) { of(c).forward = nullptr; },
          std::string("forward of the ") + model + " is NULL; it is required");
      refuse(
          kind, [&](AnyCall *c) { of(c).truncate = nullptr; },
          std::string("truncate of the ") + model + " is NULL; it is required");
    }
  }
  refuse(
      LoopKind::kNgrams, [](AnyCall *c) { c->ngram.next_token = nullptr; },
      "next_token of the ngram is NULL; it is required");
  refuse(
      LoopKind::kNgrams, [](AnyCall *c) { c->ngram.update = nullptr; },
      "update of the ngram is NULL; it is required");
  refuse(
      LoopKind::kNgrams, [](AnyCall *c) { c->ngram.initialize = nullptr; },
      "initialize of the ngram is NULL; it is required");
  const std::string propose =
      "propose of the ngram is NULL; ngram_least_count and ngram_least_share need it";
  refuse(
      LoopKind::kNgrams,
      [](AnyCall *c) { c->ngram.propose = nullptr, c->speculative.ngram_least_count = 1; },
      propose);
  refuse(
      LoopKind::kNgrams,
      [](AnyCall *c) { c->ngram.propose = nullptr, c->speculative.ngram_least_share = 0.5f; },
      propose);
}

TEST_F(Rules, StructSizes) {
  const std::vector<LoopKind> autoregressive = {LoopKind::kAutoregressive},
                              nested = {LoopKind::kSpeculative, LoopKind::kNgrams,
                                        LoopKind::kBeamSearch},
                              speculative = {LoopKind::kSpeculative}, ngrams = {LoopKind::kNgrams},
                              beam_search = {LoopKind::kBeamSearch};
  struct Sized {
    const char *name;
    const char *type;
    std::size_t size;
    std::function<std::size_t &(AnyCall *)> member;
    const std::vector<LoopKind> &kinds;
  };
#define SIZED(name, type, member, kinds)                         \
  Sized {                                                        \
    name, #type, sizeof(type), MEMBER(member.struct_size), kinds \
  }
  for (const Sized &sized :
       {SIZED("args", sampler_generation_args, generation, autoregressive),
        SIZED("generation", sampler_generation_args, generation, nested),
        SIZED("target", sampler_model, target, all_), SIZED("params", sampler_params, params, all_),
        SIZED("out_stats", sampler_generation_stats, stats, all_),
        SIZED("args", sampler_speculative_args, speculative, drafting_),
        SIZED("acceptance", sampler_acceptance_params, speculative.acceptance_params, drafting_),
        SIZED("drafter", sampler_model, drafter, speculative),
        SIZED("ngram", sampler_ngram, ngram, ngrams),
        SIZED("args", sampler_beam_search_args, beam_search, beam_search)}) {
    for (const LoopKind kind : sized.kinds) {
      for (const std::size_t size : {std::size_t(0), std::size_t(1), sized.size - 1,
                                     std::size_t(65537), std::size_t(SIZE_MAX)}) {
        refuse(
            kind, [&](AnyCall *c) { sized.member(c) = size; },
            std::string(sized.name) + "->struct_size is " + std::to_string(size) +
                "; set it to sizeof(" + sized.type + "), " + std::to_string(sized.size) +
                " here or up to 65536 with newer headers");
      }
    }
  }
#undef SIZED
}

// A newer program's struct, whose new members are off, and set.
TEST_F(Rules, LongerStructs) {
  struct Newer {
    sampler_generation_args args;
    std::uint64_t member;
  };
  for (const std::uint64_t member : {0, 1}) {
    AnyCall call(LoopKind::kAutoregressive);
    Newer newer = {call.generation, member};
    newer.args.struct_size = sizeof newer;
    const sampler_status status = sampler_autoregressive(sampler_.get(), &newer.args);
    EXPECT_EQ(status, member ? SAMPLER_ERROR_INVALID_ARGUMENT : SAMPLER_OK);
    EXPECT_EQ(call.is_untouched(), member != 0);
  }
}

// Stages, and parameters by text.
TEST_F(Rules, OfStages) {
  static const float kHalf[AnyCall::kNumTexts] = {0.5f, 0.5f, 0.5f};
  static const std::int64_t kOffsets[] = {0, 0, 0, 0};
  static sampler_row_params row_params;
  static sampler_pipeline pipeline;
  const auto set = [](AnyCall *c) {
    row_params = sized<sampler_row_params>();
    pipeline = sized<sampler_pipeline>();
    row_params.top_p = kHalf;
    c->generation.row_params = &row_params;
    c->generation.pipeline = &pipeline;
  };
  const std::vector<LoopKind> kinds = {LoopKind::kAutoregressive, LoopKind::kSpeculative,
                                       LoopKind::kNgrams};
  for (const LoopKind kind : kinds) accept(kind, set);
  const auto refuse_set = [&](const Change &change, const std::string &start) {
    for (const LoopKind kind : kinds) {
      refuse(
          kind, [&](AnyCall *c) { set(c), change(c); }, start);
    }
  };
  refuse_set([](AnyCall *) { row_params.struct_size = 1; }, "row_params->struct_size is 1; set it");
  refuse_set([](AnyCall *) { pipeline.struct_size = 1; }, "pipeline->struct_size is 1; set it");
  refuse_set([](AnyCall *) { pipeline.history.offsets = kOffsets; },
             "pipeline->history.offsets is 0x");
  refuse_set([](AnyCall *c) { pipeline.prompt_lengths = c->prompts; },
             "pipeline->prompt_lengths is 0x");
  refuse_set([](AnyCall *) { pipeline.adaptive_values = kHalf; },
             "pipeline->adaptive_values is 0x");
  refuse_set([](AnyCall *) { pipeline.guidance_logits = kHalf; },
             "pipeline->guidance_logits is 0x");
  refuse_set([](AnyCall *c) { pipeline.state = reinterpret_cast<sampler_state_t>(c); },
             "pipeline->state is 0x");
  refuse_set(
      [](AnyCall *) {
        static const std::uint32_t kMask = 1;
        pipeline.token_bitmasks = &kMask;
        pipeline.num_token_bitmasks = 1;
      },
      "pipeline->num_token_bitmasks is 1; it must be at least 3");
  refuse_set([](AnyCall *c) { c->params.typical_p = kNan; }, "params->typical_p is NaN");
  refuse_set(
      [](AnyCall *) {
        pipeline.banned = {kOffsets, kOffsets, 2, 0};
      },
      "pipeline->banned.num_lists is 2; it must be 1 or the number of slots, 3");
  refuse_set(
      [](AnyCall *) {
        pipeline.banned = {
            reinterpret_cast<const std::int64_t *>(reinterpret_cast<const char *>(kOffsets) + 1),
            kOffsets, 1, 0};
      },
      "pipeline->banned.offsets is 0x");
}

// Beam search has edits alone, by text or for all.
TEST_F(Rules, OfEditsOfBeams) {
  static const float kOnes[AnyCall::kNumTexts] = {1.5f, 1.5f, 1.5f};
  static const std::int32_t kTwos[AnyCall::kNumTexts] = {2, 2, 2};
  static const std::int64_t kOffsets[] = {0, 1, 2, 3}, kFalling[] = {0, 2, 1, 3};
  static const std::int32_t kIds[] = {1, 2, 3};
  static sampler_row_params row_params;
  static sampler_pipeline pipeline;
  const auto set = [](AnyCall *c) {
    row_params = sized<sampler_row_params>();
    pipeline = sized<sampler_pipeline>();
    row_params.repetition_penalty = kOnes;
    pipeline.banned = {kOffsets, kIds, 3, 3};
    c->params.no_repeat_ngram_size = 2;
    c->generation.row_params = &row_params;
    c->generation.pipeline = &pipeline;
  };
  accept(LoopKind::kBeamSearch, set);
  const auto refuse_set = [&](const Change &change, const std::string &start) {
    refuse(
        LoopKind::kBeamSearch, [&](AnyCall *c) { set(c), change(c); }, start);
  };
  constexpr const char *kOff = "; it must be off: beam search does not have that stage";
  refuse_set([](AnyCall *c) { c->params.typical_p = 0.5f; },
             "params->typical_p is 0.5" + std::string(kOff));
  refuse_set([](AnyCall *c) { c->params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2; },
             "params->adaptive_kind is 2" + std::string(kOff));
  refuse_set([](AnyCall *c) { c->params.top_p_decay = 0.5f; },
             "params->top_p_decay is 0.5" + std::string(kOff));
  refuse_set([](AnyCall *) { row_params.typical_p = kOnes; },
             "row_params->typical_p is set" + std::string(kOff));
  refuse_set([](AnyCall *) { row_params.temperature = kOnes; }, "row_params->temperature is 0x");
  refuse_set([](AnyCall *) { row_params.top_p = kOnes; }, "row_params->top_p is 0x");
  refuse_set([](AnyCall *) { row_params.min_p = kOnes; }, "row_params->min_p is 0x");
  refuse_set([](AnyCall *) { row_params.top_k = kTwos; }, "row_params->top_k is 0x");
  refuse_set(
      [](AnyCall *) {
        static const std::int64_t kForced[AnyCall::kNumTexts] = {};
        row_params.forced_token_id = kForced;
      },
      "row_params->forced_token_id is set; beam search does not force tokens");
  refuse_set([](AnyCall *) { pipeline.history.offsets = kOffsets; },
             "pipeline->history.offsets is 0x");
  refuse_set([](AnyCall *) { pipeline.token_id_type = SAMPLER_ID_I64; },
             "pipeline->token_id_type is 1; it must be SAMPLER_ID_I32");
  refuse_set([](AnyCall *) { pipeline.bad_word_offsets = kOffsets; },
             "pipeline->bad_word_offsets is 0x");
  refuse_set(
      [](AnyCall *) {
        pipeline.dense_bias = kOnes;
        pipeline.num_dense_biases = 3;
      },
      "pipeline->num_dense_biases is 3; it must be at most 1");
  refuse_set([](AnyCall *) { pipeline.banned.num_lists = 2; },
             "pipeline->banned.num_lists is 2; it must be 1 or the number of texts, 3");
  refuse_set([](AnyCall *) { pipeline.banned.offsets = kFalling; },
             "pipeline->banned.offsets[1] is 2 and the next one 1; they must ascend");
  refuse_set([](AnyCall *) { pipeline.banned.num_token_ids = 2; },
             "pipeline->banned.offsets[2] is 2 and the next one 3; they must ascend");
  refuse_set([](AnyCall *) { pipeline.banned.token_ids = nullptr; },
             "pipeline->banned.token_ids is NULL");
  refuse_set([](AnyCall *) { pipeline.biased = pipeline.banned; }, "pipeline->biases is NULL");
}

// What a draft's stages cannot be: a mask and a forced token are of one position.
TEST_F(Rules, OfStagesOfDrafts) {
  static const std::int64_t kForced[AnyCall::kNumTexts] = {1, 1, 1};
  static const std::uint32_t kMasks[AnyCall::kNumTexts] = {1, 1, 1};
  static sampler_row_params row_params;
  static sampler_pipeline pipeline;
  row_params = sized<sampler_row_params>();
  pipeline = sized<sampler_pipeline>();
  row_params.forced_token_id = kForced;
  pipeline.token_bitmasks = kMasks;
  pipeline.num_token_bitmasks = AnyCall::kNumTexts;
  for (const LoopKind kind : {LoopKind::kSpeculative, LoopKind::kNgrams}) {
    refuse(
        kind, [](AnyCall *c) { c->generation.row_params = &row_params; },
        "row_params->forced_token_id is set; sampler_verify does not force tokens");
    refuse(
        kind, [](AnyCall *c) { c->generation.pipeline = &pipeline; },
        "pipeline->token_bitmasks is 0x");
  }
  const auto skip = [](AnyCall *c) { c->speculative.skip_sample_adjustment = 1; };
  refuse(
      LoopKind::kSpeculative, [&](AnyCall *c) { skip(c), c->params.typical_p = 0.5f; },
      "skip_sample_adjustment is 1; it must be 0 with stages, row_params or a pipeline");
  refuse(
      LoopKind::kSpeculative,
      [&](AnyCall *c) { skip(c), c->speculative.acceptance_params.rule = SAMPLER_ACCEPT_BLOCK; },
      "skip_sample_adjustment is 1; it must be 0 where acceptance->rule is not "
      "SAMPLER_ACCEPT_STANDARD");
}

TEST_F(Rules, OfAcceptance) {
  const auto refuse_both = [&](const Change &change, const std::string &start) {
    for (const LoopKind kind : {LoopKind::kSpeculative, LoopKind::kNgrams}) {
      refuse(kind, change, start);
    }
  };
  for (sampler_acceptance acceptance = 0; acceptance < SAMPLER_ACCEPT_SYNTHETIC; ++acceptance) {
    for (const LoopKind kind : {LoopKind::kSpeculative, LoopKind::kNgrams}) {
      accept(kind, [=](AnyCall *c) { c->speculative.acceptance_params.rule = acceptance; });
    }
  }
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.rule = 9; },
              "acceptance->rule is 9;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.rule = -1; },
              "acceptance->rule is -1;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.rule = SAMPLER_ACCEPT_SYNTHETIC; },
              "acceptance->rule is SAMPLER_ACCEPT_SYNTHETIC; it needs synthetic_rates");
  for (const float bad : {float(NAN), 1.5F, -1.0F}) {
    const std::vector<float> rates(64, bad);
    refuse_both(
        [&](AnyCall *c) { c->speculative.acceptance_params.synthetic_rates = rates.data(); },
        "acceptance->synthetic_rates[0] is");
  }
  const struct {
    const char *name;
    float sampler_acceptance_params::*member;
  } floats[] = {{"acceptance->typical_threshold", &sampler_acceptance_params::typical_threshold},
                {"acceptance->typical_scale", &sampler_acceptance_params::typical_scale},
                {"acceptance->relaxed_delta", &sampler_acceptance_params::relaxed_delta},
                {"acceptance->threshold_single", &sampler_acceptance_params::threshold_single},
                {"acceptance->threshold_total", &sampler_acceptance_params::threshold_total},
                {"acceptance->deferred_entropy", &sampler_acceptance_params::deferred_entropy}};
  for (const auto &number : floats) {
    refuse_both([&](AnyCall *c) { c->speculative.acceptance_params.*number.member = -1; },
                std::string(number.name) + " is -1; it must not be negative");
    refuse_both([&](AnyCall *c) { c->speculative.acceptance_params.*number.member = kNan; },
                std::string(number.name) + " is NaN;");
  }
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.sibling_rule = 1; },
              "acceptance->sibling_rule is 1;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.draw_method = 1; },
              "acceptance->draw_method is 1;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.relaxed_top_k = -1; },
              "acceptance->relaxed_top_k is -1;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.deferred_window = -1; },
              "acceptance->deferred_window is -1;");
  refuse_both([](AnyCall *c) { c->speculative.acceptance_params.deferred_top_k = -1; },
              "acceptance->deferred_top_k is -1;");
  refuse_both([](AnyCall *c) { c->speculative.least_draft_probability = 1.5f; },
              "least_draft_probability is 1.5;");
  refuse_both([](AnyCall *c) { c->speculative.least_draft_probability = kNan; },
              "least_draft_probability is");
  accept(LoopKind::kSpeculative, [](AnyCall *c) { c->speculative.least_draft_probability = 0.5f; });
  refuse(
      LoopKind::kNgrams, [](AnyCall *c) { c->speculative.least_draft_probability = 0.5f; },
      "least_draft_probability is 0.5; it must be 0 for n-grams");
}

// Drafts of several tokens a position.
TEST_F(Rules, OfTrees) {
  const auto refuse_trees = [&](std::int64_t top_k, const Change &change, const std::string &text,
                                LoopKind kind = LoopKind::kSpeculative) {
    refuse(
        kind,
        [&](AnyCall *c) {
          c->target.reads_parents = 1;
          c->speculative.draft_top_k = top_k;
          change(c);
        },
        "draft_top_k is " + text_of(top_k) + "; " + text);
  };
  const Change nothing = [](AnyCall *) {};
  for (const std::int64_t bad : {std::int64_t(-1), INT64_MIN, std::int64_t(6), INT64_MAX}) {
    refuse_trees(bad, nothing, "it must be in [0, gamma]");
  }
  refuse_trees(
      3, [](AnyCall *c) { c->speculative.gamma = 2; }, "it must be in [0, gamma]");
  for (const std::int64_t top_k : {1, 2}) {
    refuse_trees(top_k, nothing, "it must be 0 for n-grams", LoopKind::kNgrams);
    for (const sampler_acceptance acceptance : {SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_DEFERRED}) {
      refuse_trees(
          top_k, [=](AnyCall *c) { c->speculative.acceptance_params.rule = acceptance; },
          "BLOCK and DEFERRED are for chains");
    }
    refuse_trees(
        top_k, [](AnyCall *c) { c->speculative.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY; },
        "adaptive_gamma must not be SAMPLER_GAMMA_BY_ENTROPY, 1");
    refuse_trees(
        top_k, [](AnyCall *c) { c->speculative.least_draft_probability = 0.5f; },
        "least_draft_probability must be 0");
    refuse_trees(
        top_k, [](AnyCall *c) { c->speculative.skip_sample_adjustment = 1; },
        "skip_sample_adjustment must be 0");
  }
  // What the target has to know, of more than a chain.
  const auto set_trees = [](AnyCall *c) { c->speculative.draft_top_k = 2; };
  refuse(LoopKind::kSpeculative, set_trees,
         "reads_parents of the target is 0; draft_top_k above 1, 2, needs it",
         SAMPLER_ERROR_UNSUPPORTED);
  for (const std::int64_t limit : {1, 5}) {
    const auto set_limit = [=](AnyCall *c) {
      set_trees(c);
      c->target.reads_parents = 1;
      c->target.max_span_tokens = limit;
    };
    refuse(LoopKind::kSpeculative, set_limit,
           "max_span_tokens of the target is " + text_of(limit) +
               "; it must be 0 or at least gamma + 1, 6, with draft_top_k above 1");
  }
  accept(LoopKind::kSpeculative, [](AnyCall *c) {
    c->speculative.draft_top_k = 1;
    c->target.max_span_tokens = 1;
  });
}

TEST_F(Rules, OfReadsParents) {
  refuse_values(all_, "reads_parents", MEMBER(target.reads_parents),
                std::vector<std::int32_t>{-1, 2, INT32_MAX});
  refuse_values({LoopKind::kSpeculative}, "reads_parents", MEMBER(drafter.reads_parents),
                std::vector<std::int32_t>{2});
  accept_all([](AnyCall *c) { c->target.reads_parents = 1; });
}

constexpr std::int64_t k20 = std::int64_t(1) << 20;

TEST_F(Rules, Ranges) {
  using Int64s = std::vector<std::int64_t>;
  const std::int64_t k31 = std::int64_t(1) << 31;
  refuse_values(all_, "num_sequences", MEMBER(generation.num_sequences),
                Int64s{-1, INT64_MIN, k31, INT64_MAX});
  refuse_values(all_, "first_sequence", MEMBER(generation.first_sequence),
                Int64s{-1, INT64_MIN, k31, INT64_MAX});
  refuse_values(all_, "max_new_tokens", MEMBER(generation.max_new_tokens),
                Int64s{0, -1, INT64_MIN, k31, INT64_MAX});
  refuse_values(all_, "num_end_tokens", MEMBER(generation.num_end_tokens),
                Int64s{-1, INT64_MIN, INT64_MAX});
  refuse_values(all_, "vocabulary_size of the target", MEMBER(target.vocabulary_size),
                Int64s{0, -1, INT64_MIN, 1 << 20, INT64_MAX});
  refuse_values(all_, "max_context of the target", MEMBER(target.max_context),
                Int64s{0, -1, INT64_MIN});
  refuse_values(all_, "max_sequences of the target", MEMBER(target.max_sequences),
                Int64s{0, -1, INT64_MIN, k31, INT64_MAX});
  refuse_values(all_, "max_span_tokens of the target", MEMBER(target.max_span_tokens),
                Int64s{-1, INT64_MIN});

  const std::vector<LoopKind> speculative = {LoopKind::kSpeculative};
  refuse_values(speculative, "vocabulary_size of the drafter", MEMBER(drafter.vocabulary_size),
                Int64s{0, -1, 1 << 20, 4, 6});
  refuse_values(speculative, "max_context of the drafter", MEMBER(drafter.max_context),
                Int64s{0, -1});
  refuse_values(speculative, "max_sequences of the drafter", MEMBER(drafter.max_sequences),
                Int64s{0, -1, k31});
  refuse_values(drafting_, "gamma", MEMBER(speculative.gamma),
                Int64s{0, -1, INT64_MIN, 1025, INT64_MAX});
  refuse_values(drafting_, "gamma_min", MEMBER(speculative.gamma_min),
                Int64s{-1, INT64_MIN, 6, INT64_MAX});
  refuse_values(drafting_, "gamma_max", MEMBER(speculative.gamma_max),
                Int64s{-1, INT64_MIN, 1025, INT64_MAX});
  refuse_values(drafting_, "filler_top_k", MEMBER(speculative.filler_top_k),
                Int64s{-1, INT64_MIN, k20, INT64_MAX});
  refuse_values(drafting_, "ngram_least_count", MEMBER(speculative.ngram_least_count),
                Int64s{-1, INT64_MIN, INT64_MAX});
  const std::vector<LoopKind> beam_search = {LoopKind::kBeamSearch};
  refuse_values(beam_search, "num_beams", MEMBER(beam_search.num_beams),
                Int64s{0, -1, INT64_MIN, 1025, INT64_MAX});
  refuse_values(beam_search, "top_k", MEMBER(beam_search.top_k),
                Int64s{0, -1, INT64_MIN, k20, INT64_MAX});
  refuse_values(beam_search, "num_results", MEMBER(beam_search.num_results),
                Int64s{0, -1, INT64_MIN, 5, INT64_MAX});
}

TEST_F(Rules, Enumerations) {
  using Int32s = std::vector<std::int32_t>;
  const Int32s not_two = {-1, 2, INT32_MIN, INT32_MAX}, not_three = {-1, 3, INT32_MIN, INT32_MAX};
  refuse_values(all_, "processor", MEMBER(generation.processor), not_two);
  refuse_values(all_, "use_cache", MEMBER(generation.use_cache), not_two);
  refuse_values(all_, "debug", MEMBER(generation.debug), not_two);
  refuse_values(all_, "params->top_k_ties", MEMBER(params.top_k_ties), not_two);
  refuse_values(all_, "params->top_p_ties", MEMBER(params.top_p_ties), not_two);
  refuse_values(all_, "params->filter_order", MEMBER(params.filter_order), not_three);
  refuse_values(all_, "params->temperature_order", MEMBER(params.temperature_order), not_two);
  refuse_values(all_, "params->top_p_sum", MEMBER(params.top_p_sum), not_two);
  refuse_values(all_, "logits_dtype", MEMBER(target.logits_dtype), not_three);
  const std::vector<LoopKind> speculative = {LoopKind::kSpeculative};
  refuse_values(speculative, "logits_dtype", MEMBER(drafter.logits_dtype), not_three);
  refuse_values(drafting_, "adaptive_gamma", MEMBER(speculative.adaptive_gamma), not_three);
  refuse_values(drafting_, "first_target", MEMBER(speculative.first_target), not_two);
  refuse_values(drafting_, "stop_if_unknown", MEMBER(speculative.stop_if_unknown), not_two);
  refuse_values(drafting_, "skip_sample_adjustment", MEMBER(speculative.skip_sample_adjustment),
                not_two);
  refuse_values(drafting_, "reserved", MEMBER(speculative.reserved), Int32s{1, -1});
  const std::vector<LoopKind> beam_search = {LoopKind::kBeamSearch};
  refuse_values(beam_search, "early_stop", MEMBER(beam_search.early_stop), not_two);
  refuse_values(beam_search, "rule", MEMBER(beam_search.rule), not_two);
}

// What a drafter alone can have.
TEST_F(Rules, OfNgrams) {
  refuse(
      LoopKind::kNgrams,
      [](AnyCall *c) { c->speculative.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY; },
      "adaptive_gamma is 1; it must be SAMPLER_GAMMA_FIXED, 0, or SAMPLER_GAMMA_MEASURED, 2, for "
      "n-grams");
  refuse(
      LoopKind::kNgrams, [](AnyCall *c) { c->speculative.skip_sample_adjustment = 1; },
      "skip_sample_adjustment is 1; it must be 0 for n-grams");
  accept(LoopKind::kNgrams,
         [](AnyCall *c) { c->speculative.adaptive_gamma = SAMPLER_GAMMA_MEASURED; });
  accept(LoopKind::kSpeculative, [](AnyCall *c) { c->speculative.skip_sample_adjustment = 1; });
  // And what n-grams alone can.
  refuse(
      LoopKind::kSpeculative, [](AnyCall *c) { c->speculative.ngram_least_count = 2; },
      "ngram_least_count is 2 and ngram_least_share 0; they must be 0 for a drafter");
  refuse(
      LoopKind::kSpeculative, [](AnyCall *c) { c->speculative.ngram_least_share = 0.5f; },
      "ngram_least_count is 0 and ngram_least_share 0.5; they must be 0 for a drafter");
  accept(LoopKind::kNgrams, [](AnyCall *c) {
    c->speculative.ngram_least_count = INT64_MAX - 1;
    c->speculative.ngram_least_share = 1;
  });
}

TEST_F(Rules, Numbers) {
  refuse_all([](AnyCall *c) { c->params.temperature = kNan; },
             "params->temperature is NaN; it must be a number");
  refuse_all([](AnyCall *c) { c->params.top_p = kNan; },
             "params->top_p is NaN; it must be a number");
  refuse_all([](AnyCall *c) { c->params.min_p = kNan; },
             "params->min_p is NaN; it must be a number");
  for (const float value : {-FLT_MIN, -1.0f, 1.0f, 2.0f, kInf, -kInf, kNan}) {
    for (const LoopKind kind : drafting_) {
      refuse(
          kind, [=](AnyCall *c) { c->speculative.ema_beta = value; }, "ema_beta is ");
    }
  }
  for (const float value : {-FLT_MIN, -1.0f, std::nextafter(1.0f, 2.0f), kInf, -kInf, kNan}) {
    for (const LoopKind kind : drafting_) {
      refuse(
          kind, [=](AnyCall *c) { c->speculative.ngram_least_share = value; },
          "ngram_least_share is ");
    }
  }
  for (const float value : {-FLT_MIN, -1.0f, -kInf, kInf, kNan}) {
    refuse(
        LoopKind::kBeamSearch, [=](AnyCall *c) { c->beam_search.min_length = value; },
        "min_length is ");
  }
  for (const float value : {-FLT_MIN, -1.0f, 100.00001f, kInf, -kInf, kNan}) {
    refuse(
        LoopKind::kBeamSearch, [=](AnyCall *c) { c->beam_search.alpha = value; }, "alpha is ");
  }
}

TEST_F(Rules, Prompts) {
  refuse_all([](AnyCall *c) { c->offsets[0] = 1; }, "prompt_offsets[0] is 1; it must be 0");
  refuse_all([](AnyCall *c) { c->offsets[0] = -1; }, "prompt_offsets[0] is -1; it must be 0");
  refuse_all([](AnyCall *c) { c->offsets[1] = 0; },
             "prompt_offsets[1] is 0 and the one before it 0; a prompt has at least 1 token");
  refuse_all([](AnyCall *c) { c->offsets[2] = 2; }, "prompt_offsets[2] is 2 and the one before");
  refuse_all([](AnyCall *c) { c->offsets[2] = 1; }, "prompt_offsets[2] is 1 and the one before");
  refuse_all([](AnyCall *c) { c->offsets[3] = INT64_MIN; }, "prompt_offsets[3] is ");
  refuse_all([](AnyCall *c) { c->offsets[3] = INT64_MAX; }, "prompt_offsets[3] is ");
  refuse_all([](AnyCall *c) { c->target.max_context = 2; },
             "prompt_offsets[3] is 6 and the one before it 3; a prompt has at least 1 token and at "
             "most the target's max_context, 2");
  for (const std::int32_t token : {-1, 5, INT32_MIN, INT32_MAX}) {
    refuse_all([=](AnyCall *c) { c->prompts[4] = token; },
               "prompt_token_ids[4] is " + text_of(token) + "; it must be");
    refuse_all([=](AnyCall *c) { c->ends[1] = token; },
               "end_token_ids[1] is " + text_of(token) + "; it must be in [0, vocabulary_size), 5");
  }
}

TEST_F(Rules, Sequences) {
  refuse_all([](AnyCall *c) { c->generation.first_sequence = 48; }, "max_sequences of the target");
  refuse_all([](AnyCall *c) { c->target.max_sequences = 2; }, "max_sequences of the target is 2");
  refuse(
      LoopKind::kSpeculative, [](AnyCall *c) { c->drafter.max_sequences = 2; },
      "max_sequences of the drafter is 2");
  refuse(
      LoopKind::kBeamSearch, [](AnyCall *c) { c->target.max_sequences = 11; },
      "max_sequences of the target is 11");
  accept(LoopKind::kAutoregressive, [](AnyCall *c) { c->generation.first_sequence = 47; });
  accept(LoopKind::kSpeculative, [](AnyCall *c) { c->drafter.max_sequences = 3; });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->target.max_sequences = 12; });
  refuse(
      LoopKind::kBeamSearch,
      [](AnyCall *c) {
        c->generation.num_sequences = (std::int64_t(1) << 31) - 1;
        c->beam_search.num_beams = 1024;
      },
      "max_sequences of the target is 50");
}

TEST_F(Rules, OfBeamSearch) {
  static std::int64_t counts[3];
  refuse(
      LoopKind::kBeamSearch, [](AnyCall *c) { c->generation.processor = SAMPLER_PROCESSOR_SAMPLE; },
      "processor is 1; it must be SAMPLER_PROCESSOR_GREEDY, 0, for beam search");
  refuse(
      LoopKind::kBeamSearch, [](AnyCall *c) { c->generation.debug = 1; },
      "debug is 1; it must be 0 for beam search");
  refuse(
      LoopKind::kBeamSearch,
      [](AnyCall *c) {
        c->generation.on_tokens = [](void *, std::int64_t, const std::int32_t *, std::int64_t,
                                     sampler_finish_reason) { return 0; };
      },
      "on_tokens is ");
  refuse(
      LoopKind::kBeamSearch,
      [](AnyCall *c) { c->generation.trace = [](void *, const sampler_trace_round *) {}; },
      "trace is ");
  refuse(
      LoopKind::kBeamSearch, [](AnyCall *c) { c->generation.out_cache_lengths = counts; },
      "out_cache_lengths is ");
  refuse(
      LoopKind::kBeamSearch,
      [](AnyCall *c) {
        c->target.fork = nullptr;
        c->generation.use_cache = 1;
      },
      "fork of the target is NULL", SAMPLER_ERROR_UNSUPPORTED);
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->target.fork = nullptr; });
}

// An array of a call: its name and where its pointer is.
struct Array {
  const char *name;
  std::function<void **(AnyCall *)> pointer;
};

template <class Member>
Array array(const char *name, const Member &member) {
  return {name, [=](AnyCall *c) {
            return const_cast<void **>(reinterpret_cast<const void *const *>(&member(c)));
          }};
}

// Outputs may not lie in one another, or in what is read: each in turn begins within each other.
TEST_F(Rules, Overlaps) {
  std::vector<Array> outputs = {array("out_token_ids", MEMBER(generation.out_token_ids)),
                                array("out_lengths", MEMBER(generation.out_lengths)),
                                array("out_finish_reasons", MEMBER(generation.out_finish_reasons)),
                                array("out_stats", MEMBER(generation.out_stats))};
  const std::vector<Array> counts = {
      array("out_cache_lengths", MEMBER(generation.out_cache_lengths))};
  const std::vector<Array> of_drafts = {
      array("out_drafted_counts", MEMBER(speculative.out_drafted_counts)),
      array("out_accepted_counts", MEMBER(speculative.out_accepted_counts))};
  const std::vector<Array> inputs = {array("prompt_offsets", MEMBER(generation.prompt_offsets)),
                                     array("prompt_token_ids", MEMBER(generation.prompt_token_ids)),
                                     array("end_token_ids", MEMBER(generation.end_token_ids)),
                                     array("seeds", MEMBER(generation.seeds))};
  for (const LoopKind kind : kAllLoops) {
    std::vector<Array> written = outputs;
    if (kind == LoopKind::kBeamSearch) {
      written.push_back(array("out_scores", MEMBER(beam_search.out_scores)));
    } else {
      written.insert(written.end(), counts.begin(), counts.end());
    }
    if (kind == LoopKind::kSpeculative || kind == LoopKind::kNgrams) {
      written.insert(written.end(), of_drafts.begin(), of_drafts.end());
    }
    for (const Array &output : written) {
      std::vector<Array> others = written;
      others.insert(others.end(), inputs.begin(), inputs.end());
      for (const Array &other : others) {
        if (output.name == other.name) continue;
        SCOPED_TRACE(testing::Message()
                     << "loop " << int(kind) << ": " << output.name << ", " << other.name);
        alignas(64) std::uint64_t unset[8] = {};
        AnyCall call(kind);
        // What AnyCall leaves out.
        for (const Array *array : {&output, &other}) {
          if (!*array->pointer(&call)) *array->pointer(&call) = unset;
        }
        // The statistics' size is read, and the contents of inputs, so the other array moves.
        const bool stays = std::string(output.name) == "out_stats";
        const Array &moved = stays ? other : output, &place = stays ? output : other;
        const bool is_read = std::string(moved.name).rfind("prompt_", 0) == 0 ||
                             std::string(moved.name) == "end_token_ids";
        if (is_read) continue;
        char *const address = static_cast<char *>(*place.pointer(&call));
        *moved.pointer(&call) =
            address + (std::string(place.name) == "out_stats" ? sizeof(std::size_t) : 0);
        EXPECT_EQ(call.run(sampler_.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
        const std::string text = sampler_last_error();
        EXPECT_NE(text.find(output.name), std::string::npos) << text;
        EXPECT_NE(text.find(other.name), std::string::npos) << text;
        EXPECT_NE(text.find(" overlaps "), std::string::npos) << text;
        EXPECT_EQ(call.calls.count(), 0);
        EXPECT_TRUE(call.is_untouched());
      }
    }
  }
}

TEST_F(Rules, EdgesAreAccepted) {
  accept_all([](AnyCall *c) { c->generation.pad_token_id = INT32_MIN; });
  accept_all([](AnyCall *c) { c->generation.max_new_tokens = 1; });
  accept_all([](AnyCall *c) { c->generation.params = nullptr; });
  accept_all([](AnyCall *c) { c->target.max_context = INT64_MAX; });
  accept_all([](AnyCall *c) { c->target.max_span_tokens = INT64_MAX; });
  accept_all([](AnyCall *c) { c->generation.num_end_tokens = 0; });
  accept_all([](AnyCall *c) {
    c->generation.end_token_ids = nullptr;
    c->generation.num_end_tokens = 0;
  });
  for (const float value : {0.0f, -1.0f, kInf, -kInf, FLT_MAX}) {
    const float temperature = std::min(value, 0x1p64f);
    accept_all([=](AnyCall *c) {
      c->params.temperature = temperature;
      c->params.top_p = c->params.min_p = value;
      c->params.top_k = INT32_MIN;
    });
    for (const LoopKind kind :
         {LoopKind::kAutoregressive, LoopKind::kSpeculative, LoopKind::kNgrams}) {
      accept(kind, [=](AnyCall *c) {
        c->generation.processor = SAMPLER_PROCESSOR_SAMPLE;
        c->params.temperature = temperature;
        c->params.top_p = c->params.min_p = value;
        c->params.top_k = INT32_MAX;
      });
    }
  }
  for (const LoopKind kind : drafting_) {
    accept(kind, [](AnyCall *c) { c->speculative.gamma = 1; });
    accept(kind, [](AnyCall *c) { c->speculative.gamma = 1024; });
    accept(kind, [](AnyCall *c) { c->speculative.filler_top_k = 0; });
    accept(kind, [](AnyCall *c) { c->speculative.filler_top_k = k20 - 1; });
  }
  accept(LoopKind::kSpeculative, [](AnyCall *c) {
    c->speculative.adaptive_gamma = 1;
    c->speculative.gamma_max = c->speculative.gamma_min = 1024;
    c->speculative.ema_beta = std::nextafter(1.0f, 0.0f);
  });
  accept(LoopKind::kSpeculative, [](AnyCall *c) {
    c->speculative.adaptive_gamma = 1;
    c->speculative.gamma_min = 0;
  });
  accept(LoopKind::kSpeculative, [](AnyCall *c) { c->drafter.max_context = 1; });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->beam_search.top_k = k20 - 1; });
  accept(LoopKind::kNgrams, [](AnyCall *c) {
    c->ngram.has_gram = nullptr;
    c->ngram.reset = nullptr;
    c->ngram.propose = nullptr;
  });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->beam_search.num_beams = 1; });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->beam_search.top_k = 5; });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) { c->beam_search.out_scores = nullptr; });
  accept(LoopKind::kBeamSearch, [](AnyCall *c) {
    c->beam_search.alpha = 100;
    c->beam_search.min_length = 0;
  });
}

TEST_F(Rules, NoTextsDoNothing) {
  for (const LoopKind kind : kAllLoops) {
    AnyCall call(kind);
    call.generation.num_sequences = 0;
    call.generation.prompt_offsets = nullptr;
    call.generation.prompt_token_ids = nullptr;
    call.generation.out_token_ids = nullptr;
    EXPECT_EQ(call.run(sampler_.get()), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(call.calls.count(), 0);
  }
}

// ---- _init ------------------------------------------------------------------------------------

template <class Struct>
void expect_init(sampler_status (*init)(Struct *, std::size_t), const Struct &defaults,
                 const char *name) {
  SCOPED_TRACE(name);
  unsigned char memory[sizeof(Struct) + 24];
  std::memset(memory, 0xA5, sizeof memory);
  auto *const filled = reinterpret_cast<Struct *>(memory);
  ASSERT_EQ(init(filled, sizeof(Struct)), SAMPLER_OK);
  EXPECT_EQ(std::memcmp(memory, &defaults, sizeof defaults), 0);
  EXPECT_EQ(memory[sizeof(Struct)], 0xA5);
  EXPECT_EQ(filled->struct_size, sizeof(Struct));
  // A newer caller's members are 0.
  ASSERT_EQ(init(filled, sizeof(Struct) + 16), SAMPLER_OK);
  EXPECT_EQ(filled->struct_size, sizeof(Struct) + 16);
  EXPECT_EQ(memory[sizeof(Struct)] | memory[sizeof(Struct) + 15], 0);
  EXPECT_EQ(memory[sizeof(Struct) + 16], 0xA5);
  std::memset(memory, 0xA5, sizeof memory);
  for (const std::size_t size : {std::size_t(0), sizeof(Struct) - 1, SIZE_MAX}) {
    EXPECT_EQ(init(filled, size), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(memory[0], 0xA5);
  }
  EXPECT_EQ(init(nullptr, sizeof(Struct)), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), std::string(name) + " is NULL; it is required");
}

TEST(Init, GivesTheDefaults) {
  expect_init(sampler_generation_args_init, sampler_generation_args_default(), "args");
  expect_init(sampler_speculative_args_init, sampler_speculative_args_default(), "args");
  expect_init(sampler_beam_search_args_init, sampler_beam_search_args_default(), "args");
}

TEST(Init, DefaultsAreTheDocumentedOnes) {
  const sampler_generation_args generation = sampler_generation_args_default();
  EXPECT_EQ(generation.max_new_tokens, 40);
  EXPECT_EQ(generation.end_token_ids, nullptr);
  EXPECT_EQ(generation.pad_token_id, 0);
  EXPECT_EQ(generation.use_cache, 0);
  EXPECT_EQ(generation.processor, SAMPLER_PROCESSOR_GREEDY);
  EXPECT_EQ(generation.params, nullptr);
  EXPECT_EQ(generation.debug, 0);
  EXPECT_EQ(generation.out_stats, nullptr);
  const SpeculativeArgs speculative;
  EXPECT_EQ(speculative.gamma, 5);
  EXPECT_EQ(speculative.adaptive_gamma, 0);
  EXPECT_EQ(speculative.ema_beta, 0.0f);
  EXPECT_EQ(speculative.gamma_min, 1);
  EXPECT_EQ(speculative.gamma_max, 0);
  EXPECT_EQ(speculative.first_target, 1);
  EXPECT_EQ(speculative.skip_sample_adjustment, 0);
  EXPECT_EQ(speculative.filler_top_k, 3);
  EXPECT_EQ(speculative.stop_if_unknown, 0);
  EXPECT_EQ(speculative.ngram_least_count, 0);
  EXPECT_EQ(speculative.ngram_least_share, 0.0f);
  const sampler_beam_search_args beam_search = sampler_beam_search_args_default();
  EXPECT_EQ(beam_search.num_beams, 4);
  EXPECT_EQ(beam_search.top_k, 3);
  EXPECT_EQ(beam_search.num_results, 1);
  EXPECT_EQ(beam_search.min_length, 5.0f);
  EXPECT_EQ(beam_search.alpha, 1.2f);
  EXPECT_EQ(beam_search.early_stop, 0);
  EXPECT_EQ(beam_search.rule, SAMPLER_BEAMS_SHARED);
}

}  // namespace
}  // namespace decoding_test::argument_rules_test
