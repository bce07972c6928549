#include <algorithm>

#include "decoding/arithmetic.h"
#include "decoding/cached_model.h"
#include "decoding/loops.h"
#include "decoding/operations.h"

namespace sampler::decoding {

namespace {

struct Beam {
  std::vector<int32_t> tokens;  // prompt and new ones
  double log_probability = 0;
  double score = 0;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  int64_t slot = 0;  // which of the text's caches is its own, while it goes on

  bool goes_on() const { return reason == SAMPLER_FINISH_NONE; }
};

// A beam of the next step: one of this step's as it is, or with one more token.
struct Candidate {
  size_t parent;
  int32_t token_id;  // -1: as it is
  double log_probability;
  double score;
};

struct BeamText {
  int64_t prompt_length;
  std::vector<Beam> beams;  // best first
  std::vector<Candidate> candidates;
};

class BeamSearch {
 public:
  BeamSearch(const Place &place, const sampler_beam_search_args &args, Generation *generation)
      : args_(args),
        generation_(generation),
        first_width_(std::min(std::max(args.top_k, args.num_beams), num_cols())),
        width_(std::min(args.top_k, num_cols())),
        max_rows_(num_texts() * args.num_beams),
        workspace_(place),
        cache_(generation->entry(), generation->target(), generation->args(), max_rows_),
        logits_(place, bytes_of({max_rows_, num_cols()}, cache_.element_size())),
        probabilities_(place, bytes_of({max_rows_, num_cols()}, sizeof(float))),
        row_status_(place, size_t(max_rows_)),
        values_(place, bytes_of({max_rows_, std::max(width_, first_width_)}, 1)),
        token_ids_(place, bytes_of({max_rows_, std::max(width_, first_width_)}, 1)) {
    for (const Text &text : generation->texts()) {
      BeamText beam_text;
      beam_text.prompt_length = text.prompt_length;
      beam_text.beams.resize(1);
      beam_text.beams[0].tokens = text.tokens;
      if (generation->room(text) == 0) beam_text.beams[0].reason = SAMPLER_FINISH_CONTEXT;
      texts_.push_back(std::move(beam_text));
    }
  }

  // Writes what it found, also when it fails.
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
    const auto finished = std::count_if(text.beams.begin(), text.beams.end(),
                                        [](const Beam &beam) { return !beam.goes_on(); });
    return finished == int64_t(text.beams.size()) ||
           (args_.early_stop && finished >= args_.num_results);
  }

  // feeds_: the beams that go on, of texts that do, in order.
  void find_open_beams() {
    feeds_.clear();
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (is_over(texts_[i])) continue;
      for (const Beam &beam : texts_[i].beams) {
        if (!beam.goes_on()) continue;
        feeds_.push_back(
            {sequence_of(i, beam.slot), beam.tokens.data(), int64_t(beam.tokens.size()), 1});
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
      row = find_candidates(&texts_[i], row, width, token_ids, values, row_status);
      advance(i);
    }
  }

  // The likeliest tokens of each row and their probabilities.
  void select(const LogitRows &logits, int64_t num_rows, int64_t width) {
    const sampler_model &model = generation_->target();
    sampler_softmax_args softmax = SAMPLER_SOFTMAX_ARGS_INIT;
    set_input(&softmax, model, logits, num_rows);
    softmax.output = probabilities_.data();
    softmax.output_dtype = SAMPLER_F32;
    softmax.out_row_status = row_status_.data();
    workspace_.run(SAMPLER_OP_SOFTMAX, sampler_softmax, &softmax);

    sampler_top_k_select_args args = SAMPLER_TOP_K_SELECT_ARGS_INIT;
    set_input(&args, model, {probabilities_.data(), num_cols()}, num_rows);
    args.input_dtype = SAMPLER_F32;
    args.input_kind = SAMPLER_PROBABILITIES;
    args.num_selected = width;
    args.out_values = values_.data();
    args.out_token_ids = token_ids_.data();
    args.output_dtype = SAMPLER_F32;
    workspace_.run(SAMPLER_OP_TOP_K_SELECT, sampler_top_k_select, &args);
  }

  double score(const BeamText &text, const Beam &parent, double log_probability) const {
    const double least = double(args_.min_length);
    const double length = double(int64_t(parent.tokens.size()) + 1 - text.prompt_length);
    return log_probability / power((least + length) / (least + 1), double(args_.alpha));
  }

