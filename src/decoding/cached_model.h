// A caller's model: its callbacks, and what its caches hold.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "decoding/device_memory.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// Tokens of a sequence, some of which the model lacks, and how many of the last ones need logits.
struct Feed {
  int64_t sequence;  // from the first of the call on
  const int32_t *tokens;
  int64_t length;
  int64_t num_logits;
};

// Rows of logits.
struct LogitRows {
  unsigned char *data;
  int64_t row_stride;  // elements
};

class CachedModel {
 public:
  // The caches are those of sequences [first_sequence, first_sequence + num_sequences), all empty.
  // At most max_tokens tokens and max_rows rows of logits at once.
  CachedModel(const ExecutionTarget &place, const sampler_model &model,
              const sampler_generation_args &generation, int64_t num_sequences, int64_t max_tokens,
              int64_t max_rows);

  size_t element_size() const { return contract::size_of(sampler_dtype(model_.logits_dtype)); }
  int64_t num_forwards() const { return num_forwards_; }
  int64_t length(int64_t sequence) const { return lengths_[size_t(sequence)]; }

  // Brings caches to the feeds' lengths, in as many forwards as max_span_tokens makes it, and
  // writes the logits, feed after feed. A cache must be shorter than its feed.
  void forward(const Array<Feed> &feeds, const LogitRows &logits);

  // Cuts off what follows `length` tokens; without caches, everything. Nothing to cut: no call.
  void keep(int64_t sequence, int64_t length);
  void fork(int64_t source, int64_t destination);

 private:
  // A piece of a feed, and the spans of one forward.
  struct Spans {
    Array<int32_t> sequences;
    Array<int64_t> indices, starts, token_offsets, logit_counts;
    Array<int32_t> token_ids;
    int64_t num_logit_rows;

    Spans(const ExecutionTarget &place, int64_t max_spans, int64_t max_tokens);
    void clear();
    void add(int32_t sequence, int64_t index, int64_t start, const int32_t *begin,
             const int32_t *end, int64_t num_logits);
  };

  int32_t number(int64_t sequence) const { return int32_t(generation_.first_sequence + sequence); }
  void truncate(int64_t sequence, int64_t length);
  void run(const LogitRows &logits, int64_t first_row);
  void process(const Array<Feed> &feeds, const LogitRows &logits);

  capi::Entry *entry_;
  const sampler_model &model_;
  const sampler_generation_args &generation_;
  Array<int64_t> lengths_;
  int64_t num_forwards_ = 0;
  Spans spans_;
  Array<int32_t> row_sequences_;
  Array<int64_t> row_lengths_;
};

}  // namespace sampler::decoding
