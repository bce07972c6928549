// One token per output row.
#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>

#include "contract/elements.h"
#include "cpu/reports.h"
#include "cpu/row_tasks.h"
#include "cpu/stages.h"

namespace sampler::cpu {

inline int64_t input_row(const contract::SampleRequest &request, int64_t output) {
  return request.row_indices ? request.row_indices[output] : output;
}

// Equal for outputs of equal parameters, and for those without a slot.
inline auto parameters_key(const contract::SampleRequest &request, int64_t output) {
  const int64_t slot = request.slots[output];
  const bool has_slot = request.slots.has(slot);
  const auto row = has_slot ? request.parameters.of(slot) : contract::RowParameters();
  return std::make_tuple(has_slot, contract::bits_of(row.temperature), row.top_k,
                         contract::bits_of(row.top_p), contract::bits_of(row.min_p));
}

inline bool parameters_may_differ(const contract::SampleRequest &request) {
  return request.parameters.differ_by_slot() || request.slots.of_rows;
}

// Whether two outputs draw from the same distribution of the same row.
inline bool share_preparation(const contract::SampleRequest &request, int64_t a, int64_t b) {
  return input_row(request, a) == input_row(request, b) &&
         (!parameters_may_differ(request) ||
          parameters_key(request, a) == parameters_key(request, b));
}

// Whether rows come in order. Nothing is asked twice, nor is there a jump.
inline bool has_rows_in_order(const contract::SampleRequest &request) {
  const auto *rows = request.row_indices;
  bool in_order = true;
  for (int64_t i = 1; i < request.num_rows; ++i) in_order &= rows[i - 1] <= rows[i];
  return in_order;
}

// Brings outputs of the same row and parameters together.
inline void sort_outputs(const contract::SampleRequest &request, int32_t *order) {
  const auto before = [&](int32_t a, int32_t b) {
    const int64_t row_a = input_row(request, a), row_b = input_row(request, b);
    if (row_a != row_b) return row_a < row_b;
    if (parameters_may_differ(request)) {
      const auto key_a = parameters_key(request, a), key_b = parameters_key(request, b);
      if (key_a != key_b) return key_a < key_b;
    }
    return a < b;
  };
  for (int64_t i = 0; i < request.num_rows; ++i) order[i] = int32_t(i);
  if (!parameters_may_differ(request) && has_rows_in_order(request)) return;
  if (!std::is_sorted(order, order + request.num_rows, before)) {
    std::sort(order, order + request.num_rows, before);
  }
}

// Outputs that share a row and parameters stand together. What is edited is not shared.
template <>
struct Shared<contract::SampleRequest> {
  Shared(const contract::SampleRequest &request, Arena &arena)
      : order(request.row_indices && !request.pipeline ? arena.take<int32_t>(request.num_rows)
                                                       : nullptr) {
    if (order) sort_outputs(request, order);
  }

  int64_t output(int64_t place) const { return order ? order[place] : place; }

  int32_t *order;  // null: as they are
};

// Outputs one after the other. Those of the same row and parameters share what is made of them.
template <class Row>
class Task<contract::SampleRequest, Row> {
 public:
  Task(const contract::SampleRequest &request, const Shared<contract::SampleRequest> &shared,
       TaskMemory &memory)
      : request_(request),
        shared_(shared),
        row_(memory.make_row<Row>(request.input)),
        reports_(request, memory),
        stages_(request.pipeline, request.input, reports_.looks_at_edited(), memory) {}

