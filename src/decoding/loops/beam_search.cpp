#include <algorithm>
#include <optional>

#include "decoding/loops/beam_edits.h"
#include "decoding/loops/cached_model.h"
#include "decoding/loops/loops.h"
#include "decoding/loops/operations.h"
#include "decoding/session/arithmetic.h"

namespace sampler::decoding {

namespace {

// Score of a beam that a bad row ended.
constexpr double kWorst = -double(__builtin_inff());

struct Beam {
  int64_t slot;    // index of its cache and token buffer among the text's
  int64_t length;  // prompt and new tokens
  double log_probability;
  double score;
  sampler_finish_reason reason;

  bool goes_on() const { return reason == SAMPLER_FINISH_NONE; }
};

// A beam of the next step: a beam of this step, unchanged or with one more token.
struct Candidate {
  size_t parent;
  int32_t token_id;  // -1: unchanged
  double log_probability;
  double score;
};

// Ranks candidates by `score`.
bool is_better(const Candidate &a, const Candidate &b) {
  if (a.score != b.score) return a.score > b.score;
  return a.parent != b.parent ? a.parent < b.parent : a.token_id < b.token_id;
}

// A copy of the parent's slot for a beam of the next step.
struct Copy {
  Beam *beam;
  int64_t source;
};

struct BeamText {
  int64_t prompt_length;
  int64_t capacity;  // tokens per slot
  int32_t *tokens;   // [slots, capacity]
  Beam *beams;       // best first
  size_t num_beams;
  Beam *pool;  // ended beams, best first
  size_t num_pooled;

  int32_t *tokens_of(const Beam &beam) const { return tokens + beam.slot * capacity; }
  Beam *begin() const { return beams; }
  Beam *end() const { return beams + num_beams; }
};

bool has_pool(const sampler_beam_search_args &args) {
  return args.rule == SAMPLER_BEAMS_POOL;
}

// Tokens considered per beam: with a pool, enough that num_beams of them do not end it.
int64_t width_of(const sampler_beam_search_args &args, const Generation &generation,
                 int64_t shared_width) {
  const int64_t num_ends = generation.args().end_token_ids ? generation.args().num_end_tokens : 1;
  return std::min(has_pool(args) ? args.num_beams + num_ends : shared_width,
                  generation.target().vocabulary_size);
}

class BeamSearch {
 public:
  BeamSearch(const ExecutionTarget &place, const sampler_beam_search_args &args, bool has_edits,
             Generation *generation)
      : args_(args),
        generation_(generation),
        first_width_(width_of(args, *generation, std::max(args.top_k, args.num_beams))),
        width_(width_of(args, *generation, args.top_k)),
        num_slots_(has_pool(args) ? 2 * args.num_beams : args.num_beams),
        max_rows_(num_texts() * args.num_beams),
        workspace_(place, max_rows_, num_cols()),
        cache_(place, generation->target(), generation->args(), max_rows_,
               product({args.num_beams, generation->capacity()}), max_rows_),
        logits_(place, bytes_of(product({max_rows_, num_cols()}), cache_.element_size())),
        probabilities_(place, bytes_of(product({max_rows_, num_cols()}), sizeof(float))),
        row_status_(place, max_rows_),
        values_(place, product({max_rows_, std::max(width_, first_width_)})),
        token_ids_(place, product({max_rows_, std::max(width_, first_width_)})),
        tokens_(place, product({num_slots_, generation->capacity()})),
        beams_(place, max_rows_),
        pools_(place, has_pool(args) ? max_rows_ : 0),
        texts_(place, num_texts()),
        feeds_(place, max_rows_),
        candidates_(place, args.num_beams),
        ending_(place, has_pool(args) ? args.num_beams : 0),
        next_(place, args.num_beams),
        copies_(place, args.num_beams),
        is_taken_(place, args.num_beams) {
    if (has_edits) edits_.emplace(place, *generation, args.num_beams);
    int32_t *tokens = tokens_.data();
    beams_.fill(size_t(max_rows_), Beam{});
    if (has_pool(args)) pools_.fill(size_t(max_rows_), Beam{});
    for (const GeneratedText &text : generation->texts()) {
      Beam *const beam = &beams_[size_t(text.index * args.num_beams)];
      beam->length = text.length;
      beam->reason = text.length == text.capacity ? SAMPLER_FINISH_CONTEXT : SAMPLER_FINISH_NONE;
      std::copy_n(text.tokens, text.length, tokens);
      Beam *const pool = has_pool(args) ? &pools_[size_t(text.index * args.num_beams)] : nullptr;
      texts_.push_back({text.prompt_length, text.capacity, tokens, beam, 1, pool, 0});
      tokens += num_slots_ * text.capacity;
    }
  }

