// Presets against the engines: what sampler_filter makes of recorded rows, with a preset and the
// engine's own parameters, is what the engine kept, with its probabilities.
//
// Thresholds are compared with sums that engines round in f32. Where the kept sets differ, one of
// these must be so, and each may be so in few rows:
// - tied: the sets differ in equal logits only, of which the engine takes any;
// - rounded: with its thresholds moved by at most kNudge, the library keeps the same set.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "engine_parameters.h"
#include "recorded.h"

namespace presets_test {
namespace {

using engine_parameters::Pipeline;
using engine_parameters::Request;

constexpr double kTolerance = 1e-6;
constexpr float kNudge = 4e-6F;

struct Kept {
  std::vector<bool> set;
  std::vector<double> probabilities;
};

std::size_t count(const std::vector<bool> &set) {
  return static_cast<std::size_t>(std::count(set.begin(), set.end(), true));
}

class Replay {
 public:
  Replay(const std::string &preset, const Recorded &one)
      : one_(one), request_(engine_parameters::read(preset, one.parameters)) {
    sampler_options options = sampler_options_default();
    EXPECT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
  }
  ~Replay() { sampler_destroy(sampler_); }
  Replay(const Replay &) = delete;
  Replay &operator=(const Replay &) = delete;

  const sampler_params &params() const { return request_.params; }

  Kept kept(const sampler_params &params) const {
    Kept result;
    const std::vector<float> row = filter(params, SAMPLER_OUTPUT_PROBABILITIES);
    const std::vector<float> values = filter(params, SAMPLER_OUTPUT_VALUES);
    for (std::size_t i = 0; i < row.size(); ++i) {
      result.set.push_back(values[i] != -INFINITY);
      result.probabilities.push_back(static_cast<double>(row[i]));
    }
    return result;
  }

  // The logits that the edits leave.
  std::vector<float> edited() const {
    sampler_params params = request_.params;
    params.temperature = params.top_p = 1;
    params.min_p = params.typical_p = params.top_n_sigma = params.top_h = 0;
    params.epsilon_cutoff = params.eta_cutoff = params.dynamic_temperature_range = 0;
    params.top_k = params.min_keep = 0;
    return filter(params, SAMPLER_OUTPUT_VALUES);
  }

  // Draws, where a coin decides what is kept: tokens, probabilities, number of tokens kept.
  struct Draws {
    std::vector<std::int32_t> tokens = std::vector<std::int32_t>(32, -7);
    std::vector<float> logprobs = std::vector<float>(32);
    std::vector<std::int32_t> kept_counts = std::vector<std::int32_t>(32);
  };
  Draws draw() const {
    Draws draws;
    const Pipeline pipeline(request_, one_.history, one_.prompt_length);
    const std::vector<std::int32_t> rows(draws.tokens.size(), 0);
    const std::vector<std::int32_t> slots(draws.tokens.size(), 0);
    auto args = args_of<sampler_sample_args>(pipeline);
    args.row_indices = rows.data();
    args.num_row_indices = static_cast<std::int64_t>(rows.size());
    args.slots = slots.data();
    args.num_slots = 1;
    args.params = pipeline.params();
    std::vector<std::uint32_t> streams;
    for (std::uint32_t i = 0; i < rows.size(); ++i) streams.push_back(i);
    args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    args.out_token_ids = draws.tokens.data();
    args.out_logprobs = draws.logprobs.data();
    args.out_kept_counts = draws.kept_counts.data();
    run(&args, sampler_sample_workspace_size, sampler_sample);
    return draws;
  }

 private:
  template <class Args>
  Args args_of(const Pipeline &pipeline) const {
    Args args = {};
    args.struct_size = sizeof args;
    args.input.values = one_.logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = static_cast<std::int64_t>(one_.logits.size());
    args.pipeline = pipeline.get();
    return args;
  }

  std::vector<float> filter(sampler_params params, sampler_output_kind kind) const {
    std::vector<float> output(one_.logits.size());
    const Pipeline pipeline(request_, one_.history, one_.prompt_length);
    params.min_new_tokens = pipeline.params()->min_new_tokens;
    auto args = args_of<sampler_filter_args>(pipeline);
    args.params = &params;
    args.output_kind = kind;
    args.output = output.data();
    sampler_row_status status = 0;
    args.out_row_status = &status;
    run(&args, sampler_filter_workspace_size, sampler_filter);
    EXPECT_EQ(status, SAMPLER_ROW_OK) << one_.text;
    return output;
  }

  template <class Args>
  void run(Args *args, sampler_status (*size)(sampler_t, const Args *, std::size_t *),
           sampler_status (*call)(sampler_t, const Args *)) const {
    ASSERT_EQ(size(sampler_, args, &args->exec.workspace_bytes), SAMPLER_OK)
        << sampler_last_error() << '\n'
        << one_.text;
    std::vector<unsigned char> workspace(args->exec.workspace_bytes);
    args->exec.workspace = workspace.data();
    ASSERT_EQ(call(sampler_, args), SAMPLER_OK) << sampler_last_error() << '\n' << one_.text;
  }

