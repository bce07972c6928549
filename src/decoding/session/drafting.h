// Where drafts come from, and what they are: chains, and trees around a first path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/ngram/prompt_lookup.h"
#include "decoding/session/sequence_table.h"

namespace sampler::decoding {

class Drafting {
 public:
  Drafting(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
           SessionArrays *arrays);

  // A new sequence, and one like another.
  void begin(int32_t sequence);
  void copy(int32_t source, int32_t destination);

  // Positions that drafts are wanted for, of a text of this length.
  int64_t wanted(const SessionSequence &sequence, int64_t length) const;
  int64_t wanted(const SessionSequence &sequence) const {
    return wanted(sequence, sequence.length);
  }
  bool needs_drafter(const SessionSequence &sequence) const;
  // Positions of its drafts.
  int64_t depth_of(int32_t sequence) const;
  // Of a tree, what each of its drafts follows: a draft, or -1, the text.
  const int32_t *parents_of(int32_t sequence) const { return parents_ + first_of(sequence); }

  // All drafts of a step that needs no drafter.
  void draft(capi::Entry &entry, int32_t sequence);
  // A drafter's draw, or the likeliest `count` tokens of its row, of which -1 is none: the first
  // one goes on, the others are its siblings.
  void add_drawn(int32_t sequence, int32_t token, float logprob);
  void add_selected(int32_t sequence, const int32_t *token_ids, int64_t count);
  // Has the drafts beside a tree's first path follow it.
  void join_siblings(int32_t sequence);

  // Teaches the draft source the text from `begin` on. Drafts end where it has no room for it.
  void learn(capi::Entry &entry, int32_t sequence, int64_t begin);
  // What n-grams learn beside the tokens that come: the likeliest of each of the target's rows,
  // [rows, filler_top_k].
  int32_t *likeliest() { return likeliest_; }

 private:
  int64_t first_of(int32_t sequence) const { return sequence * config_.max_drafts(); }
  size_t lookup_bytes() const;
  char *lookup_memory(int32_t sequence) const {
    return lookup_memory_ + size_t(sequence) * lookup_bytes();
  }
  void draft_by_lookup(int32_t sequence);
  void draft_by_ngram(capi::Entry &entry, int32_t sequence);
  void teach_ngram(capi::Entry &entry, int32_t sequence, int64_t begin);

  const SessionConfig &config_;
  const SessionHost *host_;
  SequenceTable &table_;
  PromptLookup *lookups_;
  char *lookup_memory_;
  // Of trees, [sequences, max_drafts].
  int32_t *siblings_, *sibling_parents_;  // drafts that are not among the others yet
  int32_t *parents_;                      // of the drafts
  int32_t *likeliest_;
  int32_t *lesson_;  // what comes of them at one position
};

}  // namespace sampler::decoding
