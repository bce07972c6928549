// The logits of a row that edits change: all of them, in an array, or only those that are edited.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/row_view.h"

// MemorySanitizer must not mind what a function reads that nobody wrote.
#define SAMPLER_READS_UNWRITTEN
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef SAMPLER_READS_UNWRITTEN
#define SAMPLER_READS_UNWRITTEN __attribute__((no_sanitize("memory")))
#endif
#endif

namespace sampler::cpu {

// Each element that is asked for by its slot has one: slots are numbered as they come.
class EditedRow {
 public:
  static constexpr int32_t kUnmarked = -1;
  // A row that is not dense has so many elements for each edit at least.
  static constexpr int64_t kElementsPerEdit = 16;

  EditedRow() = default;
  // `memory.take<T>(count)` gives the arrays, which need no values.
  template <class Memory>
  EditedRow(int64_t num_cols, Memory &memory)
      : slots_(memory.template take<int32_t>(num_cols)),
        elements_(memory.template take<int32_t>(num_cols)),
        marks_(memory.template take<int32_t>(num_cols)),
        changed_(memory.template take<float>(num_cols / kElementsPerEdit)),
        given_at_(memory.template take<float>(num_cols / kElementsPerEdit)),
        values_(memory.template take<float>(num_cols)),
        num_cols_(num_cols) {}

  // Dense: all logits stand in values(). Otherwise those that have no slot are the given ones.
  void begin(const contract::RowView &given, bool is_dense) {
    given_ = given;
    is_dense_ = is_dense;
    num_slots_ = 0;
    allowed_ = nullptr;
  }
  bool is_dense() const { return is_dense_; }
  // Whether anything is edited, of a row that is not dense.
  bool is_edited() const { return num_slots_ > 0 || allowed_; }
  int64_t count() const { return given_.count; }
  float *values() const { return values_; }

  // The slot of an element; -1: it has none.
  SAMPLER_READS_UNWRITTEN int32_t find(int64_t element) const {
    // Whatever stands there, the slot that it names must name the element.
    const int32_t slot = slots_[element];
    return uint32_t(slot) < uint32_t(num_slots_) && elements_[slot] == element ? slot : -1;
  }
  int32_t slot(int64_t element) {
    const int32_t found = find(element);
    if (found >= 0) return found;
    const int32_t slot = num_slots_++;
    slots_[element] = slot;
    elements_[slot] = int32_t(element);
    marks_[slot] = kUnmarked;
    if (!is_dense_) changed_[slot] = given_at_[slot] = unedited(element);
    return slot;
  }
  // Marks the elements element_of(i) for i in [0, count), which are -1 where there is none: with
  // how often they stand in the first `num_counted` of them.
  template <class ElementOf>
  void count_marks(int32_t count, int64_t num_counted, const ElementOf &element_of) {
    constexpr int32_t kAhead = 16;
    for (int32_t begin = 0; begin < count; begin += kAhead) {
      int64_t elements[kAhead];
      const int32_t part = count - begin < kAhead ? count - begin : kAhead;
      for (int32_t i = 0; i < part; ++i) {
        elements[i] = element_of(begin + i);
        if (elements[i] >= 0) __builtin_prefetch(&slots_[elements[i]], 1);
      }
      for (int32_t i = 0; i < part; ++i) {
        if (elements[i] < 0) continue;
        int32_t &mark = marks_[slot(elements[i])];
        mark = (mark > 0 ? mark : 0) + (begin + i < num_counted ? 1 : 0);
      }
    }
  }
  // f(slot, value, mark) for all that are marked, which they are not any more then.
  template <class F>
  void for_each_marked(const F &f) {
    for (int32_t slot = 0; slot < num_slots_; ++slot) {
      int32_t &mark = marks_[slot];
      if (mark == kUnmarked) continue;
      f(slot, value_at(slot), mark);
      mark = kUnmarked;
    }
  }
  // Of a row that is not dense: memory that it does not use, for 3/4 of its columns.
  uint32_t *spare_words() const {
    return reinterpret_cast<uint32_t *>(marks_ + num_cols_ / kElementsPerEdit);
  }
  int32_t num_slots() const { return num_slots_; }
  int64_t element_at(int32_t slot) const { return elements_[slot]; }
  int32_t &mark_at(int32_t slot) { return marks_[slot]; }

  float &value(int64_t element) { return is_dense_ ? values_[element] : changed_[slot(element)]; }
  float &value_at(int32_t slot) { return is_dense_ ? values_[elements_[slot]] : changed_[slot]; }
  // What the edits have left, of a row that is not dense.
  float changed_at(int32_t slot) const { return changed_[slot]; }
  // What they found: -inf where a bitmask bans it.
  float given_at(int32_t slot) const { return given_at_[slot]; }
  float seen(int64_t element) const {
    const int32_t slot = find(element);
    return slot >= 0 ? changed_[slot] : unedited(element);
  }
  // The logit without edits, -inf where a bitmask bans it.
  float unedited(int64_t element) const {
    const bool is_allowed = !allowed_ || (allowed_[element / 32] >> (element % 32) & 1u) != 0;
    return contract::ban(given_.value(element), !is_allowed);
  }

  // A bitmask that covers the row, of one that is not dense; null: there is none. What it bans
  // stays -inf whatever else is edited, before it or after it.
  const uint32_t *allowed() const { return allowed_; }
  void allow(const uint32_t *words) {
    allowed_ = words;
    for (int32_t slot = 0; slot < num_slots_; ++slot) {
      const int64_t element = elements_[slot];
      const bool is_allowed = (words[element / 32] >> (element % 32) & 1u) != 0;
      changed_[slot] = contract::ban(changed_[slot], !is_allowed);
      given_at_[slot] = contract::ban(given_at_[slot], !is_allowed);
    }
  }

 private:
  contract::RowView given_ = {};
  bool is_dense_ = false;
  const uint32_t *allowed_ = nullptr;
  int32_t num_slots_ = 0;
  int32_t *slots_ = nullptr;     // by element
  int32_t *elements_ = nullptr;  // by slot, as the next ones
  int32_t *marks_ = nullptr;     // what is in them lasts for one edit
  float *changed_ = nullptr, *given_at_ = nullptr;
  float *values_ = nullptr;  // by element
  int64_t num_cols_ = 0;
};

// Bans what a bitmask's word does not allow, of 32 values.
void ban_by_word(uint32_t word, float *values);

}  // namespace sampler::cpu
