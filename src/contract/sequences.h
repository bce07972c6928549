// What is remembered of sequences: their tokens, how often each has occurred, adaptive values.
//
// One block of memory has a slot of equal size for each sequence. Tokens leave a slot in the
// reverse of the order in which they came, and all that is no sequence's is 0: so a slot's bytes
// follow from its tokens and adaptive values alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/host_device.h"

namespace sampler::contract {

// How often a token occurs among those that are counted. Entries stand in the order of first
// occurrence, and are nodes of a digital search tree (Coffman and Eve 1970): below next[b] are the
// ids whose bit is b, the lowest bit at the first entry, one further at each node on the way. No
// way has more than 32 nodes, whatever the ids are, and the newest entry has none below it.
struct TokenCount {
  int32_t id;
  int32_t in_prompt, in_output;
  int32_t next[2];  // entries; 0, which is below none: there is none
};

// The entry of an id among so many; null: it has none. At most 32 of them are looked at.
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

// What a slot begins with.
struct SequenceHeader {
  int32_t length;          // tokens
  int32_t prompt_length;   // of them, the first ones
  int32_t counted_length;  // the longest beginning whose distinct tokens have entries
  int32_t num_distinct;    // entries
};

// Where things lie in a slot: the header; adaptive values, after each number of tokens if they are
// kept, else the present ones; the tokens; their counts.
struct SequenceLayout {
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

// Who works on a slot: one, or several side by side, of which the first does what comes in order.
struct OneWorker {
  static constexpr int index = 0, count = 1;
  SAMPLER_HD void wait() const {}  // until all have come here
};

// A slot. All that it takes is in the slot; a copy is another view of it.
class Sequence {
 public:
  SAMPLER_HD Sequence(char *slot, const SequenceLayout &layout)
      : layout_(layout),
        header_(reinterpret_cast<SequenceHeader *>(slot)),
        values_(reinterpret_cast<AdaptiveValues *>(slot + sizeof(SequenceHeader))),
        tokens_(reinterpret_cast<int32_t *>(slot + layout.tokens_at())),
        counts_(reinterpret_cast<TokenCount *>(slot + layout.counts_at())) {}

  SAMPLER_HD const SequenceLayout &layout() const { return layout_; }
  SAMPLER_HD int32_t length() const { return header_->length; }
  SAMPLER_HD int32_t prompt_length() const { return header_->prompt_length; }
  SAMPLER_HD bool has_output() const { return length() > prompt_length(); }
  SAMPLER_HD bool has_room(int64_t num_tokens) const {
    return num_tokens <= layout_.max_tokens - length();
  }
  SAMPLER_HD const int32_t *tokens() const { return tokens_; }

  // The tokens that counts() tells of: the first so many.
  SAMPLER_HD int32_t counted_length() const { return header_->counted_length; }
  SAMPLER_HD int32_t num_distinct() const { return header_->num_distinct; }
  SAMPLER_HD const TokenCount *counts() const { return counts_; }

  // The present ones, and those after the first `length` tokens where they are kept.
  SAMPLER_HD const AdaptiveValues &values() const { return values_after(length()); }
  SAMPLER_HD const AdaptiveValues &values_after(int32_t length) const {
    return values_[layout_.keeps_values ? length : 0];
  }
  SAMPLER_HD void set_values(const AdaptiveValues &values) const {
    values_[layout_.keeps_values ? length() : 0] = values;
  }

  // There is room, and no output before a prompt token. Adaptive values stay as they are.
  SAMPLER_HD void append(int32_t token, bool is_prompt) const {
    const AdaptiveValues present = values();
    tokens_[length()] = token;
    if (counted_length() == length() && count(token, is_prompt)) ++header_->counted_length;
    ++header_->length;
    if (is_prompt) ++header_->prompt_length;
    set_values(present);
  }

  // Keeps the first `new_length` tokens, at most all.
  SAMPLER_HD void truncate(int32_t new_length) const {
    while (length() > new_length) remove_newest();
  }

  // No tokens, and these values.
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

  // Becomes equal to another slot, whose tokens fit.
  template <class Workers = OneWorker>
  SAMPLER_HD void copy(const Sequence &source, const Workers &workers = {}) const {
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

  // The entry of an id, or where the link to it would be. Null: at the first entry.
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

  // False: there is no room for its entry.
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

  // The newest one that is counted. An entry without occurrences is the newest entry: those of
  // tokens that first came later have gone before.
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

  // Whether this slot would count the same tokens as the other one does.
  SAMPLER_HD bool counts_like(const Sequence &other) const {
    return layout_.max_distinct == other.layout_.max_distinct ||
           (other.counted_length() == other.length() &&
            other.num_distinct() <= layout_.max_distinct);
  }

  SequenceLayout layout_;
  SequenceHeader *header_;
  AdaptiveValues *values_;
  int32_t *tokens_;
  TokenCount *counts_;
};

// The slots of a state.
struct Sequences {
  char *slots = nullptr;  // null: there is no state
  int64_t num_slots = 0;
  SequenceLayout layout;
  uint32_t *locks = nullptr;  // by slot, 0: of calls whose rows run side by side

  SAMPLER_HD explicit operator bool() const { return slots != nullptr; }
  SAMPLER_HD bool has(int64_t slot) const { return slot >= 0 && slot < num_slots; }
  SAMPLER_HD Sequence operator[](int64_t slot) const {
    return Sequence(slots + size_t(slot) * layout.slot_bytes(), layout);
  }
};

}  // namespace sampler::contract