  // Sorted, the best first. Takes rows from `row` on and returns the one behind them.
  size_t find_candidates(BeamText *text, size_t row, int64_t width, const int32_t *token_ids,
                         const float *values, const sampler_row_status *row_status) const {
    std::vector<Candidate> &candidates = text->candidates;
    candidates.clear();
    for (size_t parent = 0; parent < text->beams.size(); ++parent) {
      Beam &beam = text->beams[parent];
      if (beam.goes_on()) {
        const size_t begin = row * size_t(width);
        if (row_status[row++] != SAMPLER_ROW_OK) {
          beam.reason = SAMPLER_FINISH_BAD_ROW;
          beam.score = -double(__builtin_inff());
        }
        for (size_t i = begin; beam.goes_on() && i < begin + size_t(width); ++i) {
          if (token_ids[i] < 0) break;
          const double sum = beam.log_probability + natural_log(double(values[i]));
          candidates.push_back({parent, token_ids[i], sum, score(*text, beam, sum)});
        }
      }
      if (!beam.goes_on()) {
        candidates.push_back({parent, -1, beam.log_probability, beam.score});
      }
    }
    const auto is_better = [](const Candidate &a, const Candidate &b) {
      if (a.score != b.score) return a.score > b.score;
      return a.parent != b.parent ? a.parent < b.parent : a.token_id < b.token_id;
    };
    std::sort(candidates.begin(), candidates.end(), is_better);
    if (int64_t(candidates.size()) > args_.num_beams) candidates.resize(size_t(args_.num_beams));
    return row;
  }

  sampler_finish_reason reason_of(const BeamText &text, const Beam &beam) const {
    const int64_t length = int64_t(beam.tokens.size());
    if (generation_->is_end(beam.tokens.back())) return SAMPLER_FINISH_END_TOKEN;
    if (length - text.prompt_length == generation_->args().max_new_tokens) {
      return SAMPLER_FINISH_LENGTH;
    }
    return length == generation_->target().max_context ? SAMPLER_FINISH_CONTEXT
                                                       : SAMPLER_FINISH_NONE;
  }

  // The candidates become the beams. The first that goes on from a parent takes over its cache, the
  // others get copies in caches that are free then.
  void advance(size_t index) {
    BeamText &text = texts_[index];
    std::vector<Beam> next;
    for (const Candidate &candidate : text.candidates) {
      Beam beam = text.beams[candidate.parent];
      beam.log_probability = candidate.log_probability;
      beam.score = candidate.score;
      if (candidate.token_id >= 0) {
        beam.tokens.push_back(candidate.token_id);
        beam.reason = reason_of(text, beam);
      }
      next.push_back(std::move(beam));
    }
    std::vector<bool> is_used(size_t(args_.num_beams), false);
    std::vector<Beam *> copies;
    for (Beam &beam : next) {
      if (!beam.goes_on()) continue;
      if (is_used[size_t(beam.slot)]) {
        copies.push_back(&beam);
      } else {
        is_used[size_t(beam.slot)] = true;
      }
    }
    for (Beam *const beam : copies) {
      const int64_t free = std::find(is_used.begin(), is_used.end(), false) - is_used.begin();
      is_used[size_t(free)] = true;
      if (generation_->args().use_cache) {
        cache_.fork(sequence_of(index, beam->slot), sequence_of(index, free));
      }
      beam->slot = free;
    }
    for (int64_t slot = 0; slot < args_.num_beams; ++slot) {
      cache_.keep(sequence_of(index, slot), is_used[size_t(slot)] ? INT64_MAX : 0);
    }
    text.beams = std::move(next);
  }

  void write_outputs() {
    sampler_generation_stats &stats = generation_->stats();
    for (size_t i = 0; i < texts_.size(); ++i) {
      std::vector<Beam> &beams = texts_[i].beams;
      std::stable_partition(beams.begin(), beams.end(),
                            [](const Beam &beam) { return !beam.goes_on(); });
      for (int64_t result = 0; result < args_.num_results; ++result) {
        const size_t place = i * size_t(args_.num_results) + size_t(result);
        const bool is_there = result < int64_t(beams.size());
        write_result(place, texts_[i].prompt_length, is_there ? &beams[size_t(result)] : nullptr);
      }
    }
    stats.target_forwards = cache_.num_forwards();
  }

  // `beam` null: there is none.
  void write_result(size_t place, int64_t prompt_length, const Beam *beam) {
    const sampler_generation_args &args = generation_->args();
    int32_t *const row = args.out_token_ids + place * size_t(args.max_new_tokens);
    const int64_t length = beam ? int64_t(beam->tokens.size()) - prompt_length : 0;
    if (beam) std::copy_n(beam->tokens.data() + prompt_length, length, row);
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
  int64_t first_width_, width_;  // tokens looked at of the prompt's row, of others
  int64_t max_rows_;
  Workspace workspace_;
  CachedModel cache_;
  DeviceBytes logits_, probabilities_;
  Output<sampler_row_status> row_status_;
  Output<float> values_;
  Output<int32_t> token_ids_;
  std::vector<BeamText> texts_;
  std::vector<Feed> feeds_;
};

}  // namespace

void beam_search(const Place &place, const sampler_beam_search_args &args, Generation *generation) {
  BeamSearch(place, args, generation).run();
}

}  // namespace sampler::decoding
