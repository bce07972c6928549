// Drafting with a sampler_ngram, for loops and sessions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sampler/ngram.h"

namespace sampler::decoding {

struct NgramRules {
  bool proposes;  // drafts come from `propose`, up to the first below the limits
  bool drafts_unknown;
  int64_t least_count;
  float least_share;
};

// A text with room for drafts after it, and the seed of drafts for unknown contexts.
struct NgramText {
  int32_t *tokens;
  int64_t length, num_new;
  uint64_t seed;
};

// Writes at most `wanted` drafts after the text, up to the first that ends it; returns their
// number. call(name, function) calls one of the n-gram functions; false, after a failure, ends the
// drafts.
template <class Call, class IsEnd>
int64_t draft_by_ngrams(const sampler_ngram &ngram, const NgramRules &rules, const NgramText &text,
                        int64_t wanted, int64_t vocabulary_size, const Call &call,
                        const IsEnd &is_end) {
  int32_t *const drafts = text.tokens + text.length;
  const auto is_token = [&](int32_t token) { return token >= 0 && token < vocabulary_size; };
  if (wanted <= 0) return 0;
  if (rules.proposes) {
    int64_t proposed = 0, count = 0;
    const bool is_well = call("propose", [&] {
      return ngram.propose(ngram.user, text.tokens, text.length, wanted, rules.least_count,
                           rules.least_share, drafts, &proposed);
    });
    proposed = is_well ? std::min(proposed, wanted) : 0;
    while (count < proposed && is_token(drafts[count])) {
      if (is_end(drafts[count++])) break;
    }
    return count;
  }
  for (int64_t count = 0; count < wanted;) {
    int32_t token = -1, known = 0;
    const bool is_well = call("next_token", [&] {
      return ngram.next_token(ngram.user, text.tokens, text.length + count, text.seed,
                              uint64_t(text.num_new + count), &token, &known);
    });
    if (!is_well || !(known || rules.drafts_unknown) || !is_token(token)) return count;
    drafts[count++] = token;
    if (is_end(token)) return count;
  }
  return wanted;
}

}  // namespace sampler::decoding
