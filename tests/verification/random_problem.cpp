#include "random_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "oracle.h"

namespace verification_test {
namespace {

float normal(Random *random) {
  const double u = 1 - random->unit(), v = random->unit();
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
}

Row softmax(const Row &logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  Row result;
  float sum = 0;
  for (const float x : logits) {
    result.push_back(std::exp(x - largest));
    sum += result.back();
  }
  for (float &x : result) x /= sum;
  return result;
}

std::int64_t draw(Random *random, const Row &p, const std::vector<std::int64_t> &without) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    double u = random->unit();
    std::size_t id = 0;
    while (id + 1 < p.size() && u >= double(p[id])) u -= double(p[id++]);
    if (std::find(without.begin(), without.end(), std::int64_t(id)) == without.end()) {
      return std::int64_t(id);
    }
  }
  for (std::int64_t id = 0;; ++id) {
    if (std::find(without.begin(), without.end(), id) == without.end()) return id;
  }
}

Row random_logits(Random *random, std::int64_t num_cols, bool has_holes) {
  Row row(at(num_cols));
  const float width = random->one_in(3) ? 4.0F : 1.5F;
  for (float &x : row) x = has_holes && random->one_in(9) ? -kInfinity : width * normal(random);
  if (*std::max_element(row.begin(), row.end()) == -kInfinity) row[0] = 0;
  return row;
}

// Near another row, so that its drafts are often accepted.
Row near_to(Random *random, const Row &logits) {
  const float noise = random->one_in(4) ? 2.5F : 0.4F;
  Row row = logits;
  for (float &x : row) {
    if (x == -kInfinity ? random->one_in(2) : random->one_in(40)) {
      x = normal(random);
    } else if (x != -kInfinity) {
      x += noise * normal(random);
    }
  }
  return row;
}

// To a value that f32, f16 and bf16 all have.
float rounded(float x) {
  const float value = oracle::bf16_to_f32(oracle::f32_to_bf16(x));
  return std::fabs(value) < 0x1p-14F ? 0 : value;
}

void round_rows(Problem *problem) {
  for (Sequence &sequence : problem->sequences) {
    for (auto *rows : {&sequence.target, &sequence.draft}) {
      for (Row &row : *rows) {
        for (float &x : row) x = rounded(x);
      }
    }
  }
}

void fill_tree(Random *random, std::int64_t count, bool is_tree, std::vector<std::int32_t> *out) {
  const bool is_wide = random->one_in(3);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t parent = i - 1;
    if (is_tree) {
      parent = is_wide ? random->between(-1, std::min<std::int64_t>(i - 1, 2))
                       : random->between(std::max<std::int64_t>(-1, i - 4), i - 1);
    }
    out->push_back(static_cast<std::int32_t>(parent));
  }
}

void fill_sequence(Random *random, const Problem &problem, const Kind &kind, Sequence *sequence) {
  const std::int64_t count =
      random->one_in(3) ? random->between(0, problem.num_drafts) : problem.num_drafts;
  fill_tree(random, count, kind.is_tree, &sequence->parents);
  const bool has_holes = !kind.has_stages && random->one_in(3);
  std::vector<Row> logits;
  for (std::int64_t i = 0; i <= count; ++i) {
    logits.push_back(random_logits(random, problem.num_cols, has_holes));
  }
  std::vector<Row> rows_of_node(at(count + 1));  // what the children of position i are drawn from
  sequence->drafts.resize(at(count));
  sequence->draft.resize(problem.has_draft_rows ? at(count) : 0);
  const bool without_replacement =
      problem.sibling_rule == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT && problem.has_draft_rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parent = at(sequence->parents[at(i)] + 1);
    Row &row = rows_of_node[parent];
    if (row.empty() || (!without_replacement && random->one_in(3))) {
      row = near_to(random, logits[parent]);
    }
    std::vector<std::int64_t> earlier;
    if (without_replacement) {
      for (std::int64_t other = 0; other < i; ++other) {
        if (sequence->parents[at(other)] == sequence->parents[at(i)]) {
          earlier.push_back(sequence->drafts[at(other)]);
        }
      }
    }
    sequence->drafts[at(i)] = draw(random, softmax(row), earlier);
    if (problem.has_draft_rows) {
      sequence->draft[at(i)] = problem.draft_kind == SAMPLER_LOGITS ? row : softmax(row);
    }
    if (kind.has_bad_ids && random->one_in(40)) {
      const std::int64_t bad[] = {-1, problem.num_cols, 1 << 29, -(1 << 30)};
      sequence->drafts[at(i)] = bad[random->between(0, 3)];
    }
  }
  for (Row &row : logits) {
    sequence->target.push_back(problem.kind == SAMPLER_LOGITS ? row : softmax(row));
  }
  sequence->seed = static_cast<std::uint64_t>(random->between(0, INT64_MAX));
  sequence->offset = static_cast<std::uint64_t>(random->between(0, INT64_MAX));
  const bool are_logits = problem.kind == SAMPLER_LOGITS;
  sequence->temperature = are_logits ? random->within(0.4F, 1.6F) : 1.0F;
  if (kind.has_greedy_rows && random->one_in(6)) sequence->temperature = 0;
}

