#include <algorithm>

#include "decoding/doubt.h"
#include "decoding/draft_offset.h"
#include "decoding/drafter.h"
#include "decoding/entropy_gamma.h"
#include "decoding/loops.h"
#include "decoding/plain_params.h"
#include "decoding/staged_sampler.h"

namespace sampler::decoding {

namespace {

class ModelDrafter : public Drafter {
 public:
  ModelDrafter(const ExecutionTarget &place, const sampler_speculative_args &args, bool has_stages,
               Generation *generation)
      : args_(args),
        model_(*args.drafter),
        generation_(generation),
        gamma_(most_drafts(args)),
        cache_(place, model_, generation->args(), num_texts(), generation->capacity(), num_texts()),
        logits_(place, bytes_of(product({num_texts(), gamma_, num_cols()}), cache_.element_size())),
        by_text_(has_stages ? plain_params(staged_row_params(generation->args()))
                            : capi::sized<sampler_row_params>()),
        sampler_(place,
                 has_stages ? plain_params(params_of(generation->args()))
                            : params_of(generation->args()),
                 by_text_, model_, num_texts(), args.least_draft_probability > 0),
        doubt_(args.least_draft_probability),
        entropy_gamma_(args.gamma_min, gamma_, args.ema_beta),
        temperatures_(place, by_text_.temperature ? num_texts() : 0, true),
        probabilities_(place, follows_entropy() ? product({num_texts(), num_cols()}) : 0),
        entropies_(place, num_texts()),
        drafting_(place, num_texts()),
        feeds_(place, num_texts()) {
    entropies_.fill(size_t(num_texts()), EntropyGamma::kNone);
  }
  ~ModelDrafter() override { generation_->stats().drafter_forwards = cache_.num_forwards(); }

  void start() override {}

  int64_t gamma() const override { return gamma_; }

  // All drafts but the last are fed.
  int64_t max_drafts(const Text &text) const override {
    return std::min(gamma_, model_.max_context - text.length + 1);
  }

  void draft(Array<Chain> *chains, Workspace *workspace) override {
    for (int64_t position = 0;; ++position) {
      find_drafting(*chains, position);
      if (drafting_.empty()) return;
      forward(*chains, position);
      if (position == 0 && follows_entropy()) adapt(chains, workspace);
      spread(position);
      find_drafting(*chains, position);
      if (!drafting_.empty()) draw(chains, position, workspace);
    }
  }

  LogitRows rows() const override { return {logits_.data(), gamma_ * num_cols()}; }
  sampler_dtype dtype() const override { return model_.logits_dtype; }

  void observe_target(const LogitRows &, const Array<Chain> &, Workspace *) override {}
  void learn(size_t, const Text &text, const Outcome &outcome) override {
    cache_.keep(text.index, outcome.begin + outcome.num_kept);
  }

 private:
  int64_t num_texts() const { return generation_->num_texts(); }
  int64_t num_cols() const { return model_.vocabulary_size; }
  bool follows_entropy() const { return args_.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY; }
  LogitRows rows_at(int64_t position) const {
    const LogitRows all = rows();
    return {all.data + size_t(position * num_cols()) * cache_.element_size(), all.row_stride};
  }

  // Chains that get a draft at that position.
  void find_drafting(const Array<Chain> &chains, int64_t position) {
    drafting_.clear();
    for (size_t i = 0; i < chains.size(); ++i) {
      if (chains[i].num_drafts == position && chains[i].max_drafts > position) {
        drafting_.push_back(int64_t(i));
      }
    }
  }

  void forward(const Array<Chain> &chains, int64_t position) {
    feeds_.clear();
    for (const int64_t i : drafting_) {
      const Text &text = *chains[size_t(i)].text;
      feeds_.push_back({text.index, text.tokens, text.length + position, 1});
    }
    cache_.forward(feeds_, rows_at(position));
  }

  // Row j of a position becomes that of the j-th chain that drafts there.
  void spread(int64_t position) {
    const LogitRows rows = rows_at(position);
    spread_rows(&logits_, size_t(rows.data - logits_.data()),
                size_t(rows.row_stride) * cache_.element_size(),
                size_t(num_cols()) * cache_.element_size(), drafting_);
  }