  const Recorded &one_;
  Request request_;
  sampler_t sampler_ = nullptr;
};

// The most that a probability differs.
double distance(const Kept &ours, const Recorded &one) {
  double most = 0;
  for (std::size_t i = 0; i < one.kept.size(); ++i) {
    most = std::max(most, std::abs(ours.probabilities[i] - one.probabilities[i]));
  }
  return most;
}

// Whether the sets have as many tokens of each logit.
bool are_tied(const Kept &ours, const Recorded &one, const std::vector<float> &edited) {
  std::multiset<float> here, there;
  for (std::size_t i = 0; i < edited.size(); ++i) {
    if (ours.set[i]) here.insert(edited[i]);
    if (one.kept[i]) there.insert(edited[i]);
  }
  return here == there;
}

// The parameters with each threshold that is on a little lower, as it is, or a little higher.
std::vector<sampler_params> nudged(const sampler_params &params) {
  std::vector<sampler_params> all = {params};
  for (const auto member :
       {&sampler_params::top_p, &sampler_params::min_p, &sampler_params::typical_p,
        &sampler_params::epsilon_cutoff, &sampler_params::eta_cutoff, &sampler_params::top_h,
        &sampler_params::top_n_sigma}) {
    const std::size_t num_before = all.size();
    if (params.*member <= 0 || (params.*member >= 1 && member != &sampler_params::top_n_sigma)) {
      continue;
    }
    for (std::size_t i = 0; i < num_before; ++i) {
      for (const float sign : {-1.0F, 1.0F}) {
        all.push_back(all[i]);
        all.back().*member *= 1 + sign * kNudge;
      }
    }
  }
  return all;
}

struct Tally {
  int rows = 0, greedy = 0, drawn = 0, tied = 0, rounded = 0;
  std::size_t kept = 0, columns = 0;
  double farthest = 0;
};

// Of a row whose sets differ.
void compare_nudged(const Replay &replay, const Recorded &one, Tally *tally) {
  const std::vector<float> edited = replay.edited();
  for (const sampler_params &params : nudged(replay.params())) {
    const Kept ours = replay.kept(params);
    const bool is_same = ours.set == one.kept;
    if (!is_same && !are_tied(ours, one, edited)) continue;
    if (!is_same) {
      ++tally->tied;
    } else {
      ++tally->rounded;
      EXPECT_LE(distance(ours, one), kTolerance) << one.text;
    }
    return;
  }
  ADD_FAILURE() << "the engine keeps " << count(one.kept) << " tokens, the library "
                << count(replay.kept(replay.params()).set) << ": " << one.text;
}

void compare_draws(const Replay &replay, const Recorded &one, Tally *tally) {
  const Replay::Draws draws = replay.draw();
  for (std::size_t i = 0; i < draws.tokens.size(); ++i) {
    ASSERT_GE(draws.tokens[i], 0) << one.text;
    const auto token = static_cast<std::size_t>(draws.tokens[i]);
    EXPECT_TRUE(one.kept[token]) << token << ": " << one.text;
    EXPECT_NEAR(std::exp(static_cast<double>(draws.logprobs[i])), one.probabilities[token],
                kTolerance)
        << one.text;
    EXPECT_EQ(static_cast<std::size_t>(draws.kept_counts[i]), count(one.kept)) << one.text;
  }
  ++tally->drawn;
}

Tally replay(const std::string &preset, const std::string &file) {
  Tally tally;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR + file)) {
    const Replay replay(preset, one);
    ++tally.rows;
    tally.columns += one.kept.size();
    tally.kept += count(one.kept);
    if (replay.params().xtc_probability > 0) {
      compare_draws(replay, one, &tally);
      continue;
    }
    if (replay.params().temperature <= 1e-5F) ++tally.greedy;
    const Kept ours = replay.kept(replay.params());
    if (ours.set == one.kept) {
      const double far = distance(ours, one);
      tally.farthest = std::max(tally.farthest, far);
      EXPECT_LE(far, kTolerance) << one.text;
    } else {
      compare_nudged(replay, one, &tally);
    }
  }
  std::printf("%s: %d rows, %d greedy, %d drawn, %d tied, %d rounded; farthest %.3g\n",
              preset.c_str(), tally.rows, tally.greedy, tally.drawn, tally.tied, tally.rounded,
              tally.farthest);
  return tally;
}

TEST(HuggingFace, KeepsTheSame) {
  const Tally tally = replay("hugging_face@5.23", "hugging_face.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_LE(tally.rounded, 10);
  EXPECT_LE(tally.tied, 60);
}

TEST(LlamaCpp, KeepsTheSame) {
  const Tally tally = replay("llama.cpp@0.5", "llama_cpp.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_LE(tally.rounded, 10);
  EXPECT_LE(tally.tied, 10);
  EXPECT_GE(tally.drawn, 100);
}

}  // namespace
}  // namespace presets_test
