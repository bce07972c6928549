#include "walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "../sized.h"
#include "oracle.h"

namespace verification_test {
namespace {

constexpr std::uint32_t kNanBits = 0x7FC00000;

std::int64_t bits(float value) {
  std::uint32_t result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// What sampler_sample says of one row.
struct Report {
  std::int64_t token = -1;
  sampler_row_status status = 0;
  std::int32_t kept_count = 0, rank = 0;
  float logprob = 0, entropy = 0, observation = 0;
  std::vector<std::int64_t> top_ids, kept_ids;
  std::vector<float> top_logprobs, kept_probabilities;
  std::vector<std::uint32_t> kept_bitmask;
};

class Walk {
 public:
  Walk(sampler_t sampler, const Problem &problem, std::int64_t s)
      : sampler_(sampler),
        problem_(problem),
        sequence_(problem.sequences[at(s)]),
        rule_(problem.rule(s)),
        is_greedy_(sequence_.temperature <= 1e-5F) {}
  ~Walk() { sampler_state_destroy(state_); }
  Walk(const Walk &) = delete;
  Walk &operator=(const Walk &) = delete;

  Expectation run() {
    switch (rule_) {
      case SAMPLER_ACCEPT_BLOCK:
        is_greedy_ || has_forced() ? one_by_one() : block();
        break;
      case SAMPLER_ACCEPT_DEFERRED:
        is_greedy_ || has_forced() ? one_by_one() : deferred();
        break;
      default:
        one_by_one();
    }
    return finish();
  }

 private:
  // Draft `node` is accepted; or `token` ends the walk. Both at the position behind path_.
  void accept(std::int32_t node) {
    emit(sequence_.drafts[at(node)]);
    path_.push_back(node);
  }
  void emit(std::int64_t token) {
    tokens_.push_back(token);
    positions_.push_back(position());
  }

  std::int32_t position() const { return path_.empty() ? 0 : path_.back() + 1; }

  // ---- Rows

  // The row of a position behind the drafts of `path`.
  Report report(const std::vector<std::int32_t> &path, std::int64_t forced,
                const sampler_params *other = nullptr) {
    if (problem_.has_pipeline) say(path);
    return report_row(path, forced, other);
  }

  Report report_row(const std::vector<std::int32_t> &path, std::int64_t forced,
                    const sampler_params *other) {
    const std::int32_t position = path.empty() ? 0 : path.back() + 1;
    const Row &row = sequence_.target[at(position)];
    SampleArgs args;
    args.input.values = row.data();
    args.input.num_rows = 1;
    args.input.num_cols = problem_.num_cols;
    args.input.kind = problem_.kind;
    sampler_params params = other ? *other : problem_.params;
    if (params.xtc_probability > 0 && rule_ != SAMPLER_ACCEPT_SAMPLE_MATCH) {
      // The coin is of the position, not of a draw.
      const auto word = oracle::word32(words(), oracle::Purpose(6), std::uint32_t(position));
      const double least = std::ceil(double(params.xtc_probability) * 0x1p32);
      params.xtc_probability = double(word) < least ? 1 : 0;
    }
    auto row_params = sized<sampler_row_params>();
    row_params.temperature = other ? nullptr : &sequence_.temperature;
    row_params.top_p = other ? nullptr : &sequence_.top_p;
    row_params.forced_token_id = &forced;
    set_numbers(other, &row_params);
    args.params = &params;
    args.row_params = &row_params;
    const std::uint64_t offset = sequence_.offset + path.size();
    args.random.seeds = &sequence_.seed;
    args.random.num_seeds = 1;
    args.random.offset = offset;
    args.draw_method = problem_.draw_method;
    args.report_args.logprob_kind = problem_.logprob_kind;
    args.token_id_type = SAMPLER_ID_I64;
    sampler_pipeline pipeline = sized<sampler_pipeline>();
    const std::int32_t mask = problem_.masks.empty() ? -1 : sequence_.masks[at(position)];
    Lists lists;
    if (problem_.has_pipeline) {
      fill(&pipeline, &lists);
      pipeline.token_bitmask_indices = problem_.masks.empty() ? nullptr : &mask;
      args.pipeline = &pipeline;
    }
    Report result;
    args.out_token_ids = &result.token;
    args.out_row_status = &result.status;
    args.report_args.out_kept_counts = &result.kept_count;
    args.report_args.out_ranks = &result.rank;
    args.report_args.out_logprobs = &result.logprob;
    args.report_args.out_entropies = &result.entropy;
    args.report_args.out_observations = &result.observation;
    result.top_ids.resize(at(problem_.num_cols));
    result.top_logprobs.resize(at(problem_.num_cols));
    args.report_args.num_top_logprobs = problem_.num_cols;
    args.report_args.out_top_token_ids = result.top_ids.data();
    args.report_args.out_top_logprobs = result.top_logprobs.data();
    result.kept_ids.resize(at(problem_.num_cols));
    result.kept_probabilities.resize(at(problem_.num_cols));
    args.report_args.kept_capacity = problem_.num_cols;
    args.report_args.out_kept_token_ids = result.kept_ids.data();
    args.report_args.out_kept_probabilities = result.kept_probabilities.data();
    result.kept_bitmask.resize(at((problem_.num_cols + 31) / 32));
    args.report_args.out_kept_bitmask = result.kept_bitmask.data();
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_sample_workspace_size(sampler_, &args, &bytes), SAMPLER_OK)
        << sampler_last_error();
    std::vector<unsigned char> workspace(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    EXPECT_EQ(sampler_sample(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(result.status, SAMPLER_ROW_OK) << "position " << position;
    return result;
  }

  void set_numbers(const sampler_params *other, sampler_row_params *row_params) const {
    if (!problem_.has_numbers_by_slot) return;
    row_params->frequency_penalty = &sequence_.frequency_penalty;
    row_params->adaptive_target = &sequence_.adaptive_target;
    if (!other) row_params->top_p_reset_token_id = &sequence_.top_p_reset_token_id;
  }

  struct Lists {
    std::vector<std::int64_t> biased, banned, stop, words, breakers;
    std::vector<std::int32_t> word_ids, breaker_ids;
    std::vector<std::uint32_t> masks;
  };

  void fill(sampler_pipeline *pipeline, Lists *lists) const {
    pipeline->state = state_;
    const auto one = [](const std::vector<std::int32_t> &ids, std::vector<std::int64_t> *offsets) {
      sampler_token_lists view = {};
      *offsets = {0, static_cast<std::int64_t>(ids.size())};
      if (!ids.empty()) view = {offsets->data(), ids.data(), 1, offsets->back()};
      return view;
    };
    const auto several = [](const std::vector<std::vector<std::int32_t>> &all,
                            std::vector<std::int64_t> *offsets, std::vector<std::int32_t> *ids) {
      *offsets = {0};
      for (const auto &list : all) {
        ids->insert(ids->end(), list.begin(), list.end());
        offsets->push_back(static_cast<std::int64_t>(ids->size()));
      }
      sampler_token_lists view = {};
      if (!all.empty()) {
        view = {offsets->data(), ids->data(), static_cast<std::int64_t>(all.size()),
                offsets->back()};
      }
      return view;
    };
    pipeline->biased = one(problem_.biased, &lists->biased);
    if (!problem_.biased.empty()) pipeline->biases = problem_.biases.data();
    pipeline->banned = one(problem_.banned, &lists->banned);
    pipeline->stop = one(problem_.stop, &lists->stop);
    pipeline->bad_words = several(problem_.bad_words, &lists->words, &lists->word_ids);
    pipeline->dry_breakers = several(problem_.breakers, &lists->breakers, &lists->breaker_ids);
    for (const auto &mask : problem_.masks) {
      lists->masks.insert(lists->masks.end(), mask.begin(), mask.end());
    }
    if (!problem_.masks.empty()) {
      pipeline->token_bitmasks = lists->masks.data();
      pipeline->num_token_bitmasks = static_cast<std::int64_t>(problem_.masks.size());
    }
  }

  // The state holds the text with the drafts of `path`, its adaptive values moved on by each as if
  // it had been drawn.
  void say(const std::vector<std::int32_t> &path) {
    if (!state_) {
      auto options = sized<sampler_state_options>();
      options.num_slots = 1;
      options.max_tokens =
          static_cast<std::int64_t>(sequence_.history.size()) + problem_.num_drafts + 1;
      ok(sampler_state_create(sampler_, &options, &state_));
    }
    auto reset = sized<sampler_state_reset_args>();
    const std::int32_t slot = 0;
    reset.state = state_;
    reset.slots = &slot;
    reset.num_rows = 1;
    reset.adaptive_values = sequence_.adaptive_values.data();
    ok(sampler_state_reset(sampler_, &reset));
    const auto length = static_cast<std::int64_t>(sequence_.history.size());
    for (const bool is_prompt : {true, false}) {
      const std::int64_t bounds[] = {is_prompt ? 0 : sequence_.prompt_length,
                                     is_prompt ? sequence_.prompt_length : length};
      auto append = sized<sampler_state_append_args>();
      append.state = state_;
      append.num_rows = 1;
      append.tokens = {bounds, sequence_.history.data(), 1, length};
      append.token_kind = is_prompt ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
      ok(sampler_state_append(sampler_, &append));
    }
    std::vector<std::int32_t> said;
    for (const std::int32_t node : path) {
      const std::int64_t token = sequence_.drafts[at(node)];
      const Report of_draft = report_row(said, token, nullptr);
      auto accept = sized<sampler_accept_args>();
      accept.state = state_;
      accept.num_rows = 1;
      accept.token_ids = &token;
      accept.num_tokens = 1;
      accept.token_id_type = SAMPLER_ID_I64;
      accept.observations = &of_draft.observation;
      accept.params = &problem_.params;
      auto row_params = sized<sampler_row_params>();
      row_params.temperature = &sequence_.temperature;
      row_params.top_p = &sequence_.top_p;
      set_numbers(nullptr, &row_params);
      accept.row_params = &row_params;
      ok(sampler_accept(sampler_, &accept));
      said.push_back(node);
    }
  }

  static void ok(sampler_status status) { EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error(); }

  // p behind the drafts of `path`.
  Row target(const std::vector<std::int32_t> &path, const sampler_params *other = nullptr) {
    const std::int32_t position = path.empty() ? 0 : path.back() + 1;
    if (problem_.kind == SAMPLER_PROBABILITIES && !is_greedy_) {
      return sequence_.target[at(position)];
    }
    const Report all = report(path, -1, other);
    Row p(at(problem_.num_cols), 0.0F);
    for (std::int32_t i = 0; i < all.kept_count; ++i) {
      p[at(all.kept_ids[at(i)])] = all.kept_probabilities[at(i)];
    }
    return p;
  }

  // q of a draft.
  Row draft(std::int32_t node) {
    if (!problem_.has_draft_rows) {
      Row q(at(problem_.num_cols), 0.0F);
      q[at(sequence_.drafts[at(node)])] = 1;
      return q;
    }
    const Row &row = sequence_.draft[at(node)];
    if (problem_.draft_kind == SAMPLER_PROBABILITIES) return row;
    auto args = sized<sampler_filter_args>();
    Row q(at(problem_.num_cols));
    args.input.values = row.data();
    args.input.num_rows = 1;
    args.input.num_cols = problem_.num_cols;
    args.params = problem_.has_draft_params ? &problem_.draft_params : &problem_.params;
    auto row_params = sized<sampler_row_params>();
    row_params.temperature = &sequence_.temperature;
    row_params.top_p = &sequence_.top_p;
    if (!problem_.has_draft_params) args.row_params = &row_params;
    if (problem_.has_draft_numbers_by_slot) {
      row_params.temperature = &sequence_.draft_temperature;
      row_params.top_p = nullptr;
      args.row_params = &row_params;
    }
    args.output = q.data();
    std::size_t bytes = 0;
    ok(sampler_filter_workspace_size(sampler_, &args, &bytes));
    std::vector<unsigned char> workspace(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    ok(sampler_filter(sampler_, &args));
    return q;
  }

  // ---- Words, and draws

  oracle::Draw words() const { return {sequence_.seed, sequence_.offset, 0}; }
  double coin(std::int32_t index) const {
    const auto word = oracle::word32(words(), oracle::kAccept, static_cast<std::uint32_t>(index));
    return static_cast<double>(word >> 3) * 0x1p-29;
  }

  // By sections 4.2 and 8.1, in integers. -1: all are 0.
  static std::int64_t draw_exactly(const Row &row, std::uint64_t word) {
    const float largest = *std::max_element(row.begin(), row.end());
    if (!(largest > 0)) return -1;
    int exponent = 0;
    const float fraction = std::frexp(largest, &exponent);  // in [1/2, 1)
    const int scale = fraction == 0.5F ? 1 - exponent : -exponent;
    std::vector<std::uint64_t> weights;
    std::uint64_t total = 0;
    for (const float x : row) {
      const float e = std::ldexp(x, scale);
      weights.push_back(static_cast<std::uint64_t>(std::nearbyint(std::ldexp(double(e), 44))));
      total += weights.back();
    }
    __extension__ using Wide = unsigned __int128;
    const auto threshold = static_cast<std::uint64_t>(Wide{word} * total >> 64);
    std::uint64_t sum = 0;
    std::size_t id = 0;
    while ((sum += weights[id]) <= threshold) ++id;
    return static_cast<std::int64_t>(id);
  }

  std::int64_t draw_nearly(const std::vector<double> &row, std::uint64_t word) {
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    const double threshold = static_cast<double>(word) * 0x1p-64 * total;
    const double near = kNear * total + kNearOfRows;
    double sum = 0;
    std::int64_t drawn = -1;
    for (std::size_t id = 0; id < row.size(); ++id) {
      sum += row[id];
      if (row[id] > 0 && std::fabs(sum - threshold) < near) is_uncertain_ = true;
      if (drawn < 0 && sum > threshold) drawn = static_cast<std::int64_t>(id);
    }
    return drawn;
  }

  // Numbers that the library may have rounded otherwise.
  static constexpr double kNear = 4e-6;
  // A difference of two rows of f32 errs by half an ulp of what is subtracted, in all at most so.
  static constexpr double kNearOfRows = 2e-7;
  bool less(double a, double b) {
    if (std::fabs(a - b) <= kNear * std::max(std::fabs(a), std::fabs(b))) is_uncertain_ = true;
    return a < b;
  }

  std::uint64_t word(oracle::Purpose purpose) const {
    return oracle::word64(words(), purpose, static_cast<std::uint32_t>(position()));
  }

  // The last token, where nothing was taken off p.
  void end_with_target(const Row &p) {
    const bool had_children = !sequence_.children(position() - 1).empty();
    emit(draw_exactly(p, word(had_children ? oracle::kResidual : oracle::kBonus)));
  }

  // ---- Rules

  static std::int64_t first_of(const Row &p) {
    return std::max_element(p.begin(), p.end()) - p.begin();
  }

  void one_by_one() {
    for (;;) {
      const std::vector<std::int32_t> children = sequence_.children(position() - 1);
      const std::size_t before = path_.size();
      if (forced(position()) >= 0) {
        force(children);
      } else if (rule_ == SAMPLER_ACCEPT_SAMPLE_MATCH) {
        match(children);
      } else if (rule_ == SAMPLER_ACCEPT_SYNTHETIC) {
        synthetic(children);
      } else if (is_greedy_) {
        greedy(children);
      } else if (rule_ == SAMPLER_ACCEPT_TYPICAL) {
        typical(children);
      } else if (rule_ == SAMPLER_ACCEPT_THRESHOLD) {
        threshold(children);
      } else {
        standard(children);
      }
      if (path_.size() == before) return;
    }
  }

  std::int64_t forced(std::int32_t position) const {
    return problem_.has_forced_tokens ? sequence_.forced[at(position)] : -1;
  }
  bool has_forced() const {
    return problem_.has_forced_tokens &&
           std::any_of(sequence_.forced.begin(), sequence_.forced.end(),
                       [](std::int64_t id) { return id >= 0; });
  }
  void force(const std::vector<std::int32_t> &children) {
    const std::int64_t id = forced(position());
    for (const std::int32_t child : children) {
      if (token(child) == id) return accept(child);
    }
    emit(id);
  }

  std::int64_t token(std::int32_t node) const { return sequence_.drafts[at(node)]; }
  bool is_good(std::int32_t node) const { return is_token(problem_, token(node)); }

  void match(const std::vector<std::int32_t> &children) {
    const std::int64_t drawn = report(path_, -1).token;
    for (const std::int32_t child : children) {
      if (token(child) == drawn) return accept(child);
    }
    emit(drawn);
  }

  void synthetic(const std::vector<std::int32_t> &children) {
    for (const std::int32_t child : children) {
      if (!is_good(child)) continue;
      if (coin(child) < double(problem_.synthetic_rates[at(child)])) return accept(child);
    }
    const Row p = target(path_);
    is_greedy_ ? emit(first_of(p)) : end_with_target(p);
  }

  void greedy(const std::vector<std::int32_t> &children) {
    const std::int64_t first = first_of(target(path_));
    Row edited;
    if (rule_ == SAMPLER_ACCEPT_RELAXED) {
      const sampler_params params = only_edits();
      is_greedy_ = problem_.kind == SAMPLER_PROBABILITIES ? false : is_greedy_;
      edited = target(path_, &params);
      is_greedy_ = true;
    }
    for (const std::int32_t child : children) {
      if (!is_good(child)) continue;
      if (token(child) == first) return accept(child);
      if (rule_ == SAMPLER_ACCEPT_RELAXED && is_relaxed(edited, token(child))) {
        return accept(child);
      }
    }
    emit(first);
  }

  sampler_params only_edits() const {
    sampler_params params = problem_.params;
    params.temperature = params.top_p = 1;
    params.min_p = params.dynamic_temperature_range = 0;
    params.top_k = params.min_keep = 0;
    params.typical_p = params.top_n_sigma = params.epsilon_cutoff = params.eta_cutoff = 0;
    params.top_h = params.xtc_probability = 0;
    params.adaptive_kind = SAMPLER_ADAPTIVE_NONE;
    params.top_p_decay = 0;
    return params;
  }

  bool is_relaxed(const Row &p, std::int64_t x) {
    const std::int32_t most = problem_.relaxed_top_k > 0 ? problem_.relaxed_top_k : 1;
    std::int32_t before = 0;
    for (std::size_t id = 0; id < p.size(); ++id) {
      before += p[id] > p[at(x)] || (p[id] == p[at(x)] && std::int64_t(id) < x) ? 1 : 0;
    }
    if (!(p[at(x)] > 0) || before >= most) return false;
    const double largest = double(p[at(first_of(p))]);
    return before == 0 || !less(double(p[at(x)]), largest - double(problem_.relaxed_delta));
  }

  void typical(const std::vector<std::int32_t> &children) {
    const Row p = target(path_);
    // Given probabilities may not add up to 1: the entropy is that of their shares.
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    double entropy = std::log(sum);
    for (const float x : p) entropy -= x > 0 ? double(x) * std::log(double(x)) / sum : 0;
    const float threshold = problem_.typical_threshold, scale = problem_.typical_scale;
    const double least = std::min(threshold == 0 ? double(0.09F) : double(threshold),
                                  (scale == 0 ? double(0.3F) : double(scale)) * std::exp(-entropy));
    for (const std::int32_t child : children) {
      if (is_good(child) && less(least, double(p[at(token(child))]))) return accept(child);
    }
    end_with_target(p);
  }

  void threshold(const std::vector<std::int32_t> &children) {
    Row p = target(path_);
    const Row whole = p;
    const double u = coin(position());
    const double single = problem_.threshold_single == 0 ? 1 : double(problem_.threshold_single);
    const double total = problem_.threshold_total == 0 ? 1 : double(problem_.threshold_total);
    double sum = 0;
    for (const std::int32_t child : children) {
      if (!is_good(child)) continue;
      const std::size_t x = at(token(child));
      sum += double(p[x]);
      if ((double(p[x]) > 0 && !less(double(p[x]), single)) || less(u * total, sum)) {
        return accept(child);
      }
      p[x] = 0;
    }
    end_with_target(*std::max_element(p.begin(), p.end()) > 0 ? p : whole);
  }

  // STANDARD, and RELAXED where no draft is relaxed.
  void standard(const std::vector<std::int32_t> &children) {
    const Row p = target(path_);
    Row exact = p;  // as long as there was one rejection at most
    std::vector<double> left(p.begin(), p.end());
    std::vector<std::int64_t> tried;
    for (const std::int32_t child : children) {
      if (rule_ != SAMPLER_ACCEPT_RELAXED || !is_good(child)) continue;
      if (is_relaxed(p, token(child))) return accept(child);
    }
    for (const std::int32_t child : children) {
      if (!is_good(child)) continue;
      const std::size_t x = at(token(child));
      const Row given = draft(child);
      std::vector<double> q(given.begin(), given.end());
      const bool has_rest = problem_.sibling_rule == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT &&
                            problem_.has_draft_rows && !tried.empty();
      if (has_rest) {
        for (const std::int64_t other : tried) q[at(other)] = 0;
        const double rest = std::accumulate(q.begin(), q.end(), 0.0);
        if (rest > 0) {
          for (double &share : q) share /= rest;
        }
      }
      const double threshold = coin(child) * q[x];
      const bool is_first = tried.empty();
      if (is_first ? threshold < left[x] : less(threshold, left[x])) return accept(child);
      tried.push_back(token(child));
      double sum = 0;
      std::vector<double> residual(left.size());
      for (std::size_t id = 0; id < left.size(); ++id) {
        residual[id] =
            problem_.has_draft_rows ? std::max(left[id] - q[id], 0.0) : (id == x ? 0.0 : left[id]);
        sum += residual[id];
        if (is_first) {
          const float rest = p[id] - given[id];
          exact[id] = problem_.has_draft_rows ? std::max(rest, 0.0F) : (id == x ? 0.0F : p[id]);
        }
      }
      // What is left by rounding alone.
      if (!is_first && sum < 1e-3) is_uncertain_ = true;
      if (!(sum > 0)) {
        exact = p;
        left.assign(p.begin(), p.end());
        continue;
      }
      for (double &share : residual) share /= sum;
      left = std::move(residual);
    }
    if (tried.empty()) return end_with_target(p);
    const std::uint64_t r = word(oracle::kResidual);
    if (tried.size() > 1) return emit(draw_nearly(left, r));
    const std::int64_t drawn = draw_exactly(exact, r);
    emit(drawn >= 0 ? drawn : draw_exactly(p, r));
  }

  std::vector<std::int32_t> first_drafts(std::int64_t count) const {
    std::vector<std::int32_t> path(at(count));
    std::iota(path.begin(), path.end(), 0);
    return path;
  }

  void end_at(std::int64_t length, const std::vector<double> *residual) {
    for (const std::int32_t node : first_drafts(length)) accept(node);
    const Row p = target(path_);
    if (!residual || !(*std::max_element(residual->begin(), residual->end()) > 0)) {
      return end_with_target(p);
    }
    emit(draw_nearly(*residual, word(oracle::kResidual)));
  }

  void block() {
    // A draft that is no token ends the chain before it.
    std::int64_t num_drafts = 0;
    while (num_drafts < sequence_.num_drafts() && is_good(std::int32_t(num_drafts))) ++num_drafts;
    std::vector<double> shares = {1};  // P
    std::vector<std::vector<double>> residuals;
    std::int64_t length = 0;
    for (std::int64_t i = 0; i < num_drafts; ++i) {
      const Row p = target(first_drafts(i)), q = draft(static_cast<std::int32_t>(i));
      std::vector<double> residual;
      double sum = 0;
      for (std::size_t id = 0; id < p.size(); ++id) {
        residual.push_back(std::max(shares.back() * double(p[id]) - double(q[id]), 0.0));
        sum += residual.back();
      }
      residuals.push_back(residual);
      if (i > 0) {
        const double u = coin(static_cast<std::int32_t>(i - 1)), lost = 1 - shares.back();
        const auto chance = [&](double left) { return left + lost > 0 ? left / (left + lost) : 1; };
        const bool is_kept = less(u, chance(sum));
        if ((u < chance(std::max(sum - kNearOfRows, 0.0))) != (u < chance(sum + kNearOfRows))) {
          is_uncertain_ = true;
        }
        if (is_kept) length = i;
      }
      const std::size_t x = at(sequence_.drafts[at(i)]);
      // By the rule a draft of q = 0 that the target has is accepted.
      const double ratio = double(p[x]) / double(q[x]);
      const bool is_possible = p[x] > 0 && shares.back() > 0;
      shares.push_back(is_possible ? std::min(shares.back() * ratio, 1.0) : 0.0);
    }
    if (num_drafts > 0) {
      if (less(coin(static_cast<std::int32_t>(num_drafts - 1)), shares.back())) {
        length = num_drafts;
      }
    }
    end_at(length, length < num_drafts ? &residuals[at(length)] : nullptr);
  }

  void deferred() {
    const std::int64_t num_drafts = sequence_.num_drafts();
    const std::int64_t window = problem_.deferred_window > 0
                                    ? problem_.deferred_window
                                    : std::clamp<std::int64_t>(problem_.num_drafts - 1, 1, 6);
    const std::size_t most = problem_.deferred_top_k > 0 ? std::size_t(problem_.deferred_top_k) : 3;
    const double doubt =
        problem_.deferred_entropy == 0 ? double(0.3F) : double(problem_.deferred_entropy);
    std::vector<Row> p, q;
    std::vector<bool> verdicts;
    for (std::int32_t i = 0; i < num_drafts; ++i) {
      p.push_back(target(first_drafts(i)));
      const bool good = is_good(i);
      q.push_back(good ? draft(i) : Row(at(problem_.num_cols), 0.0F));
      const std::size_t x = at(good ? token(i) : 0);
      verdicts.push_back(good && coin(i) * double(q.back()[x]) < double(p.back()[x]));
    }
    for (std::int32_t i = 0; i < num_drafts; ++i) {
      if (verdicts[at(i)]) {
        accept(i);
        continue;
      }
      std::vector<float> sorted = p[at(i)];
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      double entropy = 0;
      for (std::size_t k = 0; k < std::min(most, sorted.size()); ++k) {
        if (sorted[k] > 0) entropy -= double(sorted[k]) * std::log(double(sorted[k]));
      }
      bool is_kept = is_good(i) && p[at(i)][at(token(i))] > 0 && q[at(i)][at(token(i))] > 0 &&
                     i + window < num_drafts && !less(entropy, doubt);
      for (std::int64_t next = i + 1; is_kept && next <= i + window; ++next) {
        is_kept = verdicts[at(next)];
      }
      if (!is_kept) return standard({i});
      accept(i);
    }
    end_with_target(target(path_));
  }

  // ---- Outputs

  std::int64_t passing_alone() {
    std::int64_t count = 0;
    for (std::int32_t i = 0; i < sequence_.num_drafts(); ++i) {
      if (!is_good(i)) continue;
      if (forced(i) >= 0) {
        count += forced(i) == token(i);
        continue;
      }
      const Row p = target(first_drafts(i));
      if (is_greedy_) {
        count += first_of(p) == token(i);
      } else {
        count += coin(i) * double(draft(i)[at(token(i))]) < double(p[at(token(i))]);
      }
    }
    return count;
  }

  Expectation finish() {
    Expectation result;
    Outcome &outcome = result.outcome;
    const std::size_t each = at(problem_.num_drafts + 1);
    const std::size_t count = tokens_.size();
    outcome["emitted"] = {static_cast<std::int64_t>(count) - 1};
    const bool is_chain_by_standard = rule_ == SAMPLER_ACCEPT_STANDARD && !problem_.is_tree;
    outcome["accepted"] =
        is_chain_by_standard ? std::vector<std::int64_t>{passing_alone()} : outcome["emitted"];
    std::int64_t status = 0;
    for (std::int32_t i = 0; i < sequence_.num_drafts(); ++i) {
      if (!is_good(i)) status = SAMPLER_ROW_INVALID_DRAFT;
    }
    outcome["status"] = {status};
    const auto fill = [&](const char *name, std::size_t of_each, std::int64_t none,
                          const auto &of_token) {
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < of_each; ++j) values.push_back(of_token(i, j));
      }
      values.resize(each * of_each, none);
      outcome[name] = values;
    };
    fill("tokens", 1, -1, [&](std::size_t i, std::size_t) { return tokens_[i]; });
    fill("positions", 1, -1, [&](std::size_t i, std::size_t) { return positions_[i]; });
    fill("kv", 1, -1, [&](std::size_t i, std::size_t) { return 7 * positions_[i]; });
    if (problem_.has_reports) {
      std::vector<Report> reports;
      for (std::size_t i = 0; i < count; ++i) {
        reports.push_back(
            report({path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(i)}, tokens_[i]));
        EXPECT_EQ(reports.back().token, tokens_[i]);
      }
      const auto say = [&](const char *name, std::size_t of_each, std::int64_t none,
                           const auto &of_report) {
        fill(name, of_each, none,
             [&](std::size_t i, std::size_t j) { return std::int64_t(of_report(reports[i], j)); });
      };
      say("kept_counts", 1, 0, [](const Report &r, std::size_t) { return r.kept_count; });
      say("ranks", 1, 0, [](const Report &r, std::size_t) { return r.rank; });
      say("logprobs", 1, kNanBits, [](const Report &r, std::size_t) { return bits(r.logprob); });
      say("entropies", 1, kNanBits, [](const Report &r, std::size_t) { return bits(r.entropy); });
      say("observations", 1, kNanBits,
          [](const Report &r, std::size_t) { return bits(r.observation); });
      say("kept_bitmask", at((problem_.num_cols + 31) / 32), 0,
          [](const Report &r, std::size_t j) { return r.kept_bitmask[j]; });
      if (problem_.num_top > 0) {
        say("top_ids", at(problem_.num_top), -1,
            [](const Report &r, std::size_t j) { return r.top_ids[j]; });
        say("top_logprobs", at(problem_.num_top), kNanBits,
            [](const Report &r, std::size_t j) { return bits(r.top_logprobs[j]); });
      }
      if (problem_.kept_capacity > 0) {
        // A list that is too long stays empty.
        const std::int64_t room = problem_.kept_capacity;
        say("kept_ids", at(room), -1, [=](const Report &r, std::size_t j) {
          return r.kept_count <= room ? r.kept_ids[j] : -1;
        });
        say("kept_probabilities", at(room), 0, [=](const Report &r, std::size_t j) {
          return r.kept_count <= room ? bits(r.kept_probabilities[j]) : 0;
        });
      }
    }
    result.is_uncertain = is_uncertain_;
    return result;
  }

  sampler_t sampler_;
  const Problem &problem_;
  const Sequence &sequence_;
  const sampler_acceptance rule_;
  bool is_greedy_;
  bool is_uncertain_ = false;
  sampler_state_t state_ = nullptr;
  std::vector<std::int32_t> path_;  // accepted nodes
  std::vector<std::int64_t> tokens_;
  std::vector<std::int64_t> positions_;
};

}  // namespace

Expectation expect(sampler_t sampler, const Problem &problem, std::int64_t sequence) {
  return Walk(sampler, problem, sequence).run();
}

}  // namespace verification_test
