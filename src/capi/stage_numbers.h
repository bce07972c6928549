// The numbers of the stages in the parameters, as a table.
#pragma once

#include "capi/views.h"
#include "sampler/pipeline.h"

namespace sampler::capi {

// A number of a stage, alone or by slot.
struct Number {
  const char *name;
  double value;
  const void *array;
  sampler_stage stage;  // 0: of all windows
  bool turns_on;        // the stage; others say how it works
  bool is_on;

  bool may_turn_on() const { return is_on || (turns_on && array); }
  bool needs_history() const {
    return turns_on && (stage == SAMPLER_STAGE_PENALTIES || stage == SAMPLER_STAGE_DRY ||
                        stage == SAMPLER_STAGE_NO_REPEAT_NGRAM || stage == SAMPLER_STAGE_MASK);
  }
};

// What the parameters set beside temperature, top-k, top-p and min-p: numbers of 0 alone, which
// turn nothing on, are left out.
class Numbers {
 public:
  explicit Numbers(const UserParameters &user);

  const Number *begin() const { return numbers_; }
  const Number *end() const { return numbers_ + count_; }

 private:
  // One that turns its stage on, and one that says how it works.
  template <class T>
  void add(const char *name, T value, const T *array, sampler_stage stage, bool is_on) {
    if (value == T(0) && !array) return;
    numbers_[count_++] = {name, double(value), array, stage, true, is_on};
  }
  template <class T>
  void add(const char *name, T value, const T *array, sampler_stage stage) {
    if (!array) return;
    numbers_[count_++] = {name, double(value), array, stage, false, false};
  }

  Number numbers_[26];
  int count_ = 0;
};

}  // namespace sampler::capi
