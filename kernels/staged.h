// Requests with stages, as the device has them: their pipeline by value, and where each team keeps
// the row that it edits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/request.h"
#include "team.cuh"

namespace sampler::kernels {

// Words of a bitmap of all token ids.
constexpr int64_t kIdWords = contract::kMaxVocabulary / 32;

// What a team keeps in the workspace, which has any content when the team begins.
struct StageMemory {
  static constexpr size_t kAlignment = 128;

  char *memory = nullptr;
  size_t values = 0;  // where each part begins: the row, f32, from an aligned place before it on
  size_t marks = 0;   // a word for each element
  size_t ranks = 0;   // of tokens in rank order; only of windows
  size_t index = 0;   // of candidates by id; only of these
  size_t bytes_of_team = 0;

  static StageMemory of(const contract::Rows &input, const contract::Pipeline &pipeline) {
    StageMemory result;
    const size_t num_cols = size_t(input.num_cols);
    size_t used = 0;
    const auto take = [&](size_t bytes) {
      const size_t begin = used;
      used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      return begin;
    };
    result.values = take((num_cols + 2 * kMaxLead) * sizeof(float));
    result.marks = take(num_cols * sizeof(uint32_t));
    result.ranks = take(pipeline.has_windows ? num_cols * sizeof(uint64_t) : 0);
    result.index = take(input.ids ? (2 * size_t(kIdWords) + num_cols) * sizeof(uint32_t) : 0);
    result.bytes_of_team = used;
    return result;
  }

  template <class T>
  SAMPLER_HD T *part(int64_t team, size_t begin) const {
    return reinterpret_cast<T *>(memory + size_t(team) * bytes_of_team + begin);
  }
};

// A request with its pipeline.
template <class Request>
struct Staged : Request {
  contract::Pipeline stages;
  StageMemory memory;

  Staged() = default;
  // The request has a pipeline.
  explicit Staged(const Request &request)
      : Request(request),
        stages(*request.pipeline),
        memory(StageMemory::of(request.input, *request.pipeline)) {
    this->pipeline = nullptr;  // which is the host's
  }
};

template <class Request>
constexpr bool kHasStages = false;
template <class Request>
constexpr bool kHasStages<Staged<Request>> = true;

using StagedSampleRequest = Staged<contract::SampleRequest>;
using StagedRowsRequest = Staged<contract::RowsRequest>;

}  // namespace sampler::kernels
