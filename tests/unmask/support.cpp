#include "support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/weight.h"

namespace unmask_test {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
T *pointer(std::vector<T> &values) {
  return values.empty() ? nullptr : values.data();
}

template <class T>
bool equal_bits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Ids in the type of the call.
class Ids {
 public:
  Ids(sampler_id_type type, const std::vector<std::int64_t> &values)
      : type_(type), wide_(values), narrow_(values.begin(), values.end()) {}
  void *data() {
    if (wide_.empty()) return nullptr;
    return type_ == SAMPLER_ID_I64 ? static_cast<void *>(wide_.data()) : narrow_.data();
  }
  std::vector<std::int64_t> values() const {
    return type_ == SAMPLER_ID_I64 ? wide_
                                   : std::vector<std::int64_t>(narrow_.begin(), narrow_.end());
  }

 private:
  sampler_id_type type_;
  std::vector<std::int64_t> wide_;
  std::vector<std::int32_t> narrow_;
};

bool has_scores(sampler_confidence kind) {
  return kind != SAMPLER_CONFIDENCE_RANDOM && kind != SAMPLER_CONFIDENCE_POSITION;
}

float random_score(sampler_confidence kind, Random *random) {
  if (random->one_in(12)) return kNan;
  const bool is_coarse = random->one_in(2);  // so that some are equal
  const float unit = is_coarse ? float(random->between(0, 4)) / 4 : random->unit();
  switch (kind) {
    case SAMPLER_CONFIDENCE_PROBABILITY:
    case SAMPLER_CONFIDENCE_MARGIN:
      return random->one_in(20) ? -std::numeric_limits<float>::infinity() : unit * -5.0F;
    case SAMPLER_CONFIDENCE_ENTROPY:
      return unit * 3.0F;
    default:
      if (random->one_in(20))
        return std::numeric_limits<float>::infinity() * (unit < 0.5F ? -1 : 1);
      return unit * 20.0F - 10.0F;
  }
}

}  // namespace

Handle make_handle() {
  sampler_options options = sampler_options_default();
  options.max_rows = 16;  // for the candidates of engines_test.cpp
  options.max_cols = 24;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Handle(sampler);
}

std::int64_t Problem::block_begin(std::int64_t block) const {
  return block_offsets.empty() ? block * (args.num_rows / args.num_blocks)
                               : block_offsets[std::size_t(block)];
}

bool Outputs::operator==(const Outputs &other) const {
  return tokens == other.tokens && changes == other.changes &&
         equal_bits(confidences, other.confidences) && committed == other.committed &&
         edited == other.edited && masked == other.masked && block_status == other.block_status;
}

std::string to_string(const Outputs &outputs) {
  using testing::PrintToString;
  return "tokens " + PrintToString(outputs.tokens) + "\nchanges " + PrintToString(outputs.changes) +
         "\nconfidences " + PrintToString(outputs.confidences) + "\ncommitted " +
         PrintToString(outputs.committed) + "\nedited " + PrintToString(outputs.edited) +
         "\nmasked " + PrintToString(outputs.masked) + "\nstatus " +
         PrintToString(outputs.block_status);
}

Outputs run(sampler_t sampler, const Problem &given) {
  Problem problem = given;
  sampler_unmask_args &args = problem.args;
  const auto rows = std::size_t(args.num_rows), blocks = std::size_t(args.num_blocks);
  Ids candidates(args.token_id_type, problem.candidates),
      tokens(args.token_id_type, problem.tokens);
  args.params = &problem.params;
  args.block_offsets = pointer(problem.block_offsets);
  args.candidate_token_ids = candidates.data();
  args.candidate_status = pointer(problem.status);
  args.scores = pointer(problem.scores);
  args.token_ids = tokens.data();
  args.slots = pointer(problem.slots);
  args.random.seeds = pointer(problem.seeds);
  args.random.num_seeds = std::int64_t(problem.seeds.size());
  args.random.offsets = pointer(problem.offsets);
  args.random.num_offsets = std::int64_t(problem.offsets.size());
  args.random.streams = pointer(problem.streams);
  args.block_num_committed = pointer(problem.num_committed);
  args.block_num_steps_left = pointer(problem.num_steps_left);
  Outputs outputs;
  outputs.changes.assign(rows, 77);
  outputs.confidences.assign(rows, -77);
  outputs.committed.assign(blocks, -77);
  outputs.edited = outputs.masked = outputs.committed;
  outputs.block_status.assign(blocks, 77);
  args.out_changes = pointer(outputs.changes);
  args.out_confidences = pointer(outputs.confidences);
  args.out_committed_counts = pointer(outputs.committed);
  args.out_edited_counts = pointer(outputs.edited);
  args.out_masked_counts = pointer(outputs.masked);
  args.out_block_status = pointer(outputs.block_status);
  EXPECT_EQ(sampler_unmask(sampler, &args), SAMPLER_OK) << sampler_last_error();
  outputs.tokens = tokens.values();
  return outputs;
}

