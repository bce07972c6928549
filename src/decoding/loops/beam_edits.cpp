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

bool is_by_text(const sampler_token_lists &lists) {
  return lists.num_lists > 1;
}

// Tokens of all beams' lists. Fails if the texts' are no lists.
int64_t num_copied(const ExecutionTarget &place, const char *name, const sampler_token_lists &lists,
                   const int64_t *offsets, int64_t num_beams) {
  if (!is_by_text(lists)) return 0;
  const int64_t invalid = find_invalid_list(lists, offsets);
  if (invalid >= 0) {
    throw Failure{abi::fail(*place.entry, SAMPLER_ERROR_INVALID_ARGUMENT, kInvalidOffsets, name,
                            invalid, offsets[invalid], offsets[invalid + 1], lists.num_token_ids)};
  }
  return product({offsets[lists.num_lists] - offsets[0], num_beams});
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

int64_t find_invalid_list(const sampler_token_lists &lists, const int64_t *offsets) {
  for (int64_t i = 0; i < lists.num_lists; ++i) {
    const int64_t begin = offsets[i], end = offsets[i + 1];
    if (begin < 0 || begin > end || end > lists.num_token_ids) return i;
  }
  return -1;
}

BeamLists::BeamLists(const ExecutionTarget &place, const char *name,
                     const sampler_token_lists &lists, const float *values, int64_t num_beams)
    : given_offsets_(place, lists.offsets, is_by_text(lists) ? lists.num_lists + 1 : 0),
      given_ids_(place, lists.token_ids, is_by_text(lists) ? lists.num_token_ids : 0),
      given_values_(place, values, is_by_text(lists) && values ? lists.num_token_ids : 0),
      offsets_(place, is_by_text(lists) ? product({lists.num_lists, num_beams}) + 1 : 0),
      token_ids_(place, num_copied(place, name, lists, given_offsets_.data(), num_beams)),
      values_(place, values ? num_copied(place, name, lists, given_offsets_.data(), num_beams) : 0),
      view_(lists),
      values_view_(values) {
  if (!is_by_text(lists)) return;
  const int64_t *const offsets = given_offsets_.data();
  Array<int64_t> &ends = offsets_.values();
  ends.push_back(0);
  for (int64_t i = 0; i < lists.num_lists; ++i) {
    const int64_t begin = offsets[i], count = offsets[i + 1] - begin;
    for (int64_t beam = 0; beam < num_beams; ++beam) {
      if (count > 0) token_ids_.values().append(given_ids_.data() + begin, size_t(count));
      if (values && count > 0) {
        values_.values().append(given_values_.data() + begin, size_t(count));
      }
      ends.push_back(int64_t(token_ids_.values().size()));
    }
  }
  view_ = {offsets_.upload(), token_ids_.upload(), lists.num_lists * num_beams,
           int64_t(token_ids_.values().size())};
  if (values) values_view_ = values_.upload();
}

BeamEdits::BeamEdits(const ExecutionTarget &place, Generation &generation, int64_t num_beams)
    : place_(place),
      generation_(generation),
      num_beams_(num_beams),
      params_(edits_of(generation.args().params ? *generation.args().params
                                                : sampler_params_default())),
      row_params_(abi::sized<sampler_row_params>()),
      numbers_(place,
               generation.args().row_params
                   ? product({num_edit_arrays(*generation.args().row_params), num_slots()})
                   : 0,
               true),
      slots_(place, num_slots()),
      masks_(place, num_slots()),
      history_(place, product({num_beams, generation.capacity()})),
      offsets_(place, num_slots() + 1),
      lengths_(place, num_slots()),
      texts_(place, num_slots()),
      prompt_lengths_(place, num_slots()),
      biased_(place, "biased", pipeline_of(generation).biased, pipeline_of(generation).biases,
              num_beams),
      allowed_(place, "allowed", pipeline_of(generation).allowed, nullptr, num_beams),
      banned_(place, "banned", pipeline_of(generation).banned, nullptr, num_beams),
      stop_(place, "stop", pipeline_of(generation).stop, nullptr, num_beams),
      unpenalized_(place, "unpenalized", pipeline_of(generation).unpenalized, nullptr, num_beams),
      pipeline_(pipeline_of(generation)),
      workspace_bytes_(prepare()),
      workspace_(place, workspace_bytes_) {}

// Fills in and checks the arguments that stay the same. Returns the workspace bytes of a call.
size_t BeamEdits::prepare() {
  const sampler_row_params *const by_text = generation_.args().row_params;
  for (const ParameterInfo &parameter : kParameters) {
    if (!by_text || !is_of_edits(parameter)) continue;
    const auto *const given = parameter.array_in<uint32_t>(*by_text);
    for (int64_t i = 0; given && i < generation_.num_texts(); ++i) {
      numbers_.values().fill(size_t(num_beams_), given[i]);
    }
  }
  const uint32_t *numbers = numbers_.upload();
  for (const ParameterInfo &parameter : kParameters) {
    if (!by_text || !is_of_edits(parameter) || !parameter.array_in<uint32_t>(*by_text)) continue;
    parameter.set_array(&row_params_, numbers);
    numbers += num_slots();
  }
  for (const GeneratedText &text : generation_.texts()) {
    prompt_lengths_.values().fill(size_t(num_beams_), int32_t(text.prompt_length));
  }
  lengths_.fill(size_t(num_slots()), 0);
  texts_.fill(size_t(num_slots()), nullptr);
  offsets_.values().fill(size_t(num_slots()) + 1, 0);
  pipeline_.biased = biased_.view();
  pipeline_.biases = biased_.values();
  pipeline_.allowed = allowed_.view();
  pipeline_.banned = banned_.view();
  pipeline_.stop = stop_.view();
  pipeline_.unpenalized = unpenalized_.view();
  pipeline_.prompt_lengths = prompt_lengths_.upload();
  pipeline_.max_history_tokens = longest_text(generation_);

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

void BeamEdits::complete(sampler_filter_args *args) {
  pipeline_.history = {offsets_.upload(), history_.upload(), num_slots(),
                       int64_t(history_.values().size())};
  if (pipeline_.token_bitmasks) pipeline_.token_bitmask_indices = masks_.upload();
  args->slots = slots_.upload();
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
  Array<int32_t> &history = history_.values();
  Array<int64_t> &offsets = offsets_.values();
  history.clear();
  for (size_t slot = 0; slot < size_t(num_slots()); ++slot) {
    offsets[slot] = int64_t(history.size());
    if (lengths_[slot] > 0) history.append(texts_[slot], size_t(lengths_[slot]));
    offsets[slot + 1] = int64_t(history.size());
  }
}

void BeamEdits::filter(const Array<Feed> &feeds, sampler_filter_args *args) {
  const int32_t *const masks =
      generation_.args().pipeline ? generation_.args().pipeline->token_bitmask_indices : nullptr;
  slots_.values().clear();
  masks_.values().clear();
  for (const Feed &feed : feeds) {
    const int64_t text = feed.sequence / num_beams_;
    slots_.values().push_back(int32_t(feed.sequence));
    masks_.values().push_back(masks ? masks[text] : int32_t(text));
  }
  copy_histories(feeds);
  complete(args);
  args->exec = {place_.stream, workspace_.data(), workspace_.size()};
  require_call(place_, [&] { return sampler_filter(place_.handle, args); });
}

}  // namespace sampler::decoding
