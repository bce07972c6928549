// The block of a text that grows by blocks. Its positions after the text have their places there.
#pragma once

#include <cstdint>

#include "sampler/unmask.h"

namespace sampler::decoding {

struct SessionBlock {
  // Steps of a block that only edit.
  static constexpr int64_t kMaxEditSteps = 16;

  sampler_unmask_params rules;  // block_length 0: the text grows by tokens
  int64_t origin;               // where a block begins
  int64_t end;                  // of the current block; 0: it has not begun
  int64_t num_steps, num_edit_steps;

  bool is_used() const { return rules.block_length > 0; }
  // Where the block of a position begins.
  int64_t begin_of(int64_t position) const {
    const int64_t length = rules.block_length, rest = (position - origin) % length;
    const int64_t begin = position - rest - (rest < 0 ? length : 0);
    return begin > 0 ? begin : 0;
  }
  // Begins the block after a text.
  void begin(int64_t text_length, int64_t max_context) {
    const int64_t whole = begin_of(text_length) + rules.block_length;
    end = whole < max_context ? whole : max_context;
    num_steps = num_edit_steps = 0;
  }
  bool has_begun() const { return end > 0; }
  bool may_edit() const { return rules.edit_threshold > 0; }
  // Whether the block is complete after a step that left no masks, and what it changed.
  bool is_complete(int32_t num_changed) {
    return !may_edit() || num_changed == 0 || num_edit_steps++ == kMaxEditSteps;
  }
  // Whether another step follows one that left all masks, and what that edited.
  bool goes_on(int32_t num_edited) { return num_edited > 0 && num_edit_steps++ < kMaxEditSteps; }
};

}  // namespace sampler::decoding
