// Sequences are added, removed, forked, taken out and put back, planned and advanced in parts, in
// random order: each becomes the text that it becomes alone.
#ifndef SAMPLER_TESTS_SESSION_SCHEDULE_H_
#define SAMPLER_TESTS_SESSION_SCHEDULE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <map>

#include "../sized.h"
#include "driver.h"
#include "generation.h"

namespace session_test {

// The kind of a schedule's texts.
struct ScheduleKind {
  bool has_stages;
  bool has_masks;  // guidance, and first tokens with their log-probabilities
  // By any rule, else by SAMPLE_MATCH. Alone is in a session of its own then.
  bool has_rules;
  // Allocator of the n-grams; NULL: the C library's.
  const sampler_allocator *ngram_memory = nullptr;
};

class Schedule {
 public:
  // The session is of a handle with these options; alone texts are sampler_create's default's.
  Schedule(std::uint64_t seed, std::int64_t num_texts, const ScheduleKind &kind,
           const sampler_options &handle);
  ~Schedule();
  Schedule(const Schedule &) = delete;
  Schedule &operator=(const Schedule &) = delete;

  void run();

  // The statuses that advancing and adding may fail with, and go on.
  void expect_failures(const std::set<sampler_status> &statuses) {
    driver_.expect_failures(statuses);
  }
  int num_failed() const { return driver_.num_failed; }

  std::int64_t num_compared = 0, num_tokens = 0, num_drafted = 0, num_accepted = 0;
  std::map<sampler_finish_reason, int> reasons;

 private:
  static constexpr std::int64_t kSequences = 12;
  static constexpr std::int64_t kRoom = 30;  // of lookups and the drafter

  struct Running {
    Wish wish;
    sampler_session_add_args args;
  };

  bool has_room() const { return std::int64_t(running_.size()) < kSequences; }
  std::int32_t any_running();
  void add();
  void fork();
  void put_back();
  void remove();
  void step();
  SessionOptions options() const;
  void choose_drafts(sampler_session_add_args *args);
  void choose_gamma(sampler_session_add_args *args);
  Alone expected(const Running &own) const;
  Alone alone_in_a_session(const Running &own) const;
  void compare_if_finished(std::int32_t sequence);
  void forget(std::int32_t sequence);

  Random random_;
  std::int64_t num_left_;
  ScheduleKind kind_;
  NextLogits target_, drafter_;
  Extras extras_;
  sampler_pipeline pipeline_;
  decoding_test::Sampler reference_;
  Driver driver_;
  sampler_ngram_storage_t storage_ = nullptr;
  sampler_ngram ngram_ = sized<sampler_ngram>();
  std::map<std::int32_t, Running> running_;
};

}  // namespace session_test

#endif  // SAMPLER_TESTS_SESSION_SCHEDULE_H_
