// State of sequences: their tokens, token counts and adaptive values.
//
// One block of memory holds a slot of equal size per sequence. Tokens are removed newest first, and
// unused bytes are 0, so a slot's bytes depend only on its tokens and adaptive values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/host_device.h"

namespace sampler::contract {

// Occurrences of a token among the counted ones. Entries are in the order of first occurrence, and
// are nodes of a digital search tree (Coffman and Eve 1970): next[b] is the subtree of the ids
// whose bit is b, starting at the lowest bit and moving up one bit per level. No path has more than
// 32 nodes, and the newest entry is a leaf.
struct TokenCount {
  int32_t id;
  int32_t in_prompt, in_output;
  int32_t next[2];  // index of an entry; 0 (the root): none
};

// Entry of an id; null: none. Visits at most 32 entries.
SAMPLER_HD inline const TokenCount *find_count(const TokenCount *counts, int64_t num_counts,
                                               int32_t id) {
  if (num_counts == 0) return nullptr;
  const TokenCount *entry = counts;
  for (uint32_t bits = uint32_t(id); entry->id != id; bits >>= 1) {
    const int32_t next = entry->next[bits & 1];
    if (next == 0) return nullptr;
    entry = counts + next;
  }
  return entry;
}

// Header of a slot.
struct SequenceHeader {
  int32_t length;          // tokens
  int32_t prompt_length;   // tokens of the prompt, which comes first
  int32_t counted_length;  // length of the longest prefix whose distinct tokens have entries
  int32_t num_distinct;    // number of entries
};

// Layout of a slot: the header; adaptive values, either one set per length or the current set
// alone; the tokens; their counts.
struct StateSlotLayout {
  int32_t max_tokens = 0;
  int32_t max_distinct = 0;
  bool keeps_values = false;

  static constexpr size_t kAlignment = 64;

  SAMPLER_HD size_t tokens_at() const {
    const size_t num_values = keeps_values ? size_t(max_tokens) + 1 : 1;
    return sizeof(SequenceHeader) + num_values * sizeof(AdaptiveValues);
  }
  SAMPLER_HD size_t counts_at() const { return tokens_at() + size_t(max_tokens) * sizeof(int32_t); }
  SAMPLER_HD size_t slot_bytes() const {
    const size_t end = counts_at() + size_t(max_distinct) * sizeof(TokenCount);
    return (end + kAlignment - 1) / kAlignment * kAlignment;
  }
};

// The threads that work on a slot. Thread 0 does the sequential parts.
struct OneWorker {
  static constexpr int index = 0, count = 1;
  SAMPLER_HD void wait() const {}  // barrier
};

// View of a slot, which holds all its data.
class StateSlot {
 public:
  SAMPLER_HD StateSlot(char *slot, const StateSlotLayout &layout)
      : layout_(layout),
        header_(reinterpret_cast<SequenceHeader *>(slot)),
        values_(reinterpret_cast<AdaptiveValues *>(slot + sizeof(SequenceHeader))),
        tokens_(reinterpret_cast<int32_t *>(slot + layout.tokens_at())),
        counts_(reinterpret_cast<TokenCount *>(slot + layout.counts_at())) {}

  SAMPLER_HD const StateSlotLayout &layout() const { return layout_; }
  SAMPLER_HD int32_t length() const { return header_->length; }
  SAMPLER_HD int32_t prompt_length() const { return header_->prompt_length; }
  SAMPLER_HD bool has_output() const { return length() > prompt_length(); }
  SAMPLER_HD bool has_room(int64_t num_tokens) const {
    return num_tokens <= layout_.max_tokens - length();
  }
  SAMPLER_HD const int32_t *tokens() const { return tokens_; }

  // Number of tokens, from the first, that counts() covers.
  SAMPLER_HD int32_t counted_length() const { return header_->counted_length; }
  SAMPLER_HD int32_t num_distinct() const { return header_->num_distinct; }
  SAMPLER_HD const TokenCount *counts() const { return counts_; }

  // The current values; the values after the first `length` tokens, if all are kept.
  SAMPLER_HD const AdaptiveValues &values() const { return values_after(length()); }
  SAMPLER_HD const AdaptiveValues &values_after(int32_t length) const {
    return values_[layout_.keeps_values ? length : 0];
  }
  SAMPLER_HD void set_values(const AdaptiveValues &values) const {
    values_[layout_.keeps_values ? length() : 0] = values;
  }

  // Requires room, and no output token before a prompt token. Adaptive values do not change.
  SAMPLER_HD void append(int32_t token, bool is_prompt) const {
    const AdaptiveValues present = values();
    tokens_[length()] = token;
    if (counted_length() == length() && count(token, is_prompt)) ++header_->counted_length;
    ++header_->length;
    if (is_prompt) ++header_->prompt_length;
    set_values(present);
  }

  // Keeps the first `new_length` tokens; no effect if there are fewer.
  SAMPLER_HD void truncate(int32_t new_length) const {
    while (length() > new_length) remove_newest();
  }