  // Writes the results, also after a failure.
  void run() {
    generation_->mark_started();
    run_and_write([&] { search(); }, [&] { write_outputs(); });
  }

 private:
  void search() {
    for (bool is_first = true;; is_first = false) {
      find_open_beams();
      if (feeds_.empty()) break;
      step(is_first ? first_width_ : width_);
      ++generation_->stats().num_rounds;
    }
    for (int64_t i = 0; i < max_rows_; ++i) cache_.keep(i, 0);
  }

  int64_t num_texts() const { return generation_->args().num_sequences; }
  int64_t num_cols() const { return generation_->target().vocabulary_size; }
  int64_t sequence_of(size_t text, int64_t slot) const {
    return int64_t(text) * args_.num_beams + slot;
  }

  bool is_over(const BeamText &text) const {
    const auto finished =
        std::count_if(text.begin(), text.end(), [](const Beam &beam) { return !beam.goes_on(); });
    if (has_pool(args_) && finished < int64_t(text.num_beams)) {
      return is_full(text) && (args_.early_stop || text.beams[0].score <= worst_of(text));
    }
    return finished == int64_t(text.num_beams) ||
           (args_.early_stop && finished >= args_.num_results);
  }

  // Beams that bad rows ended do not count.
  bool is_full(const BeamText &text) const {
    return int64_t(text.num_pooled) == args_.num_beams && worst_of(text) > kWorst;
  }
  static double worst_of(const BeamText &text) { return text.pool[text.num_pooled - 1].score; }

  // Sets feeds_ to the running beams of running texts, in order.
  void find_open_beams() {
    feeds_.clear();
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (is_over(texts_[i])) continue;
      for (const Beam &beam : texts_[i]) {
        if (!beam.goes_on()) continue;
        feeds_.push_back({sequence_of(i, beam.slot), texts_[i].tokens_of(beam), beam.length, 1});
      }
    }
  }

  void step(int64_t width) {
    const LogitRows logits = {logits_.data(), num_cols()};
    cache_.forward(feeds_, logits);
    select(logits, int64_t(feeds_.size()), width);
    const int32_t *const token_ids = token_ids_.on_host(feeds_.size() * size_t(width));
    const float *const values = values_.on_host(feeds_.size() * size_t(width));
    const sampler_row_status *const row_status = row_status_.on_host(feeds_.size());
    size_t row = 0;
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (is_over(texts_[i])) continue;
      if (has_pool(args_)) {
        row = find_pool_candidates(texts_[i], row, width, token_ids, values, row_status);
        pool_ended(texts_[i]);
      } else {
        row = find_candidates(texts_[i], row, width, token_ids, values, row_status);
      }
      advance(i);
    }
  }

  // The likeliest tokens of each row and their probabilities.
  void select(const LogitRows &logits, int64_t num_rows, int64_t width) {
    const sampler_model &model = generation_->target();
    auto softmax = abi::sized<sampler_filter_args>();
    softmax.input = rows_of(model, logits, num_rows);
    softmax.output = probabilities_.data();
    softmax.out_row_status = row_status_.data();
    if (edits_) {
      edits_->filter(feeds_, &softmax);
    } else {
      workspace_.run(sampler_filter, &softmax);
    }

    auto args = abi::sized<sampler_select_args>();
    args.input.values = probabilities_.data();
    args.input.num_rows = num_rows;
    args.input.num_cols = num_cols();
    args.input.kind = SAMPLER_PROBABILITIES;
    args.num_selected = width;
    args.out_values = values_.data();
    args.out_token_ids = token_ids_.data();
    workspace_.run(sampler_select, &args);
  }

  double score(const BeamText &text, const Beam &parent, double log_probability) const {
    const double least = double(args_.min_length);
    const double length = double(parent.length + 1 - text.prompt_length);
    return log_probability / power((least + length) / (least + 1), double(args_.alpha));
  }

  // Finds the best num_beams candidates, best first. Reads rows from `row` on and returns the row
  // after them.
  size_t find_candidates(const BeamText &text, size_t row, int64_t width, const int32_t *token_ids,
                         const float *values, const sampler_row_status *row_status) {
    candidates_.clear();
    for (size_t parent = 0; parent < text.num_beams; ++parent) {
      Beam &beam = text.beams[parent];
      if (beam.goes_on()) {
        const size_t begin = row * size_t(width);
        if (row_status[row++] != SAMPLER_ROW_OK) {
          beam.reason = SAMPLER_FINISH_BAD_ROW;
          beam.score = kWorst;
        }
        for (size_t i = begin; beam.goes_on() && i < begin + size_t(width); ++i) {
          if (token_ids[i] < 0) break;
          const double sum = beam.log_probability + natural_log(double(values[i]));
          add_candidate(&candidates_, {parent, token_ids[i], sum, score(text, beam, sum)});
        }
      }
      if (!beam.goes_on()) {
        add_candidate(&candidates_, {parent, -1, beam.log_probability, beam.score});
      }
    }
    std::sort(candidates_.begin(), candidates_.end(), is_better);
    return row;
  }

