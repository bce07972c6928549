// The operations on the CPU. Rows are computed by the scalar reference, docs/contract.md line by
// line, or by the row passes of an instruction set: the same bits.
#pragma once

#include <cstddef>

#include "contract/request.h"
#include "cpu/executor.h"

namespace sampler::cpu {

// Bytes of workspace that a call needs when it may run `num_threads` tasks.
size_t workspace_bytes(const contract::SampleRequest &request, int num_threads);
size_t workspace_bytes(const contract::RowsRequest &request, int num_threads);
size_t workspace_bytes(const contract::SelectRequest &request, int num_threads);
size_t workspace_bytes(const contract::ChainRequest &request, int num_threads);
size_t workspace_bytes(const contract::ResidualRequest &request, int num_threads);

Misuse run(const contract::SampleRequest &request, const Executor &executor, void *workspace);
Misuse run(const contract::RowsRequest &request, const Executor &executor, void *workspace);
Misuse run(const contract::SelectRequest &request, const Executor &executor, void *workspace);
Misuse run(const contract::ChainRequest &request, const Executor &executor, void *workspace);
Misuse run(const contract::ResidualRequest &request, const Executor &executor, void *workspace);

}  // namespace sampler::cpu
