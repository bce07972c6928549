#include "decoding/loops/cached_model.h"

#include <algorithm>

namespace sampler::decoding {

CachedModel::CachedModel(const ExecutionTarget &place, const sampler_model &model,
                         const sampler_generation_args &generation, int64_t num_sequences,
                         int64_t max_tokens, int64_t max_rows, bool has_trees)
    : entry_(place.entry),
      model_(model),
      generation_(generation),
      lengths_(place, num_sequences),
      spans_(place, num_sequences,
             model.max_span_tokens ? std::min(model.max_span_tokens, max_tokens) : max_tokens,
             has_trees),
      row_sequences_(place, generation.process ? max_rows : 0),
      row_lengths_(place, generation.process ? max_rows : 0) {
  lengths_.fill(size_t(num_sequences), 0);
}

CachedModel::Spans::Spans(const ExecutionTarget &place, int64_t max_spans, int64_t max_tokens,
                          bool has_trees)
    : sequences(place, max_spans),
      indices(place, max_spans),
      starts(place, max_spans),
      token_offsets(place, max_spans + 1),
      logit_counts(place, max_spans),
      token_ids(place, max_tokens),
      parents(place, has_trees ? max_tokens : 0),
      has_parents(has_trees) {}

void CachedModel::Spans::clear() {
  sequences.clear();
  indices.clear();
  starts.clear();
  logit_counts.clear();
  token_ids.clear();
  parents.clear();
  is_chains = true;
  token_offsets.clear();
  token_offsets.push_back(0);
  num_logit_rows = 0;
}

// Adds the feed's tokens [begin, end).
void CachedModel::Spans::add(int32_t sequence, const Feed &feed, int64_t begin, int64_t end) {
  const int64_t num_logits = std::max<int64_t>(0, end - std::max(begin, feed.first_with_logits()));
  sequences.push_back(sequence);
  indices.push_back(feed.sequence);
  starts.push_back(begin);
  logit_counts.push_back(num_logits);
  token_ids.append(feed.tokens + begin, size_t(end - begin));
  for (int64_t at = begin; has_parents && at < end; ++at) {
    const int64_t parent = feed.parent_of(at);
    parents.push_back(int32_t(parent - begin));
    is_chains = is_chains && parent == at - 1;
  }
  token_offsets.push_back(int64_t(token_ids.size()));
  num_logit_rows += num_logits;
}

// Runs one forward over spans_.
void CachedModel::run(const LogitRows &logits, int64_t first_row) {
  sampler_forward_args args = {};
  args.struct_size = sizeof args;
  args.stream = generation_.stream;
  args.num_spans = int64_t(spans_.sequences.size());
  args.sequences = spans_.sequences.data();
  args.starts = spans_.starts.data();
  args.token_offsets = spans_.token_offsets.data();
  args.token_ids = spans_.token_ids.data();
  args.logit_counts = spans_.logit_counts.data();
  args.logits = logits.data + size_t(first_row * logits.row_stride) * element_size();
  args.num_logit_rows = spans_.num_logit_rows;
  args.logits_row_stride = logits.row_stride;
  args.logits_dtype = model_.logits_dtype;
  args.parents = spans_.is_chains ? nullptr : spans_.parents.data();
  ++num_forwards_;
  call_back(entry_, "forward", [&] { return model_.forward(model_.user, &args); });
  for (size_t i = 0; i < spans_.indices.size(); ++i) {
    lengths_[size_t(spans_.indices[i])] += spans_.token_offsets[i + 1] - spans_.token_offsets[i];
  }
}

void CachedModel::forward(const Array<Feed> &feeds, const LogitRows &logits) {
  if (!generation_.use_cache) {
    for (const Feed &feed : feeds) keep(feed.sequence, 0);
  }
  const int64_t limit = model_.max_span_tokens ? model_.max_span_tokens : INT64_MAX;
  int64_t room = limit, num_rows = 0;
  spans_.clear();
  for (const Feed &feed : feeds) {
    for (int64_t at = length(feed.sequence); at < feed.length;) {
      int64_t part = std::min(room, feed.length - at);
      if (feed.parents && at + part < feed.length) {
        part = std::min(part, feed.first_with_logits() - at);
      }
      if (part > 0) spans_.add(number(feed.sequence), feed, at, at + part);
      room -= part;
      at += part;
      if (room > 0 && part > 0) continue;
      run(logits, num_rows);
      num_rows += spans_.num_logit_rows;
      room = limit;
      spans_.clear();
    }
  }
  if (!spans_.sequences.empty()) run(logits, num_rows);
  process(feeds, logits);
}

void CachedModel::process(const Array<Feed> &feeds, const LogitRows &logits) {
  if (!generation_.process) return;
  row_sequences_.clear();
  row_lengths_.clear();
  for (const Feed &feed : feeds) {
    const int64_t first = feed.first_with_logits();
    const size_t first_row = row_lengths_.size();
    for (int64_t at = first; at < feed.length; ++at) {
      const int64_t parent = feed.parent_of(at);
      row_sequences_.push_back(number(feed.sequence));
      row_lengths_.push_back(at == first ? first + 1
                                         : row_lengths_[first_row + size_t(parent - first)] + 1);
    }
  }
  call_back(entry_, "process", [&] {
    return generation_.process(generation_.user, generation_.stream, logits.data,
                               int64_t(row_lengths_.size()), model_.vocabulary_size,
                               logits.row_stride, row_sequences_.data(), row_lengths_.data());
  });
}

void CachedModel::truncate(int64_t sequence, int64_t length) {
  call_back(entry_, "truncate",
            [&] { return model_.truncate(model_.user, number(sequence), length); });
  lengths_[size_t(sequence)] = length;
}

void CachedModel::keep(int64_t sequence, int64_t length) {
  if (!generation_.use_cache) length = 0;
  if (this->length(sequence) > length) truncate(sequence, length);
}

void CachedModel::fork(int64_t source, int64_t destination) {
  call_back(entry_, "fork",
            [&] { return model_.fork(model_.user, number(source), number(destination)); });
  lengths_[size_t(destination)] = length(source);
}

}  // namespace sampler::decoding