std::vector<std::int32_t> random_text(Random *random, std::int64_t count, std::int64_t num_cols) {
  std::vector<std::int32_t> text(at(count));
  for (auto &id : text) id = static_cast<std::int32_t>(random->between(0, num_cols));
  return text;
}

}  // namespace

namespace {

// At a third of the positions a token that its row may yield, often the draft there.
void add_forced_tokens(Random *random, Problem *problem) {
  problem->has_forced_tokens = true;
  for (Sequence &sequence : problem->sequences) {
    for (std::size_t i = 0; i < sequence.target.size(); ++i) {
      const Row &row = sequence.target[i];
      std::int64_t id = -1;
      if (random->one_in(3)) id = random->between(0, problem->num_cols - 1);
      if (id >= 0 && i < sequence.drafts.size() && random->one_in(2)) id = sequence.drafts[i];
      const bool is_one = id >= 0 && is_token(*problem, id);
      const float least = problem->kind == SAMPLER_LOGITS ? -1e30F : 0.0F;
      sequence.forced.push_back(is_one && row[at(id)] > least ? id : -1);
    }
  }
}

}  // namespace

Problem random_problem(Random *random, const Kind &kind) {
  Problem problem;
  problem.num_cols = kind.is_large ? random->between(200, 1500) : random->between(3, 40);
  problem.num_drafts = random->between(random->one_in(8) ? 0 : 1, kind.is_tree ? 9 : 6);
  problem.is_tree = kind.is_tree;
  problem.has_draft_rows = kind.rule != SAMPLER_ACCEPT_BLOCK ? random->between(0, 2) > 0 : true;
  if (!kind.has_stages) {
    problem.kind = random->one_in(3) ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
    problem.draft_kind = random->one_in(3) ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
  }
  if (kind.is_tree && random->one_in(2) && problem.num_cols > 12) {
    problem.sibling_rule = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  }
  const bool has_filters = problem.kind == SAMPLER_LOGITS &&
                           problem.sibling_rule != SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT &&
                           (!problem.has_draft_rows || problem.draft_kind == SAMPLER_LOGITS);
  if (has_filters && random->one_in(2)) {
    problem.params.top_k = static_cast<std::int32_t>(random->between(2, problem.num_cols));
    if (random->one_in(2)) problem.params.min_p = 0.02F;
  }
  const std::int64_t count = random->between(1, 6);
  problem.sequences.resize(at(count));
  for (Sequence &sequence : problem.sequences) {
    sequence.rule = kind.rule;
    fill_sequence(random, problem, kind, &sequence);
    if (has_filters && random->one_in(2)) sequence.top_p = random->within(0.5F, 1.0F);
  }
  const auto sometimes = [&](float value) { return random->one_in(3) ? 0.0F : value; };
  problem.typical_threshold = sometimes(random->within(0.01F, 0.5F));
  problem.typical_scale = sometimes(random->within(0.1F, 1.0F));
  problem.relaxed_top_k = static_cast<std::int32_t>(random->between(0, 5));
  problem.relaxed_delta = sometimes(random->within(0.0F, 0.6F));
  problem.threshold_single = sometimes(random->within(0.1F, 1.0F));
  problem.threshold_total = sometimes(random->within(0.3F, 1.0F));
  problem.deferred_window = static_cast<std::int32_t>(random->between(0, 2));
  problem.deferred_top_k = static_cast<std::int32_t>(random->between(0, 5));
  problem.deferred_entropy = sometimes(random->within(0.1F, 0.8F));
  if (kind.rule == SAMPLER_ACCEPT_SAMPLE_MATCH && random->one_in(2)) {
    problem.draw_method = SAMPLER_DRAW_GUMBEL;
  }
  if (kind.rule == SAMPLER_ACCEPT_SYNTHETIC) {
    for (std::int64_t i = 0; i <= problem.num_drafts; ++i) {
      problem.synthetic_rates.push_back(random->one_in(6) ? 1.0F : random->within(0.2F, 1.0F));
    }
  }
  if (random->one_in(4)) problem.params.temperature_order = SAMPLER_TEMPERATURE_LAST;
  problem.has_reports = kind.has_reports;
  if (kind.has_reports) {
    problem.logprob_kind = static_cast<std::int32_t>(random->between(0, 2));
    problem.num_top = random->between(0, std::min<std::int64_t>(5, problem.num_cols));
    problem.kept_capacity = random->one_in(2) ? problem.num_cols : random->between(0, 3);
  }
  if (kind.has_stages) add_stages(random, &problem);
  round_rows(&problem);
  if (kind.has_forced_tokens) add_forced_tokens(random, &problem);
  return problem;
}

