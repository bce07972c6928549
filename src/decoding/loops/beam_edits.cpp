#include "decoding/loops/beam_edits.h"

#include <algorithm>
#include <iterator>

#include "contract/parameter_table.h"

namespace sampler::decoding {

namespace {

using contract::kParameters;
using contract::ParameterInfo;

bool is_of_edits(const ParameterInfo &parameter) {
  return contract::is_edit(parameter.stage);
}

// Copies the parameters of the edits.
void copy_edits(const sampler_params &from, sampler_params *to) {
  for (const ParameterInfo &parameter : kParameters) {
    if (is_of_edits(parameter)) parameter.set_scalar(to, parameter.scalar_in<uint32_t>(from));
  }
  to->penalty_scope = from.penalty_scope;
  to->penalty_form = from.penalty_form;
  to->bad_word_scope = from.bad_word_scope;
  std::copy_n(from.stages, SAMPLER_MAX_STAGES, to->stages);
}

int64_t num_edit_arrays(const sampler_row_params &params) {
  return std::count_if(std::begin(kParameters), std::end(kParameters), [&](const auto &parameter) {
    return is_of_edits(parameter) && parameter.array_in(params);
  });
}

int64_t num_copied(const sampler_token_lists &lists, int64_t num_beams) {
  if (lists.num_lists <= 1) return 0;
  return (lists.offsets[lists.num_lists] - lists.offsets[0]) * num_beams;
}

int64_t longest_text(Generation &generation) {
  int64_t longest = 1;
  for (const GeneratedText &text : generation.texts()) longest = std::max(longest, text.capacity);
  return longest;
}

sampler_pipeline pipeline_of(const Generation &generation) {
  const sampler_pipeline *const given = generation.args().pipeline;
  return given ? *given : abi::sized<sampler_pipeline>();
}

}  // namespace

sampler_params edits_of(const sampler_params &params) {
  sampler_params result = sampler_params_default();
  copy_edits(params, &result);
  return result;
}

sampler_params without_edits(const sampler_params &params) {
  sampler_params result = params;
  copy_edits(sampler_params_default(), &result);
  return result;
}

sampler_row_params without_edits(const sampler_row_params &params) {
  sampler_row_params result = params;
  for (const ParameterInfo &parameter : kParameters) {
    if (is_of_edits(parameter)) parameter.set_array(&result, nullptr);
  }
  return result;
}

BeamLists::BeamLists(const ExecutionTarget &place, const sampler_token_lists &lists,
                     const float *values, int64_t num_beams)
    : offsets_(place, lists.num_lists > 1 ? lists.num_lists * num_beams + 1 : 0),
      token_ids_(place, num_copied(lists, num_beams)),
      values_(place, values ? num_copied(lists, num_beams) : 0),
      view_(lists),
      values_view_(values) {
  if (lists.num_lists <= 1) return;
  const auto *const ids = static_cast<const int32_t *>(lists.token_ids);
  offsets_.push_back(0);
  for (int64_t i = 0; i < lists.num_lists; ++i) {
    const int64_t begin = lists.offsets[i], count = lists.offsets[i + 1] - begin;
    for (int64_t beam = 0; beam < num_beams; ++beam) {
      if (count > 0) token_ids_.append(ids + begin, size_t(count));
      if (values && count > 0) values_.append(values + begin, size_t(count));
      offsets_.push_back(int64_t(token_ids_.size()));
    }
  }
  view_ = {offsets_.data(), token_ids_.data(), lists.num_lists * num_beams,
           int64_t(token_ids_.size())};
  if (values) values_view_ = values_.data();
}

BeamEdits::BeamEdits(const ExecutionTarget &place, Generation &generation, int64_t num_beams)
    : place_(place),
      generation_(generation),
      num_beams_(num_beams),
      params_(edits_of(generation.args().params ? *generation.args().params
                                                : sampler_params_default())),
      row_params_(abi::sized<sampler_row_params>()),
      numbers_(place, generation.args().row_params
                          ? product({num_edit_arrays(*generation.args().row_params), num_slots()})
                          : 0),
      slots_(place, num_slots()),
      masks_(place, num_slots()),
      history_(place, product({num_beams, generation.capacity()})),
      offsets_(place, num_slots() + 1),
      lengths_(place, num_slots()),
      texts_(place, num_slots()),
      prompt_lengths_(place, num_slots()),
      biased_(place, pipeline_of(generation).biased, pipeline_of(generation).biases, num_beams),
      allowed_(place, pipeline_of(generation).allowed, nullptr, num_beams),
      banned_(place, pipeline_of(generation).banned, nullptr, num_beams),
      stop_(place, pipeline_of(generation).stop, nullptr, num_beams),
      unpenalized_(place, pipeline_of(generation).unpenalized, nullptr, num_beams),
      pipeline_(pipeline_of(generation)),
      workspace_bytes_(prepare()),
      workspace_(place, workspace_bytes_) {}

// Fills in and checks the arguments that stay the same. Returns the workspace bytes of a call.
size_t BeamEdits::prepare() {
  const sampler_row_params *const by_text = generation_.args().row_params;
  for (const ParameterInfo &parameter : kParameters) {
    if (!by_text || !is_of_edits(parameter)) continue;
    const auto *const given = parameter.array_in<uint32_t>(*by_text);
    if (!given) continue;
    parameter.set_array(&row_params_, numbers_.data() + numbers_.size());
    for (int64_t i = 0; i < generation_.num_texts(); ++i) {
      numbers_.fill(size_t(num_beams_), given[i]);
    }
  }
  for (const GeneratedText &text : generation_.texts()) {
    prompt_lengths_.fill(size_t(num_beams_), int32_t(text.prompt_length));
  }
  lengths_.fill(size_t(num_slots()), 0);
  texts_.fill(size_t(num_slots()), nullptr);
  offsets_.fill(size_t(num_slots()) + 1, 0);
  pipeline_.biased = biased_.view();
  pipeline_.biases = biased_.values();
  pipeline_.allowed = allowed_.view();
  pipeline_.banned = banned_.view();
  pipeline_.stop = stop_.view();
  pipeline_.unpenalized = unpenalized_.view();
  pipeline_.history = {offsets_.data(), history_.data(), num_slots(), 0};
  pipeline_.prompt_lengths = prompt_lengths_.data();
  pipeline_.max_history_tokens = longest_text(generation_);
  if (pipeline_.token_bitmasks) pipeline_.token_bitmask_indices = masks_.data();

  // With no rows the call checks its arguments and writes nothing.
  auto args = abi::sized<sampler_filter_args>();
  args.input = rows_of(generation_.target(), {nullptr, 0}, 0);
  complete(&args);
  require_call(place_, [&] { return sampler_filter(place_.handle, &args); });

  // The workspace depends on which arrays are non-NULL, not on their addresses.
  static constexpr uint64_t kSomewhere = 0;
  void *const there = const_cast<uint64_t *>(&kSomewhere);
  args.input = rows_of(generation_.target(), {static_cast<unsigned char *>(there), 0}, num_slots());
  args.output = there;
  args.out_row_status = static_cast<sampler_row_status *>(there);
  size_t bytes = 0;
  require_call(place_, [&] { return sampler_filter_workspace_size(place_.handle, &args, &bytes); });
  return bytes;
}

void BeamEdits::complete(sampler_filter_args *args) const {
  args->slots = slots_.data();
  args->num_slots = num_slots();
  args->params = &params_;
  args->row_params = &row_params_;
  args->pipeline = &pipeline_;
}

void BeamEdits::copy_histories(const Array<Feed> &feeds) {
  std::fill(lengths_.begin(), lengths_.end(), 0);
  for (const Feed &feed : feeds) {
    lengths_[size_t(feed.sequence)] = feed.length;
    texts_[size_t(feed.sequence)] = feed.tokens;
  }
  history_.clear();
  for (size_t slot = 0; slot < size_t(num_slots()); ++slot) {
    offsets_[slot] = int64_t(history_.size());
    if (lengths_[slot] > 0) history_.append(texts_[slot], size_t(lengths_[slot]));
    offsets_[slot + 1] = int64_t(history_.size());
  }
  pipeline_.history.num_token_ids = int64_t(history_.size());
}

void BeamEdits::filter(const Array<Feed> &feeds, sampler_filter_args *args) {
  const int32_t *const masks =
      generation_.args().pipeline ? generation_.args().pipeline->token_bitmask_indices : nullptr;
  slots_.clear();
  masks_.clear();
  for (const Feed &feed : feeds) {
    const int64_t text = feed.sequence / num_beams_;
    slots_.push_back(int32_t(feed.sequence));
    masks_.push_back(masks ? masks[text] : int32_t(text));
  }
  copy_histories(feeds);
  complete(args);
  args->exec = {place_.stream, workspace_.data(), workspace_bytes_};
  require_call(place_, [&] { return sampler_filter(place_.handle, args); });
}

}  // namespace sampler::decoding
