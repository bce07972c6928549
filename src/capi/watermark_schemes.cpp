// The entry points of watermark.h for Hugging Face's schemes.
#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "abi/check.h"
#include "capi/watermark_places.h"
#include "contract/watermark.h"
#include "contract/watermark_schemes.h"
#include "sampler/watermark.h"

namespace sampler::abi {

SAMPLER_ZERO_TRAITS(sampler_watermark_params)

}  // namespace sampler::abi

namespace sampler::capi {

using namespace abi;
using contract::GreenLists;
using contract::Tournament;

namespace {

constexpr int64_t kMaxVocabulary = int64_t(1) << 20, kMaxTable = int64_t(1) << 24;
constexpr int64_t kMaxContext = 64, kMaxKeys = 64, kMaxTokens = int64_t(1) << 31;
constexpr int64_t kMaxCandidates = 1024;
constexpr int64_t kSelfhashTable = 1000003, kTournamentTable = 65536;

bool is_tournament(const sampler_watermark_params &params) {
  return params.scheme == SAMPLER_WATERMARK_TOURNAMENT;
}
bool has_table(const sampler_watermark_params &params) {
  return params.scheme != SAMPLER_WATERMARK_LEFTHASH;
}

void check_green_lists(Check &check, const sampler_watermark_params &params) {
  if (!(params.green_share > 0 && params.green_share < 1)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "params->green_share is %.9g; it must be in (0, 1)",
               params.green_share);
  }
  if (!contract::is_finite(params.bias)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "params->bias is %.9g; it must be finite",
               double(params.bias));
  }
  check.zero("params->num_keys", params.num_keys);
  check.zero("params->table_seed", int64_t(params.table_seed));
}

void check_tournament(Check &check, const sampler_watermark_params &params) {
  check.zero("params->key", params.key);
  if (params.green_share != 0 || params.bias != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->green_share is %.9g and bias %.9g; they must be 0 with "
               "SAMPLER_WATERMARK_TOURNAMENT",
               params.green_share, double(params.bias));
  }
  check.range("params->num_keys", params.num_keys, 1, kMaxKeys + 1);
  check.required("params->keys", params.keys);
}

// Fills in the defaults. `reads_table`: the call needs the scheme's table.
sampler_watermark_params read_params(Check &check, const sampler_watermark_params *user,
                                     bool reads_table) {
  sampler_watermark_params params = {};
  if (!check.read("params", user, &params)) return params;
  check.enumeration("params->scheme", params.scheme, 3);
  check.range("params->context_length", params.context_length,
              params.scheme == SAMPLER_WATERMARK_SELFHASH ? 0 : 1, kMaxContext + 1);
  check.range("params->vocabulary_size", params.vocabulary_size, 2, kMaxVocabulary);
  check.enumeration("params->keeps_repeated", params.keeps_repeated, 2);
  if (!check.ok()) return params;
  if (is_tournament(params)) {
    check_tournament(check, params);
  } else {
    check_green_lists(check, params);
  }
  if (has_table(params)) {
    if (params.table_size == 0) {
      params.table_size = is_tournament(params) ? kTournamentTable : kSelfhashTable;
    }
    check.range("params->table_size", params.table_size, 1, kMaxTable + 1);
    if (reads_table) check.required("params->table", params.table);
  } else {
    check.zero("params->table_size", params.table_size);
  }
  return params;
}

void check_id(Check &check, const char *name, int64_t index, int64_t id, int64_t vocabulary_size) {
  if (id >= 0 && id < vocabulary_size) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
             "%s[%" PRId64 "] is %" PRId64 "; it must be in [0, vocabulary_size), %" PRId64, name,
             index, id, vocabulary_size);
}
template <class Id>
void check_ids(Check &check, const char *name, const Id *ids, int64_t count,
               const sampler_watermark_params &params) {
  if (count > 0) check.required(name, ids);
  for (int64_t i = 0; check.ok() && i < count; ++i) {
    check_id(check, name, i, int64_t(ids[i]), params.vocabulary_size);
  }
}

// Refuses a call for the other kind of schemes.
void check_kind(Check &check, const sampler_watermark_params &params, bool wants_tournament) {
  if (!check.ok() || is_tournament(params) == wants_tournament) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "params->scheme is %d; this call is for %s",
             int(params.scheme),
             wants_tournament ? "SAMPLER_WATERMARK_TOURNAMENT"
                              : "SAMPLER_WATERMARK_LEFTHASH and SAMPLER_WATERMARK_SELFHASH");
}

