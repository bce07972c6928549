#include <algorithm>

#include "cpu/fp_environment.h"
#include "decoding/arithmetic.h"
#include "decoding/drafter.h"

namespace sampler::decoding {

namespace {

// In nats; 0 of a bad row, which softmax writes as zeros.
double entropy_of(const float *probabilities, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double p = double(probabilities[i]);
    if (p > 0) sum -= p * natural_log(p);
  }
  return sum;
}

class ModelDrafter : public Drafter {
 public:
  ModelDrafter(const Place &place, const sampler_speculative_args &args, Generation *generation)
      : args_(args),
        model_(*args.drafter),
        generation_(generation),
        gamma_(args.adaptive_gamma && args.gamma_max ? args.gamma_max : args.gamma),
        cache_(generation->log(), model_, generation->args(), num_texts()),
        logits_(place, bytes_of({num_texts(), gamma_, num_cols()}, cache_.element_size())),
        sampler_(place, generation->args(), model_, size_t(num_texts())),
        probabilities_(place),
        entropies_(size_t(num_texts()), kNone) {
    if (follows_entropy()) {
      probabilities_.reserve(bytes_of({num_texts(), num_cols()}, sizeof(float)));
    }
  }
  ~ModelDrafter() override { generation_->stats().drafter_forwards = cache_.num_forwards(); }

  void start() override {}

  int64_t gamma() const override { return gamma_; }

  // All drafts but the last are fed.
  int64_t max_drafts(const Text &text) const override {
    return std::min(gamma_, model_.max_context - text.length + 1);
  }

  void draft(std::vector<Chain> *chains, Workspace *workspace) override {
    for (int64_t position = 0;; ++position) {
      find_drafting(*chains, position);
      if (drafting_.empty()) return;
      forward(*chains, position);
      if (position == 0 && follows_entropy()) adapt(chains, workspace);
      if (!drafting_.empty()) draw(chains, position, workspace);
    }
  }

  LogitRows rows() const override { return {logits_.data(), gamma_ * num_cols()}; }
  sampler_dtype dtype() const override { return model_.logits_dtype; }

  void look_at(const TargetRows &, size_t, Workspace *) override {}
  void learn(size_t, const Text &text, const Outcome &outcome) override {
    cache_.keep(text.index, outcome.begin + outcome.num_kept);
  }

 private:
  static constexpr double kNone = -1;

  int64_t num_texts() const { return generation_->args().num_sequences; }
  int64_t num_cols() const { return model_.vocabulary_size; }
  bool follows_entropy() const { return args_.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY; }
  LogitRows rows_at(int64_t position) const {
    const LogitRows all = rows();
    return {all.data + size_t(position * num_cols()) * cache_.element_size(), all.row_stride};
  }

  // Chains that get a draft at that position.
  void find_drafting(const std::vector<Chain> &chains, int64_t position) {
    drafting_.clear();
    for (size_t i = 0; i < chains.size(); ++i) {
      if (chains[i].num_drafts == position && chains[i].max_drafts > position) {
        drafting_.push_back(int64_t(i));
      }
    }
  }

  // Rows of logits up to the last that is of use.
  int64_t num_rows() const { return drafting_.back() + 1; }

  void forward(const std::vector<Chain> &chains, int64_t position) {
    feeds_.clear();
    for (const int64_t i : drafting_) {
      const Text &text = *chains[size_t(i)].text;
      feeds_.push_back({text.index, text.tokens.data(), text.length + position, 1});
    }
    const LogitRows rows = rows_at(position);
    cache_.forward(feeds_, rows);
    spread_rows(&logits_, size_t(rows.data - logits_.data()),
                size_t(rows.row_stride) * cache_.element_size(),
                size_t(num_cols()) * cache_.element_size(), drafting_);
  }

  void draw(std::vector<Chain> *chains, int64_t position, Workspace *workspace) {
    for (const int64_t i : drafting_) {
      const Text &text = *(*chains)[size_t(i)].text;
      sampler_.add(i, text.seed, uint64_t(text.num_new() + position));
    }
    const int32_t *const tokens = sampler_.draw(rows_at(position), num_rows(), workspace);
    for (size_t j = 0; j < drafting_.size(); ++j) {
      Chain &chain = (*chains)[size_t(drafting_[j])];
      if (tokens[j] >= 0) chain.add(tokens[j]);
      if (tokens[j] < 0 || generation_->is_end(tokens[j])) chain.max_drafts = chain.num_drafts;
    }
  }

  // Shortens chains to what the entropies of their first rows advise.
  void adapt(std::vector<Chain> *chains, Workspace *workspace) {
    sampler_softmax_args args = SAMPLER_SOFTMAX_ARGS_INIT;
    set_input(&args, model_, rows_at(0), num_rows());
    args.temperature = generation_->args().temperature;
    args.output = probabilities_.data();
    args.output_dtype = SAMPLER_F32;
    workspace->run(SAMPLER_OP_SOFTMAX, sampler_softmax, &args);
    const unsigned char *const host =
        probabilities_.on_host(0, size_t(num_rows() * num_cols()) * sizeof(float));
    const cpu::FpEnvironment environment;
    for (const int64_t i : drafting_) {
      Chain &chain = (*chains)[size_t(i)];
      const float *const row = reinterpret_cast<const float *>(host) + i * num_cols();
      const double entropy = entropy_of(row, num_cols()), beta = double(args_.ema_beta);
      double &smooth = entropies_[size_t(chain.text->index)];
      smooth = smooth == kNone ? entropy : beta * smooth + (1 - beta) * entropy;
      chain.entropy = float(entropy);
      chain.max_drafts = std::min(chain.max_drafts, adapted_gamma(smooth));
    }
    find_drafting(*chains, 0);
  }

  int64_t adapted_gamma(double entropy) const {
    const double largest = natural_log(double(std::max<int64_t>(num_cols(), 2)));
    const double gamma = (1 - entropy / largest) * double(gamma_);
    return std::clamp(int64_t(gamma), std::min(args_.gamma_min, gamma_), gamma_);
  }

  const sampler_speculative_args &args_;
  const sampler_model &model_;
  Generation *generation_;
  int64_t gamma_;
  CachedModel cache_;
  DeviceBytes logits_;  // [texts, gamma, columns]
  TokenSampler sampler_;
  DeviceBytes probabilities_;      // [texts, columns], when adaptive
  std::vector<double> entropies_;  // of each text, smoothed
  std::vector<int64_t> drafting_;  // chains
  std::vector<Feed> feeds_;
};

}  // namespace

std::unique_ptr<Drafter> make_model_drafter(const Place &place,
                                            const sampler_speculative_args &args,
                                            Generation *generation) {
  return std::make_unique<ModelDrafter>(place, args, generation);
}

void spread_rows(DeviceBytes *memory, size_t first, size_t row_bytes, size_t bytes,
                 const std::vector<int64_t> &places) {
  for (size_t i = places.size(); i-- > 0;) {
    const size_t place = size_t(places[i]);
    if (place == i) return;  // as all before it are
    memory->move(first + place * row_bytes, first + i * row_bytes, bytes);
  }
}

}  // namespace sampler::decoding