Problem random_problem(Random *random) {
  Problem problem;
  sampler_unmask_args &args = problem.args;
  sampler_unmask_params &params = problem.params;
  args.num_blocks = random->between(1, 6);
  const std::int64_t longest = random->one_in(8) ? 700 : random->one_in(3) ? 3 : 40;
  if (random->one_in(3)) {
    args.num_rows = args.num_blocks * random->between(0, longest);
  } else {
    problem.block_offsets.push_back(random->between(0, 3));
    for (std::int64_t block = 0; block < args.num_blocks; ++block) {
      problem.block_offsets.push_back(problem.block_offsets.back() + random->between(0, longest));
    }
    args.num_rows = problem.block_offsets.back() + random->between(0, 3);
  }
  args.token_id_type = random->one_in(2) ? SAMPLER_ID_I32 : SAMPLER_ID_I64;
  params.confidence = sampler_confidence(random->between(0, 5));
  const bool is_scored = has_scores(params.confidence);
  const bool has_two = params.confidence == SAMPLER_CONFIDENCE_MARGIN;
  const std::int64_t width = has_two ? 2 : 1;
  if (is_scored) args.score_stride = random->one_in(2) ? 0 : width + random->between(0, 3);
  const std::int64_t stride = args.score_stride == 0 ? width : args.score_stride;

  const bool has_tokens = random->one_in(4) ? false : true;
  if (has_tokens) params.mask_token_id = random->between(0, 3);
  const std::int64_t masked_in = random->between(1, 6);
  for (std::int64_t row = 0; row < args.num_rows; ++row) {
    problem.candidates.push_back(random->one_in(15) ? -1 : random->between(0, 9));
    if (has_tokens) {
      problem.tokens.push_back(random->one_in(masked_in) ? random->between(0, 9)
                                                         : params.mask_token_id);
    }
    for (std::int64_t i = 0; is_scored && i < stride; ++i) {
      problem.scores.push_back(i < width ? random_score(params.confidence, random) : kNan);
    }
  }
  if (random->one_in(2)) {
    for (std::int64_t row = 0; row < args.num_rows; ++row) {
      problem.status.push_back(random->one_in(9)   ? SAMPLER_ROW_INVALID_VALUE
                               : random->one_in(9) ? SAMPLER_ROW_INVALID_DRAFT
                                                   : SAMPLER_ROW_OK);
    }
  }
  std::int64_t num_slots = args.num_rows;
  if (random->one_in(2) && args.num_rows > 0) {
    num_slots = args.num_slots = random->between(1, 5);
    for (std::int64_t row = 0; row < args.num_rows; ++row) {
      problem.slots.push_back(
          std::int32_t(random->one_in(20) ? num_slots : random->between(0, num_slots - 1)));
    }
  }
  args.random.seed = std::uint64_t(random->between(0, INT64_MAX - 1));
  args.random.offset = std::uint64_t(random->between(0, 1000));
  const bool has_streams = random->one_in(2), has_seeds = num_slots > 1 && random->one_in(3),
             has_offsets = num_slots > 1 && random->one_in(3);  // of one slot they are for all
  for (std::int64_t slot = 0; slot < num_slots; ++slot) {
    if (has_streams) problem.streams.push_back(std::uint32_t(random->between(0, 99)));
    if (has_seeds) problem.seeds.push_back(std::uint64_t(random->between(0, 1 << 30)));
    if (has_offsets) problem.offsets.push_back(std::uint64_t(random->between(0, 1 << 30)));
  }

  const bool is_given = params.confidence == SAMPLER_CONFIDENCE_GIVEN;
  const auto bound = [&](float most) {
    const float value = random->one_in(2) ? 0.0F : (random->unit() - 0.1F) * most;
    return is_given && value < 0 ? 0.0F : value;
  };
  if (is_scored) params.order_temperature = bound(2);
  if (params.confidence != SAMPLER_CONFIDENCE_POSITION) params.threshold = bound(1);
  if (params.confidence == SAMPLER_CONFIDENCE_ENTROPY) params.entropy_bound = bound(6);
  if (is_scored && has_tokens) params.edit_threshold = bound(1);
  params.num_committed = std::int32_t(random->between(-1, 4));
  params.num_steps_left = std::int32_t(random->between(-3, 8));
  for (std::int64_t block = 0; block < args.num_blocks; ++block) {
    const auto count = std::int32_t(random->between(-1, longest));
    if (params.num_committed == 4) problem.num_committed.push_back(count);
    if (params.num_steps_left == 8) problem.num_steps_left.push_back(count);
  }
  return problem;
}