GreenLists green_lists_of(const sampler_watermark_params &params) {
  const auto num_green = int64_t(double(params.vocabulary_size) * params.green_share);
  const bool has_self = params.scheme == SAMPLER_WATERMARK_SELFHASH;
  return {params.vocabulary_size,
          num_green,
          params.key,
          params.context_length + int64_t(has_self),
          has_self ? params.table : nullptr,
          params.table_size};
}
Tournament tournament_of(const sampler_watermark_params &params) {
  return {params.keys, params.num_keys, params.table, params.table_size};
}

void write_table(const sampler_watermark_params &params, int32_t *out) {
  if (!is_tournament(params)) {
    contract::write_permutation(uint64_t(params.key), params.table_size, params.table_size,
                                contract::Places(out));
    return;
  }
  contract::TorchWords words(params.table_seed);
  for (int64_t i = 0; i < params.table_size; ++i) out[i] = int32_t(words.next() & 1);
}

// Marks in the permutation's own places which tokens are green, then writes the biases there.
void write_biases(const GreenLists &lists, const int64_t *context, float bias, float *out) {
  constexpr int32_t kIsGreen = int32_t(1) << 30;
  const contract::Places places(out);
  contract::write_permutation(lists.seed(context, lists.context_width), lists.vocabulary_size,
                              lists.num_green, places);
  for (int64_t i = 0; i < lists.num_green; ++i) {
    const int32_t token = places[i] & ~kIsGreen;
    places.set(token, places[token] | kIsGreen);
  }
  for (int64_t i = 0; i < lists.vocabulary_size; ++i) {
    const bool is_green = (places[i] & kIsGreen) != 0;
    out[i] = is_green ? bias : 0.0f;
  }
}

void write_own_biases(const GreenLists &lists, const int64_t *context, const int32_t *candidates,
                      int64_t num_candidates, float bias, float *out) {
  int64_t tokens[kMaxContext + 1];
  const int64_t length = lists.context_width - 1;
  std::copy_n(context, length, tokens);
  for (int64_t i = 0; i < num_candidates; ++i) {
    tokens[length] = candidates[i];
    const bool is_green = lists.is_green(lists.seed(tokens, length + 1), candidates[i]);
    out[i] = is_green ? bias : 0.0f;
  }
}

void check_probabilities(Check &check, const float *probabilities, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; check.ok() && i < count; ++i) {
    if (!(probabilities[i] >= 0) || !contract::is_finite(probabilities[i])) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "probabilities[%" PRId64 "] is %.9g; it must be finite and at least 0", i,
                 double(probabilities[i]));
    }
    sum += double(probabilities[i]);
  }
  if (check.ok() && sum == 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "probabilities are all 0");
  }
  // A token that wins has all of it in the end, which f32 must have.
  if (check.ok() && sum >= 0x1p127) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "the sum of probabilities is %.9g; it must be below 2^127", sum);
  }
}

void hold_tournament(const Tournament &tournament, const int64_t *context, int64_t context_length,
                     const int32_t *token_ids, int64_t count, float *probabilities) {
  const int64_t hash = Tournament::hash_of(context, context_length);
  // Layer by layer, in f32 between them.
  for (int64_t layer = 0; layer < tournament.num_keys; ++layer) {
    double sum = 0, mass = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += double(probabilities[i]);
      if (tournament.bit(hash, token_ids[i], layer)) mass += double(probabilities[i]);
    }
    const double share = mass / sum;
    for (int64_t i = 0; i < count; ++i) {
      const double bit = tournament.bit(hash, token_ids[i], layer);
      probabilities[i] = float(double(probabilities[i]) * (1 + bit - share));
    }
  }
}

// Finds the tokens of an output to score: those with enough tokens before them.
void find_scored(const sampler_watermark_params &params, const int64_t *tokens, int64_t count,
                 ScoredTokens *out) {
  const int64_t length = params.context_length, num_compared = length + !is_tournament(params);
  for (int64_t i = length; i < count; ++i) {
    const int64_t *const first = tokens + i - length;
    out->add(contract::watermark_stream(0, num_compared, [=](int64_t j) { return first[j]; }), i);
  }
  if (!params.keeps_repeated) out->keep_first_of_contexts();
}

struct Score {
  double score = 0, p_value = 1;
};

// `num_hits` of `count` draws that each hit with the chance `share`.
double deviation_of(int64_t num_hits, int64_t count, double share) {
  return (double(num_hits) - share * double(count)) /
         std::sqrt(double(count) * share * (1 - share));
}
double chance_above(double deviation) {
  return std::erfc(deviation * 0x1.6a09e667f3bcdp-1) / 2;  // over the square root of 2
}

