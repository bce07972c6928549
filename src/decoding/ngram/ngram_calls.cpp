#include "decoding/ngram/ngram_calls.h"

#include <cinttypes>

#include "contract/draw.h"
#include "contract/philox.h"
#include "contract/request.h"

namespace sampler::decoding {

void check_array(Check &check, const char *name, const char *count_name, const int32_t *token_ids,
                 int64_t num_tokens) {
  check.range(count_name, num_tokens, 0, INT64_MAX);
  if (!check.ok() || num_tokens == 0) return;
  check.required(name, token_ids);
  check.array(name, token_ids, sizeof(int32_t), num_tokens, abi::Access::kRead);
}

void check_ids(Check &check, const char *name, const int32_t *token_ids, int64_t first,
               int64_t num_tokens, int64_t vocabulary_size) {
  if (!check.ok()) return;
  for (int64_t i = first; i < num_tokens; ++i) {
    const int32_t id = token_ids[i];
    if (id >= 0 && id < vocabulary_size) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s[%" PRId64 "] is %" PRId32 "; it must be in [0, vocabulary_size), %" PRId64, name,
               i, id, vocabulary_size);
    return;
  }
}

void check_vocabulary_size(Check &check, int64_t vocabulary_size) {
  check.range("vocabulary_size", vocabulary_size, 1, contract::kMaxVocabulary);
}

void check_share(Check &check, const char *name, float share) {
  if (share >= 0 && share <= 1) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must be in [0, 1]", name,
             double(share));
}

void check_proposal(Check &check, int64_t num_drafts, int64_t least_count, float least_share,
                    const int32_t *out_token_ids, const int64_t *out_num_drafts) {
  check.range("num_drafts", num_drafts, 0, INT64_MAX);
  check.range("least_count", least_count, 0, INT64_MAX);
  check_share(check, "least_share", least_share);
  if (num_drafts > 0) check.required("out_token_ids", out_token_ids);
  check.required("out_num_drafts", out_num_drafts);
}

void check_next_token_outputs(Check &check, const int32_t *out_token_id, const int32_t *out_known) {
  check.required("out_token_id", out_token_id);
  check.required("out_known", out_known);
}

void write_next_token(int32_t token, uint64_t seed, uint64_t offset, int64_t vocabulary_size,
                      int32_t *out_token_id, int32_t *out_known) {
  *out_known = token >= 0;
  if (token < 0) {
    const uint64_t word = contract::random_word64({seed, offset, 0}, contract::Purpose::kDraft, 0);
    token = int32_t(contract::draw_target(word, uint64_t(vocabulary_size)));
  }
  *out_token_id = token;
}

sampler_status write_interface(Check &check, const sampler_ngram &functions,
                               sampler_ngram *out_ngram) {
  sampler_ngram ignored;
  if (check.read("out_ngram", out_ngram, &ignored)) abi::write_struct(functions, out_ngram);
  return check.status();
}

}  // namespace sampler::decoding
