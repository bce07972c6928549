// The entry points of shard.h.
#include "cpu/shards.h"

#include <algorithm>

#include "abi/init.h"
#include "capi/call.h"
#include "capi/pipeline.h"
#include "capi/views.h"
#include "shards/call.h"
#include "shards/digests.h"

namespace sampler::capi {

using namespace abi;

namespace {

// The request of a call, with what it refers to.
class ShardRequest {
 public:
  ShardRequest() = default;
  ShardRequest(const ShardRequest &) = delete;
  ShardRequest &operator=(const ShardRequest &) = delete;

  void read(Check &check, const sampler_handle &handle, const sampler_shard_args &args) {
    const int num_calls = (args.sample != nullptr) + (args.filter != nullptr) +
                          (args.select != nullptr) + (args.residual != nullptr) +
                          (args.verify != nullptr);
    if (num_calls != 1) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "%d of sample, filter, select, residual and verify are set; it must be one",
                 num_calls);
    }
    check.range("total_cols", args.total_cols, 1, contract::kMaxVocabulary);
    check.range("num_ranks", args.num_ranks, 1, SAMPLER_MAX_RANKS + 1);
    if (check.ok()) {
      check.range("rank", args.rank, 0, args.num_ranks);
      check.range("first_token_id", args.first_token_id, 0, args.total_cols + 1);
      check.range("max_top_k", args.max_top_k, 0, args.total_cols + 1);
    }
    if (!check.ok()) return;
    const RequestContext context = {handle.fallback_token_id, &pipeline_, &reports_,
                                    &verification_,           &handle,    false,
                                    args.total_cols};
    if (args.sample) read_call(check, args, "sample", args.sample, context, &sample_);
    if (args.filter) read_call(check, args, "filter", args.filter, context, &filter_);
    if (args.select) read_call(check, args, "select", args.select, context, &select_);
    if (args.residual) read_call(check, args, "residual", args.residual, context, &residual_);
    if (args.verify) read_call(check, args, "verify", args.verify, context, &verify_);
    call_.residual = args.residual ? &residual_ : nullptr;
    call_.verify = args.verify ? &verify_ : nullptr;
    call_.sample = args.sample ? &sample_ : nullptr;
    call_.filter = args.filter ? &filter_ : nullptr;
    call_.select = args.select ? &select_ : nullptr;
    call_.pipeline = args.sample ? sample_.pipeline : args.filter ? filter_.pipeline : nullptr;
    call_.reports = args.sample ? sample_.reports : nullptr;
    call_.first_id = args.first_token_id;
    call_.rank = args.rank;
    call_.num_ranks = args.num_ranks;
    call_.max_top_k = args.max_top_k;
    refuse_unsharded(check);
  }

  const shards::ShardCall &call() const { return call_; }
  const sampler_exec &exec() const { return exec_; }

 private:
  template <class Args>
  static const sampler_rows &rows_of(const Args &args) {
    return args.input;
  }
  static const sampler_rows &rows_of(const sampler_residual_args &args) { return args.target; }
  static const sampler_rows &rows_of(const sampler_verify_args &args) { return args.target; }
  template <class Args>
  static const char *rows_name(const Args &) {
    return "input";
  }
  static const char *rows_name(const sampler_residual_args &) { return "target"; }
  static const char *rows_name(const sampler_verify_args &) { return "target"; }

  template <class Args, class Request>
  void read_call(Check &check, const sampler_shard_args &shard, const char *name, const Args *user,
                 const RequestContext &context, Request *out) {
    Args args;
    if (!check.read(name, user, &args)) return;
    const sampler_rows &rows = rows_of(args);
    check.range(Name(rows_name(args), "num_cols"), rows.num_cols, 0,
                shard.total_cols - shard.first_token_id + 1);
    *out = to_request(check, args, context);
    call_.num_cols = rows.num_cols;
    exec_ = args.exec;
  }