  // Keeps the best num_beams in a heap, the worst at the front.
  void add_candidate(Array<Candidate> *heap, const Candidate &candidate) const {
    if (int64_t(heap->size()) == args_.num_beams) {
      if (!is_better(candidate, (*heap)[0])) return;
      std::pop_heap(heap->begin(), heap->end(), is_better);
      heap->truncate(heap->size() - 1);
    }
    heap->push_back(candidate);
    std::push_heap(heap->begin(), heap->end(), is_better);
  }

  // As find_candidates, with a pool: the best running and the best ended candidates by sum of
  // log-probabilities. Beams with bad rows go to the pool.
  size_t find_pool_candidates(BeamText &text, size_t row, int64_t width, const int32_t *token_ids,
                              const float *values, const sampler_row_status *row_status) {
    candidates_.clear();
    ending_.clear();
    for (size_t parent = 0; parent < text.num_beams; ++parent, ++row) {
      Beam beam = text.beams[parent];
      if (row_status[row] != SAMPLER_ROW_OK) {
        beam.reason = SAMPLER_FINISH_BAD_ROW;
        beam.score = kWorst;
        add_to_pool(text, beam, -1);
        continue;
      }
      ++beam.length;
      const size_t begin = row * size_t(width);
      for (size_t i = begin; i < begin + size_t(width) && token_ids[i] >= 0; ++i) {
        const double sum = beam.log_probability + natural_log(double(values[i]));
        const bool goes_on = reason_of(text, beam, token_ids[i]) == SAMPLER_FINISH_NONE;
        add_candidate(goes_on ? &candidates_ : &ending_, {parent, token_ids[i], sum, sum});
      }
    }
    std::sort(candidates_.begin(), candidates_.end(), is_better);
    std::sort(ending_.begin(), ending_.end(), is_better);
    return row;
  }

  // Moves ended candidates that rank among the best num_beams of all to the pool.
  void pool_ended(BeamText &text) {
    size_t num_better = 0;  // running candidates that rank higher
    for (size_t i = 0; i < ending_.size(); ++i) {
      const Candidate &ending = ending_[i];
      while (num_better < candidates_.size() && is_better(candidates_[num_better], ending)) {
        ++num_better;
      }
      if (int64_t(i + num_better) >= args_.num_beams) break;
      Beam beam = text.beams[ending.parent];
      beam.score = score(text, beam, ending.log_probability);
      beam.log_probability = ending.log_probability;
      ++beam.length;
      beam.reason = reason_of(text, beam, ending.token_id);
      add_to_pool(text, beam, ending.token_id);
    }
    for (Candidate &candidate : candidates_) {
      candidate.score = score(text, text.beams[candidate.parent], candidate.log_probability);
    }
  }

  // Adds `beam`, with the tokens of its parent's slot and then token_id; -1: no further token.
  void add_to_pool(BeamText &text, const Beam &beam, int32_t token_id) {
    Beam pooled = beam;
    pooled.slot = args_.num_beams + int64_t(text.num_pooled);
    if (int64_t(text.num_pooled) == args_.num_beams) {
      if (beam.score <= worst_of(text)) return;
      pooled.slot = text.pool[--text.num_pooled].slot;
    }
    std::copy_n(text.tokens_of(beam), beam.length - (token_id >= 0), text.tokens_of(pooled));
    if (token_id >= 0) text.tokens_of(pooled)[beam.length - 1] = token_id;
    Beam *const end = text.pool + text.num_pooled++;
    Beam *const place =
        std::find_if(text.pool, end, [&](const Beam &other) { return other.score < pooled.score; });
    std::copy_backward(place, end, end + 1);
    *place = pooled;
  }

  sampler_finish_reason reason_of(const BeamText &text, const Beam &beam, int32_t token_id) const {
    if (generation_->is_end(token_id)) return SAMPLER_FINISH_END_TOKEN;
    if (beam.length - text.prompt_length == generation_->args().max_new_tokens) {
      return SAMPLER_FINISH_LENGTH;
    }
    return beam.length == generation_->target().max_context ? SAMPLER_FINISH_CONTEXT
                                                            : SAMPLER_FINISH_NONE;
  }