Problem block_alone(const Problem &problem, std::int64_t block) {
  Problem alone = problem;
  const std::int64_t begin = problem.block_begin(block), end = problem.block_end(block);
  const auto cut = [&](auto *values, std::int64_t width) {
    if (values->empty()) return;
    *values = {values->begin() + begin * width, values->begin() + end * width};
  };
  const std::int64_t width =
      problem.scores.empty() ? 1 : std::int64_t(problem.scores.size()) / problem.args.num_rows;
  cut(&alone.candidates, 1);
  cut(&alone.tokens, 1);
  cut(&alone.status, 1);
  cut(&alone.scores, width);
  alone.block_offsets.clear();
  alone.slots.clear();
  for (std::int64_t row = begin; row < end; ++row) {
    alone.slots.push_back(problem.slots.empty() ? std::int32_t(row)
                                                : problem.slots[std::size_t(row)]);
  }
  alone.args.num_slots = problem.slots.empty() ? problem.args.num_rows : problem.args.num_slots;
  alone.args.num_rows = end - begin;
  alone.args.num_blocks = 1;
  if (alone.args.num_rows == 0) {  // NULL, which is no slots
    alone.args.num_slots = 0;
    alone.seeds.clear();
    alone.offsets.clear();
    alone.streams.clear();
  }
  for (auto *counts : {&alone.num_committed, &alone.num_steps_left}) {
    if (!counts->empty()) *counts = {(*counts)[std::size_t(block)]};
  }
  return alone;
}

namespace {

// The row's random word; false: it has no slot.
bool find_word(const Problem &problem, std::int64_t row, std::int64_t in_block,
               std::uint32_t *word) {
  const std::int64_t slot = problem.slots.empty() ? row : problem.slots[std::size_t(row)];
  if (!problem.slots.empty() && slot >= problem.args.num_slots) return false;
  const auto at = std::size_t(slot);
  std::uint32_t stream = problem.seeds.empty() ? std::uint32_t(slot) : 0;
  if (!problem.streams.empty()) stream = problem.streams[at];
  const sampler::contract::RandomStream random = {
      problem.seeds.empty() ? problem.args.random.seed : problem.seeds[at],
      problem.offsets.empty() ? problem.args.random.offset : problem.offsets[at], stream};
  *word = sampler::contract::random_word32(random, sampler::contract::Purpose(7),
                                           std::uint32_t(in_block));
  return true;
}

bool is_random(const Problem &problem) {
  return problem.params.confidence == SAMPLER_CONFIDENCE_RANDOM ||
         problem.params.order_temperature > 1e-5F;
}

}  // namespace