  // What has no sharded form.
  void refuse_unsharded(Check &check) const {
    if (!check.ok()) return;
    const auto refuse = [&](bool is_asked_for, const char *name) {
      if (!is_asked_for) return;
      check.fail(SAMPLER_ERROR_UNSUPPORTED, "%s is set; it has no sharded form", name);
    };
    if (const contract::Pipeline *const pipeline = call_.pipeline) {
      for (const sampler_stage stage : pipeline->windows) {
        if (!pipeline->has_windows || contract::is_filter(stage)) continue;
        if (stage == SAMPLER_STAGE_TEMPERATURE && !pipeline->dynamic_range.array &&
            !(pipeline->dynamic_range.value > 0.0f)) {
          continue;
        }
        check.fail(SAMPLER_ERROR_UNSUPPORTED, "params has SAMPLER_STAGE_%s; it has no sharded form",
                   sampler_stage_name(stage));
      }
      refuse(pipeline->adaptive.may_have_window(), "params->adaptive_kind");
      refuse(pipeline->has_windows, "an order in params->stages, or min_keep");
      refuse(pipeline->forced_token_ids, "row_params->forced_token_id");
    }
    if (call_.verify) refuse_unsharded_verification(check);
    if (!call_.sample) return;
    refuse(sample_.out_observations, "reports->out_observations");
    const contract::Reports *const reports = sample_.reports;
    if (!reports) return;
    refuse(reports->wants_chosen(), "reports->num_chosen");
    refuse(reports->out_kept_bitmask, "reports->out_kept_bitmask");
    refuse(reports->kept_capacity > 0, "reports->kept_capacity");
    refuse(reports->out_kept_offsets, "reports->out_kept_offsets");
    refuse(reports->out_removed_by, "reports->out_removed_by");
    const bool of_given = sample_.logprob_kind == SAMPLER_LOGPROB_RAW && call_.pipeline &&
                          call_.pipeline->has_edits();
    refuse(of_given && reports->num_top > 0, "reports->num_top_logprobs of RAW beside edits");
  }

  // Refuses verification other than dense chains by the standard rule, of given probabilities or
  // greedy.
  void refuse_unsharded_verification(Check &check) const {
    if (verify_.verification) {
      check.fail(SAMPLER_ERROR_UNSUPPORTED, "%s is set; it has no sharded form",
                 name_of_more(verify_));
    }
    const contract::PerSlot<float> &temperature = verify_.parameters.temperature;
    if (!temperature.array && contract::is_greedy(temperature.value)) return;
    const auto refuse = [&](const char *name, const contract::Rows &rows) {
      if (!rows.values || rows.kind == SAMPLER_PROBABILITIES) return;
      check.fail(SAMPLER_ERROR_UNSUPPORTED,
                 "%s.kind is SAMPLER_LOGITS; it has no sharded form but with a params->temperature "
                 "that is greedy: sampler_filter makes them SAMPLER_PROBABILITIES",
                 name);
    };
    refuse("target", verify_.target);
    refuse("draft", verify_.draft);
  }

  std::optional<contract::Pipeline> pipeline_;
  std::optional<contract::Reports> reports_;
  std::optional<contract::Verification> verification_;
  contract::SampleRequest sample_;
  contract::FilterRequest filter_;
  contract::SelectRequest select_;
  contract::ResidualRequest residual_;
  contract::VerifyRequest verify_;
  shards::ShardCall call_;
  sampler_exec exec_ = {};
};

size_t workspace_of(const sampler_handle &handle, const shards::ShardCall &call) {
  return handle.on_cuda ? cuda::shard_workspace_bytes(call, handle.device)
                        : cpu::shard_workspace_bytes(call, handle.executor.num_threads);
}

sampler_shard_plan_info plan_of(const sampler_handle &handle, const shards::ShardCall &call) {
  const shards::ShardPlan plan = shards::plan_shards(call);
  sampler_shard_plan_info info = {};
  info.workspace_bytes = workspace_of(handle, call);
  info.num_exchanges = plan.num_exchanges();
  for (int round = 0; round < plan.num_exchanges(); ++round) {
    info.message_bytes[round] = plan.message_bytes(round);
    info.max_message_bytes = std::max(info.max_message_bytes, info.message_bytes[round]);
  }
  info.digest = shards::digest_of(shards::digest_arguments(call));
  return info;
}

