// The sources of drafts, and the drafts: chains, and trees around a first path.
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

  // Initialises a new sequence; copies a sequence.
  void begin(int32_t sequence);
  void copy(int32_t source, int32_t destination);

  // Number of positions to draft for a text of `length` tokens.
  int64_t wanted(const SessionSequence &sequence, int64_t length) const;
  int64_t wanted(const SessionSequence &sequence) const {
    return wanted(sequence, sequence.length);
  }
  bool needs_drafter(const SessionSequence &sequence) const;
  // Number of drafted positions.
  int64_t depth_of(int32_t sequence) const;
  // Parent of each draft of a tree: a draft's index, or -1 for the text.
  const int32_t *parents_of(int32_t sequence) const { return parents_ + first_of(sequence); }

  // Makes all drafts of a step that needs no drafter.
  void draft(abi::Entry &entry, int32_t sequence);
  // Adds a drafter's draw, or the `count` likeliest tokens of its row (-1: none): the first extends
  // the path, the others are its siblings.
  void add_drawn(int32_t sequence, int32_t token, float logprob);
  void add_selected(int32_t sequence, const int32_t *token_ids, int64_t count);
  // Appends a tree's siblings to its first path.
  void join_siblings(int32_t sequence);

  // Teaches the draft source the text from `begin` on. Drafting ends when it has no room.
  void learn(abi::Entry &entry, int32_t sequence, int64_t begin);
  // What n-grams learn besides the text: the likeliest tokens of each of the target's rows, [rows,
  // filler_top_k].
  int32_t *likeliest() { return likeliest_; }

 private:
  int64_t first_of(int32_t sequence) const { return sequence * config_.max_drafts(); }
  size_t lookup_bytes() const;
  char *lookup_memory(int32_t sequence) const {
    return lookup_memory_ + size_t(sequence) * lookup_bytes();
  }
  void draft_by_lookup(int32_t sequence);
  void draft_by_ngram(abi::Entry &entry, int32_t sequence);
  void teach_ngram(abi::Entry &entry, int32_t sequence, int64_t begin);

  const SessionConfig &config_;
  const SessionHost *host_;
  SequenceTable &table_;
  PromptLookup *lookups_;
  char *lookup_memory_;
  // Trees only, [sequences, max_drafts].
  int32_t *siblings_, *sibling_parents_;  // drafts not yet among the others
  int32_t *parents_;                      // of the drafts
  int32_t *likeliest_;
  int32_t *lesson_;  // scratch: the tokens to learn at one position
};

}  // namespace sampler::decoding
