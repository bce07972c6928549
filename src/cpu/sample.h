// Samples one token per output row.
#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>

#include "contract/elements.h"
#include "cpu/kept_lists.h"
#include "cpu/row_tasks.h"
#include "cpu/sampled_row.h"

namespace sampler::cpu {

inline int64_t input_row(const contract::SampleRequest &request, int64_t output) {
  return request.row_indices ? request.row_indices[output] : output;
}

// Equal for outputs with equal parameters, and for all without a valid slot.
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

// Whether the input rows are in ascending order. Branchless.
inline bool has_rows_in_order(const contract::SampleRequest &request) {
  const auto *rows = request.row_indices;
  bool in_order = true;
  for (int64_t i = 1; i < request.num_rows; ++i) in_order &= rows[i - 1] <= rows[i];
  return in_order;
}

// Groups outputs by input row and parameters.
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

// Output order, which groups outputs with the same row and parameters. Edited rows are not shared.
template <>
struct Shared<contract::SampleRequest> {
  Shared(const contract::SampleRequest &request, Arena &arena)
      : order(request.row_indices && !request.pipeline ? arena.take<int32_t>(request.num_rows)
                                                       : nullptr) {
    if (order) sort_outputs(request, order);
    if (request.reports) kept_lists = make_kept_lists(*request.reports, request.num_rows, arena);
  }

  void finish(const contract::SampleRequest &request) const {
    if (!request.reports || !request.reports->are_lists_packed()) return;
    pack(kept_lists, *request.reports, request.num_rows);
  }

  int64_t output(int64_t place) const { return order ? order[place] : place; }

  int32_t *order;  // null: output order
  contract::KeptLists kept_lists;
};

// Computes outputs in order. Those with the same row and parameters share one prepared row.
template <class Row>
class Task<contract::SampleRequest, Row> {
 public:
  Task(const contract::SampleRequest &request, const Shared<contract::SampleRequest> &shared,
       TaskMemory &memory)
      : request_(request), shared_(shared), sampled_(request, memory, &shared.kept_lists) {}

  // `begin` and `end` index the output order.
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

  // Prepares the row of `output`, which `num_outputs` outputs share.
  void prepare(int64_t output, int64_t num_outputs) {
    const int64_t index = input_row(request_, output);
    if (index < 0 || index >= request_.input.num_rows) {
      status_ = SAMPLER_ROW_INVALID_INDEX;
      return;
    }
    contract::RowParameters parameters = {};
    const int64_t slot = request_.slots[output];
    status_ = contract::read_parameters(request_, slot, &parameters);
    if (status_ != SAMPLER_ROW_OK) return;
    status_ = sampled_.prepare({contract::row_view(request_.input, index), slot, output, output,
                                num_outputs, xtc_word(slot)},
                               parameters, SampledRow<Row>::Wanted::kNothingElse);
    if (status_ == SAMPLER_ROW_OK) sampled_.prepare_draws(num_outputs);
  }

  uint32_t xtc_word(int64_t slot) const {
    if (!request_.pipeline) return 0;
    return contract::random_word32(request_.random.of(slot), contract::Purpose::kXtc, 0);
  }

  // Writes the outputs that share the prepared row, from place `first` on.
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
      if (status_ == SAMPLER_ROW_OK && writes_ids_alone()) {
        for (int64_t i = 0; i < num_outputs; ++i) {
          contract::store_id(request_.out_token_ids, outputs[i], ids[i]);
        }
      } else {
        for (int64_t i = 0; i < num_outputs; ++i) write(outputs[i], ids[i]);
      }
    }
  }

  bool writes_ids_alone() const {
    return request_.out_token_ids.data && !request_.out_row_status && !sampled_.has_other_outputs();
  }

  void write(int64_t output, int64_t id) const {
    if (request_.out_token_ids.data) contract::store_id(request_.out_token_ids, output, id);
    if (request_.out_row_status) request_.out_row_status[output] = status_;
    if (status_ == SAMPLER_ROW_OK) {
      sampled_.write_good(output, id);
    } else {
      sampled_.write_bad(output);
    }
  }

  void report_shared(int64_t first, int64_t count) {
    sampled_.report_shared();
    for (int64_t i = 0; i < count; ++i) sampled_.copy_report_to(shared_.output(first + i));
  }

  void draw(const int64_t *outputs, int64_t count, int64_t *ids) const {
    contract::RandomStream streams[kOutputsAtOnce];
    if (sampled_.is_drawn()) {
      for (int64_t i = 0; i < count; ++i) {
        streams[i] = request_.random.of(request_.slots[outputs[i]]);
      }
    }
    sampled_.draw(streams, count, ids);
  }

  const contract::SampleRequest &request_;
  const Shared<contract::SampleRequest> &shared_;
  SampledRow<Row> sampled_;
  uint32_t status_ = SAMPLER_ROW_OK;
};

}  // namespace sampler::cpu
