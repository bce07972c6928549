// The sequences of a session: which exist, how their texts grow and where they end.
#pragma once

#include <cstdint>

#include "decoding/session/session_arrays.h"
#include "decoding/session/session_config.h"
#include "decoding/session/session_host.h"
#include "decoding/session/session_sequence.h"

namespace sampler::decoding {

class SequenceTable {
 public:
  // `config` and `host`, which has the texts, must outlive this.
  SequenceTable(const SessionConfig &config, const SessionHost *host, SessionArrays *arrays);

  int64_t num_sequences() const { return config_.num_sequences(); }
  // Any number below num_sequences(), in use or not.
  SessionSequence &operator[](int64_t sequence) { return sequences_[sequence]; }
  const SessionSequence &operator[](int64_t sequence) const { return sequences_[sequence]; }
  const SessionSequence *find(int32_t sequence) const {
    return sequence >= 0 && sequence < num_sequences() && sequences_[sequence].is_used
               ? &sequences_[sequence]
               : nullptr;
  }
  int32_t *text(int32_t sequence) const { return host_->text(sequence); }
  // The drafts follow the text.
  int32_t *drafts(int32_t sequence) const { return text(sequence) + sequences_[sequence].length; }
  bool is_end(int32_t sequence, int32_t token) const { return host_->is_end(sequence, token); }

  bool is_full() const { return num_free_ == 0; }
  // The number of the next sequence. The table must not be full.
  int32_t next_number() const { return free_[num_free_ - 1]; }

  // Adds the next number, whose text the host has. The arguments must be checked.
  void add(const sampler_session_add_args &args);
  // Adds a copy of `source`, between two steps. `seed` null: the source's.
  void copy(int32_t source, const uint64_t *seed);
  void remove(int32_t sequence);

  void append(int32_t sequence, int32_t token);

  // Masks the positions of a sequence's next block, unless it has begun. Returns the block's end.
  int64_t begin_block(int32_t sequence);
  // Makes the block's tokens text, up to what ends it. Returns how many.
  int64_t end_block(int32_t sequence);

  // mark() is false for a sequence that was marked since begin_marks().
  void begin_marks() { ++mark_; }
  bool mark(int32_t sequence) {
    const bool is_new = marks_[sequence] != mark_;
    marks_[sequence] = mark_;
    return is_new;
  }

  // By sequence, for calls. Offsets are those of the next draw.
  const uint64_t *seeds() const { return seeds_; }
  uint64_t *offsets() { return offsets_; }
  const uint64_t *offsets() const { return offsets_; }
  const sampler_acceptance *acceptances() const { return acceptances_; }

 private:
  int64_t *stop_offsets_of(int32_t sequence) const {
    return stop_offsets_ + sequence * (config_.options.max_stop_sequences + 1);
  }
  int32_t *stop_tokens_of(int32_t sequence) const {
    return stop_tokens_ + sequence * config_.options.max_stop_tokens;
  }
  int64_t find_stop(int32_t sequence) const;
  void finish_if_full(int32_t sequence);
  void finish_if_ended(int32_t sequence);

  const SessionConfig &config_;
  const SessionHost *host_;
  SessionSequence *sequences_;
  int32_t *stop_tokens_;             // [sequences, max_stop_tokens]
  int64_t *stop_offsets_;            // [sequences, max_stop_sequences + 1]
  uint64_t *seeds_, *offsets_;       // [sequences]
  sampler_acceptance *acceptances_;  // [sequences]
  int32_t *free_;                    // free numbers, the next one last
  int64_t num_free_;
  uint64_t *marks_;
  uint64_t mark_ = 0;
};

}  // namespace sampler::decoding
