// A row of output for each row of input: softmax, renormalisation, masks; and the selection of the
// first tokens in rank order.
#include <algorithm>
#include <functional>

#include "contract/elements.h"
#include "cpu/distribution.h"
#include "cpu/operations.h"
#include "cpu/row.h"
#include "cpu/tasks.h"

namespace sampler::cpu {

using contract::RowsRequest;
using contract::SelectRequest;
namespace row_status = contract::row_status;

namespace {

template <class Request>
size_t layout(const Request &request, int64_t num_tasks, void *block, int64_t task,
              RowBuffers *out) {
  Arena arena(block);
  for (int64_t i = 0; i < num_tasks; ++i) {
    uint64_t *sort = arena.take<uint64_t>(request.input.num_cols);
    const RowBuffers buffers = take_row_buffers(arena, request.input, sort);
    if (i == task) *out = buffers;
  }
  return arena.bytes();
}

template <class Request>
size_t bytes(const Request &request, int num_threads) {
  RowBuffers unused;
  return layout(request, num_tasks_for(request.input.num_rows, num_threads), nullptr, 0, &unused);
}

template <class Request, class Work>
bool for_rows(const Request &request, const Executor &executor, void *block, const Work &work) {
  const int64_t num_rows = request.input.num_rows;
  const int64_t num_tasks = num_tasks_for(num_rows, executor.num_threads);
  return for_row_ranges(executor, num_rows, [&](int64_t task, int64_t begin, int64_t end) {
    RowBuffers buffers;
    layout(request, num_tasks, block, task, &buffers);
    for (int64_t row = begin; row < end; ++row) work(row, buffers);
  });
}

// Element i of the output row, from element i of the input row.
template <class Element>
void write_row(const RowsRequest &request, int64_t row, const Element &element) {
  for (int64_t i = 0; i < request.input.num_cols; ++i) {
    contract::store_value(request.output, request.output_dtype, row * request.output_stride + i,
                          element(i));
  }
}

void write_good_row(const RowsRequest &request, int64_t row, const RowView &view,
                    const Distribution &distribution) {
  const bool mask = request.output_kind == contract::RowOutput::kMask;
  write_row(request, row, [&](int64_t i) {
    if (i >= view.count) return mask ? contract::negative_infinity() : 0.0f;
    const float x = view.value(i);
    const contract::Rank rank = contract::rank_of(x, uint32_t(view.id(i)));
    if (mask) return distribution.keeps(rank) ? x : contract::negative_infinity();
    return distribution.probability(x, rank);
  });
}

// Masks copy a bad row, as far as its count is a count.
void write_bad_row(const RowsRequest &request, int64_t row, const RowView &view) {
  const bool mask = request.output_kind == contract::RowOutput::kMask;
  const int64_t count = view.count <= view.capacity ? view.count : 0;
  write_row(request, row, [&](int64_t i) {
    if (!mask) return 0.0f;
    return i < count ? view.value(i) : contract::negative_infinity();
  });
}

void run_row(const RowsRequest &request, int64_t index, const RowBuffers &buffers) {
  const RowView view = row_view(request.input, index);
  const contract::RowParameters parameters = request.parameters.row(index);
  uint32_t status = contract::check_parameters(request.input.kind, parameters);
  int32_t kept_count = 0;
  if (status == row_status::kOk) {
    const Row row = load_row(view, buffers);
    status = row.status;
    if (status == row_status::kOk) {
      const Distribution distribution =
          make_distribution(row, parameters, request.parameters.rules, buffers.sort);
      kept_count = int32_t(distribution.kept_count);
      write_good_row(request, index, view, distribution);
    }
  }
  if (status != row_status::kOk) write_bad_row(request, index, view);
  if (request.out_kept_counts) request.out_kept_counts[index] = kept_count;
  if (request.out_row_status) request.out_row_status[index] = status;
}

int64_t wanted_count(const SelectRequest &request, int64_t row) {
  const int64_t k = request.top_ks ? request.top_ks[row] : 0;
  return k <= 0 || k >= request.num_selected ? request.num_selected : k;
}

void run_row(const SelectRequest &request, int64_t index, const RowBuffers &buffers) {
  const Row row = load_row(row_view(request.input, index), buffers);
  int64_t count = 0;
  if (row.status == row_status::kOk) {
    const contract::Rank lowest = contract::lowest_cut(row.kind);
    for (int64_t i = 0; i < row.count; ++i) {
      if (row.rank(i) >= lowest) buffers.sort[count++] = row.rank(i);
    }
    std::sort(buffers.sort, buffers.sort + count, std::greater<contract::Rank>());
    count = std::min(count, wanted_count(request, index));
  }
  const float nothing =
      row.kind == contract::InputKind::kLogits ? contract::negative_infinity() : 0.0f;
  for (int64_t i = 0; i < request.num_selected; ++i) {
    const int64_t element = index * request.num_selected + i;
    if (request.out_values) {
      contract::store_value(
          request.out_values, request.output_dtype, element,
          i < count ? row.values[row.find(contract::id_of_rank(buffers.sort[i]))] : nothing);
    }
    if (request.out_token_ids.data) {
      contract::store_id(request.out_token_ids, element,
                         i < count ? int64_t(contract::id_of_rank(buffers.sort[i])) : -1);
    }
  }
  if (request.out_counts) request.out_counts[index] = int32_t(count);
  if (request.out_row_status) request.out_row_status[index] = row.status;
}

template <class Request>
bool run_rows(const Request &request, const Executor &executor, void *block) {
  return for_rows(request, executor, block,
                  [&](int64_t row, const RowBuffers &buffers) { run_row(request, row, buffers); });
}

}  // namespace

size_t workspace_bytes(const RowsRequest &request, int num_threads) {
  return bytes(request, num_threads);
}

size_t workspace_bytes(const SelectRequest &request, int num_threads) {
  return bytes(request, num_threads);
}

bool run(const RowsRequest &request, const Executor &executor, void *block) {
  return run_rows(request, executor, block);
}

bool run(const SelectRequest &request, const Executor &executor, void *block) {
  return run_rows(request, executor, block);
}

}  // namespace sampler::cpu