Score score_of(const sampler_watermark_params &params, const int64_t *tokens,
               const ScoredTokens &scored) {
  const int64_t length = params.context_length, count = scored.size();
  int64_t num_hits = 0;
  if (is_tournament(params)) {
    if (count == 0) return {0.5, 1};
    const Tournament tournament = tournament_of(params);
    for (const ScoredToken &each : scored) {
      const int64_t place = each.place;
      const int64_t hash = Tournament::hash_of(tokens + place - length, length);
      for (int64_t layer = 0; layer < params.num_keys; ++layer) {
        num_hits += tournament.bit(hash, tokens[place], layer);
      }
    }
    const int64_t num_bits = count * params.num_keys;
    return {double(num_hits) / double(num_bits),
            chance_above(deviation_of(num_hits, num_bits, 0.5))};
  }
  if (count == 0) return {};
  const GreenLists lists = green_lists_of(params);
  const bool has_self = params.scheme == SAMPLER_WATERMARK_SELFHASH;
  for (const ScoredToken &each : scored) {
    const int64_t place = each.place, end = place + int64_t(has_self);
    num_hits +=
        lists.is_green(lists.seed(tokens + place - length, end - place + length), tokens[place]);
  }
  const double deviation = deviation_of(num_hits, count, params.green_share);
  return {deviation, chance_above(deviation)};
}

}  // namespace

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_watermark_table(const sampler_watermark_params *params, int32_t *out_table) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    const sampler_watermark_params own = read_params(check, params, false);
    check.required("out_table", out_table);
    if (check.ok() && !has_table(own)) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->scheme is SAMPLER_WATERMARK_LEFTHASH; it has no table");
    }
    if (check.ok()) write_table(own, out_table);
    return check.status();
  });
}

sampler_status sampler_watermark_bias(const sampler_watermark_params *params,
                                      const int64_t *context, const int32_t *candidate_token_ids,
                                      int64_t num_candidates, float *out_biases) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    const sampler_watermark_params own = read_params(check, params, true);
    check_kind(check, own, false);
    if (!check.ok()) return check.status();
    check_ids(check, "context", context, own.context_length, own);
    const bool has_self = own.scheme == SAMPLER_WATERMARK_SELFHASH;
    check.range("num_candidates", num_candidates, 0, has_self ? kMaxCandidates + 1 : 1);
    if (!check.ok()) return check.status();
    check_ids(check, "candidate_token_ids", candidate_token_ids, num_candidates, own);
    if (!has_self || num_candidates > 0) check.required("out_biases", out_biases);
    if (!check.ok()) return check.status();
    const auto lists = green_lists_of(own);
    if (has_self) {
      write_own_biases(lists, context, candidate_token_ids, num_candidates, own.bias, out_biases);
    } else {
      write_biases(lists, context, own.bias, out_biases);
    }
    return check.status();
  });
}

sampler_status sampler_watermark_tournament(const sampler_watermark_params *params,
                                            const int64_t *context, const int32_t *token_ids,
                                            int64_t num_tokens, float *probabilities) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    const sampler_watermark_params own = read_params(check, params, true);
    check_kind(check, own, true);
    if (!check.ok()) return check.status();
    check_ids(check, "context", context, own.context_length, own);
    check.range("num_tokens", num_tokens, 1, own.vocabulary_size + 1);
    if (!check.ok()) return check.status();
    check_ids(check, "token_ids", token_ids, num_tokens, own);
    check.required("probabilities", probabilities);
    if (check.ok()) check_probabilities(check, probabilities, num_tokens);
    if (!check.ok()) return check.status();
    hold_tournament(tournament_of(own), context, own.context_length, token_ids, num_tokens,
                    probabilities);
    return check.status();
  });
}

sampler_status sampler_watermark_score(const sampler_watermark_params *params,
                                       const int64_t *token_ids, int64_t num_token_ids,
                                       double *out_score, int64_t *out_num_scored,
                                       double *out_p_value) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    const sampler_watermark_params own = read_params(check, params, true);
    check.range("num_token_ids", num_token_ids, 0, kMaxTokens);
    check.required("out_score", out_score);
    check.required("out_num_scored", out_num_scored);
    check.required("out_p_value", out_p_value);
    if (!check.ok()) return check.status();
    check_ids(check, "token_ids", token_ids, num_token_ids, own);
    if (!check.ok()) return check.status();
    ScoredTokens scored(num_token_ids);
    if (!scored.has_memory()) {
      check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "no memory to look for a watermark");
      return check.status();
    }
    find_scored(own, token_ids, num_token_ids, &scored);
    const Score score = score_of(own, token_ids, scored);
    *out_score = score.score;
    *out_num_scored = scored.size();
    *out_p_value = score.p_value;
    return check.status();
  });
}

}  // extern "C"
