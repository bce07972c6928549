// What a rejected draft leaves of the target's row, as a row of probabilities.
#include <algorithm>

#include "contract/elements.h"
#include "cpu/operations.h"
#include "cpu/two_models.h"

namespace sampler::cpu {

using contract::ResidualRequest;
namespace row_status = contract::row_status;

namespace {

// A row of q may be 0 everywhere: it takes nothing away.
template <class Row>
uint32_t load_models(const ResidualRequest &request, int64_t index, Row &target, Row &draft) {
  const uint32_t status = target.load(contract::row_view(request.target, index));
  if (status != row_status::kOk || !request.draft.values) return status;
  const uint32_t draft_status = draft.load(contract::row_view(request.draft, index));
  return draft_status == row_status::kEmpty ? row_status::kOk : draft_status;
}

template <class Row>
void run_row(const ResidualRequest &request, int64_t index, Row &target, Row &draft,
             float *residual) {
  const bool has_draft = request.draft.values;
  const int64_t removed =
      has_draft ? 0 : contract::load_id(request.draft_token_ids, request.token_id_type, index);
  const bool is_valid = removed >= 0 && removed < request.target.num_cols;
  const uint32_t status = load_models(request, index, target, draft);
  char *out = static_cast<char *>(request.output) +
              index * request.output_stride * int64_t(contract::size_of(request.output_dtype));
  if (status == row_status::kOk) {
    const bool usable =
        is_valid && target.chain_residual(has_draft ? &draft : nullptr, removed, residual);
    if (!usable) target.chain_probabilities(residual);
    target.become(residual);
    target.write_probabilities(out, request.output_dtype);
  } else {
    std::fill_n(out, request.target.num_cols * int64_t(contract::size_of(request.output_dtype)),
                char(0));
  }
  if (request.out_row_status) {
    request.out_row_status[index] = status | (is_valid ? 0 : row_status::kInvalidDraft);
  }
}

}  // namespace

size_t workspace_bytes(const ResidualRequest &request, int num_threads) {
  return two_models_bytes(request, num_threads);
}

Misuse run(const ResidualRequest &request, const Executor &executor, void *block) {
  return for_rows_of_two_models(request, executor, block,
                                [&](int64_t row, auto &target, auto &draft, float *residual) {
                                  run_row(request, row, target, draft, residual);
                                });
}

}  // namespace sampler::cpu