  // `begin` and `end` are places in the order.
  void run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t first = i;
      while (++i < end && shared_.order &&
             share_preparation(request_, shared_.output(first), shared_.output(i))) {
      }
      prepare(shared_.output(first), i - first);
      write_shared(first, i - first);
      if (request_.reports && status_ == SAMPLER_ROW_OK) report_shared(first, i - first);
    }
  }

 private:
  static constexpr int64_t kOutputsAtOnce = 64;

  // For `output` and all that share what is prepared, `num_outputs` of them.
  void prepare(int64_t output, int64_t num_outputs) {
    const int64_t index = input_row(request_, output);
    if (index < 0 || index >= request_.input.num_rows) {
      status_ = SAMPLER_ROW_INVALID_INDEX;
      return;
    }
    contract::RowParameters parameters = {};
    status_ = contract::read_parameters(request_, request_.slots[output], &parameters);
    if (status_ != SAMPLER_ROW_OK) return;
    const int64_t slot = request_.slots[output];
    reports_.begin(output, num_outputs, &stages_.edits());
    const RowStages::Asked asked = {parameters, request_.parameters.rules};
    status_ = stages_.load(contract::row_view(request_.input, index), slot, output, &asked, &row_,
                           reports_.looks_at_given(), [&](const Row &) {
                             reports_.look_at(SAMPLER_LOGPROB_RAW,
                                              elements_if(stages_.replaces_given()), &row_);
                           });
    if (status_ == SAMPLER_ROW_OK) status_ = read_forced_token(slot);
    if (status_ != SAMPLER_ROW_OK) return;
    reports_.look_at(SAMPLER_LOGPROB_EDITED, elements_if(stages_.replaces_edited()), &row_);
    parameters = stages_.adapt(parameters, slot);
    reports_.trace_removals(parameters, slot, xtc_word(slot), &row_);

    distribution_ =
        stages_.distribute(parameters, request_.parameters.rules, slot, xtc_word(slot), &row_);
    distribution_ = stages_.reweigh(distribution_, slot, &row_);
    reports_.look_at(distribution_, row_);
    if (request_.out_kept_counts) kept_count_ = int32_t(row_.kept_count());
    const bool by_inverse_cdf = request_.draw_method == SAMPLER_DRAW_INVERSE_CDF;
    const bool is_drawn = !distribution_.greedy && forced_ < 0;
    if (by_inverse_cdf && is_drawn) row_.prepare_draws(num_outputs);
  }

  const Elements *elements_if(bool is_replaced) const {
    return is_replaced ? &stages_.elements() : nullptr;
  }

  uint32_t xtc_word(int64_t slot) const {
    if (!request_.pipeline) return 0;
    return contract::random_word32(request_.random.of(slot), contract::Purpose::kXtc, 0);
  }

  uint32_t read_forced_token(int64_t slot) {
    const bool has_any = request_.pipeline && request_.pipeline->forced_token_ids;
    forced_ = has_any ? request_.pipeline->forced_token_ids[slot] : -1;
    return forced_ >= 0 && !row_.has(forced_) ? SAMPLER_ROW_INVALID_PARAMETER : SAMPLER_ROW_OK;
  }

  // The outputs that share what was prepared, from place `first` on.
  void write_shared(int64_t first, int64_t count) const {
    for (int64_t begin = 0; begin < count; begin += kOutputsAtOnce) {
      const int64_t num_outputs = std::min(count - begin, kOutputsAtOnce);
      int64_t outputs[kOutputsAtOnce], ids[kOutputsAtOnce];
      for (int64_t i = 0; i < num_outputs; ++i) {
        outputs[i] = shared_.output(first + begin + i);
      }
      if (status_ == SAMPLER_ROW_OK) {
        draw(outputs, num_outputs, ids);
      } else {
        std::fill_n(ids, num_outputs, request_.bad_row_token);
      }
      for (int64_t i = 0; i < num_outputs; ++i) write(outputs[i], ids[i]);
    }
  }

  void write(int64_t output, int64_t id) const {
    const bool good = status_ == SAMPLER_ROW_OK;
    contract::store_id(request_.out_token_ids, output, id);
    if (request_.out_kept_counts) request_.out_kept_counts[output] = good ? kept_count_ : 0;
    if (request_.out_row_status) request_.out_row_status[output] = status_;
    if (request_.out_observations) {
      request_.out_observations[output] =
          good ? stages_.observation(row_, distribution_, id) : contract::quiet_nan();
    }
    if (request_.out_logprobs) {
      request_.out_logprobs[output] =
          good ? reports_.log_probability(row_, id) : contract::quiet_nan();
    }
    if (request_.out_values) {
      request_.out_values[output] = good ? stages_.given_value(row_, id) : contract::quiet_nan();
    }
    if (good) {
      reports_.write_own(row_, output, id);
    } else {
      reports_.write_bad(output);
    }
  }

  void report_shared(int64_t first, int64_t count) {
    reports_.write_shared(&row_);
    for (int64_t i = 0; i < count; ++i) {
      reports_.copy_to(shared_.output(first + i));
      reports_.write_sorted_rank(row_, shared_.output(first + i));
    }
  }

  void draw(const int64_t *outputs, int64_t count, int64_t *ids) const {
    if (forced_ >= 0) {
      std::fill_n(ids, count, forced_);
      return;
    }
    if (distribution_.greedy) {
      std::fill_n(ids, count, int64_t(contract::id_of_rank(row_.first())));
      return;
    }
    contract::RandomStream streams[kOutputsAtOnce];
    for (int64_t i = 0; i < count; ++i) streams[i] = request_.random.of(request_.slots[outputs[i]]);
    if (request_.draw_method == SAMPLER_DRAW_GUMBEL) {
      for (int64_t i = 0; i < count; ++i) ids[i] = row_.draw_gumbel(streams[i]);
      return;
    }
    uint64_t words[kOutputsAtOnce];
    row_.sample_words(streams, count, words);
    row_.draw(words, count, ids);
  }

  const contract::SampleRequest &request_;
  const Shared<contract::SampleRequest> &shared_;
  Row row_;
  RowReports<Row> reports_;
  RowStages stages_;
  Distribution distribution_ = {};
  int64_t forced_ = -1;  // the token that is not drawn; negative: none
  int32_t kept_count_ = 0;
  uint32_t status_ = SAMPLER_ROW_OK;
};

}  // namespace sampler::cpu
