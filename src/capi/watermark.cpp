// The entry points of watermark.h.
#include "sampler/watermark.h"

#include <algorithm>
#include <cmath>

#include "abi/check.h"
#include "capi/watermark_places.h"
#include "contract/watermark.h"

namespace sampler::capi {

using namespace abi;
using contract::GumbelStream;

namespace {

constexpr int64_t kLongestContext = 64, kMostTokens = int64_t(1) << 31;

// The stream before token `place` of an output.
GumbelStream stream_before(uint64_t key, const int64_t *tokens, int64_t place, int64_t length) {
  return contract::watermark_stream(key, length, [=](int64_t i) {
    const int64_t at = place - length + i;
    return at < 0 ? int64_t(-1) : tokens[at];
  });
}

// -ln(1 - u), u as vLLM has it: of 24 bits, above 0 and below 1.
double score_of(const GumbelStream &stream, int64_t token) {
  const auto id = uint32_t(token);
  const uint32_t word = ~contract::gumbel_block(stream, id / 4).word[id % 4];
  return -std::log1p(-double(float(double((word >> 8) + 1) / double((1 << 24) + 1))));
}

// By functions that old C libraries have, too. x >= 1 is exact up to rounding.
double log_of(double x) {
  return std::log1p(x - 1);
}
double exp_of(double y) {
  const double n = std::floor(y * 0x1.71547652b82fep+0 + 0.5);  // log2(e)
  return std::ldexp(1 + std::expm1(y - n * 0x1.62e42fefa39efp-1), int(std::max(n, -1e5)));
}

// The chance that a sum of `count` exponential variables is at least `score`, count > 0:
// exp(-score) times the sum of score^i / i! for i < count, from its largest term on.
double chance_of(double score, int64_t count) {
  if (score <= 0) return 1;
  const auto peak = int64_t(std::min(score, double(count - 1)));  // of the largest term
  double largest = peak > 0 ? double(peak) * log_of(score) : 0;
  for (int64_t i = 2; i <= peak; ++i) largest -= log_of(double(i));
  double sum = 0, term = 1;
  for (int64_t i = peak; i >= 0 && term > 1e-20; --i) {
    sum += term;
    term *= double(i) / score;
  }
  term = 1;
  for (int64_t i = peak + 1; i < count && term > 1e-20; ++i) {
    term *= score / double(i);
    sum += term;
  }
  return std::min(1.0, exp_of(largest - score + log_of(sum)));
}

void find_scored(uint64_t key, const int64_t *tokens, int64_t count, int64_t length,
                 bool keeps_repeated, ScoredTokens *out) {
  for (int64_t i = 0; i < count; ++i) out->add(stream_before(key, tokens, i, length), i);
  if (!keeps_repeated) out->keep_first_of_contexts();
}

}  // namespace

void ScoredTokens::keep_first_of_contexts() {
  const auto by_context = [](const ScoredToken &a, const ScoredToken &b) {
    return a.context != b.context ? a.context < b.context : a.place < b.place;
  };
  std::sort(tokens_, tokens_ + count_, by_context);
  count_ = std::unique(
               tokens_, tokens_ + count_,
               [](const ScoredToken &a, const ScoredToken &b) { return a.context == b.context; }) -
           tokens_;
  std::sort(tokens_, tokens_ + count_,
            [](const ScoredToken &a, const ScoredToken &b) { return a.place < b.place; });
}

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_watermark_random(uint64_t key, const int64_t *context,
                                        int64_t context_length, uint64_t *out_seed,
                                        uint64_t *out_offset, uint32_t *out_stream) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    check.range("context_length", context_length, 1, kLongestContext + 1);
    check.required("context", context);
    check.required("out_seed", out_seed);
    check.required("out_offset", out_offset);
    check.required("out_stream", out_stream);
    if (!check.ok()) return check.status();
    const GumbelStream stream = sampler::contract::watermark_stream(
        key, context_length, [=](int64_t i) { return context[i]; });
    *out_seed = stream.seed;
    *out_offset = stream.offset;
    *out_stream = stream.stream;
    return check.status();
  });
}

sampler_status sampler_watermark_detect(uint64_t key, const int64_t *token_ids,
                                        int64_t num_token_ids, int64_t context_length,
                                        int32_t keeps_repeated, double *out_score,
                                        int64_t *out_num_scored, double *out_p_value) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    check.range("num_token_ids", num_token_ids, 0, kMostTokens);
    check.range("context_length", context_length, 1, kLongestContext + 1);
    if (num_token_ids > 0) check.required("token_ids", token_ids);
    check.required("out_score", out_score);
    check.required("out_num_scored", out_num_scored);
    check.required("out_p_value", out_p_value);
    if (!check.ok()) return check.status();
    ScoredTokens scored(num_token_ids);
    if (!scored.has_memory()) {
      check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "no memory to look for a watermark");
      return check.status();
    }
    find_scored(key, token_ids, num_token_ids, context_length, keeps_repeated != 0, &scored);
    double score = 0;
    for (const ScoredToken &each : scored) {
      score += score_of(stream_before(key, token_ids, each.place, context_length),
                        token_ids[each.place]);
    }
    *out_score = score;
    *out_num_scored = scored.size();
    *out_p_value = scored.size() == 0 ? 1 : chance_of(score, scored.size());
    return check.status();
  });
}

}  // extern "C"
