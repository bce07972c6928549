// Requests as arguments of a call.
#include <algorithm>
#include <set>
#include <utility>

#include "engine_parameters.h"

namespace engine_parameters {

std::int32_t Request::least_new_tokens(std::int32_t prompt_length) const {
  const std::int64_t least = std::int64_t{min_length} - prompt_length;
  return static_cast<std::int32_t>(std::max<std::int64_t>({params.min_new_tokens, least, 0}));
}

std::int32_t Request::forced_token(std::uint64_t num_new_tokens) const {
  const std::uint64_t place = is_always_forced ? 0 : num_new_tokens;
  return place < forced.size() ? std::max(forced[place], -1) : -1;
}

void Pipeline::Lists::add(const Ids &list) {
  ids.insert(ids.end(), list.begin(), list.end());
  offsets.push_back(static_cast<std::int64_t>(ids.size()));
}

// No list at all where none has been added.
sampler_token_lists Pipeline::Lists::view() const {
  if (offsets.size() == 1) return {};
  return {offsets.data(), ids.data(), static_cast<std::int64_t>(offsets.size()) - 1,
          static_cast<std::int64_t>(ids.size())};
}

Pipeline::Pipeline(const Request &request, Ids history, std::int32_t prompt_length)
    : params_(request.params),
      prompt_length_(prompt_length),
      biases_(request.biases),
      dense_bias_(request.dense_bias),
      token_bitmask_(request.token_bitmask) {
  history_.add(history);
  const auto add_unless_empty = [](const Ids &ids, Lists *lists) {
    if (!ids.empty()) lists->add(ids);
  };
  add_unless_empty(request.biased, &biased_);
  add_unless_empty(request.allowed, &allowed_);
  add_unless_empty(request.banned, &banned_);
  add_unless_empty(request.unpenalized, &unpenalized_);
  // A least length and the exponential decay are all that they are for.
  const bool has_least = request.params.min_new_tokens > 0 || request.min_length > 0;
  const float decay = request.params.exponential_decay_factor;
  if (has_least || (decay != 0.0f && decay != 1.0f)) add_unless_empty(request.stop, &stop_);
  for (const Ids &word : request.bad_words) bad_words_.add(word);
  std::vector<Ids> contexts = request.bias_contexts;
  contexts.resize(request.biased.size());
  if (std::any_of(contexts.begin(), contexts.end(), [](const Ids &ids) { return !ids.empty(); })) {
    for (const Ids &context : contexts) bias_contexts_.add(context);
  }
  // In order, and each once, as the library wants them.
  for (const Ids &breaker :
       std::set<Ids>(request.dry_breakers.begin(), request.dry_breakers.end())) {
    breakers_.add(breaker);
  }
  params_.min_new_tokens = request.least_new_tokens(prompt_length);

  pipeline_.struct_size = sizeof pipeline_;
  pipeline_.history = history_.view();
  pipeline_.prompt_lengths = &prompt_length_;
  pipeline_.biased = biased_.view();
  pipeline_.biases = biases_.empty() ? nullptr : biases_.data();
  pipeline_.bias_contexts = bias_contexts_.view();
  pipeline_.allowed = allowed_.view();
  pipeline_.banned = banned_.view();
  pipeline_.stop = stop_.view();
  pipeline_.unpenalized = unpenalized_.view();
  pipeline_.bad_words = bad_words_.view();
  pipeline_.dry_breakers = breakers_.view();
  if (!dense_bias_.empty()) {
    pipeline_.dense_bias = dense_bias_.data();
    pipeline_.num_dense_biases = 1;
    pipeline_.dense_bias_stride = static_cast<std::int64_t>(dense_bias_.size());
  }
  if (!token_bitmask_.empty()) {
    pipeline_.token_bitmasks = token_bitmask_.data();
    pipeline_.num_token_bitmasks = 1;
    pipeline_.token_bitmask_stride = static_cast<std::int64_t>(token_bitmask_.size());
    pipeline_.token_bitmask_rule = request.token_bitmask_rule;
  }
}

}  // namespace engine_parameters
