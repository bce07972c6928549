// Calls at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../sized.h"
#include "problem.h"

namespace shards_test {

// The filters, their rules and the temperature, drawn.
inline sampler_params draw_params(std::mt19937_64 &random, sampler_input_kind kind,
                                  int64_t num_cols) {
  const auto pick = [&](auto... values) {
    const double all[] = {double(values)...};
    return all[random() % (sizeof all / sizeof *all)];
  };
  sampler_params params = sampler_params_default();
  params.temperature =
      float(kind == SAMPLER_LOGITS ? pick(1, 0.7, 1.3, 0.05, 20, 0, 0x1p64) : pick(1, 1, 1, 0));
  if (random() % 2) params.top_k = int32_t(pick(1, 2, 5, 50, num_cols - 1, num_cols, -1));
  if (random() % 2) params.top_p = float(pick(0, 1e-7, 0.3, 0.9, 0.95, 0.99999994));
  if (random() % 3 == 0) params.min_p = float(pick(1e-6, 0.05, 0.5, 1, 2));
  params.top_k_ties = int32_t(random() % 2);
  params.top_p_ties = int32_t(random() % 2);
  params.filter_order = int32_t(random() % 3);
  params.temperature_order = int32_t(random() % 2);
  params.top_p_sum = int32_t(random() % 2);
  return params;
}

inline std::string to_text(const sampler_params &params) {
  char text[200];
  std::snprintf(text, sizeof text, "T %g top_k %d/%d top_p %.9g/%d/%d min_p %g order %d at %d",
                double(params.temperature), int(params.top_k), int(params.top_k_ties),
                double(params.top_p), int(params.top_p_ties), int(params.top_p_sum),
                double(params.min_p), int(params.filter_order), int(params.temperature_order));
  return text;
}

// A call of one slot for all rows.
inline SampleCall random_sample(std::mt19937_64 &random, sampler_input_kind kind,
                                int64_t num_cols) {
  SampleCall call;
  call.params = draw_params(random, kind, num_cols);
  call.args.draw_method = random() % 3 == 0 ? 1 + int32_t(random() % 2) : 0;
  call.args.report_args.logprob_kind = int32_t(random() % 3);
  call.args.random.seed = random();
  call.args.random.offset = random();
  call.wanted = {random() % 2 == 0, random() % 2 == 0,
                 random() % 2 == 0, random() % 3 == 0,
                 random() % 3 == 0, random() % 3 == 0 ? int64_t(random() % 7) : 0};
  return call;
}

inline std::string to_text(const SampleCall &call) {
  return to_text(call.params) + " draw " + std::to_string(call.args.draw_method) + " kind " +
         std::to_string(call.args.report_args.logprob_kind);
}

// ---- By slot

constexpr int64_t kNumCols = 515, kNumRows = 12, kNumSlots = 20, kNumOutputs = 17;

template <class T>
T pick(std::mt19937_64 &random, const std::vector<T> &from) {
  return from[random() % from.size()];
}

// Numbers by slot, some of which make their rows bad.
struct SlotArrays {
  std::vector<float> temperature, top_p, min_p;
  std::vector<int32_t> top_k, row_indices, slots;
  std::vector<uint64_t> seeds, offsets;
  std::vector<uint32_t> streams;
  sampler_row_params row_params = {};

  SlotArrays(std::mt19937_64 &random, int32_t max_top_k) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int64_t i = 0; i < kNumSlots; ++i) {
      temperature.push_back(pick<float>(random, {1, 0.7f, 0, -1, 1e25f, 0.3f, nan}));
      top_p.push_back(pick<float>(random, {1, 0.9f, 0.5f, 0, 0.99f, 2, nan}));
      min_p.push_back(pick<float>(random, {0, 0.1f, -1, 0.001f}));
      top_k.push_back(pick<int32_t>(random, {0, 1, 7, max_top_k, int32_t(kNumCols), -3}));
      seeds.push_back(random());
      offsets.push_back(random());
      streams.push_back(uint32_t(random()));
    }
    for (int64_t i = 0; i < kNumOutputs; ++i) {
      row_indices.push_back(int32_t(random() % (kNumRows + 2)) - 1);
      slots.push_back(int32_t(random() % (kNumSlots + 2)) - 1);
    }
    row_params.struct_size = sizeof row_params;
  }

  // Any of them.
  void put(std::mt19937_64 &random, SampleCall *call) {
    SampleArgs &args = call->args;
    row_params.temperature = random() % 2 ? temperature.data() : nullptr;
    row_params.top_p = random() % 2 ? top_p.data() : nullptr;
    row_params.min_p = random() % 2 ? min_p.data() : nullptr;
    row_params.top_k = random() % 2 ? top_k.data() : nullptr;
    args.row_params = &row_params;
    args.row_indices = row_indices.data();
    args.num_row_indices = kNumOutputs;
    args.slots = slots.data();
    args.num_slots = kNumSlots;
    args.random.seeds = random() % 2 ? seeds.data() : nullptr;
    args.random.num_seeds = args.random.seeds ? kNumSlots : 0;
    args.random.offsets = random() % 2 ? offsets.data() : nullptr;
    args.random.num_offsets = args.random.offsets ? kNumSlots : 0;
    args.random.streams = random() % 2 ? streams.data() : nullptr;
    args.random.seed = random();
  }
};

