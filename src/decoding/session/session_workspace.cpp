// Workspace bytes of a session's calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "abi/structs.h"
#include "capi/operations.h"
#include "contract/parameter_table.h"
#include "decoding/session/block_batch.h"
#include "decoding/session/plain_params.h"
#include "decoding/session/session_requests.h"

namespace sampler::decoding {

namespace {

// The maximum over several calls.
class Asked {
 public:
  Asked(abi::Entry &entry, sampler_handle *handle) : entry_(entry), handle_(handle) {}

  void add(const sampler_sample_args &args) {
    add([&](size_t *bytes) { return sampler_sample_workspace_size(handle_, &args, bytes); });
  }
  void add(const sampler_filter_args &args) {
    add([&](size_t *bytes) { return sampler_filter_workspace_size(handle_, &args, bytes); });
  }
  void add(const sampler_select_args &args) {
    add([&](size_t *bytes) { return sampler_select_workspace_size(handle_, &args, bytes); });
  }
  void add(const sampler_verify_args &args) {
    add([&](size_t *bytes) {
      return capi::verify_up_to_bad_rows_workspace_size(handle_, &args, bytes);
    });
  }

  void at_least(size_t bytes) { bytes_ = std::max(bytes_, bytes); }

  sampler_status status() const { return status_; }
  size_t bytes() const { return bytes_; }

 private:
  template <class Ask>
  void add(const Ask &ask) {
    size_t bytes = 0;
    if (status_ == SAMPLER_OK) status_ = entry_.call_host([&] { return ask(&bytes); });
    at_least(bytes);
  }

