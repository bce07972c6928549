// Runs requests on the CPU. Rows are computed by the scalar reference, which follows
// docs/contract.md line by line, or by the row passes of an instruction set, with the same bits.
#pragma once

#include <cstddef>

#include "contract/any_request.h"
#include "cpu/executor.h"

namespace sampler::cpu {

// Workspace bytes of a call that may run `num_threads` tasks.
size_t workspace_bytes(const contract::AnyRequest &request, int num_threads);

Misuse run(const contract::AnyRequest &request, const Executor &executor, void *workspace);

}  // namespace sampler::cpu
