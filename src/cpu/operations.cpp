// Runs requests on the rows of the chosen instruction set.
#include "cpu/operations.h"

#include "cpu/filter.h"
#include "cpu/reference_row.h"
#include "cpu/residual.h"
#include "cpu/row_tasks.h"
#include "cpu/sample.h"
#include "cpu/select.h"
#include "cpu/simd/row.h"
#include "cpu/verify_chain.h"

namespace sampler::cpu {

size_t workspace_bytes(const contract::AnyRequest &any, int num_threads) {
  Executor executor;
  executor.num_threads = num_threads;
  return any.visit([&](const auto &request) { return layout_of(request, executor).bytes(); });
}

// Candidate lists use the reference on every machine: they are short, and sorting them by id
// dominates.
Misuse run(const contract::AnyRequest &any, const Executor &executor, void *workspace) {
  return any.visit([&](const auto &request) {
    return executor.passes && !contract::reads_lists(request)
               ? run_rows<SimdRow>(request, executor, workspace)
               : run_rows<ReferenceRow>(request, executor, workspace);
  });
}

}  // namespace sampler::cpu