  abi::Entry &entry_;
  sampler_handle *handle_;
  sampler_status status_ = SAMPLER_OK;
  size_t bytes_ = 0;
};

// The place of a stage in the order of the stages; below 0: it is not there.
int place_of(sampler_stage stage, const sampler_params &params) {
  if (params.stages[0] == 0) {
    const bool comes_first =
        stage == SAMPLER_STAGE_MIN_P && params.filter_order == SAMPLER_FILTERS_MIN_P_FIRST;
    return comes_first ? 2 * SAMPLER_STAGE_TOP_K - 1 : 2 * stage;
  }
  const sampler_stage *const found =
      std::find(std::begin(params.stages), std::end(params.stages), stage);
  return found == std::end(params.stages) ? -1 : int(found - params.stages);
}

}  // namespace

sampler_status SessionRequests::ask_workspace(abi::Entry &entry, size_t *out_bytes) const {
  // The workspace depends on which arrays are non-NULL, not on their addresses.
  static constexpr uint64_t kSomewhere[2] = {};
  void *const there = const_cast<uint64_t *>(kSomewhere);
  auto *const ids = static_cast<int32_t *>(there);
  auto *const floats = static_cast<float *>(there);
  const int64_t count = num_sequences();
  sampler_random random = {};
  random.seeds = random.offsets = static_cast<uint64_t *>(there);
  random.num_seeds = random.num_offsets = count;
  Asked asked(entry, handle_);

  // A drafter's draws: with numbers by sequence, and without.
  const sampler_params draft_params = plain_params(config_.params);
  auto row_params = abi::sized<sampler_row_params>();
  const SessionHost::Extent extent = host_->extent(there);
  sampler_sample_args sample = sample_args(draft_params, row_params);
  sample.input = drafter_rows_of(there, count, 0);
  sample.row_indices = sample.slots = ids;
  sample.num_row_indices = count;
  sample.random = random;
  sample.out_token_ids = there;
  sample.out_row_status = static_cast<sampler_row_status *>(there);
  asked.add(sample);
  auto doubt = abi::sized<sampler_report_args>();
  doubt.out_logprobs = floats;
  sample.reports = &doubt;
  sample.row_params = &extent.plain_numbers;
  asked.add(sample);

  if (config_.options.has_adaptive_gamma) asked.add(entropy_args(there, draft_params, there));

  if (config_.num_tree_places() > 0) {
    auto select = abi::sized<sampler_select_args>();
    select.input = sample.input;
    select.num_selected = std::min(max_drafts(), config_.num_cols());
    select.out_token_ids = there;
    asked.add(select);
  }
  if (config_.options.filler_top_k > 0) {
    auto select = abi::sized<sampler_select_args>();
    select.input = rows_of(there, count * (max_drafts() + 1), 0);
    select.num_selected = config_.options.filler_top_k;
    select.out_token_ids = there;
    asked.add(select);
  }

  // Draws and verification: with no and with all optional arrays, with and without a drafter's
  // rows.
  sampler_pipeline pipeline = make_pipeline();
  if (host_->rules().has_state) {
    pipeline.history = {static_cast<int64_t *>(there), there, count, 1};
    pipeline.max_history_tokens = host_->longest_text();
  }
  if (extent.has_ends && !pipeline.stop.offsets) {
    const int64_t num_ends = count * config_.options.max_end_tokens;
    pipeline.stop = {static_cast<int64_t *>(there), there, count, num_ends};
  }
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = ids;
  if (host_->rules().takes_guidance) {
    pipeline.guidance_logits = there;
    pipeline.num_guidance_rows = count * (max_drafts() + 1);
    pipeline.guidance_row_indices = ids;
  }
  sampler_draft_layout layout;
  sampler_verify_args verify = verify_args(config_.params, row_params, pipeline, count, &layout);
  verify.target = rows_of(there, count * (max_drafts() + 1), 0);
  verify.slots = layout.target_row_indices = ids;
  verify.random = random;
  verify.acceptances = ids;
  verify.draft_token_ids = verify.out_token_ids = there;
  verify.out_emitted_counts = ids;
  verify.out_row_status = sample.out_row_status;
  sampler_sample_args draw = sample_args(config_.params, row_params);
  draw.input = verify.target;
  draw.row_indices = draw.slots = ids;
  draw.num_row_indices = count;
  draw.random = random;
  draw.out_token_ids = there;
  draw.out_row_status = sample.out_row_status;
  draw.pipeline = &pipeline;
  auto reports = abi::sized<sampler_report_args>();
  reports.out_observations = extent.has_observations ? floats : nullptr;
  if (extent.has_logprobs) reports.out_logprobs = floats;
  if (config_.options.max_top_logprobs > 0) {
    reports.num_top_logprobs = config_.options.max_top_logprobs;
    reports.out_top_token_ids = there;
    reports.out_top_logprobs = floats;
  }
  sampler_row_params forced = extent.numbers;
  forced.forced_token_id = static_cast<int64_t *>(there);
  // Fewer arrays may need more: those of windows before top-k and min-p turn lists off, those of
  // top-k and min-p make them long, that of the temperature turns more than greedy rows on. So may
  // log-probabilities of another kind.
  using Parameter = contract::ParameterInfo;
  const auto arrays_of = [&](const auto &is_wanted) {
    sampler_row_params result = row_params;
    for (const Parameter &parameter : contract::kParameters) {
      const void *const array = parameter.array_in<void>(extent.numbers);
      if (is_wanted(parameter)) parameter.set_array(&result, array);
    }
    return result;
  };
  const auto is_edit = [](const Parameter &p) { return contract::is_edit(p.stage); };
  const auto is_temperature = [](const Parameter &p) {
    return p.scalar == offsetof(sampler_params, temperature);
  };
  const sampler_row_params temperatures = arrays_of(is_temperature), edits = arrays_of(is_edit);
  const sampler_row_params both =
      arrays_of([&](const Parameter &p) { return is_temperature(p) || is_edit(p); });
  sampler_row_params filters[2][4];  // top-k's, and min-p's, with more and more others
  for (const sampler_stage first : {SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_MIN_P}) {
    sampler_row_params *const own = filters[first == SAMPLER_STAGE_MIN_P];
    const auto is_first = [=](const Parameter &p) { return p.stage == first; };
    const auto may_differ = [&](const Parameter &p) {
      return is_first(p) || is_temperature(p) || is_edit(p);
    };
    own[0] = arrays_of(is_first);
    own[1] = arrays_of([&](const Parameter &p) { return is_first(p) || is_temperature(p); });
    own[2] = arrays_of(may_differ);
    own[3] = arrays_of([&](const Parameter &p) {
      const bool comes_after =
          p.stage > 0 && place_of(p.stage, config_.params) > place_of(first, config_.params);
      return may_differ(p) || comes_after;
    });
  }
  sampler_report_args processed = reports, edited = reports;
  processed.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  edited.logprob_kind = SAMPLER_LOGPROB_EDITED;
  const sampler_row_params *const some_numbers[] = {
      &row_params,    &temperatures,  &edits,         &both,          &extent.numbers,
      &filters[0][0], &filters[0][1], &filters[0][2], &filters[0][3], &filters[1][0],
      &filters[1][1], &filters[1][2], &filters[1][3]};
  const sampler_report_args *const some_reports[] = {nullptr, &reports, &processed, &edited};
  const auto ask_group = [&](auto own) {
    for (const sampler_row_params *own_numbers : some_numbers) {
      own.row_params = own_numbers;
      for (const sampler_report_args *own_reports : some_reports) {
        own.reports = own_reports;
        asked.add(own);
      }
    }
    if constexpr (std::is_same_v<decltype(own), sampler_verify_args>) {
      own.forced_token_ids = there;
    } else {
      own.row_params = &forced;
    }
    for (const sampler_report_args *own_reports : some_reports) {
      own.reports = own_reports;
      asked.add(own);
    }
  };
  // With rules by sequence, and with each rule for all.
  const auto ask = [&](const sampler_verify_args &group) {
    ask_group(group);
    sampler_verify_args own = group;
    sampler_acceptance_params acceptance = *group.acceptance;
    own.acceptances = nullptr;
    own.acceptance = &acceptance;
    for (int32_t rule = SAMPLER_ACCEPT_STANDARD; rule <= SAMPLER_ACCEPT_SYNTHETIC; ++rule) {
      acceptance.rule = sampler_acceptance(rule);
      const bool is_for_chains = rule == SAMPLER_ACCEPT_BLOCK || rule == SAMPLER_ACCEPT_DEFERRED;
      const bool has_rates = acceptance.synthetic_rates || max_drafts() == 0;
      if (is_for_chains && group.layout->parents) continue;
      if (rule == SAMPLER_ACCEPT_SYNTHETIC && !has_rates) continue;
      ask_group(own);
    }
  };
  ask_group(draw);
  sampler_verify_args chains = verify;
  sampler_draft_layout packed = layout;
  chains.layout = &packed;
  packed.packing = SAMPLER_PACKING_DRAFTS;
  packed.num_packed_drafts = count * max_drafts();
  packed.num_packed_positions = count * (max_drafts() + 1);
  packed.packing_offsets = ids;
  if (extent.has_chains) ask(chains);
  if (config_.options.keep_drafter_rows) {
    add_drafter_rows(draft_params, extent.plain_numbers, &packed, &chains);
    if (max_drafts() > 0) chains.draft.values = there;
    ask(chains);
  }
  if (config_.num_tree_places() > 0) {
    sampler_verify_args trees = verify;
    layout.parents = ids;
    trees.draft_counts = trees.out_positions = ids;
    ask(trees);
  }
  if (config_.options.has_blocks) {
    static constexpr uint32_t kStreams[1] = {};
    sampler_sample_args blocks = draw;
    blocks.row_params = &extent.numbers;
    blocks.random.streams = kStreams;
    auto scores = abi::sized<sampler_report_args>();
    scores.logprob_kind = config_.options.confidence_kind;
    scores.out_logprobs = scores.out_entropies = scores.out_top_logprobs = floats;
    scores.num_top_logprobs = BlockBatch::kNumTop;
    blocks.reports = &scores;
    asked.add(blocks);
  }
  // Fewer rows may need more, where a device spreads a row over blocks.
  if (handle_->on_cuda)
    asked.at_least(capi::largest_workspace(*handle_, count, config_.num_cols()));
  // What numbers on the host need beside rows, whichever differ.
  if (handle_->on_cuda && handle_->device.host_parameters) {
    const size_t of_numbers = std::size(contract::kParameters) * sizeof(int64_t);
    asked.at_least(asked.bytes() + of_numbers * size_t(count + 1));
  }
  *out_bytes = asked.bytes();
  return asked.status();
}

}  // namespace sampler::decoding
