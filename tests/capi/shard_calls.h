// A good call on rows that lie on one rank: its arguments, and what it leaves.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "../sized.h"
#include "expect.h"

namespace capi_test {

class ShardCalls {
 public:
  explicit ShardCalls(sampler_t sampler) : sampler_(sampler) {
    Random random(7);
    for (float &logit : logits_) logit = float(random.between(1, 1 << 24)) * 0x1.9p-22f;
    params.temperature = 0.7f;
    params.top_p = 0.9f;
    sample.input.values = logits_.data();
    sample.input.num_rows = kNumRows;
    sample.input.num_cols = kNumCols;
    sample.params = &params;
    sample.out_token_ids = token_ids_.data();
    sample.report_args.out_logprobs = logprobs_.data();
    shard.sample = &sample;
    shard.total_cols = kNumCols;
    shard.num_ranks = 1;
    sampler_shard_plan(sampler, &shard, &plan);
    workspace_.resize(plan.workspace_bytes);
    sample.exec.workspace = workspace_.data();
    sample.exec.workspace_bytes = workspace_.size();
    for (auto *messages : {&sent_, &received_}) messages->resize(plan.max_message_bytes / 8);
    shard.send = sent_.data();
    shard.received = received_.data();
    shard.send_bytes = shard.received_bytes = plan.max_message_bytes;
  }
  ShardCalls(const ShardCalls &) = delete;
  ShardCalls &operator=(const ShardCalls &) = delete;

  // All rounds.
  sampler_status run() {
    sampler_status status = SAMPLER_OK;
    for (std::int64_t round = 0; round <= plan.num_exchanges && status == SAMPLER_OK; ++round) {
      received_.swap(sent_);
      shard.send = sent_.data();
      shard.received = received_.data();
      status = sampler_shard_round(sampler_, &shard, round);
    }
    return status;
  }

  void reset() {
    token_ids_.fill(77);
    logprobs_.fill(77.0f);
  }
  std::string outputs() const {
    return {reinterpret_cast<const char *>(token_ids_.data()),
            reinterpret_cast<const char *>(token_ids_.data() + kNumRows)};
  }

  sampler_params params = sampler_params_default();
  SampleArgs sample = SampleArgs();
  sampler_shard_args shard = sized<sampler_shard_args>();
  sampler_shard_plan_info plan = sized<sampler_shard_plan_info>();

 private:
  static constexpr std::int64_t kNumRows = 20, kNumCols = 37;

  sampler_t sampler_;
  std::array<float, kNumRows * kNumCols> logits_;
  std::array<std::int32_t, kNumRows> token_ids_;
  std::array<float, kNumRows> logprobs_;
  std::vector<char> workspace_;
  std::vector<std::uint64_t> sent_, received_;
};

}  // namespace capi_test
