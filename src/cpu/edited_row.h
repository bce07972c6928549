// Edited logits of a row: a dense copy, or only the edited elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/edits.h"
#include "contract/row_view.h"
#include "cpu/simd/passes.h"

// Disables MemorySanitizer for functions that read uninitialised memory on purpose.
#define SAMPLER_READS_UNWRITTEN
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef SAMPLER_READS_UNWRITTEN
#define SAMPLER_READS_UNWRITTEN __attribute__((no_sanitize("memory")))
#endif
#endif

namespace sampler::cpu {

// What an edited row is used for: its first tokens; draws by weights, without filters but min-p;
// anything.
enum class EditedUse { kFirst, kDraws, kAny };

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
        elements_(memory.template take<int32_t>(num_cols + 1)),
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
  // Adds `count` to the marks of the ids in [begin, end), each time that they occur, in a row
  // without a list. Branchless: the first time is hard to predict.
  template <class Id>
  void mark_columns(const Id *begin, const Id *end, int32_t count) {
    if (begin == end) return;
    constexpr uint32_t kHasSlot = 0x80000000u;
    const auto num_columns = uint64_t(given_.count);
    auto *const seen =
        reinterpret_cast<uint32_t *>(slots_);  // how often, until the slots are known
    int32_t *const elements = elements_;
    const int32_t first = num_slots_;
    int32_t end_of_slots = first;
    for (const Id *id = begin; id < end; ++id) {
      if (uint64_t(*id) < num_columns) seen[*id] = 0;
    }
    for (int32_t slot = 0; slot < first; ++slot) seen[elements[slot]] = kHasSlot;
    for (const Id *id = begin; id < end; ++id) {
      const Id column = *id;
      if (uint64_t(column) >= num_columns) continue;
      const uint32_t before = seen[column];
      seen[column] = before + 1;
      elements[end_of_slots] = int32_t(column);  // there is room for one more than the columns
      end_of_slots += before == 0 ? 1 : 0;
    }
    for (int32_t slot = 0; slot < first; ++slot) {
      const auto occurring = int32_t(seen[elements[slot]] & ~kHasSlot);
      seen[elements[slot]] = uint32_t(slot);
      if (occurring > 0) marks_[slot] = std::max(marks_[slot], 0) + occurring * count;
    }
    for (int32_t slot = first; slot < end_of_slots; ++slot) {
      uint32_t &occurring = seen[elements[slot]];
      marks_[slot] = int32_t(occurring) * count;
      occurring = uint32_t(slot);
    }
    num_slots_ = end_of_slots;
    read_given(first);
  }

  // Marks elements. A copy of the row's state that stays in registers.
  class Marker {
   public:
    explicit Marker(const EditedRow &row)
        : slots_(row.slots_),
          elements_(row.elements_),
          marks_(row.marks_),
          num_slots_(uint32_t(row.num_slots_)) {}

    // Adds to the element's mark.
    SAMPLER_READS_UNWRITTEN void add(int64_t element, int32_t count) {
      int32_t &slot = slots_[element];
      const auto held = uint32_t(slot);
      if (held < num_slots_ && elements_[held] == int32_t(element)) {
        marks_[held] = (marks_[held] > 0 ? marks_[held] : 0) + count;
        return;
      }
      slot = int32_t(num_slots_);
      elements_[num_slots_] = int32_t(element);
      marks_[num_slots_++] = count;
    }

   private:
    friend class EditedRow;

    int32_t *slots_, *elements_, *marks_;
    uint32_t num_slots_;
  };
  // Takes over what a marker of this row has marked.
  void take(const Marker &marker) {
    const int32_t first = num_slots_;
    num_slots_ = int32_t(marker.num_slots_);
    read_given(first);
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
  // Penalizes the marked elements of a sparse row, and clears the marks.
  void penalize(const Passes &passes, const contract::Penalties &penalties) {
    passes.penalize(changed_, marks_, num_slots_, penalties);
    std::fill_n(marks_, num_slots_, kUnmarked);
  }
  int32_t num_slots() const { return num_slots_; }
  const int32_t *elements() const { return elements_; }
  int64_t element_at(int32_t slot) const { return elements_[slot]; }
  int32_t &mark_at(int32_t slot) { return marks_[slot]; }

  float &value(int64_t element) { return is_dense_ ? values_[element] : changed_[slot(element)]; }
  float &value_at(int32_t slot) { return is_dense_ ? values_[elements_[slot]] : changed_[slot]; }
  // Logit after the edits. Sparse rows only, as are the next three.
  float changed_at(int32_t slot) const { return changed_[slot]; }
  // Logit before the edits; -inf if a bitmask bans it.
  float given_at(int32_t slot) const { return given_at_[slot]; }
  // Both of all slots.
  const float *changed_values() const { return changed_; }
  const float *given_values() const { return given_at_; }
  // Writes the changed logits among `count` elements from `begin` on. values[count] is overwritten.
  void write_changed(int64_t begin, int64_t count, float *values) const {
    for (int32_t slot = 0; slot < num_slots_; ++slot) {
      const auto index = uint64_t(elements_[slot] - begin);
      values[index < uint64_t(count) ? index : uint64_t(count)] = changed_[slot];
    }
  }
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
  // Reads the given logits of the slots from `slot` on, if the row is sparse.
  void read_given(int32_t slot) {
    if (is_dense_) return;
    if (given_.dtype == SAMPLER_F32 && !allowed_) {
      const auto *const values = static_cast<const float *>(given_.values);
      for (; slot < num_slots_; ++slot) changed_[slot] = given_at_[slot] = values[elements_[slot]];
    }
    for (; slot < num_slots_; ++slot) changed_[slot] = given_at_[slot] = unedited(elements_[slot]);
  }

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
