// A caller's model: its callbacks and the contents of its caches.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "decoding/loops/device_memory.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// A sequence's tokens, some not yet in the model's cache. The last num_logits need logits.
struct Feed {
  int64_t sequence;  // counted from the call's first
  const int32_t *tokens;
  int64_t length;
  int64_t num_logits;
  // Parent of each token after the first with logits, as an index counted from that one's
  // successor; -1: the first with logits. Null: each token follows the one before it.
  const int32_t *parents = nullptr;

  int64_t first_with_logits() const { return length - num_logits; }
  // Index of the parent of the token at `place`.
  int64_t parent_of(int64_t place) const {
    const int64_t draft = place - first_with_logits() - 1;
    return parents && draft >= 0 ? place - draft + parents[draft] : place - 1;
  }
};

// Rows of logits.
struct LogitRows {
  unsigned char *data;
  int64_t row_stride;  // elements
};

class CachedModel {
 public:
  // Caches of sequences [first_sequence, first_sequence + num_sequences), all empty. A forward has
  // at most max_tokens tokens and max_rows rows of logits. `has_trees`: feeds may have parents.
  CachedModel(const ExecutionTarget &place, const sampler_model &model,
              const sampler_generation_args &generation, int64_t num_sequences, int64_t max_tokens,
              int64_t max_rows, bool has_trees = false);

  size_t element_size() const { return contract::size_of(sampler_dtype(model_.logits_dtype)); }
  int64_t num_forwards() const { return num_forwards_; }
  int64_t length(int64_t sequence) const { return lengths_[size_t(sequence)]; }

  // Extends the caches to the feeds' lengths, in as many forwards as max_span_tokens requires, and
  // writes the logits, feed after feed. A cache must be shorter than its feed. A tree and the token
  // before it are not split.
  void forward(const Array<Feed> &feeds, const LogitRows &logits);

  // Truncates a cache to `length` tokens; without caches, to 0. No call if there is nothing to cut.
  void keep(int64_t sequence, int64_t length);
  void fork(int64_t source, int64_t destination);

 private:
  // The spans of one forward; each is a piece of a feed.
  struct Spans {
    Array<int32_t> sequences;
    Array<int64_t> indices, starts, token_offsets, logit_counts;
    Array<int32_t> token_ids;
    Array<int32_t> parents;  // within the span; only for models with trees
    const bool has_parents;
    bool is_chains;  // each token follows the one before it
    int64_t num_logit_rows;

    Spans(const ExecutionTarget &place, int64_t max_spans, int64_t max_tokens, bool has_trees);
    void clear();
    void add(int32_t sequence, const Feed &feed, int64_t begin, int64_t end);
  };

  int32_t number(int64_t sequence) const { return int32_t(generation_.first_sequence + sequence); }
  void truncate(int64_t sequence, int64_t length);
  void run(const LogitRows &logits, int64_t first_row);
  void process(const Array<Feed> &feeds, const LogitRows &logits);

  abi::Entry *entry_;
  const sampler_model &model_;
  const sampler_generation_args &generation_;
  Array<int64_t> lengths_;
  int64_t num_forwards_ = 0;
  Spans spans_;
  Array<int32_t> row_sequences_;
  Array<int64_t> row_lengths_;
};

}  // namespace sampler::decoding
