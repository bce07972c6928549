// Models for the loops, whose callbacks check that each call is one that decoding.h allows, and
// that fail when a test wants it.
#ifndef SAMPLER_TESTS_DECODING_MODEL_H_
#define SAMPLER_TESTS_DECODING_MODEL_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../sized.h"

namespace decoding_test {

using Tokens = std::vector<std::int32_t>;
using Logits = std::vector<float>;

// Numbers that are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

// Every callback of a loop, in the order of the calls. One of them may be made to fail; any that
// comes after is a failure of the test.
class Calls {
 public:
  enum class Failure { kStatus, kException };

  // Call number `index`, 0 the first from now, fails.
  void fail(std::int64_t index, sampler_status status, Failure failure = Failure::kStatus);
  void reset();

  std::int64_t count() const { return count_; }
  bool has_failed() const { return has_failed_; }

  // What the callback is to return; it may throw.
  sampler_status next();

 private:
  std::int64_t count_ = 0;
  std::int64_t failing_ = -1;
  sampler_status status_ = SAMPLER_OK;
  Failure failure_ = Failure::kStatus;
  bool has_failed_ = false;
};

struct Limits {
  std::int64_t vocabulary_size = 0;
  std::int64_t max_context = 64;
  std::int64_t max_sequences = 64;
  std::int64_t max_span_tokens = 0;
  sampler_dtype dtype = SAMPLER_F32;
  bool reads_parents = false;  // else there may be none
};

// The logits that follow a text, which must be values that the model's type holds.
using NextLogits = std::function<Logits(const Tokens &text)>;

class Model {
 public:
  // Calls are counted in `calls`, which several models may share.
  Model(const Limits &limits, NextLogits next_logits, Calls *calls);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  // As the loops get it.
  sampler_model interface();

  const Limits &limits() const { return limits_; }
  // From now on it reads parents, and takes trees of num_drafts drafts.
  void take_trees(std::int64_t num_drafts) {
    if (limits_.max_span_tokens > 0 && !limits_.reads_parents) {
      limits_.max_span_tokens += num_drafts;
    }
    limits_.reads_parents = true;
  }
  Logits logits(const Tokens &text) const { return next_logits_(text); }

  // Empties the caches, sets the counts to 0.
  void reset();

  const Tokens &cache(std::int64_t sequence) const { return caches_.at(std::size_t(sequence)); }
  bool caches_are_empty() const;

  std::int64_t num_forwards() const { return num_forwards_; }
  std::int64_t num_truncates() const { return num_truncates_; }
  std::int64_t num_tokens_fed() const { return num_tokens_fed_; }
  std::int64_t num_logit_rows() const { return num_logit_rows_; }
  std::int64_t num_trees() const { return num_trees_; }  // forwards with parents

  // Sequences that the loop may touch; at first all.
  void allow_sequences(std::int64_t first, std::int64_t count);
  // Each span goes into an empty cache, or goes on where a limit of tokens cut one.
  void expect_whole_texts(bool expected) { expects_whole_texts_ = expected; }
  // Called at the end of each forward that succeeds.
  void on_forward(std::function<void(const sampler_forward_args &)> hook) {
    on_forward_ = std::move(hook);
  }

 private:
  static sampler_status forward(void *user, const sampler_forward_args *args);
  static sampler_status truncate(void *user, std::int32_t sequence, std::int64_t length);
  static sampler_status fork(void *user, std::int32_t source, std::int32_t destination);

  void check_forward(const sampler_forward_args &args) const;
  bool is_allowed(std::int64_t sequence) const;
  void run_forward(const sampler_forward_args &args);
  void write_row(const sampler_forward_args &args, std::int64_t row, const Tokens &text) const;

  Limits limits_;
  NextLogits next_logits_;
  Calls *calls_;
  std::vector<Tokens> caches_;
  std::int64_t first_allowed_ = 0;
  std::int64_t num_allowed_ = 0;
  bool expects_whole_texts_ = false;
  std::function<void(const sampler_forward_args &)> on_forward_;
  std::int64_t num_forwards_ = 0;
  std::int64_t num_truncates_ = 0;
  std::int64_t num_tokens_fed_ = 0;
  std::int64_t num_logit_rows_ = 0;
  std::int64_t num_trees_ = 0;
};

// Logits that depend on the last `num_tokens` tokens, all of them where it is 0, and on the seed:
// multiples of 1/8 in [-4, 4], which every type holds. Some are equal, and some are -inf where
// `with_impossible` asks for it, but not token 0's.
NextLogits table_logits(std::uint64_t seed, std::int64_t vocabulary_size, int num_tokens = 0,
                        bool with_impossible = false);

// As `first` after most texts, as `second` after `percent` of them.
NextLogits mixed_logits(NextLogits first, NextLogits second, int percent, std::uint64_t seed);

// The same logits after every text.
NextLogits constant_logits(Logits logits);

// Logarithms, in f32.
Logits logits_of(const std::vector<double> &probabilities);

// ---- A storage of n-grams -----------------------------------------------------------------------

// Gives what a function gives, and writes down what it is taught. It proposes the tokens of known
// contexts, whatever the limits.
class ScriptedNgram {
 public:
  struct Next {
    std::int32_t token_id;
    bool is_known;
  };
  struct Lesson {
    Tokens context;
    Tokens next;
  };
  using Script = std::function<Next(const Tokens &context)>;

  ScriptedNgram(Script script, Calls *calls) : script_(std::move(script)), calls_(calls) {}

  sampler_ngram interface();
  const std::vector<Lesson> &lessons() const { return lessons_; }
  const std::vector<Tokens> &texts() const { return texts_; }

  // What it was asked for.
  struct Question {
    Tokens context;
    std::int64_t num_drafts, least_count;
    float least_share;
  };
  const std::vector<Question> &questions() const { return questions_; }

 private:
  static sampler_status next_token(void *user, const std::int32_t *context, std::int64_t num_tokens,
                                   std::uint64_t seed, std::uint64_t offset,
                                   std::int32_t *out_token_id, std::int32_t *out_known);
  static sampler_status has_gram(void *user, const std::int32_t *context, std::int64_t num_tokens,
                                 std::int32_t *out_has);
  static sampler_status update(void *user, const std::int32_t *context, std::int64_t num_tokens,
                               const std::int32_t *next_token_ids, std::int64_t num_next_tokens);
  static sampler_status initialize(void *user, const std::int32_t *token_ids,
                                   std::int64_t num_tokens);
  static sampler_status reset(void *user);
  static sampler_status propose(void *user, const std::int32_t *context, std::int64_t num_tokens,
                                std::int64_t num_drafts, std::int64_t least_count,
                                float least_share, std::int32_t *out_token_ids,
                                std::int64_t *out_num_drafts);

  Script script_;
  Calls *calls_;
  std::vector<Lesson> lessons_;
  std::vector<Tokens> texts_;
  std::vector<Question> questions_;
};

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_MODEL_H_