void add_stages(Random *random, Problem *problem) {
  problem->has_pipeline = true;
  problem->has_draft_params = problem->has_draft_rows && problem->draft_kind == SAMPLER_LOGITS;
  if (problem->has_draft_params) {
    problem->draft_params.temperature = random->one_in(9) ? 0.0F : random->within(0.5F, 1.5F);
    problem->draft_params.top_k = static_cast<std::int32_t>(random->between(0, 12));
  }
  sampler_params &params = problem->params;
  problem->has_draft_numbers_by_slot = problem->has_draft_params && random->one_in(2);
  problem->has_numbers_by_slot = random->one_in(2);
  if (random->one_in(2)) params.repetition_penalty = 1.3F;
  if (random->one_in(2)) params.frequency_penalty = 0.4F;
  if (random->one_in(2)) params.presence_penalty = 0.3F;
  if (random->one_in(3)) params.penalty_window = static_cast<std::int32_t>(random->between(1, 12));
  params.penalty_scope = static_cast<std::int32_t>(random->between(0, 2));
  if (random->one_in(2)) {
    params.dry_multiplier = 0.8F;
    params.dry_allowed_length = static_cast<std::int32_t>(random->between(1, 2));
  }
  if (random->one_in(3) && problem->num_cols > 12) {
    params.no_repeat_ngram_size = static_cast<std::int32_t>(random->between(2, 3));
  }
  switch (random->between(0, 5)) {
    case 0:
      params.typical_p = 0.8F;
      break;
    case 1:
      params.top_n_sigma = 1.5F;
      break;
    case 2:
      params.dynamic_temperature_range = 0.3F;
      break;
    default:
      break;
  }
  if (random->one_in(3)) {
    params.xtc_probability = 0.6F;
    params.xtc_threshold = 0.05F;
  }
  switch (random->between(0, 5)) {
    case 0:
      params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V1;
      params.adaptive_target = 2.5F;
      break;
    case 1:
      params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
      params.adaptive_target = 2;
      params.adaptive_rate = 0.6F;
      break;
    case 2:
      params.adaptive_kind = SAMPLER_ADAPTIVE_P;
      params.adaptive_target = 0.3F;
      break;
    case 3:
      params.adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
      params.adaptive_target = 0.4F;
      params.adaptive_rate = 1.5F;
      break;
    default:
      break;
  }
  if (random->one_in(3)) {
    params.top_p_decay = 0.7F;
    params.top_p_least = 0.2F;
  }
  const auto ids = [&](std::int64_t most) {
    return random_text(random, random->between(0, most), problem->num_cols - 1);
  };
  if (random->one_in(3)) {
    problem->biased = ids(4);
    for (std::size_t i = 0; i < problem->biased.size(); ++i) {
      problem->biases.push_back(random->within(-3.0F, 3.0F));
    }
  }
  if (random->one_in(4) && problem->num_cols > 8) problem->banned = ids(2);
  if (random->one_in(3) && problem->num_cols > 8) {
    problem->stop = ids(2);
    if (!problem->stop.empty()) {
      params.min_new_tokens = static_cast<std::int32_t>(random->between(0, 9));
      params.exponential_decay_start = params.min_new_tokens;
      params.exponential_decay_factor = params.min_new_tokens % 2 == 0 ? 1.25F : 0.0F;
    }
  }
  if (random->one_in(2) && problem->num_cols > 8) {
    for (std::int64_t i = random->between(1, 6); i > 0; --i) {
      problem->bad_words.push_back(
          random_text(random, random->between(2, 3), problem->num_cols - 1));
    }
    params.bad_word_scope = static_cast<std::int32_t>(random->between(0, 2));
  }
  if (random->one_in(3)) problem->breakers = {{1}, {2, 3}};
  if (random->one_in(3) && problem->num_cols > 8) {
    const std::int64_t words = (problem->num_cols + 31) / 32;
    for (int i = 0; i < 4; ++i) {
      std::vector<std::uint32_t> mask(at(words));
      for (auto &word : mask) word = static_cast<std::uint32_t>(random->between(0, UINT32_MAX)) | 7;
      problem->masks.push_back(std::move(mask));
    }
  }
  for (Sequence &sequence : problem->sequences) {
    sequence.draft_temperature = random->one_in(9) ? 0.0F : random->within(0.5F, 1.5F);
    sequence.frequency_penalty = random->one_in(3) ? 0.0F : random->within(-0.3F, 0.8F);
    sequence.adaptive_target = random->one_in(3) ? 0.0F : random->within(0.1F, 3.0F);
    if (random->one_in(2)) {
      // One that it may well say.
      sequence.top_p_reset_token_id =
          sequence.drafts.empty() ? 1 : sequence.drafts[sequence.drafts.size() / 2];
    }
    const std::int64_t few = std::min<std::int64_t>(problem->num_cols - 1, 9);
    sequence.history = random_text(random, random->between(0, 30), few);
    // So that drafts repeat the history.
    for (const std::int64_t id : sequence.drafts) {
      if (random->one_in(2)) sequence.history.push_back(static_cast<std::int32_t>(id));
    }
    sequence.prompt_length =
        static_cast<std::int32_t>(random->between(0, std::int64_t(sequence.history.size())));
    if (!problem->masks.empty()) {
      for (std::size_t i = 0; i < sequence.target.size(); ++i) {
        sequence.masks.push_back(static_cast<std::int32_t>(random->between(-1, 3)));
      }
    }
    if (random->one_in(2)) sequence.adaptive_values[0] = random->within(1.0F, 6.0F);
    if (random->one_in(2)) sequence.adaptive_values[3] = random->within(0.3F, 1.0F);
    if (random->one_in(2)) {
      sequence.adaptive_values[1] = random->within(0.5F, 3.0F);
      sequence.adaptive_values[2] = random->within(3.0F, 8.0F);
    }
    sequence.top_p = random->one_in(2) ? 1.0F : random->within(0.6F, 1.0F);
  }
}