// The messages' memory in a round.
void check_messages(Check &check, const sampler_shard_args &args, const shards::ShardPlan &plan,
                    int round) {
  const auto check_size = [&](const char *name, size_t bytes, size_t needed) {
    if (bytes >= needed) return;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %zu; round %d needs %zu", name, bytes, round,
               needed);
  };
  const size_t sent = plan.message_bytes(round);
  if (sent > 0) {
    check_size("send_bytes", args.send_bytes, sent);
    check.array("send", args.send, sizeof(uint64_t), int64_t(sent / sizeof(uint64_t)),
                Access::kWrite, Need::kRequired);
  }
  if (round == 0 || plan.num_exchanges() == 0) return;
  const size_t received = plan.message_bytes(round - 1) * size_t(args.num_ranks);
  check_size("received_bytes", args.received_bytes, received);
  check.array("received", args.received, sizeof(uint64_t), int64_t(received / sizeof(uint64_t)),
              Access::kRead, Need::kRequired);
}

void run_round(Check &check, const sampler_handle &handle, const sampler_shard_args &args,
               int64_t round) {
  ShardRequest request;
  request.read(check, handle, args);
  if (!check.ok()) return;
  const shards::ShardCall &call = request.call();
  const shards::ShardPlan plan = shards::plan_shards(call);
  check.range("round", round, 0, plan.num_exchanges() + 1);
  if (!check.ok()) return;
  check_messages(check, args, plan, int(round));
  check.workspace(request.exec().workspace, request.exec().workspace_bytes);
  check.overlaps();
  if (handle.check_pointers) check_places(check, handle);
  if (!check.ok() || plan.num_rows == 0) return;
  void *const workspace = find_workspace(check, handle, request.exec(), workspace_of(handle, call));
  if (!check.ok()) return;
  if (handle.on_cuda) {
    const cuda::Error error =
        cuda::run_shard_round(call, int(round), handle.device, workspace, args.received, args.send,
                              request.exec().stream);
    if (error) check.fail(SAMPLER_ERROR_CUDA, "%s: %s", error.call, error.reason);
    return;
  }
  HostParallelFor parallel_for = {check.entry(), handle.executor};
  cpu::Misuse misuse = nullptr;
  cpu::ShardFault fault;
  if (!cpu::run_shard_round(call, int(round), parallel_for.executor(), workspace, args.received,
                            args.send, &misuse, &fault)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s", fault.text);
  } else if (misuse) {
    check.fail(SAMPLER_ERROR_CALLBACK, "%s", misuse);
  }
}

}  // namespace

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_shard_plan(sampler_t sampler, const sampler_shard_args *user_args,
                                  sampler_shard_plan_info *out_plan) {
  return enter(sampler, [&](Entry &entry) {
    Check arguments(entry);
    arguments.required("out_plan", out_plan);
    sampler_shard_plan_info unused;
    arguments.read("out_plan", out_plan, &unused);
    if (!arguments.ok()) return arguments.status();
    Check shapes(entry, false);
    sampler_shard_args args;
    if (!shapes.read("args", user_args, &args)) return shapes.status();
    ShardRequest request;
    request.read(shapes, *sampler, args);
    if (shapes.ok()) write_struct(plan_of(*sampler, request.call()), out_plan);
    return shapes.status();
  });
}

sampler_status sampler_shard_round(sampler_t sampler, const sampler_shard_args *user_args,
                                   int64_t round) {
  return enter(sampler, [&](Entry &entry) {
    const Busy busy(&sampler->owner);
    Check check(entry);
    check_is_free(check, busy);
    sampler_shard_args args;
    if (check.read("args", user_args, &args)) run_round(check, *sampler, args, round);
    return check.status();
  });
}

}  // extern "C"
