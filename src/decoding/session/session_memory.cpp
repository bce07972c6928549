// What a session takes when it is created.
#include "decoding/session/session.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

#include "capi/operations.h"
#include "capi/structs.h"
#include "contract/elements.h"
#include "decoding/session/plain_params.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

size_t Session::drafter_row_bytes() const {
  return size_t(num_cols()) * contract::size_of(config_.drafter_dtype);
}

int64_t Session::longest_text() const {
  if (!config_.loop) return config_.options.max_context;
  int64_t longest = 1;
  for (const Text &text : config_.loop->generation->texts()) {
    longest = std::max(longest, text.capacity);
  }
  return longest;
}

size_t Session::lookup_bytes() const {
  const int64_t tokens = config_.options.lookup_tokens;
  return tokens > 0 ? Arena::padded(PromptLookup::memory_bytes(tokens)) : 0;
}

namespace {

// Takes arrays, and counts what they are to calls: what these read, and what they write.
class Arrays {
 public:
  explicit Arrays(Arena *arena) : arena_(arena) {}

  template <class T>
  T *in(int64_t count, int64_t per_item = 1) {
    count_in<T>(count, per_item);
    return arena_->take<T>(count, per_item);
  }
  template <class T>
  void count_in(int64_t count, int64_t per_item = 1) {
    count_pieces<T>(&ins_, count, per_item);
  }
  template <class T>
  T *out(int64_t count, int64_t per_item = 1) {
    count_pieces<T>(&outs_, count, per_item);
    return arena_->take<T>(count, per_item);
  }

  size_t bytes_in() const { return ins_.bytes(); }
  size_t bytes_out() const { return outs_.bytes(); }

 private:
  // Each group has a piece of its own, padded.
  template <class T>
  static void count_pieces(Arena *all, int64_t count, int64_t per_item) {
    all->take<T>(count, per_item);
    for (size_t i = 1; i < std::size(kDraftGroups); ++i) all->take<char>(1);
  }

  Arena *arena_;
  Arena ins_{nullptr}, outs_{nullptr};
};

}  // namespace