// Lists of ids, by slot.
struct Lists {
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> ids;

  Lists(std::mt19937_64 &random, int64_t num_lists, int64_t max_length, int64_t num_ids) {
    for (int64_t i = 0; i < num_lists; ++i) {
      const int64_t length = int64_t(random() % uint64_t(max_length + 1));
      for (int64_t j = 0; j < length; ++j) ids.push_back(int32_t(random() % uint64_t(num_ids)));
      offsets.push_back(int64_t(ids.size()));
    }
  }
  sampler_token_lists view() const {
    return {offsets.data(), ids.data(), int64_t(offsets.size()) - 1, int64_t(ids.size())};
  }
};

struct Edits {
  Lists history, biased, allowed, banned, stop, unpenalized, bad_words;
  std::vector<float> biases, dense_bias;
  std::vector<uint32_t> masks;
  std::vector<int32_t> mask_indices;
  sampler_pipeline pipeline = {};

  explicit Edits(std::mt19937_64 &random)
      : history(random, kNumSlots, 60, kNumCols + 5),
        biased(random, kNumSlots, 8, kNumCols + 5),
        allowed(random, kNumSlots, random() % 2 ? 200 : 0, kNumCols),
        banned(random, kNumSlots, 30, kNumCols),
        stop(random, kNumSlots, 3, kNumCols),
        unpenalized(random, kNumSlots, 9, kNumCols),
        bad_words(random, 20, 2, kNumCols) {
    for (int64_t &offset : bad_words.offsets) offset = &offset - bad_words.offsets.data();
    bad_words.ids.resize(20, 3);
    for (size_t i = 0; i < biased.ids.size(); ++i) {
      biases.push_back(pick<float>(random, {2.5f, -1, -std::numeric_limits<float>::infinity(), 7}));
    }
    if (random() % 8 == 0 && !biases.empty()) biases[0] = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < kNumCols; ++i) dense_bias.push_back(float(int(random() % 5)) - 2);
    constexpr int64_t kWords = (kNumCols + 31) / 32;
    for (int64_t i = 0; i < 4 * kWords; ++i) masks.push_back(uint32_t(random() | random()));
    std::fill_n(masks.begin(), kWords, 0u);
    for (int64_t i = 0; i < kNumOutputs; ++i) mask_indices.push_back(int32_t(random() % 6) - 1);
    pipeline.struct_size = sizeof pipeline;
    if (random() % 2) pipeline.history = history.view();
    if (random() % 2) pipeline.biased = biased.view(), pipeline.biases = biases.data();
    if (random() % 3 == 0) pipeline.dense_bias = dense_bias.data(), pipeline.num_dense_biases = 1;
    if (random() % 3 == 0) pipeline.allowed = allowed.view();
    if (random() % 2) pipeline.banned = banned.view();
    if (random() % 3 == 0) pipeline.stop = stop.view();
    if (random() % 3 == 0) pipeline.unpenalized = unpenalized.view();
    if (pipeline.history.offsets && random() % 2) pipeline.bad_words = bad_words.view();
    if (random() % 3 == 0) {
      pipeline.token_bitmasks = masks.data();
      pipeline.num_token_bitmasks = 4;
      pipeline.token_bitmask_indices = mask_indices.data();
    }
  }

  void put(std::mt19937_64 &random, SampleCall *call) {
    call->args.pipeline = &pipeline;
    if (random() % 3 == 0) {
      call->params.guidance_scale = pick<float>(random, {1.5f, -2, 0.25f});
      for (int64_t i = 0; i < kNumOutputs; ++i) {
        call->guided_by.push_back(int32_t(random() % uint64_t(kNumRows + 1)) - 1);
      }
    }
    if (!pipeline.history.offsets) return;
    call->params.repetition_penalty = pick<float>(random, {0, 1.2f, 0.9f});
    call->params.frequency_penalty = pick<float>(random, {0, 0.3f, -0.2f});
    call->params.presence_penalty = pick<float>(random, {0, 0.5f});
    call->params.penalty_window = int32_t(random() % 20);
    call->params.dry_multiplier = pick<float>(random, {0, 0.8f});
    call->params.no_repeat_ngram_size = int32_t(random() % 4);
    if (!pipeline.stop.offsets) return;
    call->params.min_new_tokens = int32_t(random() % 50);
    call->params.exponential_decay_start = int32_t(random() % 30);
    call->params.exponential_decay_factor = pick<float>(random, {0, 1.1f, 0.5f});
  }
};

