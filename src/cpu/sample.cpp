// One token per output row.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "contract/elements.h"
#include "contract/log2.h"
#include "cpu/operations.h"
#include "cpu/task_rows.h"
#include "cpu/tasks.h"

namespace sampler::cpu {

using contract::RowParameters;
using contract::SampleRequest;
namespace row_status = contract::row_status;

namespace {

int64_t input_row(const SampleRequest &request, int64_t output) {
  return request.row_indices ? request.row_indices[output] : output;
}

auto sort_key(const SampleRequest &request, int64_t output) {
  const RowParameters row = request.parameters.row(output);
  return std::make_tuple(input_row(request, output), contract::bits_of(row.temperature), row.top_k,
                         contract::bits_of(row.top_p), contract::bits_of(row.min_p));
}

struct Workspace {
  int32_t *order = nullptr;  // outputs that share a row and parameters stand together
  char *row = nullptr;

  // Of task `task`, where a task's part follows the other's.
  static size_t layout(const SampleRequest &request, int64_t num_tasks, void *block, int64_t task,
                       Workspace *out) {
    Arena arena(block);
    if (request.row_indices) out->order = arena.take<int32_t>(request.num_rows);
    for (int64_t i = 0; i < num_tasks; ++i) {
      char *row = arena.take<char>(int64_t(row_memory_bytes(request.input)));
      if (i == task) out->row = row;
    }
    return arena.bytes();
  }
};

// The outputs of one task, one after the other. Those of the same row and parameters share what is
// made of them.
template <class Row>
class Outputs {
 public:
  Outputs(const SampleRequest &request, Row row) : request_(request), row_(row) {}

  void prepare(int64_t output) {
    const int64_t index = input_row(request_, output);
    if (index < 0 || index >= request_.input.num_rows) {
      status_ = row_status::kInvalidIndex;
      return;
    }
    const RowParameters parameters = request_.parameters.row(output);
    status_ = contract::check_parameters(request_.input.kind, parameters);
    if (status_ != row_status::kOk) return;
    status_ = row_.load(row_view(request_.input, index));
    if (status_ != row_status::kOk) return;

    distribution_ = row_.distribute(parameters, request_.parameters.rules);
    if (request_.out_logprobs && request_.logprob_kind == contract::LogprobKind::kRaw) {
      raw_weight_ = row_.total_weight();
    }
  }

  void write(int64_t output) {
    const bool good = status_ == row_status::kOk;
    const Token token = good ? draw(output) : Token{request_.bad_row_token, contract::quiet_nan()};
    contract::store_id(request_.out_token_ids, output, token.id);
    if (request_.out_kept_counts) {
      request_.out_kept_counts[output] = good ? int32_t(row_.kept_count()) : 0;
    }
    if (request_.out_logprobs) {
      request_.out_logprobs[output] = good ? logprob(token.value) : token.value;
    }
    if (request_.out_values) request_.out_values[output] = token.value;
    if (request_.out_row_status) request_.out_row_status[output] = status_;
  }

 private:
  Token draw(int64_t output) {
    if (distribution_.greedy) return row_.first_token();
    const contract::RandomStream random = request_.random.row(output);
    if (request_.draw_method == contract::DrawMethod::kGumbel) return row_.draw_gumbel(random);
    return row_.draw(contract::random_word64(random, contract::Purpose::kSample, 0));
  }

  float logprob(float value) const {
    if (request_.logprob_kind == contract::LogprobKind::kRaw) {
      const contract::RowScale at_1 = contract::row_scale(row_.kind(), row_.max(), 1.0f);
      return contract::log_probability(at_1, value, raw_weight_);
    }
    if (distribution_.greedy) return 0.0f;
    return contract::log_probability(distribution_.scale, value, distribution_.kept_weight);
  }

  const SampleRequest &request_;
  Row row_;
  Distribution distribution_ = {};
  uint64_t raw_weight_ = 0;  // of the whole row at temperature 1, for raw logprobs
  uint32_t status_ = row_status::kOk;
};

// Brings outputs of the same row and parameters together.
void sort_outputs(const SampleRequest &request, int32_t *order) {
  const auto before = [&](int32_t a, int32_t b) {
    const auto key_a = sort_key(request, a), key_b = sort_key(request, b);
    return key_a != key_b ? key_a < key_b : a < b;
  };
  for (int64_t i = 0; i < request.num_rows; ++i) order[i] = int32_t(i);
  if (!std::is_sorted(order, order + request.num_rows, before)) {
    std::sort(order, order + request.num_rows, before);
  }
}

}  // namespace

size_t workspace_bytes(const SampleRequest &request, int num_threads) {
  Workspace unused;
  return Workspace::layout(request, num_tasks_for(request.num_rows, num_threads), nullptr, 0,
                           &unused);
}

Misuse run(const SampleRequest &request, const Executor &executor, void *block) {
  const int64_t num_tasks = num_tasks_for(request.num_rows, executor.num_threads);
  if (request.row_indices) {
    Workspace workspace;
    Workspace::layout(request, num_tasks, block, 0, &workspace);
    sort_outputs(request, workspace.order);
  }
  return with_rows(executor, request.input.ids, [&](const auto &rows) {
    return for_row_ranges(executor, request.num_rows,
                          [&](int64_t task, int64_t begin, int64_t end) {
                            Workspace workspace;
                            Workspace::layout(request, num_tasks, block, task, &workspace);
                            Outputs outputs(request, rows.make(request.input, workspace.row));
                            int64_t previous = -1;
                            for (int64_t i = begin; i < end; ++i) {
                              const int64_t output = workspace.order ? workspace.order[i] : i;
                              if (previous < 0 || !workspace.order ||
                                  sort_key(request, previous) != sort_key(request, output)) {
                                outputs.prepare(output);
                              }
                              previous = output;
                              outputs.write(output);
                            }
                          });
  });
}

}  // namespace sampler::cpu
