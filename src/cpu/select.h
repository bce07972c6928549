// Selects the first tokens of each row in rank order.
#pragma once

#include "contract/elements.h"
#include "cpu/row_tasks.h"

namespace sampler::cpu {

template <class Row>
class Task<contract::SelectRequest, Row> {
 public:
  Task(const contract::SelectRequest &request, const Shared<contract::SelectRequest> &,
       TaskMemory &memory)
      : request_(request), row_(memory.make_row<Row>(request.input)) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  void run_row(int64_t index) {
    const RowView view = contract::row_view(request_.input, index);
    const uint32_t status = row_.load(view, contract::Use::kOrder);
    const contract::Rank *ranks = nullptr;
    int64_t count = 0;
    if (status == SAMPLER_ROW_OK) count = row_.select(wanted_count(index), &ranks);
    const float nothing =
        request_.input.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    for (int64_t i = 0; i < request_.num_selected; ++i) {
      const int64_t element = index * request_.num_selected + i;
      const int64_t id = i < count ? int64_t(contract::id_of_rank(ranks[i])) : -1;
      if (request_.out_values) {
        contract::store_value(request_.out_values, request_.output_dtype, element,
                              i < count ? row_.value_of(id) : nothing);
      }
      if (request_.out_token_ids.data) contract::store_id(request_.out_token_ids, element, id);
    }
    if (request_.out_counts) request_.out_counts[index] = int32_t(count);
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  int64_t wanted_count(int64_t row) const {
    const int64_t k = request_.selected_counts ? request_.selected_counts[row] : 0;
    return k <= 0 || k >= request_.num_selected ? request_.num_selected : k;
  }

  const contract::SelectRequest &request_;
  Row row_;
};

}  // namespace sampler::cpu
