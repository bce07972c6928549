// A row of output for each row of input: softmax, renormalisation, masks; and the selection of the
// first tokens in rank order.
#include "contract/elements.h"
#include "cpu/operations.h"
#include "cpu/task_rows.h"
#include "cpu/tasks.h"

namespace sampler::cpu {

using contract::RowsRequest;
using contract::SelectRequest;
namespace row_status = contract::row_status;

namespace {

template <class Request>
size_t layout(const Request &request, int64_t num_tasks, void *block, int64_t task, char **out) {
  Arena arena(block);
  for (int64_t i = 0; i < num_tasks; ++i) {
    char *row = arena.take<char>(int64_t(row_memory_bytes(request.input)));
    if (i == task) *out = row;
  }
  return arena.bytes();
}

template <class Request>
size_t bytes(const Request &request, int num_threads) {
  char *unused = nullptr;
  return layout(request, num_tasks_for(request.input.num_rows, num_threads), nullptr, 0, &unused);
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
                    const ReferenceRow &, const Distribution &distribution) {
  const bool mask = request.output_kind == contract::RowOutput::kMask;
  write_row(request, row, [&](int64_t i) {
    if (i >= view.count) return mask ? contract::negative_infinity() : 0.0f;
    const float x = view.value(i);
    const contract::Rank rank = contract::rank_of(x, uint32_t(view.id(i)));
    if (mask) return distribution.keeps(rank) ? x : contract::negative_infinity();
    return distribution.probability(x, rank);
  });
}

void write_good_row(const RowsRequest &request, int64_t row, const RowView &view,
                    const SimdRow &values, const Distribution &) {
  const bool mask = request.output_kind == contract::RowOutput::kMask;
  const int64_t first = row * request.output_stride;
  char *out = static_cast<char *>(request.output) +
              first * int64_t(contract::size_of(request.output_dtype));
  if (mask) {
    values.write_kept_values(out, request.output_dtype);
  } else {
    values.write_probabilities(out, request.output_dtype);
  }
  for (int64_t i = view.count; i < request.input.num_cols; ++i) {
    contract::store_value(request.output, request.output_dtype, first + i,
                          mask ? contract::negative_infinity() : 0.0f);
  }
}

// Masks copy a bad row, as far as its count is a count.
void write_bad_row(const RowsRequest &request, int64_t row, const RowView &view) {
  const bool mask = request.output_kind == contract::RowOutput::kMask;
  const int64_t count = contract::has_valid_count(view, request.input.num_cols) ? view.count : 0;
  write_row(request, row, [&](int64_t i) {
    if (!mask) return 0.0f;
    return i < count ? view.value(i) : contract::negative_infinity();
  });
}

template <class Row>
void run_row(const RowsRequest &request, int64_t index, Row &row) {
  const RowView view = contract::row_view(request.input, index);
  const int64_t slot = request.slots[index];
  uint32_t status = contract::check_slot(request.slots, slot);
  contract::RowParameters parameters = {};
  if (status == row_status::kOk) {
    parameters = request.parameters.of(slot);
    status = contract::check_parameters(request.input.kind, parameters);
  }
  int32_t kept_count = 0;
  if (status == row_status::kOk) status = row.load(view);
  if (status == row_status::kOk) {
    const Distribution &distribution = row.distribute(parameters, request.parameters.rules);
    if (request.out_kept_counts) kept_count = int32_t(row.kept_count());
    write_good_row(request, index, view, row, distribution);
  } else {
    write_bad_row(request, index, view);
  }
  if (request.out_kept_counts) request.out_kept_counts[index] = kept_count;
  if (request.out_row_status) request.out_row_status[index] = status;
}

int64_t wanted_count(const SelectRequest &request, int64_t row) {
  const int64_t k = request.selected_counts ? request.selected_counts[row] : 0;
  return k <= 0 || k >= request.num_selected ? request.num_selected : k;
}

template <class Row>
void run_row(const SelectRequest &request, int64_t index, Row &row) {
  const RowView view = contract::row_view(request.input, index);
  const uint32_t status = row.load(view, contract::Use::kOrder);
  const contract::Rank *ranks = nullptr;
  int64_t count = 0;
  if (status == row_status::kOk) count = row.select(wanted_count(request, index), &ranks);
  const float nothing =
      request.input.kind == contract::InputKind::kLogits ? contract::negative_infinity() : 0.0f;
  for (int64_t i = 0; i < request.num_selected; ++i) {
    const int64_t element = index * request.num_selected + i;
    const int64_t id = i < count ? int64_t(contract::id_of_rank(ranks[i])) : -1;
    if (request.out_values) {
      contract::store_value(request.out_values, request.output_dtype, element,
                            i < count ? row.value_of(id) : nothing);
    }
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, element, id);
  }
  if (request.out_counts) request.out_counts[index] = int32_t(count);
  if (request.out_row_status) request.out_row_status[index] = status;
}

template <class Request>
Misuse run_rows(const Request &request, const Executor &executor, void *block) {
  const int64_t num_rows = request.input.num_rows;
  const int64_t num_tasks = num_tasks_for(num_rows, executor.num_threads);
  return with_rows(executor, request.input.ids, [&](const auto &rows) {
    return for_row_ranges(executor, num_rows, [&](int64_t task, int64_t begin, int64_t end) {
      char *memory = nullptr;
      layout(request, num_tasks, block, task, &memory);
      auto row = rows.make(request.input, memory);
      for (int64_t index = begin; index < end; ++index) run_row(request, index, row);
    });
  });
}

}  // namespace

size_t workspace_bytes(const RowsRequest &request, int num_threads) {
  return bytes(request, num_threads);
}

size_t workspace_bytes(const SelectRequest &request, int num_threads) {
  return bytes(request, num_threads);
}

Misuse run(const RowsRequest &request, const Executor &executor, void *block) {
  return run_rows(request, executor, block);
}

Misuse run(const SelectRequest &request, const Executor &executor, void *block) {
  return run_rows(request, executor, block);
}

}  // namespace sampler::cpu
