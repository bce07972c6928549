// Edited logits of a row: a dense copy, or only the edited elements.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/row_view.h"

// Disables MemorySanitizer for functions that read uninitialised memory on purpose.
#define SAMPLER_READS_UNWRITTEN
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef SAMPLER_READS_UNWRITTEN
#define SAMPLER_READS_UNWRITTEN __attribute__((no_sanitize("memory")))
#endif
#endif

namespace sampler::cpu {

// Sparse map from elements to slots. slot() gives an element the next free slot.
class EditedRow {
 public:
  static constexpr int32_t kUnmarked = -1;
  // A sparse row has at least this many elements per edit.
  static constexpr int64_t kElementsPerEdit = 16;

  EditedRow() = default;
  // `memory.take<T>(count)` returns uninitialised arrays.
  template <class Memory>
  EditedRow(int64_t num_cols, Memory &memory)
      : slots_(memory.template take<int32_t>(num_cols)),
        elements_(memory.template take<int32_t>(num_cols)),
        marks_(memory.template take<int32_t>(num_cols)),
        changed_(memory.template take<float>(num_cols / kElementsPerEdit)),
        given_at_(memory.template take<float>(num_cols / kElementsPerEdit)),
        values_(memory.template take<float>(num_cols)),
        num_cols_(num_cols) {}

  // Dense: values() holds all logits. Otherwise elements without a slot have their given logits.
  void begin(const contract::RowView &given, bool is_dense) {
    given_ = given;
    is_dense_ = is_dense;
    num_slots_ = 0;
    allowed_ = nullptr;
  }
  bool is_dense() const { return is_dense_; }
  // Whether a sparse row has edits.
  bool is_edited() const { return num_slots_ > 0 || allowed_; }
  int64_t count() const { return given_.count; }
  float *values() const { return values_; }

  // Slot of an element; -1: none.
  SAMPLER_READS_UNWRITTEN int32_t find(int64_t element) const {
    // slots_ is uninitialised: an entry is valid only if its slot refers back to the element.
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
  // Marks the elements element_of(i), i in [0, count), with their number of occurrences among the
  // first `num_counted`. -1: no element.
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
  // Calls f(slot, value, mark) for all marked slots, and clears the marks.
  template <class F>
  void for_each_marked(const F &f) {
    for (int32_t slot = 0; slot < num_slots_; ++slot) {
      int32_t &mark = marks_[slot];
      if (mark == kUnmarked) continue;
      f(slot, value_at(slot), mark);
      mark = kUnmarked;
    }
  }
  // Memory that a sparse row does not use, for 3/4 of its columns.
  uint32_t *spare_words() const {
    return reinterpret_cast<uint32_t *>(marks_ + num_cols_ / kElementsPerEdit);
  }
  int32_t num_slots() const { return num_slots_; }
  int64_t element_at(int32_t slot) const { return elements_[slot]; }
  int32_t &mark_at(int32_t slot) { return marks_[slot]; }

  float &value(int64_t element) { return is_dense_ ? values_[element] : changed_[slot(element)]; }
  float &value_at(int32_t slot) { return is_dense_ ? values_[elements_[slot]] : changed_[slot]; }
  // Logit after the edits. Sparse rows only.
  float changed_at(int32_t slot) const { return changed_[slot]; }
  // Logit before the edits; -inf if a bitmask bans it.
  float given_at(int32_t slot) const { return given_at_[slot]; }
  float seen(int64_t element) const {
    const int32_t slot = find(element);
    return slot >= 0 ? changed_[slot] : unedited(element);
  }
  // The given logit; -inf if a bitmask bans it.
  float unedited(int64_t element) const {
    const bool is_allowed = !allowed_ || (allowed_[element / 32] >> (element % 32) & 1u) != 0;
    return contract::ban(given_.value(element), !is_allowed);
  }

  // Bitmask of a sparse row, which covers the whole row; null: none. Banned tokens stay -inf
  // whatever the order of the edits.
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
  int32_t *elements_ = nullptr;  // by slot, as are the next three
  int32_t *marks_ = nullptr;     // valid during one edit
  float *changed_ = nullptr, *given_at_ = nullptr;
  float *values_ = nullptr;  // by element
  int64_t num_cols_ = 0;
};

}  // namespace sampler::cpu
