// Some ranks in one process, and a communicator that is a copy.
#pragma once

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../sized.h"

namespace shards_test {

// first[r] to first[r + 1] are the ids of rank r.
using Ranges = std::vector<int64_t>;

// Memory of exactly `bytes` bytes, aligned to 8, with bytes after it that nobody may write.
class Exact {
 public:
  explicit Exact(size_t bytes = 0) : bytes_(bytes), words_(bytes / 8 + 1 + kGuardWords, kGuard) {}

  void *data() { return words_.data(); }
  size_t size() const { return bytes_; }
  bool is_guarded() const {
    const auto *begin = reinterpret_cast<const unsigned char *>(words_.data());
    for (size_t i = bytes_; i < words_.size() * 8; ++i) {
      if (begin[i] != (kGuard & 0xFF)) return false;
    }
    return true;
  }

 private:
  static constexpr uint64_t kGuard = 0xA5A5A5A5A5A5A5A5u;
  static constexpr size_t kGuardWords = 4;

  size_t bytes_;
  std::vector<uint64_t> words_;
};

// The handles of the ranks, which take turns; the first one's has whole rows.
class Samplers {
 public:
  template <class Handle>
  Samplers(const Handle &handle) : of_ranks_{static_cast<sampler_t>(handle)} {}
  Samplers(std::vector<sampler_t> of_ranks) : of_ranks_(std::move(of_ranks)) {}

  sampler_t of(size_t rank) const { return of_ranks_[rank % of_ranks_.size()]; }

 private:
  std::vector<sampler_t> of_ranks_;
};

// What became of a call on all ranks.
struct Outcome {
  std::vector<sampler_status> statuses;  // of each rank's last call
  std::vector<std::string> errors;
  sampler_shard_plan_info plan = {};
  int64_t num_exchanges = 0;
  size_t sent_bytes = 0;  // by each rank, in all
  std::string messages;   // all that was gathered

  bool ok() const {
    for (const sampler_status status : statuses) {
      if (status != SAMPLER_OK) return false;
    }
    return true;
  }
};

// What a rank's call has of its own: copies of its arguments, with a workspace.
class OwnCall {
 public:
  // `args` refers to this from here on.
  void take(sampler_shard_args *args, size_t workspace_bytes) {
    workspace_ = Exact(workspace_bytes);
    use(&sample_, &args->sample);
    use(&filter_, &args->filter);
    use(&select_, &args->select);
    use(&residual_, &args->residual);
    use(&verify_, &args->verify);
  }
  bool is_guarded() const { return workspace_.is_guarded(); }

 private:
  template <class Args>
  void use(Args *own, const Args **member) {
    if (!*member) return;
    *own = **member;
    own->exec.workspace = workspace_.data();
    own->exec.workspace_bytes = workspace_.size();
    *member = own;
  }

  Exact workspace_;
  sampler_sample_args sample_;
  sampler_filter_args filter_;
  sampler_select_args select_;
  sampler_residual_args residual_;
  sampler_verify_args verify_;
};

// Runs all rounds on all ranks, whose arguments are these. `spoil(round, messages, bytes)` may
// change what was gathered: num_ranks messages of `bytes` bytes.
template <class Spoil>
Outcome run_ranks(const Samplers &samplers, std::vector<sampler_shard_args> ranks,
                  const Spoil &spoil) {
  const size_t num_ranks = ranks.size();
  Outcome outcome;
  outcome.statuses.assign(num_ranks, SAMPLER_OK);
  outcome.errors.resize(num_ranks);
  std::vector<Exact> messages(num_ranks);
  std::vector<OwnCall> calls(num_ranks);
  const auto note = [&](size_t rank, sampler_status status) {
    outcome.statuses[rank] = status;
    outcome.errors[rank] = status == SAMPLER_OK ? "" : sampler_last_error();
    return status == SAMPLER_OK;
  };

  for (size_t rank = 0; rank < num_ranks; ++rank) {
    sampler_shard_args &args = ranks[rank];
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    if (!note(rank, sampler_shard_plan(samplers.of(rank), &args, &plan))) return outcome;
    if (rank == 0) outcome.plan = plan;
    calls[rank].take(&args, plan.workspace_bytes);
  }
  Exact gathered;
  for (int64_t round = 0; round <= outcome.plan.num_exchanges; ++round) {
    const bool is_last = round == outcome.plan.num_exchanges;
    const size_t bytes = is_last ? 0 : outcome.plan.message_bytes[round];
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      sampler_shard_args &args = ranks[rank];
      messages[rank] = Exact(bytes);
      args.send = bytes ? messages[rank].data() : nullptr;
      args.send_bytes = bytes;
      args.received = round > 0 ? gathered.data() : nullptr;
      args.received_bytes = round > 0 ? gathered.size() : 0;
      note(rank, sampler_shard_round(samplers.of(rank), &args, round));
      EXPECT_TRUE(messages[rank].is_guarded() && calls[rank].is_guarded());
    }
    if (is_last || !outcome.ok()) return outcome;
    gathered = Exact(bytes * num_ranks);
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      std::memcpy(static_cast<char *>(gathered.data()) + rank * bytes, messages[rank].data(),
                  bytes);
    }
    outcome.messages.append(static_cast<char *>(gathered.data()), gathered.size());
    spoil(round, static_cast<char *>(gathered.data()), bytes);
    ++outcome.num_exchanges;
    outcome.sent_bytes += bytes;
  }
  return outcome;
}

// What runs them in the place of this, where they are processes.
inline std::function<Outcome(const Samplers &, const std::vector<sampler_shard_args> &)>
    run_instead;

inline Outcome run_ranks(const Samplers &sampler, const std::vector<sampler_shard_args> &ranks) {
  if (run_instead) return run_instead(sampler, ranks);
  return run_ranks(sampler, ranks, [](int64_t, char *, size_t) {});
}

}  // namespace shards_test