  // Removes all tokens and sets the values.
  template <class Workers = OneWorker>
  SAMPLER_HD void reset(const AdaptiveValues &values, const Workers &workers = {}) const {
    const SequenceHeader before = *header_;
    workers.wait();
    const int32_t first = workers.index, step = workers.count;
    for (int32_t i = first; i < before.num_distinct; i += step) counts_[i] = {};
    for (int32_t i = first; i < before.length; i += step) tokens_[i] = 0;
    if (layout_.keeps_values) {
      for (int32_t i = first; i <= before.length; i += step) values_[i] = no_values();
    }
    workers.wait();
    if (first != 0) return;
    *header_ = {};
    set_values(values);
  }

  // Copies another slot, whose tokens fit.
  template <class Workers = OneWorker>
  SAMPLER_HD void copy(const StateSlot &source, const Workers &workers = {}) const {
    const bool has_all_values = source.layout_.keeps_values && layout_.keeps_values;
    reset(has_all_values ? source.values_after(0) : source.values(), workers);
    if (!counts_like(source)) {
      for (int32_t i = 0; workers.index == 0 && i < source.length(); ++i) {
        append(source.tokens_[i], i < source.prompt_length());
        if (has_all_values) set_values(source.values_after(i + 1));
      }
      return;
    }
    const int32_t first = workers.index, step = workers.count, length = source.length();
    if (first == 0) *header_ = *source.header_;
    for (int32_t i = first; i < source.num_distinct(); i += step) counts_[i] = source.counts_[i];
    for (int32_t i = first; i < length; i += step) tokens_[i] = source.tokens_[i];
    for (int32_t i = 1 + first; layout_.keeps_values && i <= length; i += step) {
      values_[i] = source.values_after(has_all_values ? i : length);
    }
  }

 private:
  static SAMPLER_HD AdaptiveValues no_values() { return {0.0f, {0.0f, 0.0f}, 0.0f}; }

  // Entry of an id and the link to it. `entry` null: no entry yet. `link` null: the root.
  struct Place {
    TokenCount *entry;
    int32_t *link;
  };

  SAMPLER_HD Place find(int32_t id) const {
    Place place = {num_distinct() > 0 ? counts_ : nullptr, nullptr};
    for (uint32_t bits = uint32_t(id); place.entry && place.entry->id != id; bits >>= 1) {
      place.link = &place.entry->next[bits & 1];
      place.entry = *place.link > 0 ? counts_ + *place.link : nullptr;
    }
    return place;
  }

  // False if there is no room for an entry.
  SAMPLER_HD bool count(int32_t token, bool is_prompt) const {
    Place place = find(token);
    if (!place.entry) {
      const int32_t index = num_distinct();
      if (index == layout_.max_distinct) return false;
      if (place.link) *place.link = index;
      place.entry = counts_ + index;
      place.entry->id = token;
      ++header_->num_distinct;
    }
    ++(is_prompt ? place.entry->in_prompt : place.entry->in_output);
    return true;
  }

  // Removes the newest counted token. An entry that drops to 0 occurrences is the newest entry,
  // since later tokens have been removed before.
  SAMPLER_HD void uncount(int32_t token, bool is_prompt) const {
    const Place place = find(token);
    --(is_prompt ? place.entry->in_prompt : place.entry->in_output);
    if (place.entry->in_prompt + place.entry->in_output > 0) return;
    *place.entry = {};
    if (place.link) *place.link = 0;
    --header_->num_distinct;
  }

  SAMPLER_HD void remove_newest() const {
    const int32_t at = length() - 1;
    const bool is_prompt = !has_output();
    if (counted_length() > at) {
      uncount(tokens_[at], is_prompt);
      header_->counted_length = at;
    }
    tokens_[at] = 0;
    if (layout_.keeps_values) values_[at + 1] = no_values();
    header_->length = at;
    if (is_prompt) header_->prompt_length = at;
  }

  // Whether this slot counts the same tokens as the other.
  SAMPLER_HD bool counts_like(const StateSlot &other) const {
    return layout_.max_distinct == other.layout_.max_distinct ||
           (other.counted_length() == other.length() &&
            other.num_distinct() <= layout_.max_distinct);
  }

  StateSlotLayout layout_;
  SequenceHeader *header_;
  AdaptiveValues *values_;
  int32_t *tokens_;
  TokenCount *counts_;
};

// The slots of a state.
struct StateSlots {
  char *slots = nullptr;  // null: no state
  int64_t num_slots = 0;
  StateSlotLayout layout;
  uint32_t *locks = nullptr;  // by slot, 0: unlocked; for rows that run in parallel

  SAMPLER_HD explicit operator bool() const { return slots != nullptr; }
  SAMPLER_HD bool has(int64_t slot) const { return slot >= 0 && slot < num_slots; }
  SAMPLER_HD StateSlot operator[](int64_t slot) const {
    return StateSlot(slots + size_t(slot) * layout.slot_bytes(), layout);
  }
};

}  // namespace sampler::contract
