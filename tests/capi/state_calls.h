// Good calls of a state: their arguments, and what they leave.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "expect.h"

namespace capi_test {

class StateCalls {
 public:
  explicit StateCalls(sampler_t sampler) : sampler_(sampler) {
    options.num_slots = 2;
    options.max_tokens = 16;
    options.keep_adaptive_values = 1;
    params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    params.top_p_decay = 0.7f;
    append.tokens.offsets = offsets_.data();
    append.tokens.token_ids = ids_.data();
    append.tokens.num_lists = 2;
    append.tokens.num_token_ids = 3;
    accept.token_ids = ids_.data();
    accept.num_tokens = 2;
    accept.observations = observations_.data();
    accept.params = &params;
    accept.row_params = &row_params;
    truncate.lengths = lengths_.data();
    copy.source_slots = slots_.data();
    copy.destination_slots = slots_.data() + 1;
    copy.num_rows = 1;
    reset.adaptive_values = observations_.data();
    read.num_tokens = 5;
    read.out_token_ids = tokens_.data();
    read.out_lengths = out_lengths_.data();
    read.out_adaptive_values = values_.data();
    append.num_rows = accept.num_rows = truncate.num_rows = read.num_rows = 2;
    reset.num_rows = 1;
    pipeline.state = nullptr;
  }
  ~StateCalls() { destroy(); }
  StateCalls(const StateCalls &) = delete;
  StateCalls &operator=(const StateCalls &) = delete;

  sampler_status create() {
    const sampler_status status = sampler_state_create(sampler_, &options, &state);
    append.state = accept.state = truncate.state = copy.source = copy.destination = reset.state =
        read.state = pipeline.state = state;
    return status;
  }
  void destroy() {
    sampler_state_destroy(state);
    state = nullptr;
  }
  // A new state with some text.
  void start() {
    destroy();
    create();
    tokens_.fill(-7);
    out_lengths_.fill(-7);
    values_.fill(-7);
    sampler_state_append(sampler_, &append);
    sampler_accept(sampler_, &accept);
  }

  sampler_status serialize() {
    return sampler_state_serialize(sampler_, state, 0, 2, data_.data(), data_.size(), &num_bytes_);
  }
  sampler_status deserialize() {
    return sampler_state_deserialize(sampler_, state, 0, data_.data(), num_bytes_, &num_slots_);
  }

  // What the state holds, and what reading wrote.
  std::string contents() {
    serialize();
    return {data_.data(), num_bytes_};
  }
  std::string outputs() const {
    return testing::PrintToString(tokens_) + testing::PrintToString(out_lengths_) +
           testing::PrintToString(values_);
  }

  sampler_state_options options = sized<sampler_state_options>();
  sampler_state_t state = nullptr;
  sampler_params params = sampler_params_default();
  sampler_row_params row_params = sized<sampler_row_params>();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  sampler_state_append_args append = sized<sampler_state_append_args>();
  sampler_accept_args accept = sized<sampler_accept_args>();
  sampler_state_truncate_args truncate = sized<sampler_state_truncate_args>();
  sampler_state_copy_args copy = sized<sampler_state_copy_args>();
  sampler_state_reset_args reset = sized<sampler_state_reset_args>();
  sampler_state_read_args read = sized<sampler_state_read_args>();

 private:
  sampler_t sampler_;
  std::array<std::int64_t, 3> offsets_ = {0, 1, 3};
  std::array<std::int32_t, 4> ids_ = {3, 1, 4, 1};
  std::array<std::int32_t, 2> slots_ = {0, 1}, lengths_ = {2, 1};
  std::array<float, 4> observations_ = {1.3f, 2.9f, 0.7f, 3.1f};  // off any grid
  std::array<std::int32_t, 10> tokens_ = {};
  std::array<std::int32_t, 2> out_lengths_ = {};
  std::array<float, 8> values_ = {};
  std::array<char, 1024> data_ = {};
  std::size_t num_bytes_ = 0;
  std::int64_t num_slots_ = 0;
};

}  // namespace capi_test