  void draw(Array<Chain> *chains, int64_t position, Workspace *workspace) {
    for (const int64_t i : drafting_) {
      const Text &text = *(*chains)[size_t(i)].text;
      sampler_.add(i, text, draft_offset(args_.acceptance, text.num_new(), position));
    }
    const int64_t num_rows = drafting_.back() + 1;  // up to the last that is of use
    const int32_t *const tokens = sampler_.draw(rows_at(position), num_rows, workspace);
    const float *const logprobs = sampler_.logprobs(drafting_.size());
    for (size_t j = 0; j < drafting_.size(); ++j) {
      Chain &chain = (*chains)[size_t(drafting_[j])];
      if (tokens[j] >= 0) chain.add(tokens[j]);
      if (tokens[j] < 0 || generation_->is_end(tokens[j]) ||
          (logprobs && doubt_.is_about(logprobs[j]))) {
        chain.max_drafts = chain.num_drafts;
      }
    }
  }

  // Shortens chains to what the entropies of their first rows, which are not spread yet, advise.
  void adapt(Array<Chain> *chains, Workspace *workspace) {
    const auto num_rows = int64_t(drafting_.size());
    sampler_params params = sampler_params_default();
    const sampler_params *const given = generation_->args().params;
    if (given) params.temperature = given->temperature;
    auto args = capi::sized<sampler_filter_args>();
    args.input = rows_of(model_, rows_at(0), num_rows);
    args.params = &params;
    auto row_params = capi::sized<sampler_row_params>();
    temperatures_.values().clear();
    for (const int64_t i : drafting_) {
      if (!by_text_.temperature) break;
      temperatures_.values().push_back(by_text_.temperature[(*chains)[size_t(i)].text->index]);
    }
    row_params.temperature = temperatures_.upload();
    args.row_params = &row_params;
    args.output = probabilities_.data();
    workspace->run(sampler_filter, &args);
    const float *const rows = probabilities_.on_host(size_t(num_rows * num_cols()));
    for (int64_t i = 0; i < num_rows; ++i) {
      Chain &chain = (*chains)[size_t(drafting_[size_t(i)])];
      const double entropy = EntropyGamma::entropy_of(rows + i * num_cols(), num_cols());
      double *const smooth = &entropies_[size_t(chain.text->index)];
      chain.entropy = float(entropy);
      chain.max_drafts =
          std::min(chain.max_drafts, entropy_gamma_.drafts(entropy, num_cols(), smooth));
    }
  }

  const sampler_speculative_args &args_;
  const sampler_model &model_;
  Generation *generation_;
  int64_t gamma_;
  CachedModel cache_;
  DeviceBytes logits_;          // [texts, gamma, columns]
  sampler_row_params by_text_;  // plain
  TokenSampler sampler_;
  Doubt doubt_;
  EntropyGamma entropy_gamma_;
  Input<float> temperatures_;    // by row, where they are by text
  Output<float> probabilities_;  // [texts, columns], when adaptive
  Array<double> entropies_;      // of each text, smoothed
  Array<int64_t> drafting_;      // chains
  Array<Feed> feeds_;
};

}  // namespace

void speculative_with_model(const ExecutionTarget &place, const sampler_speculative_args &args,
                            bool has_stages, Generation *generation) {
  ModelDrafter drafter(place, args, has_stages, generation);
  speculate(place, generation, &drafter,
            {args.first_target != 0, args.skip_sample_adjustment != 0,
             args.adaptive_gamma == SAMPLER_GAMMA_MEASURED, args.clock, args.clock_user,
             staged_args(args, has_stages)});
}

void spread_rows(DeviceBytes *memory, size_t first, size_t row_bytes, size_t bytes,
                 const Array<int64_t> &places) {
  for (size_t i = places.size(); i-- > 0;) {
    const size_t place = size_t(places[i]);
    if (place == i) return;  // as all before it are
    memory->move(first + place * row_bytes, first + i * row_bytes, bytes);
  }
}

}  // namespace sampler::decoding
