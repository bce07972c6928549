// Per-slot and per-row parameters in host arrays: packed and copied to the workspace, where kernels
// read them.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "contract/any_request.h"
#include "contract/parameter_table.h"
#include "contract/pipeline.h"
#include "contract/request.h"
#include "contract/state_requests.h"
#include "contract/unmask.h"
#include "launch/launch.h"

namespace sampler::cuda {

// Calls visit(&array, count) for each parameter array of a request, including null ones.
template <class Visit>
void visit_parameters(contract::Parameters *parameters, int64_t num_slots, const Visit &visit) {
  contract::for_each_filter_parameter(
      parameters, [&](int, sampler_stage, auto *number) { visit(&number->array, num_slots); });
}

template <class Visit>
void visit_randomness(contract::Randomness *random, int64_t num_slots, const Visit &visit) {
  visit(&random->seed.array, random->seed.per_slot ? num_slots : 1);
  visit(&random->offset.array, random->offset.per_slot ? num_slots : 1);
  visit(&random->streams, num_slots);
}

template <class Visit>
void visit_host_arrays(contract::SampleRequest *request, const Visit &visit) {
  const int64_t num_slots = request->slots.number(request->num_rows);
  visit_parameters(&request->parameters, num_slots, visit);
  visit_randomness(&request->random, num_slots, visit);
}
template <class Visit>
void visit_host_arrays(contract::FilterRequest *request, const Visit &visit) {
  visit_parameters(&request->parameters, request->slots.number(request->input.num_rows), visit);
}

// Parameters of the stages, and forced tokens. Adaptive stages' top_p is the request's.
template <class Visit>
void visit_stage_parameters(contract::Pipeline *stages, int64_t num_slots, const Visit &visit) {
  contract::for_each_stage_parameter(
      stages, [&](int, sampler_stage, auto *number) { visit(&number->array, num_slots); });
  visit(&stages->forced_token_ids, num_slots);
  visit(&stages->adaptive.top_p_reset_tokens, num_slots);
}

template <class Request, class Visit>
void visit_host_arrays(kernels::Staged<Request> *request, const Visit &visit) {
  Request *const without_stages = request;
  visit_host_arrays(without_stages, visit);
  const int64_t num_slots = request->slots.number(contract::num_output_rows(*without_stages));
  visit_stage_parameters(&request->stages, num_slots, visit);
}

template <class Visit>
void visit_host_arrays(contract::SelectRequest *request, const Visit &visit) {
  visit(&request->selected_counts, request->input.num_rows);
}
template <class Visit>
void visit_host_arrays(contract::VerifyRequest *request, const Visit &visit) {
  const int64_t num_slots = request->slots.number(request->num_rows);
  visit_parameters(&request->parameters, num_slots, visit);
  visit_randomness(&request->random, num_slots, visit);
}

// The drafter's arrays may equal the target's, and are then copied twice.
template <class Visit>
void visit_host_arrays(kernels::ExtendedVerifyRequest *request, const Visit &visit) {
  contract::VerifyRequest *const chain = request;
  visit_host_arrays(chain, visit);
  const int64_t num_slots = request->slots.number(request->num_rows);
  contract::Verification &rules = request->rules;
  visit(&rules.acceptance.array, num_slots);
  visit_parameters(&rules.draft_parameters, num_slots, visit);
  visit_stage_parameters(&request->positions.stages, num_slots, visit);
}

template <class Visit>
void visit_host_arrays(contract::ResidualRequest *, const Visit &) {}

// Only one of its requests has arrays.
template <class Visit>
void visit_host_arrays(kernels::ShardRequest *request, const Visit &visit) {
  visit_host_arrays(&request->sample, visit);
  visit_host_arrays(&request->filter, visit);
  visit_host_arrays(&request->select, visit);
  visit_host_arrays(&request->verify, visit);
  if (!request->has_pipeline) return;
  const shards::ShardCall call = request->call();
  visit_stage_parameters(&request->stages, call.slots().number(request->plan.num_rows), visit);
}

template <class Visit>
void visit_host_arrays(contract::UnmaskRequest *request, const Visit &visit) {
  visit_randomness(&request->random, request->slots.number(request->num_rows), visit);
  visit(&request->num_committed.array, request->num_blocks);
  visit(&request->num_steps_left.array, request->num_blocks);
}

// Calls of state.h. Only accept has arrays: the parameters of adaptive stages.
template <class Visit>
void visit_host_arrays(contract::RowsOfSlots *, const Visit &) {}
template <class Visit>
void visit_host_arrays(contract::AcceptRequest *request, const Visit &visit) {
  const int64_t num_slots = request->slots.count;
  contract::for_each_adaptive_parameter(&request->adaptive, [&](int, sampler_stage, auto *number) {
    visit(&number->array, num_slots);
  });
  visit(&request->adaptive.top_p.array, num_slots);
  visit(&request->adaptive.top_p_reset_tokens, num_slots);
}

// The same for arrays that are on the host with every handle.
template <class Request, class Visit>
void visit_arrays_on_host(Request *, const Visit &) {}
template <class Visit>
void visit_arrays_on_host(kernels::ExtendedVerifyRequest *request, const Visit &visit) {
  visit(&request->rules.numbers.synthetic_rates, request->num_drafts);
}

// All host arrays. `has_parameters`: the handle's parameters are on the host.
template <class Request, class Visit>
void visit_all_on_host(Request *request, bool has_parameters, const Visit &visit) {
  if (has_parameters) visit_host_arrays(request, visit);
  visit_arrays_on_host(request, visit);
}

template <class T>
void point_to(const void *address, const T **array) {
  *array = static_cast<const T *>(address);
}

// Bytes of an array in the workspace, with padding.
template <class T>
size_t packed_bytes(const T *array, int64_t count) {
  constexpr size_t kAlignment = alignof(uint64_t);
  if (!array) return 0;
  return (size_t(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
}

template <class Request>
size_t host_array_bytes(Request request, bool has_parameters = true) {
  size_t bytes = 0;
  visit_all_on_host(&request, has_parameters,
                    [&](auto **array, int64_t count) { bytes += packed_bytes(*array, count); });
  return bytes;
}

// Enqueues writes to device memory, kUploadWords words per launch.
class Uploader {
 public:
  Uploader(void *to, CUstream_st *stream) : stream_(stream) {
    upload_.to = static_cast<uint32_t *>(to);
    upload_.num_words = 0;
  }

  // Appends `bytes` bytes of `data`, then zeros up to `padded_bytes`, a multiple of a word.
  void add(const void *data, size_t bytes, size_t padded_bytes) {
    for (size_t done = 0; done < padded_bytes;) {
      if (upload_.num_words == kernels::kUploadWords) flush();
      const size_t room = size_t(kernels::kUploadWords - upload_.num_words) * sizeof(uint32_t);
      const size_t taken = std::min(room, padded_bytes - done);
      const size_t of_data = std::min(taken, bytes - std::min(bytes, done));
      char *words = reinterpret_cast<char *>(upload_.words + upload_.num_words);
      if (of_data > 0) std::memcpy(words, static_cast<const char *>(data) + done, of_data);
      std::memset(words + of_data, 0, taken - of_data);
      upload_.num_words += int32_t(taken / sizeof(uint32_t));
      done += taken;
    }
  }

  // Returns the first launch error.
  cudaError_t flush() {
    if (upload_.num_words > 0 && error_ == cudaSuccess) error_ = kernels::launch(upload_, stream_);
    upload_.to += upload_.num_words;
    upload_.num_words = 0;
    return error_;
  }

 private:
  kernels::Upload<kernels::kUploadWords> upload_;  // only the words filled so far are initialised
  CUstream_st *stream_;
  cudaError_t error_ = cudaSuccess;
};

// Enqueues the copy of a request's host arrays to `memory` (host_array_bytes() bytes, aligned to
// 8), and points the request to the copies.
template <class Request>
cudaError_t upload_host_arrays(Request *request, void *memory, CUstream_st *stream,
                               bool has_parameters = true) {
  Uploader uploader(memory, stream);
  char *next = static_cast<char *>(memory);
  visit_all_on_host(request, has_parameters, [&](auto **array, int64_t count) {
    const size_t padded_bytes = packed_bytes(*array, count);
    if (!*array) return;
    uploader.add(*array, size_t(count) * sizeof(**array), padded_bytes);
    point_to(next, array);
    next += padded_bytes;
  });
  return uploader.flush();
}

}  // namespace sampler::cuda