Outputs expected(const Problem &problem, const std::vector<float> &confidences) {
  const sampler_unmask_args &args = problem.args;
  const sampler_unmask_params &params = problem.params;
  const bool is_entropy = params.confidence == SAMPLER_CONFIDENCE_ENTROPY;
  const auto passes = [&](float threshold, float confidence) {
    if (threshold <= 0) return false;
    return is_entropy ? -confidence < threshold : confidence > threshold;
  };
  Outputs outputs;
  outputs.tokens = problem.tokens;
  outputs.changes.assign(std::size_t(args.num_rows), 77);
  outputs.confidences = confidences;
  for (std::int64_t block = 0; block < args.num_blocks; ++block) {
    const std::int64_t begin = problem.block_begin(block), end = problem.block_end(block);
    std::vector<std::pair<float, std::int64_t>> order;  // score, row
    std::vector<char> is_masked(std::size_t(end - begin)), may_stand(is_masked);
    std::int64_t num_masked = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto at = std::size_t(row), i = std::size_t(row - begin);
      const std::int64_t candidate = problem.candidates[at];
      is_masked[i] = problem.tokens.empty() || problem.tokens[at] == params.mask_token_id;
      num_masked += is_masked[i];
      may_stand[i] = candidate >= 0 && !std::isnan(confidences[at]) &&
                     (problem.tokens.empty() || candidate != params.mask_token_id);
      if (!is_masked[i] || !may_stand[i]) continue;
      float score = confidences[at];
      if (params.order_temperature > 1e-5F) {
        std::uint32_t word = 0;
        EXPECT_TRUE(find_word(problem, row, row - begin, &word));
        score = sampler::contract::gumbel_score(
            score, sampler::contract::kLog2E / params.order_temperature, word);
      }
      order.emplace_back(score, row);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    const std::int32_t steps = problem.num_steps_left.empty()
                                   ? params.num_steps_left
                                   : problem.num_steps_left[std::size_t(block)];
    std::int64_t least = problem.num_committed.empty() ? params.num_committed
                                                       : problem.num_committed[std::size_t(block)];
    if (steps > 0) {
      least = std::max(least, std::int64_t(std::ceil(double(num_masked) / double(steps))));
    }
    std::int64_t before = 0, place = 0;
    for (const auto &[score, row] : order) {
      const auto at = std::size_t(row);
      const bool is_within =
          params.entropy_bound > 0 && before <= std::int64_t(double(params.entropy_bound) * 0x1p28);
      if (place < least || is_within || passes(params.threshold, confidences[at])) {
        outputs.changes[at] = SAMPLER_UNMASK_COMMITTED;
      }
      before += std::int64_t(std::max(double(-confidences[at]), 0.0) * 0x1p28);
      ++place;
    }
    std::int32_t num_committed = 0, num_edited = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto at = std::size_t(row), i = std::size_t(row - begin);
      std::uint8_t &change = outputs.changes[at];
      if (change == 77) change = SAMPLER_UNMASK_KEPT;
      if (!is_masked[i] && may_stand[i] && problem.candidates[at] != problem.tokens[at] &&
          passes(params.edit_threshold, confidences[at])) {
        change = SAMPLER_UNMASK_EDITED;
      }
      num_committed += change == SAMPLER_UNMASK_COMMITTED;
      num_edited += change == SAMPLER_UNMASK_EDITED;
      if (change != SAMPLER_UNMASK_KEPT && !problem.tokens.empty()) {
        outputs.tokens[at] = problem.candidates[at];
      }
    }
    outputs.committed.push_back(num_committed);
    outputs.edited.push_back(num_edited);
    outputs.masked.push_back(std::int32_t(num_masked) - num_committed);
    outputs.block_status.push_back(SAMPLER_ROW_OK);
  }
  return outputs;
}

void check_confidences(const Problem &problem, const std::vector<float> &confidences) {
  const sampler_unmask_args &args = problem.args;
  const sampler_unmask_params &params = problem.params;
  const std::size_t stride =
      problem.scores.empty() ? 0 : problem.scores.size() / problem.candidates.size();
  std::vector<char> is_in_block(problem.candidates.size());
  for (std::int64_t block = 0; block < args.num_blocks; ++block) {
    for (std::int64_t row = problem.block_begin(block); row < problem.block_end(block); ++row) {
      const auto at = std::size_t(row);
      is_in_block[at] = 1;
      const float confidence = confidences[at];
      std::uint32_t word = 0;
      const bool is_bad =
          (!problem.status.empty() && (problem.status[at] & ~SAMPLER_ROW_INVALID_DRAFT)) ||
          (is_random(problem) && !find_word(problem, row, row - problem.block_begin(block), &word));
      const float *const score = stride == 0 ? nullptr : &problem.scores[at * stride];
      if (is_bad || (score && std::isnan(score[0]))) {
        EXPECT_TRUE(std::isnan(confidence)) << row;
        continue;
      }
      switch (params.confidence) {
        case SAMPLER_CONFIDENCE_PROBABILITY:
          EXPECT_NEAR(confidence, std::exp(double(score[0])), 1e-6) << row;
          break;
        case SAMPLER_CONFIDENCE_MARGIN:
          EXPECT_NEAR(
              confidence,
              std::exp(double(score[0])) - (std::isnan(score[1]) ? 0 : std::exp(double(score[1]))),
              1e-6)
              << row;
          break;
        case SAMPLER_CONFIDENCE_ENTROPY:
          EXPECT_EQ(confidence, -score[0]);
          break;
        case SAMPLER_CONFIDENCE_GIVEN:
          EXPECT_EQ(confidence, score[0]);
          break;
        case SAMPLER_CONFIDENCE_RANDOM:
          EXPECT_EQ(confidence, float(word >> 8) / float(1 << 24));
          break;
        default:
          EXPECT_EQ(confidence, -float(row - problem.block_begin(block)));
      }
    }
  }
  for (std::size_t at = 0; at < is_in_block.size(); ++at) {
    if (!is_in_block[at]) {
      EXPECT_EQ(confidences[at], -77) << at;
    }
  }
}

}  // namespace unmask_test
