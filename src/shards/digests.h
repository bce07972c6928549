// Digests of the arguments that must agree on all ranks: host arguments, and each row's array
// entries.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/parameter_table.h"
#include "contract/pipeline.h"
#include "shards/call.h"

namespace sampler::shards {

using namespace contract;

class Digest {
 public:
  SAMPLER_HD void add(uint64_t value) {
    state_ = (state_ ^ value) * kFactor;
    state_ ^= state_ >> 32;
  }
  SAMPLER_HD void add(float value) { add(uint64_t(bits_of(value))); }
  SAMPLER_HD void add(int32_t value) { add(uint64_t(uint32_t(value))); }
  SAMPLER_HD void add(int64_t value) { add(uint64_t(value)); }
  SAMPLER_HD void add(bool value) { add(uint64_t(value)); }

  template <class T>
  SAMPLER_HD void add(const PerSlot<T> &numbers) {
    add(numbers.array != nullptr);
    if (!numbers.array) add(numbers.value);
  }
  SAMPLER_HD void add(const SeedSource &source) {
    add(source.array != nullptr);
    add(source.per_slot);
    if (!source.array) add(source.value);
  }
  SAMPLER_HD void add(const TokenLists &lists) {
    add(lists.offsets != nullptr);
    add(lists.num_lists);
    add(lists.num_ids);
  }

  // Digest of a list's entry and its position. A list's digest is their sum, in any order.
  SAMPLER_HD static uint64_t of_entry(int64_t place, uint64_t entry) {
    uint64_t x = (entry + 1) * kFactor ^ (uint64_t(place) + 1) * 0xC2B2AE3D27D4EB4Fu;
    x = (x ^ x >> 32) * kFactor;
    return x ^ x >> 29;
  }

  SAMPLER_HD uint64_t value() const { return state_; }

 private:
  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;

  uint64_t state_ = 0x6A09E667F3BCC909u;
};

// Calls f(number) for each parameter of the stages that shards have.
template <class F>
SAMPLER_HD void for_each_number(const Pipeline &pipeline, const F &f) {
  for_each_stage_parameter(&pipeline, [&](int, sampler_stage stage, const auto *number) {
    if (is_edit(stage) || stage == SAMPLER_STAGE_TOP_P) f(*number);
  });
}

struct AddNumber {
  Digest *digest;

  template <class T>
  SAMPLER_HD void operator()(const PerSlot<T> &number) const {
    digest->add(number);
  }
};

// ---- Host arguments ----

inline const char *name_of_digest(int group) {
  constexpr const char *names[ShardDigests::kNumGroups] = {
      "the operation, its rows, columns, ranks or reports", "params or row_params", "random",
      "pipeline"};
  return names[group];
}

inline uint64_t digest_shape(const ShardCall &call) {
  const ShardPlan plan = plan_shards(call);
  Digest digest;
  digest.add(int32_t(call.sample ? 0 : call.filter ? 1 : call.select ? 2 : call.residual ? 3 : 4));
  digest.add(call.residual && call.residual->draft.values);
  digest.add(plan.num_rows);
  digest.add(plan.num_candidates);
  digest.add(plan.has_values);
  for (const bool has :
       {plan.has_ties, plan.has_digits, plan.has_sums, plan.has_late_sums, plan.has_early_token,
        plan.has_token, plan.has_rank, plan.has_token_rank}) {
    digest.add(has);
  }
  digest.add(call.total_cols());
  digest.add(int32_t(call.input().kind));
  if (const VerifyRequest *const verify = call.verify) {
    digest.add(plan.num_positions);
    digest.add(verify->draft.values != nullptr), digest.add(verify->draft_counts != nullptr);
    digest.add(verify->out_accepted_counts != nullptr);
  }
  digest.add(call.num_ranks);
  if (call.sample) {
    digest.add(call.sample->row_indices != nullptr);
    digest.add(int32_t(call.sample->draw_method));
    digest.add(int32_t(call.sample->logprob_kind));
    digest.add(call.wants_entropies());
  }
  return digest.value();
}

inline uint64_t digest_parameters(const ShardCall &call) {
  Digest digest;
  if (call.residual) return digest.value();
  if (call.select) {
    digest.add(call.select->selected_counts != nullptr);
    return digest.value();
  }
  const Parameters &parameters = call.parameters();
  digest.add(parameters.temperature), digest.add(parameters.top_k), digest.add(parameters.top_p);
  digest.add(parameters.min_p);
  const FilterRules &rules = parameters.rules;
  digest.add(int32_t(rules.top_k_ties)), digest.add(int32_t(rules.top_p_ties));
  digest.add(int32_t(rules.order)), digest.add(int32_t(rules.temperature_order));
  digest.add(int32_t(rules.top_p_sum));
  digest.add(call.slots().of_rows != nullptr);
  digest.add(call.slots().count);
  return digest.value();
}

inline uint64_t digest_randomness(const ShardCall &call) {
  Digest digest;
  if (call.sample || call.verify) {
    const Randomness &random = call.sample ? call.sample->random : call.verify->random;
    digest.add(random.seed), digest.add(random.offset);
    digest.add(random.streams != nullptr), digest.add(random.are_watermarks);
  }
  return digest.value();
}

inline uint64_t digest_stages(const ShardCall &call) {
  Digest digest;
  const Pipeline *const pipeline = call.pipeline;
  if (!pipeline) return digest.value();
  for (const sampler_stage stage : pipeline->edits) digest.add(int32_t(stage));
  for_each_number(*pipeline, AddNumber{&digest});
  digest.add(int32_t(pipeline->penalty_scope)), digest.add(int32_t(pipeline->penalty_form));
  digest.add(pipeline->bad_words_end_output);
  digest.add(int32_t(pipeline->bitmask_rule));
  digest.add(pipeline->state_slots ? true : false);
  for (const auto *lists :
       {&pipeline->history, &pipeline->biased, &pipeline->bias_contexts, &pipeline->allowed,
        &pipeline->banned, &pipeline->stop, &pipeline->unpenalized, &pipeline->bad_words,
        &pipeline->dry_breakers}) {
    digest.add(*lists);
  }
  digest.add(pipeline->guidance.logits != nullptr), digest.add(pipeline->dense_bias != nullptr),
      digest.add(pipeline->bitmasks != nullptr);
  return digest.value();
}

inline ShardDigests digest_arguments(const ShardCall &call) {
  return {
      {digest_shape(call), digest_parameters(call), digest_randomness(call), digest_stages(call)}};
}

inline uint64_t digest_of(const ShardDigests &digests) {
  Digest digest;
  for (const uint64_t group : digests.groups) digest.add(group);
  return digest.value();
}

// ---- Array entries of an output row with a valid slot ----

// `workers` share a list's entries; `sum(own)` adds over the workers.
template <class Workers, class Sum>
class RowDigest {
 public:
  // `breakers`: the result of of_breakers(), the same for all rows.
  SAMPLER_HD RowDigest(const Workers &workers, const Sum &sum, uint64_t breakers = 0)
      : workers_(workers), sum_(sum), breakers_(breakers) {}