inline SampleCall draw_call(std::mt19937_64 &random) {
  SampleCall call;
  call.params.temperature = pick<float>(random, {1, 0.8f, 0});
  call.params.top_k = pick<int32_t>(random, {0, 5, 40});
  call.params.top_p = pick<float>(random, {1, 0.9f});
  call.params.min_p = pick<float>(random, {0, 0.05f});
  call.params.top_k_ties = int32_t(random() % 2);
  call.params.top_p_ties = int32_t(random() % 2);
  call.params.filter_order = int32_t(random() % 3);
  call.params.temperature_order = int32_t(random() % 2);
  call.params.top_p_sum = int32_t(random() % 2);
  call.args.draw_method = random() % 3 == 0 ? 1 + int32_t(random() % 2) : 0;
  call.args.report_args.logprob_kind = int32_t(random() % 3);
  call.wanted = {true, true, true, true, true, 0};
  return call;
}

// JOINT's top-p beside top-k, of which both keep ties, on rows of a few values: of their ties,
// which had other values before the biases, all are kept or none.
struct JointTies {
  static constexpr int64_t kNumRows = 6, kNumCols = 700;

  Rows rows = {kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, {}, {}};
  SampleCall call;

  explicit JointTies(std::mt19937_64 &random) {
    for (int64_t i = 0; i < kNumRows * kNumCols; ++i) {
      rows.values.push_back(float(random() % 4) - (random() % 8 ? 8.0f : 0.0f));
    }
    rows.bytes.resize(rows.values.size() * sizeof(float));
    std::memcpy(rows.bytes.data(), rows.values.data(), rows.bytes.size());
    for (int64_t i = 0; i < kNumCols; ++i) biases_.push_back(float(random() % 3));
    call = draw_call(random);
    call.params.temperature = pick<float>(random, {1, 2, 0.3f});
    call.params.top_k = pick<int32_t>(random, {1, 3, 20, 60, 300});
    call.params.top_p = pick<float>(random, {0.1f, 0.5f, 0.9f, 0.999f});
    call.params.min_p = pick<float>(random, {0, 0, 1e-3f});
    call.params.top_k_ties = call.params.top_p_ties = SAMPLER_TIES_KEEP;
    call.params.filter_order = SAMPLER_FILTERS_JOINT;
    call.args.random.seed = random();
    call.wanted.ranks = random() % 2;
    call.wanted.logprobs = random() % 2;
    if (random() % 4 == 0) return;
    pipeline_.struct_size = sizeof pipeline_;
    pipeline_.dense_bias = biases_.data();
    pipeline_.num_dense_biases = 1;
    call.args.pipeline = &pipeline_;
  }
  JointTies(const JointTies &) = delete;
  JointTies &operator=(const JointTies &) = delete;

  int64_t num_exchanges() const {
    const bool is_of_given = call.args.pipeline &&
                             call.args.report_args.logprob_kind == SAMPLER_LOGPROB_RAW &&
                             call.wanted.ranks;
    return is_of_given ? 3 : 2;
  }

 private:
  std::vector<float> biases_;
  sampler_pipeline pipeline_ = {};
};

}  // namespace shards_test