Session::Session(const Config &config, sampler_handle *handle, Arena *host, Arena *device)
    : config_(config),
      handle_(handle),
      numbers_(config.params, config.loop ? 0 : config.options.max_sequences, host) {
  const sampler_session_options &options = config.options;
  const int64_t count = options.max_sequences, top = options.max_top_logprobs;
  const int64_t num_places = max_drafts() + 1;
  const int64_t num_trees = num_tree_places() > 0 ? count : 0;
  config_.options.params = nullptr;
  config_.options.pipeline = nullptr;
  exec_.stream = options.stream;
  Arrays arrays(host);
  sequences_ = host->take<SessionSequence>(count);
  tokens_ = config.loop ? nullptr : host->take<int32_t>(count, text_stride());
  arrays.count_in<int32_t>(longest_text());  // a new text
  arrays.count_in<float>(SAMPLER_NUM_ADAPTIVE_VALUES);
  for (int i = 0; i < 2 * SessionNumbers::kCount; ++i) arrays.count_in<uint32_t>(count);
  ends_ = arrays.in<int32_t>(count, options.max_end_tokens);
  end_offsets_ = arrays.in<int64_t>(count + 1);
  stop_tokens_ = host->take<int32_t>(count, options.max_stop_tokens);
  stop_offsets_ = host->take<int64_t>(count, options.max_stop_sequences + 1);
  seeds_ = arrays.in<uint64_t>(count);
  offsets_ = arrays.in<uint64_t>(count);
  free_ = host->take<int32_t>(count);
  marks_ = host->take<uint64_t>(count);
  lookups_ = host->take<PromptLookup>(options.lookup_tokens > 0 ? count : 0);
  lookup_memory_ = host->take<char>(count, int64_t(lookup_bytes()));
  drafter_rows_ = nullptr;
  if (options.keep_drafter_rows) {
    drafter_rows_ = device->take<unsigned char>(count * max_drafts(), int64_t(drafter_row_bytes()));
  }
  measured_ = host->take<MeasuredGamma>(options.has_adaptive_gamma);
  probabilities_ = arrays.out<float>(options.has_adaptive_gamma, num_cols());
  acceptances_ = arrays.in<sampler_acceptance>(count);
  synthetic_rates_ = host->take<float>(options.synthetic_rates ? max_drafts() : 0);
  lengths_before_ = host->take<int64_t>(count);
  row_indices_ = arrays.in<int32_t>(count);
  draw_slots_ = arrays.in<int32_t>(count);
  drawn_ids_ = arrays.out<int32_t>(count);
  draw_status_ = arrays.out<sampler_row_status>(count);
  drawn_logprobs_ = arrays.out<float>(count);
  selected_ids_ = arrays.out<int32_t>(count, num_tree_places());
  siblings_ = host->take<int32_t>(count, num_tree_places());
  sibling_parents_ = host->take<int32_t>(count, num_tree_places());
  parents_ = host->take<int32_t>(count, num_tree_places());
  draft_counts_ = arrays.in<int32_t>(num_trees);
  tree_parents_ = arrays.in<int32_t>(count, num_tree_places());
  positions_ = arrays.out<int32_t>(num_trees, num_places);
  verified_ = host->take<Verified>(count);
  slots_ = arrays.in<int32_t>(count);
  packing_offsets_ = arrays.in<int32_t>(count + int64_t(std::size(kDraftGroups)));
  draft_ids_ = arrays.in<int32_t>(count, num_places);
  target_rows_ = arrays.in<int32_t>(count, num_places);
  masks_ = arrays.in<int32_t>(config.pipeline.token_bitmasks ? count : 0, num_places);
  num_kept_ = arrays.out<int32_t>(count);
  row_status_ = arrays.out<sampler_row_status>(count);
  token_ids_ = arrays.out<int32_t>(count, num_places);
  arrays.count_in<int32_t>(count, num_places);  // what the tokens become
  logprobs_ = arrays.out<float>(count, num_places);
  top_token_ids_ = arrays.out<int32_t>(count, num_places * top);
  top_logprobs_ = arrays.out<float>(count, num_places * top);
  likeliest_ = arrays.out<int32_t>(count * num_places, options.filler_top_k);
  lesson_ = host->take<int32_t>(options.filler_top_k + 1);
  observations_ = arrays.out<float>(count, num_places);
  arrays.count_in<float>(count, num_places);
  transfer_ = Transfer(handle, options.stream, arrays.bytes_in(), arrays.bytes_out(), host, device);
  if (!sequences_) return;
  num_free_ = count;
  for (int64_t i = 0; i < count; ++i) {
    free_[i] = int32_t(count - 1 - i);
    sequences_[i] = {};
    marks_[i] = seeds_[i] = offsets_[i] = 0;
    acceptances_[i] = SAMPLER_ACCEPT_SAMPLE_MATCH;
  }
  if (options.has_adaptive_gamma) {
    new (measured_) MeasuredGamma(options.clock, options.clock_user);
  }
  if (options.synthetic_rates) std::copy_n(options.synthetic_rates, max_drafts(), synthetic_rates_);
  std::fill_n(ends_, count * options.max_end_tokens, kNoToken);
  for (int64_t i = 0; i <= count; ++i) end_offsets_[i] = i * options.max_end_tokens;
}

sampler_status Session::start(capi::Entry &entry, void *workspace, size_t workspace_bytes) {
  exec_.workspace = workspace;
  exec_.workspace_bytes = workspace_bytes;
  if (config_.loop && !config_.loop->has_state) return SAMPLER_OK;
  auto options = capi::sized<sampler_state_options>();
  options.num_slots = num_sequences();
  options.max_tokens = longest_text();
  return entry.call_host([&] { return sampler_state_create(handle_, &options, &state_); });
}

// ---- Workspace ---------------------------------------------------------------------------------

namespace {

// The most that calls need.
class Asked {
 public:
  Asked(capi::Entry &entry, sampler_handle *handle) : entry_(entry), handle_(handle) {}

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

  capi::Entry &entry_;
  sampler_handle *handle_;
  sampler_status status_ = SAMPLER_OK;
  size_t bytes_ = 0;
};

}  // namespace