  SAMPLER_HD uint64_t of_breakers(const Pipeline &pipeline) {
    const TokenLists &words = pipeline.dry_breakers;
    if (words) add_words(words, 0, words.num_lists);
    return digest_.value();
  }

  SAMPLER_HD uint64_t of(const ShardCall &call, int64_t output, int64_t slot,
                         const RowParameters &parameters) {
    add(slot);
    add(parameters.temperature), add(parameters.top_k);
    add(parameters.top_p), add(parameters.min_p);
    if (call.sample) {
      const RandomStream random = call.sample->random.of(slot);
      add(random.seed), add(random.offset), add(uint64_t(random.stream));
      if (call.sample->row_indices) add(call.sample->row_indices[output]);
    }
    if (call.pipeline) add_stages(*call.pipeline, output, slot);
    return digest_.value();
  }

 private:
  template <class T>
  SAMPLER_HD void add(T value) {
    digest_.add(value);
  }

  SAMPLER_HD void add_stages(const Pipeline &pipeline, int64_t output, int64_t slot) {
    for_each_number(pipeline, [&](const auto &number) { add(number[slot]); });
    if (!pipeline.has_edits()) return;
    if (pipeline.guidance.guides(slot, output)) add(pipeline.guidance.index(output));
    add_list(pipeline.biased, slot), add_list(pipeline.allowed, slot);
    add_list(pipeline.banned, slot), add_list(pipeline.stop, slot);
    add_list(pipeline.unpenalized, slot);
    add_bad_words(pipeline, slot);
    if (dry_is_on(pipeline.numbers(slot).dry)) add(breakers_);
    TokenList biased;
    if (pipeline.biased && pipeline.biased.find_by_slot(slot, &biased)) {
      add_entries(biased.count,
                  [&](int64_t i) { return uint64_t(bits_of(pipeline.biases[biased.begin + i])); });
      if (pipeline.bias_contexts) {
        add_words(pipeline.bias_contexts, biased.begin, biased.begin + biased.count);
      }
    }
    SlotHistory text;
    if (read_text(pipeline, slot, &text) == SAMPLER_ROW_OK) {
      add(text.prompt_length);
      add_list(text.tokens);
    }
  }

  SAMPLER_HD void add_bad_words(const Pipeline &pipeline, int64_t slot) {
    const TokenLists &words = pipeline.bad_words;
    if (!words) return;
    const int64_t *const offsets = pipeline.bad_word_offsets;
    const int64_t begin = offsets ? offsets[slot] : 0;
    const int64_t end = offsets ? offsets[slot + 1] : words.num_lists;
    if (begin >= 0 && begin <= end && end <= words.num_lists) add_words(words, begin, end);
  }
  // Adds consecutive lists: their lengths, then their ids.
  SAMPLER_HD void add_words(const TokenLists &words, int64_t begin, int64_t end) {
    const int64_t first = words.offsets[begin], last = words.offsets[end];
    if (first < 0 || first > last || last > words.num_ids) return;
    add_entries(end - begin,
                [&](int64_t i) { return uint64_t(words.offsets[begin + i + 1] - first); });
    add_list({words.ids, words.type, first, last - first});
  }

  SAMPLER_HD void add_list(const TokenLists &lists, int64_t slot) {
    TokenList list;
    if (lists && lists.find_by_slot(slot, &list)) add_list(list);
  }
  SAMPLER_HD void add_list(const TokenList &list) {
    add_entries(list.count, [&](int64_t i) { return uint64_t(list[i]); });
  }
  template <class Entry>
  SAMPLER_HD void add_entries(int64_t count, const Entry &entry) {
    uint64_t own = 0;
    for (int64_t i = workers_.index; i < count; i += workers_.count) {
      own += Digest::of_entry(i, entry(i));
    }
    add(count);
    add(sum_(own));
  }

  Workers workers_;
  const Sum &sum_;
  uint64_t breakers_;
  Digest digest_;
};

}  // namespace sampler::shards
