// One token per output row.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "contract/elements.h"
#include "contract/log2.h"
#include "cpu/distribution.h"
#include "cpu/draw.h"
#include "cpu/operations.h"
#include "cpu/row.h"
#include "cpu/tasks.h"

namespace sampler::cpu {

using contract::RowParameters;
using contract::SampleRequest;
namespace row_status = contract::row_status;

namespace {

// What the outputs of one row share when their parameters are equal.
struct PreparedRow {
  Row row;
  Distribution distribution;
  InverseCdf inverse_cdf;
  uint64_t raw_weight;  // of the whole row at temperature 1, for raw logprobs
  uint32_t status;
};

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
  RowBuffers buffers;

  // Of task `task`, where a task's part follows the other's.
  static size_t layout(const SampleRequest &request, int64_t num_tasks, void *block, int64_t task,
                       Workspace *out) {
    Arena arena(block);
    if (request.row_indices) out->order = arena.take<int32_t>(request.num_rows);
    for (int64_t i = 0; i < num_tasks; ++i) {
      uint64_t *sort = arena.take<uint64_t>(request.input.num_cols);
      const RowBuffers buffers = take_row_buffers(arena, request.input, sort);
      if (i == task) out->buffers = buffers;
    }
    return arena.bytes();
  }
};

PreparedRow prepare(const SampleRequest &request, int64_t output, const RowBuffers &buffers) {
  PreparedRow result = {};
  const int64_t index = input_row(request, output);
  if (index < 0 || index >= request.input.num_rows) {
    result.status = row_status::kInvalidIndex;
    return result;
  }
  const RowParameters parameters = request.parameters.row(output);
  result.status = contract::check_parameters(request.input.kind, parameters);
  if (result.status != row_status::kOk) return result;
  result.row = load_row(row_view(request.input, index), buffers);
  result.status = result.row.status;
  if (result.status != row_status::kOk) return result;

  result.distribution =
      make_distribution(result.row, parameters, request.parameters.rules, buffers.sort);
  if (request.out_logprobs && request.logprob_kind == contract::LogprobKind::kRaw) {
    result.raw_weight = total_weight(result.row);
  }
  if (!result.distribution.greedy && request.draw_method == contract::DrawMethod::kInverseCdf) {
    result.inverse_cdf = InverseCdf(result.row, result.distribution, buffers.sort);
  }
  return result;
}

int64_t draw(const SampleRequest &request, const PreparedRow &prepared, int64_t output) {
  if (prepared.distribution.greedy) {
    return prepared.row.find(contract::id_of_rank(prepared.row.first));
  }
  const contract::RandomStream random = request.random.row(output);
  if (request.draw_method == contract::DrawMethod::kGumbel) {
    return draw_gumbel(prepared.row, prepared.distribution, random);
  }
  return prepared.inverse_cdf.draw(contract::random_word64(random, contract::Purpose::kSample, 0));
}

float logprob(const SampleRequest &request, const PreparedRow &prepared, float value) {
  const Distribution &distribution = prepared.distribution;
  if (request.logprob_kind == contract::LogprobKind::kRaw) {
    const contract::RowScale at_1 =
        contract::row_scale(prepared.row.kind, prepared.row.max(), 1.0f);
    return contract::log_probability(at_1, value, prepared.raw_weight);
  }
  if (distribution.greedy) return 0.0f;
  return contract::log_probability(distribution.scale, value, distribution.kept_weight);
}

void write_output(const SampleRequest &request, const PreparedRow &prepared, int64_t output) {
  const bool good = prepared.status == row_status::kOk;
  const int64_t index = good ? draw(request, prepared, output) : -1;
  const float value = good ? prepared.row.values[index] : contract::quiet_nan();
  contract::store_id(request.out_token_ids, output,
                     good ? int64_t(prepared.row.id(index)) : request.bad_row_token);
  if (request.out_kept_counts) {
    request.out_kept_counts[output] = good ? int32_t(prepared.distribution.kept_count) : 0;
  }
  if (request.out_logprobs) {
    request.out_logprobs[output] = good ? logprob(request, prepared, value) : value;
  }
  if (request.out_values) request.out_values[output] = value;
  if (request.out_row_status) request.out_row_status[output] = prepared.status;
}

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

bool run(const SampleRequest &request, const Executor &executor, void *block) {
  const int64_t num_tasks = num_tasks_for(request.num_rows, executor.num_threads);
  if (request.row_indices) {
    Workspace workspace;
    Workspace::layout(request, num_tasks, block, 0, &workspace);
    sort_outputs(request, workspace.order);
  }
  return for_row_ranges(executor, request.num_rows, [&](int64_t task, int64_t begin, int64_t end) {
    Workspace workspace;
    Workspace::layout(request, num_tasks, block, task, &workspace);
    PreparedRow prepared = {};
    int64_t previous = -1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t output = workspace.order ? workspace.order[i] : i;
      if (previous < 0 || !workspace.order ||
          sort_key(request, previous) != sort_key(request, output)) {
        prepared = prepare(request, output, workspace.buffers);
      }
      previous = output;
      write_output(request, prepared, output);
    }
  });
}

}  // namespace sampler::cpu