sampler_status Session::ask_workspace(capi::Entry &entry, size_t *out_bytes) const {
  // Of arrays only whether they are there matters.
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
  auto row_params = capi::sized<sampler_row_params>();
  const bool in_loop = config_.loop != nullptr;
  const sampler_row_params plain_numbers =
      in_loop ? plain_params(config_.loop->row_params) : SessionNumbers::all_plain_arrays(there);
  sampler_sample_args sample = sample_args(draft_params, row_params);
  sample.input = drafter_rows_of(there, count, 0);
  sample.row_indices = sample.slots = ids;
  sample.num_row_indices = count;
  sample.random = random;
  sample.out_token_ids = there;
  sample.out_row_status = static_cast<sampler_row_status *>(there);
  asked.add(sample);
  sample.out_logprobs = floats;
  sample.row_params = &plain_numbers;
  asked.add(sample);

  if (config_.options.has_adaptive_gamma) asked.add(entropy_args(there, draft_params, there));

  if (num_tree_places() > 0) {
    auto select = capi::sized<sampler_select_args>();
    select.input = sample.input;
    select.num_selected = std::min(max_drafts(), num_cols());
    select.out_token_ids = there;
    asked.add(select);
  }
  if (config_.options.filler_top_k > 0) {
    auto select = capi::sized<sampler_select_args>();
    select.input = rows_of(there, count * (max_drafts() + 1), 0);
    select.num_selected = config_.options.filler_top_k;
    select.out_token_ids = there;
    asked.add(select);
  }

  // Draws and verification: with nothing and with all that there can be, with a drafter's rows and
  // without.
  const sampler_row_params all_numbers =
      in_loop ? config_.loop->row_params : numbers_.all_arrays(there);
  const bool has_minimum = !in_loop && all_numbers.min_new_tokens != nullptr;
  sampler_pipeline pipeline = make_pipeline();
  if (!in_loop || config_.loop->has_state) {
    pipeline.history = {static_cast<int64_t *>(there), there, count, 1};
    pipeline.max_history_tokens = longest_text();
  }
  if (has_minimum && !pipeline.stop.offsets) {
    const int64_t num_ends = count * config_.options.max_end_tokens;
    pipeline.stop = {static_cast<int64_t *>(there), there, count, num_ends};
  }
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = ids;
  sampler_verify_args verify = verify_args(config_.params, row_params, pipeline, count);
  verify.target = rows_of(there, count * (max_drafts() + 1), 0);
  verify.slots = verify.target_row_indices = ids;
  verify.random = random;
  verify.acceptances = ids;
  if (config_.options.synthetic_rates) verify.synthetic_rates = floats;
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
  const auto ask = [&](const auto &group) {
    auto own = group;
    asked.add(own);
    own.row_params = &all_numbers;
    own.out_observations = has_adaptive() || !in_loop ? floats : nullptr;
    if (!in_loop) own.out_logprobs = floats;
    if (config_.options.max_top_logprobs > 0) {
      own.num_top_logprobs = config_.options.max_top_logprobs;
      own.out_top_token_ids = there;
      own.out_top_logprobs = floats;
    }
    asked.add(own);
  };
  ask(draw);
  const bool is_drafted = !in_loop || max_drafts() > 0;
  sampler_verify_args chains = verify;
  chains.packing = SAMPLER_PACKING_DRAFTS;
  chains.num_packed_drafts = count * max_drafts();
  chains.num_packed_positions = count * (max_drafts() + 1);
  chains.packing_offsets = ids;
  if (is_drafted) ask(chains);
  if (config_.options.keep_drafter_rows) {
    add_drafter_rows(draft_params, plain_numbers, &chains);
    if (max_drafts() > 0) chains.draft.values = there;
    ask(chains);
  }
  if (num_tree_places() > 0) {
    sampler_verify_args trees = verify;
    trees.draft_counts = trees.parents = trees.out_positions = ids;
    ask(trees);
  }
  // Fewer rows may take more, where a device spreads them.
  if (handle_->on_cuda) asked.at_least(capi::largest_workspace(*handle_, count, num_cols()));
  *out_bytes = asked.bytes();
  return asked.status();
}

}  // namespace sampler::decoding
