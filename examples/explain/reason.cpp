#include "reason.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "stages.h"

namespace explain {

namespace {

bool is_bad(float value) {
  return std::isnan(value) || value == INFINITY;
}

// "dense_bias 7 is nan"; "" where none is bad.
std::string first_bad(const char *name, const float *values, std::int64_t count) {
  const float *const end = values + count, *const bad = std::find_if(values, end, is_bad);
  if (bad == end) return "";
  return std::string(name) + " " + std::to_string(bad - values) + " is " +
         (std::isnan(*bad) ? "nan" : "inf");
}

std::int64_t num_cols(const Question &question) {
  return std::int64_t(question.logits.size());
}

std::string bad_logit(const Question &question) {
  const std::string given = first_bad("logit", question.logits.data(), num_cols(question));
  if (!given.empty() || !question.pipeline) return given;
  const sampler_pipeline &lists = *question.pipeline;
  if (guides(question.params, lists)) {
    const auto *const logits = static_cast<const float *>(lists.guidance_logits);
    std::vector<float> guidance(logits, logits + num_cols(question));
    for (std::size_t i = 0; i < guidance.size(); ++i) {
      if (question.logits[i] == -INFINITY) guidance[i] = 0;  // which nothing guides
    }
    const std::string bad = first_bad("guidance logit", guidance.data(), num_cols(question));
    if (!bad.empty()) return bad;
  }
  return lists.dense_bias ? first_bad("dense_bias", lists.dense_bias, lists.dense_bias_stride) : "";
}

std::string bad_number(const Question &question) {
  if (question.forced_token_id >= num_cols(question)) {
    return "forced_token_id is " + std::to_string(question.forced_token_id) +
           "; the row has ids in [0, " + std::to_string(num_cols(question)) + ")";
  }
  if (!question.pipeline) return "";
  const sampler_pipeline &lists = *question.pipeline;
  return lists.biases ? first_bad("biases", lists.biases, lists.biased.num_token_ids) : "";
}

// What bans tokens, where none is left.
std::string what_bans_all(const Question &question) {
  const bool is_given_empty = std::all_of(question.logits.begin(), question.logits.end(),
                                          [](float logit) { return logit == -INFINITY; });
  if (is_given_empty) return "every logit is -inf";
  if (!question.pipeline) return "";
  const sampler_token_lists &allowed = question.pipeline->allowed;
  const auto *const ids = static_cast<const std::int32_t *>(allowed.token_ids);
  const auto is_in_row = [&](std::int32_t id) { return id >= 0 && id < num_cols(question); };
  if (allowed.num_token_ids > 0 && std::none_of(ids, ids + allowed.num_token_ids, is_in_row)) {
    return "allowed has no id of the row, which are those in [0, " +
           std::to_string(num_cols(question)) + ")";
  }
  std::string names;
  for (const sampler_stage stage : {SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK}) {
    for (const Part &part : parts_of(stage, *question.pipeline)) {
      names += (names.empty() ? "" : ", ") + std::string(part.name);
    }
  }
  if (question.params.no_repeat_ngram_size > 0) {
    names += (names.empty() ? "" : ", ") + std::string("no_repeat_ngram_size");
  }
  return names.empty() ? "" : "what is set leaves none: " + names;
}

// The first list whose length is not in [1, longest].
std::string bad_length(const char *name, const sampler_token_lists &lists, std::int64_t longest) {
  for (std::int64_t i = 0; i < lists.num_lists; ++i) {
    const std::int64_t length = lists.offsets[i + 1] - lists.offsets[i];
    if (length >= 1 && length <= longest) continue;
    return std::string(name) + " has a list of " + std::to_string(length) + " tokens; it must be " +
           (longest == INT64_MAX ? "1 or more" : "1 to " + std::to_string(longest));
  }
  return "";
}

std::string bad_list(const Question &question) {
  constexpr std::int64_t kLongestBreaker = 20;
  if (!question.pipeline) return "";
  const std::string word = bad_length("bad_words", question.pipeline->bad_words, INT64_MAX);
  if (!word.empty()) return word;
  return bad_length("dry_breakers", question.pipeline->dry_breakers, kLongestBreaker);
}

std::string nothing_more(const Question &) {
  return "";
}

struct Bit {
  const char *name, *meaning;
  std::string (*detail)(const Question &);
};
// From bit 0 on.
constexpr Bit kBits[] = {{"INVALID_VALUE", "a logit is NaN or +inf", bad_logit},
                         {"EMPTY", "there is no token to choose", what_bans_all},
                         {"INVALID_PARAMETER", "a number of the row breaks its rule", bad_number},
                         {"INVALID_INDEX", "an index names no row or no mask", nothing_more},
                         {"INVALID_CANDIDATE", "a candidate breaks its rule", nothing_more},
                         {"INVALID_DRAFT", "a draft breaks its rule", nothing_more},
                         {"INVALID_SLOT", "the slot is none", nothing_more},
                         {"INVALID_LIST", "a list of tokens breaks its rule", bad_list},
                         {"STATE_FULL", "the text is longer than its state", nothing_more},
                         {"INVALID_TREE", "the drafts are no tree", nothing_more},
                         {"INVALID_SHARD", "the ranks disagree", nothing_more}};

}  // namespace

std::string reason_of(sampler_row_status status, const Question &question) {
  std::string text;
  for (std::size_t bit = 0; bit < std::size(kBits); ++bit) {
    if ((status >> bit & 1) == 0) continue;
    const std::string detail = kBits[bit].detail(question);
    text += (text.empty() ? "SAMPLER_ROW_" : ", SAMPLER_ROW_") + std::string(kBits[bit].name) +
            " (" + kBits[bit].meaning + (detail.empty() ? "" : ": " + detail) + ")";
  }
  return text;
}

}  // namespace explain