Layout random_layout(Random *random, const Problem &problem) {
  Layout layout;
  const auto half = [&] { return random->one_in(2); };
  if (!problem.is_tree) {
    layout.packing = static_cast<std::int32_t>(random->between(0, 3));
  } else {
    layout.tree = static_cast<Layout::Tree>(random->between(1, 3));
  }
  layout.has_target_indices = half();
  layout.has_bonus_indices = layout.has_target_indices && !problem.is_tree && half();
  if (problem.has_draft_rows) {
    layout.has_draft_indices = half();
    layout.has_draft_rows_by_slot = !layout.has_draft_indices && half();
  }
  layout.has_slots = half();
  layout.has_state = problem.has_pipeline && half();
  layout.has_wide_strides = half();
  layout.has_i64_ids = half();
  // Lists have a larger vocabulary, in which ids that are no token of a row are good.
  bool has_bad_ids = false;
  for (const Sequence &sequence : problem.sequences) {
    for (const std::int64_t id : sequence.drafts) {
      has_bad_ids = has_bad_ids || !is_token(problem, id);
    }
  }
  layout.has_candidates = !has_bad_ids && random->one_in(3);
  layout.omits_impossible = half() && problem.params.adaptive_kind != SAMPLER_ADAPTIVE_MIROSTAT_V1;
  layout.has_tight_history = half();
  layout.max_distinct_tokens = half() ? 0 : random->between(1, 3);
  layout.dtype = static_cast<sampler_dtype>(random->between(0, 2));
  return layout;
}

std::string describe(const Problem &problem, const Layout &layout) {
  std::ostringstream text;
  text << "rule " << (problem.sequences.empty() ? -1 : problem.sequences[0].rule) << ", cols "
       << problem.num_cols << ", drafts " << problem.num_drafts << ", sequences "
       << problem.num_sequences() << (problem.is_tree ? ", tree" : ", chain") << ", kind "
       << problem.kind << (problem.has_draft_rows ? ", draft kind " : ", no draft rows ")
       << problem.draft_kind << ", siblings " << problem.sibling_rule << ", pipeline "
       << problem.has_pipeline << ", draw " << problem.draw_method << ", adaptive "
       << problem.params.adaptive_kind << "; packing " << layout.packing << ", tree "
       << int(layout.tree) << ", indices " << layout.has_target_indices << layout.has_bonus_indices
       << layout.has_draft_indices << ", by slot " << layout.has_draft_rows_by_slot << ", slots "
       << layout.has_slots << ", state " << layout.has_state << ", strides "
       << layout.has_wide_strides << ", i64 " << layout.has_i64_ids << ", lists "
       << layout.has_candidates << ", dtype " << layout.dtype;
  return text.str();
}

}  // namespace verification_test
