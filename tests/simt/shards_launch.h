// Rounds of device code of rows that lie on several ranks, on fibers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "contract/elements.h"
#include "contract/request.h"
#include "operations/shard.h"
#include "shards/call.h"
#include "simt.h"

namespace simt_test {

// Whether a random problem, on some ranks, gives the reference's bits of whole rows on all of them.
bool equal_on_ranks(std::uint64_t seed, const simt::Options &options);

// What a call asks for, but for its ranks; and f(rows) for the rows that it reads.
inline sampler::shards::ShardCall call_of(const sampler::contract::SampleRequest &sample) {
  sampler::shards::ShardCall call;
  call.sample = &sample;
  call.pipeline = sample.pipeline;
  call.reports = sample.reports;
  return call;
}
inline sampler::shards::ShardCall call_of(const sampler::contract::VerifyRequest &verify) {
  sampler::shards::ShardCall call;
  call.verify = &verify;
  return call;
}
template <class F>
void for_rows(sampler::contract::SampleRequest *sample, const F &f) {
  f(&sample->input);
}
template <class F>
void for_rows(sampler::contract::VerifyRequest *verify, const F &f) {
  f(&verify->target), f(&verify->draft);
}

// All rounds of a call on whole rows, of which rank r has the columns from first_ids[r] on.
// `run(request)` runs a round of one rank, by at most `num_teams` teams. The outputs of rank r are
// those of `outputs(r)`, a request.
template <class Outputs, class Run>
void run_on_ranks(const std::vector<std::int64_t> &first_ids, std::int64_t num_teams,
                  const Outputs &outputs, const Run &run) {
  using sampler::kernels::ShardRequest;
  const auto num_ranks = std::int64_t(first_ids.size()) - 1;
  struct alignas(sampler::kernels::StageMemory::kAlignment) Line {
    char bytes[sampler::kernels::StageMemory::kAlignment];
  };
  std::vector<decltype(outputs(0))> own;
  for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
    own.push_back(outputs(rank));
    for_rows(&own.back(), [&](sampler::contract::Rows *rows) {
      if (!rows->values) return;
      rows->values =
          static_cast<const char *>(rows->values) +
          first_ids[std::size_t(rank)] * std::int64_t(sampler::contract::size_of(rows->dtype));
    });
  }
  std::vector<ShardRequest> requests;
  std::vector<std::vector<Line>> memory;
  for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
    sampler::shards::ShardCall call = call_of(own[std::size_t(rank)]);
    call.first_id = first_ids[std::size_t(rank)];
    call.num_cols = first_ids[std::size_t(rank) + 1] - call.first_id;
    call.rank = rank;
    call.num_ranks = num_ranks;
    requests.emplace_back(call);
    Line garbage;
    std::memset(garbage.bytes, 0xA5, sizeof garbage);
    memory.emplace_back(requests.back().workspace.bytes(num_teams) / sizeof(Line) + 1, garbage);
    requests.back().workspace.memory = memory.back()[0].bytes;
  }
  const sampler::shards::ShardPlan plan = requests[0].plan;
  std::vector<std::uint64_t> sent, received;
  for (int round = 0; round <= plan.num_exchanges(); ++round) {
    const std::size_t bytes = plan.message_bytes(round);
    sent.assign(bytes / 8 * std::size_t(num_ranks), 0xA5A5A5A5A5A5A5A5u);
    for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
      char *const to = reinterpret_cast<char *>(sent.data()) + std::size_t(rank) * bytes;
      requests[std::size_t(rank)].round = {round, reinterpret_cast<const char *>(received.data()),
                                           bytes > 0 ? to : nullptr, true};
      run(requests[std::size_t(rank)]);
    }
    received = sent;
  }
}

}  // namespace simt_test