  // Replaces the text's beams by the candidates.
  void advance(size_t index) {
    BeamText &text = texts_[index];
    next_.clear();
    for (const Candidate &candidate : candidates_) {
      Beam beam = text.beams[candidate.parent];
      beam.log_probability = candidate.log_probability;
      beam.score = candidate.score;
      if (candidate.token_id >= 0) {
        ++beam.length;
        beam.reason = reason_of(text, beam, candidate.token_id);
      }
      next_.push_back(beam);
    }
    share_slots();
    move_caches(index);
    for (const Copy &copy : copies_) {
      const int32_t *const source = text.tokens + copy.source * text.capacity;
      std::copy_n(source, copy.beam->length - 1, text.tokens_of(*copy.beam));
    }
    for (size_t i = 0; i < next_.size(); ++i) {
      const int32_t token_id = candidates_[i].token_id;
      if (token_id >= 0) text.tokens_of(next_[i])[next_[i].length - 1] = token_id;
    }
    std::copy_n(next_.data(), next_.size(), text.beams);
    text.num_beams = next_.size();
  }

  // One child takes over its parent's slot: the first that runs on, if any. The others get free
  // slots, to which the parent's contents are copied.
  void share_slots() {
    is_taken_.clear();
    is_taken_.fill(size_t(args_.num_beams), false);
    copies_.clear();
    for (const bool goes_on : {true, false}) {
      for (Beam &beam : next_) {
        if (beam.goes_on() != goes_on) continue;
        bool &is_taken = is_taken_[size_t(beam.slot)];
        if (is_taken) copies_.push_back({&beam, beam.slot});
        is_taken = true;
      }
    }
    int64_t free = 0;
    for (const Copy &copy : copies_) {
      while (is_taken_[size_t(free)]) ++free;
      copy.beam->slot = free++;
    }
  }

  void move_caches(size_t index) {
    for (const Copy &copy : copies_) {
      if (!copy.beam->goes_on() || !generation_->args().use_cache) continue;
      cache_.fork(sequence_of(index, copy.source), sequence_of(index, copy.beam->slot));
    }
    is_taken_.clear();
    is_taken_.fill(size_t(args_.num_beams), false);
    for (const Beam &beam : next_) {
      if (beam.goes_on()) is_taken_[size_t(beam.slot)] = true;
    }
    for (int64_t slot = 0; slot < args_.num_beams; ++slot) {
      cache_.keep(sequence_of(index, slot), is_taken_[size_t(slot)] ? INT64_MAX : 0);
    }
  }

  void write_outputs() {
    sampler_generation_stats &stats = generation_->stats();
    for (size_t i = 0; i < texts_.size(); ++i) {
      const BeamText &text = texts_[i];
      size_t place = i * size_t(args_.num_results);
      const size_t end = place + size_t(args_.num_results);
      for (size_t j = 0; j < text.num_pooled && place < end; ++j) {
        write_result(place++, text, &text.pool[j]);
      }
      for (const bool goes_on : {false, true}) {
        for (const Beam &beam : text) {
          if (beam.goes_on() == goes_on && place < end) write_result(place++, text, &beam);
        }
      }
      while (place < end) write_result(place++, text, nullptr);
    }
    stats.target_forwards = cache_.num_forwards();
  }

  // `beam` null: no result.
  void write_result(size_t place, const BeamText &text, const Beam *beam) {
    const sampler_generation_args &args = generation_->args();
    int32_t *const row = args.out_token_ids + place * size_t(args.max_new_tokens);
    const int64_t length = beam ? beam->length - text.prompt_length : 0;
    if (beam) std::copy_n(text.tokens_of(*beam) + text.prompt_length, length, row);
    std::fill(row + length, row + args.max_new_tokens, args.pad_token_id);
    if (args.out_lengths) args.out_lengths[place] = length;
    if (args.out_finish_reasons) {
      args.out_finish_reasons[place] = beam ? beam->reason : SAMPLER_FINISH_NONE;
    }
    if (args_.out_scores) {
      args_.out_scores[place] = beam ? float(beam->score) : -__builtin_inff();
    }
    generation_->stats().num_new_tokens += length;
  }

  const sampler_beam_search_args &args_;
  Generation *generation_;
  int64_t first_width_, width_;  // tokens considered of the prompt's row, of later rows
  int64_t num_slots_;            // per text; slots of a pool follow those with caches
  int64_t max_rows_;
  Workspace workspace_;
  std::optional<BeamEdits> edits_;
  CachedModel cache_;
  DeviceBytes logits_, probabilities_;
  Output<sampler_row_status> row_status_;
  Output<float> values_;
  Output<int32_t> token_ids_;
  Array<int32_t> tokens_;
  Array<Beam> beams_, pools_;
  Array<BeamText> texts_;
  Array<Feed> feeds_;
  // Scratch of the current text.
  Array<Candidate> candidates_, ending_;
  Array<Beam> next_;
  Array<Copy> copies_;
  Array<bool> is_taken_;  // slots
};

}  // namespace

void beam_search(const ExecutionTarget &place, const sampler_beam_search_args &args, bool has_edits,
                 Generation *generation) {
  BeamSearch(place, args, has_edits, generation).run();
}

}  // namespace sampler::decoding
