// Presets against the engines: what sampler_filter makes of recorded rows, with a preset and the
// engine's own parameters, is what the engine kept, with its probabilities.
//
// Edited logits are compared to the bit. Where the kept sets differ, which is so in few rows, they
// are
// - negligible: the tokens that one of them keeps alone have a probability of 1e-6 in all; or
// - tied: they have as many tokens of each logit, and an engine takes any of equal ones.
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
    params.xtc_probability = 0;
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

// The probability of the tokens that the engine or the library keeps alone.
double weight_of_difference(const Kept &ours, const Recorded &one) {
  double weight = 0;
  for (std::size_t i = 0; i < one.kept.size(); ++i) {
    if (ours.set[i] != one.kept[i]) weight += ours.probabilities[i] + one.probabilities[i];
  }
  return weight;
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

struct Tally {
  int rows = 0, edited = 0, greedy = 0, drawn = 0, negligible = 0, tied = 0;
  double farthest = 0;
};

// Of a row whose sets differ.
void explain(const Replay &replay, const Kept &ours, const Recorded &one, Tally *tally) {
  if (weight_of_difference(ours, one) <= kTolerance) {
    ++tally->negligible;
    EXPECT_LE(distance(ours, one), kTolerance) << one.text;
  } else if (are_tied(ours, one, replay.edited())) {
    ++tally->tied;
  } else {
    ADD_FAILURE() << "the engine keeps " << count(one.kept) << " tokens, the library "
                  << count(ours.set) << ": " << one.text;
  }
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

void compare(const std::string &preset, const Recorded &one, Tally *tally) {
  const Replay replay(preset, one);
  if (one.edited) {
    ++tally->edited;
    EXPECT_EQ(hash_of(replay.edited()), *one.edited) << one.text;
  }
  if (replay.params().xtc_probability > 0) {
    compare_draws(replay, one, tally);
    return;
  }
  if (replay.params().temperature <= 1e-5F) ++tally->greedy;
  const Kept ours = replay.kept(replay.params());
  if (ours.set == one.kept) {
    const double far = distance(ours, one);
    tally->farthest = std::max(tally->farthest, far);
    EXPECT_LE(far, kTolerance) << one.text;
  } else {
    explain(replay, ours, one, tally);
  }
}

Tally replay(const std::string &preset, const std::string &file) {
  Tally tally;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR + file)) {
    ++tally.rows;
    compare(preset, one, &tally);
  }
  std::printf(
      "%s: %d rows, %d edited alike, %d greedy, %d drawn, %d negligible, %d tied; "
      "farthest %.3g\n",
      preset.c_str(), tally.rows, tally.edited, tally.greedy, tally.drawn, tally.negligible,
      tally.tied, tally.farthest);
  return tally;
}

TEST(HuggingFace, KeepsTheSame) {
  const Tally tally = replay("hugging_face@5.23", "hugging_face.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_GE(tally.edited, 1000);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_LE(tally.tied, 60);
}

TEST(LlamaCpp, KeepsTheSame) {
  const Tally tally = replay("llama.cpp@0.5", "llama_cpp.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_GE(tally.edited, 700);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_LE(tally.tied, 10);
  EXPECT_GE(tally.drawn, 100);
}

TEST(Vllm, KeepsTheSame) {
  const Tally tally = replay("vllm@0.33", "vllm.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_GE(tally.edited, 1000);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_LE(tally.tied, 60);
}

TEST(Sglang, KeepsTheSame) {
  const Tally tally = replay("sglang@0.5.23", "sglang.txt");
  EXPECT_GE(tally.rows, 800);
  EXPECT_GE(tally.edited, 500);
  EXPECT_LE(tally.negligible, 10);
  EXPECT_LE(tally.tied, 60);
}

TEST(Flashinfer, KeepsTheSame) {
  const Tally tally = replay("flashinfer@0.7.2", "flashinfer.txt");
  EXPECT_GE(tally.rows, 600);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_EQ(tally.tied, 0);  // all of equal ones are kept
}

// The small engines do what FlashInfer's and vLLM's rows without other parameters say.
TEST(SmallEngines, KeepTheSame) {
  int num_filtered = 0, num_plain = 0;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR "vllm.txt")) {
    bool has_others = false, is_plain = true;
    for (const auto &[name, value] : one.parameters.items()) {
      if (name != "temperature") is_plain = false;
      if (name != "temperature" && name != "top_k" && name != "top_p") has_others = true;
    }
    if (has_others) continue;
    Tally tally;
    compare("hf_vllm_aligned", one, &tally);
    ++num_filtered;
    if (!is_plain) continue;
    compare("nano_vllm", one, &tally);
    EXPECT_EQ(engine_parameters::read("nano_vllm", one.parameters).draw_method,
              SAMPLER_DRAW_GUMBEL);
    ++num_plain;
  }
  EXPECT_GE(num_filtered, 50);
  EXPECT_GE(num_plain, 10);
}

}  // namespace
}  // namespace presets_test
