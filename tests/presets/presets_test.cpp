// Presets against the engines: what sampler_filter makes of recorded rows, with a preset and the
// engine's own parameters, is what the engine kept, with its probabilities.
//
// Edited logits are compared to the bit. Where the kept sets differ, which is so in few rows, they
// are
// - negligible: the tokens that one of them keeps alone have a probability of 1e-6 in all; or
// - tied: they have as many tokens of each logit, and an engine takes any of equal ones; or
// - of vLLM's second runner alone, whose kernels search for the cut in probabilities:
//   whole: of the tokens that equal the last one kept the engine keeps all, where it does not find
//     them again by the logarithm of their probability; or
//   short: top-p needs one of the least likely tokens that the filters before it have left, and the
//     engine keeps none that is so unlikely, as what it searches between is above them.
//   What both keep has the same probabilities, but for the scale.
// Where XTC's coin decides, many draws keep what the engine keeps on one of its sides, and on both.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "../sized.h"
#include "engine_parameters.h"
#include "recorded.h"

namespace presets_test::presets_test {
namespace {

using engine_parameters::Pipeline;
using engine_parameters::Request;

constexpr double kTolerance = 1e-6;

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

  // Draws of the row, each by a coin and a number of its own.
  struct Draw {
    std::int32_t token;
    double probability;
    Kept kept;
  };
  std::vector<Draw> draw() const {
    constexpr std::size_t kCount = 32;
    const std::size_t columns = one_.logits.size();
    const Pipeline pipeline(request_, one_.history, one_.prompt_length);
    sampler_pipeline lists = *pipeline.get();
    const std::vector<std::int32_t> rows(kCount, 0);
    const std::vector<std::int32_t> prompt_lengths(kCount, one_.prompt_length);
    lists.prompt_lengths = prompt_lengths.data();
    if (lists.token_bitmasks) lists.token_bitmask_indices = rows.data();  // all have the only one
    std::vector<std::int32_t> tokens(kCount, -7), counts(kCount), ids(kCount * columns);
    std::vector<float> logprobs(kCount), probabilities(kCount * columns);
    auto args = args_of<SampleArgs>(pipeline);
    args.pipeline = &lists;
    args.row_indices = rows.data();
    args.num_row_indices = kCount;  // output i has slot i, whose stream is i
    args.random.seed = one_.seed;
    args.params = pipeline.params();
    args.report_args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    args.out_token_ids = tokens.data();
    args.report_args.out_logprobs = logprobs.data();
    args.report_args.out_kept_counts = counts.data();
    args.report_args.kept_capacity = static_cast<std::int64_t>(columns);
    args.report_args.out_kept_token_ids = ids.data();
    args.report_args.out_kept_probabilities = probabilities.data();
    run(&args, sampler_sample_workspace_size, sampler_sample);
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Kept kept = listed(ids.data() + i * columns, probabilities.data() + i * columns);
      EXPECT_EQ(static_cast<std::size_t>(counts[i]), count(kept.set)) << one_.text;
      draws.push_back({tokens[i], std::exp(static_cast<double>(logprobs[i])), kept});
    }
    return draws;
  }

 private:
  template <class Args>
  Args args_of(const Pipeline &pipeline) const {
    Args args = sized<Args>();
    args.input.values = one_.logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = static_cast<std::int64_t>(one_.logits.size());
    args.pipeline = pipeline.get();
    return args;
  }

  // Kept tokens, from lists as long as the row.
  Kept listed(const std::int32_t *ids, const float *probabilities) const {
    const std::size_t columns = one_.logits.size();
    Kept kept = {std::vector<bool>(columns), std::vector<double>(columns)};
    for (std::size_t i = 0; i < columns && ids[i] >= 0; ++i) {
      kept.set[static_cast<std::size_t>(ids[i])] = true;
      kept.probabilities[static_cast<std::size_t>(ids[i])] = static_cast<double>(probabilities[i]);
    }
    return kept;
  }

  std::vector<float> filter(sampler_params params, sampler_output_kind kind) const {
    std::vector<float> output(one_.logits.size());
    const Pipeline pipeline(request_, one_.history, one_.prompt_length);
    sampler_pipeline lists = *pipeline.get();
    if (params.guidance_scale != 0) {
      lists.guidance_logits = one_.guidance.data();
      lists.num_guidance_rows = 1;
    }
    params.min_new_tokens = pipeline.params()->min_new_tokens;
    auto args = args_of<sampler_filter_args>(pipeline);
    args.pipeline = &lists;
    args.params = &params;
    args.output_kind = kind;
    args.output = output.data();
    sampler_row_status status = 0;
    args.out_row_status = &status;
    run(&args, sampler_filter_workspace_size, sampler_filter);
    EXPECT_EQ(status, SAMPLER_ROW_OK) << one_.text;
    return output;
  }

  template <class Args, class Called>
  void run(Args *args, sampler_status (*size)(sampler_t, const Called *, std::size_t *),
           sampler_status (*call)(sampler_t, const Called *)) const {
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
double distance(const Kept &ours, const Kept &engine) {
  double most = 0;
  for (std::size_t i = 0; i < engine.set.size(); ++i) {
    most = std::max(most, std::abs(ours.probabilities[i] - engine.probabilities[i]));
  }
  return most;
}

// The probability of the tokens that the engine or the library keeps alone.
double weight_of_difference(const Kept &ours, const Kept &engine) {
  double weight = 0;
  for (std::size_t i = 0; i < engine.set.size(); ++i) {
    if (ours.set[i] != engine.set[i]) weight += ours.probabilities[i] + engine.probabilities[i];
  }
  return weight;
}

// Whether the sets have equal numbers of tokens of each logit.
bool are_tied(const Kept &ours, const Kept &engine, const std::vector<float> &edited) {
  std::multiset<float> here, there;
  for (std::size_t i = 0; i < edited.size(); ++i) {
    if (ours.set[i]) here.insert(edited[i]);
    if (engine.set[i]) there.insert(edited[i]);
  }
  return here == there;
}

struct Tally {
  double tolerance = kTolerance;
  bool has_search = false;  // the engine's: `whole` and `cut_short` may be
  int rows = 0, edited = 0, greedy = 0, drawn = 0, of_two = 0, negligible = 0, tied = 0;
  int whole = 0, cut_short = 0;
  double farthest = 0;
};

// The least logit that is kept.
float least_of(const Kept &kept, const std::vector<float> &edited) {
  float least = INFINITY;
  for (std::size_t i = 0; i < edited.size(); ++i) {
    if (kept.set[i]) least = std::min(least, edited[i]);
  }
  return least;
}

bool is_whole(const Kept &ours, const Kept &engine, const std::vector<float> &edited) {
  const float least = least_of(ours, edited);
  std::vector<bool> expected = ours.set;
  for (std::size_t i = 0; i < edited.size(); ++i) {
    if (edited[i] == least) expected[i] = true;
  }
  return engine.set == expected;
}

bool is_cut_short(const Replay &replay, const Kept &ours, const Kept &engine,
                  const std::vector<float> &edited) {
  const float least = least_of(ours, edited);
  std::vector<bool> expected = ours.set;
  for (std::size_t i = 0; i < edited.size(); ++i) {
    if (edited[i] == least) expected[i] = false;
  }
  sampler_params params = replay.params();
  const bool has_top_p = params.top_p < 1;
  params.top_p = 1;
  return has_top_p && engine.set == expected && least_of(replay.kept(params), edited) == least;
}

// The most that a probability differs, among the tokens that both keep.
double distance_of_common(Kept ours, Kept engine) {
  double sum = 0, sum_of_engine = 0;
  for (std::size_t i = 0; i < engine.set.size(); ++i) {
    if (!ours.set[i] || !engine.set[i]) ours.probabilities[i] = engine.probabilities[i] = 0;
    sum += ours.probabilities[i];
    sum_of_engine += engine.probabilities[i];
  }
  for (double &probability : ours.probabilities) probability /= sum;
  for (double &probability : engine.probabilities) probability /= sum_of_engine;
  return distance(ours, engine);
}

// Whether the engine's search has cut elsewhere.
bool is_searched(const Replay &replay, const Kept &ours, const Kept &engine, const Recorded &one,
                 Tally *tally) {
  const std::vector<float> edited = replay.edited();
  if (is_whole(ours, engine, edited)) {
    ++tally->whole;
  } else if (is_cut_short(replay, ours, engine, edited)) {
    ++tally->cut_short;
  } else {
    return false;
  }
  EXPECT_LE(distance_of_common(ours, engine), kTolerance) << one.text;
  return true;
}

void compare(const Replay &replay, const Kept &ours, const Kept &engine, const Recorded &one,
             Tally *tally) {
  if (ours.set == engine.set) {
    const double far = distance(ours, engine);
    tally->farthest = std::max(tally->farthest, far);
    EXPECT_LE(far, tally->tolerance) << one.text;
  } else if (weight_of_difference(ours, engine) <= kTolerance) {
    ++tally->negligible;
    EXPECT_LE(distance(ours, engine), kTolerance) << one.text;
  } else if (are_tied(ours, engine, replay.edited())) {
    ++tally->tied;
  } else if (!tally->has_search || !is_searched(replay, ours, engine, one, tally)) {
    ADD_FAILURE() << "the engine keeps " << count(engine.set) << " tokens, the library "
                  << count(ours.set) << ": " << one.text;
  }
}

void compare_draws(const Replay &replay, const Recorded &one, Tally *tally) {
  const std::vector<Replay::Draw> draws = replay.draw();
  std::set<std::int32_t> tokens;
  std::map<std::vector<bool>, Kept> sides;
  for (const Replay::Draw &draw : draws) {
    ASSERT_GE(draw.token, 0) << one.text;
    const auto token = static_cast<std::size_t>(draw.token);
    EXPECT_TRUE(draw.kept.set[token]) << token << ": " << one.text;
    EXPECT_NEAR(draw.probability, draw.kept.probabilities[token], kTolerance) << one.text;
    const auto [side, is_new] = sides.emplace(draw.kept.set, draw.kept);
    EXPECT_EQ(draw.kept.probabilities, side->second.probabilities) << one.text;
    tokens.insert(draw.token);
  }
  const bool has_two = one.other && one.other->set != one.kept.set;
  EXPECT_EQ(sides.size(), has_two ? 2u : 1u) << one.text;
  for (const auto &[set, kept] : sides) {
    const bool is_other = has_two && set == one.other->set;
    compare(replay, kept, is_other ? *one.other : one.kept, one, tally);
  }
  // All draws yield a token of at most one half with a chance below 2^-30.
  const auto &likely = one.kept.probabilities;
  if (*std::max_element(likely.begin(), likely.end()) <= 0.5) {
    EXPECT_GT(tokens.size(), 1u) << one.text;
  }
  ++tally->drawn;
  if (has_two) ++tally->of_two;
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
  compare(replay, replay.kept(replay.params()), one.kept, one, tally);
}

Tally replay(const std::string &preset, const std::string &file, Tally tally = {}) {
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR + file)) {
    ++tally.rows;
    compare(preset, one, &tally);
  }
  std::printf(
      "%s: %d rows, %d edited alike, %d greedy, %d drawn, of which %d keep one of two sets, "
      "%d negligible, %d tied, %d whole, %d short; farthest %.3g\n",
      preset.c_str(), tally.rows, tally.edited, tally.greedy, tally.drawn, tally.of_two,
      tally.negligible, tally.tied, tally.whole, tally.cut_short, tally.farthest);
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
  EXPECT_GE(tally.drawn, 200);
  EXPECT_GE(tally.of_two, 30);
}

TEST(Vllm, KeepsTheSame) {
  const Tally tally = replay("vllm@0.33", "vllm.txt");
  EXPECT_GE(tally.rows, 1000);
  EXPECT_GE(tally.edited, 1000);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_LE(tally.tied, 60);
}

TEST(VllmV2, KeepsTheSame) {
  Tally searched;
  searched.has_search = true;
  const Tally tally = replay("vllm_v2@0.33", "vllm_v2.txt", searched);
  EXPECT_GE(tally.rows, 1000);
  EXPECT_GE(tally.edited, 1000);
  EXPECT_LE(tally.negligible, 0);
  EXPECT_LE(tally.tied, 0);
  EXPECT_LE(tally.whole, 10);
  EXPECT_LE(tally.cut_short, 20);
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

// xgrammar's and llguidance's, with the library's own names: what is filtered, and what is drawn
// from.
TEST(Bitmasks, LeaveTheSame) {
  Tally filtered, drawn;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR "bitmasks.txt")) {
    ++filtered.rows;
    compare("sampler", one, &filtered);
    compare_draws(Replay("sampler", one), one, &drawn);
  }
  EXPECT_EQ(filtered.rows, 300);
  EXPECT_EQ(filtered.edited, 300);
  EXPECT_EQ(drawn.drawn, 300);
  EXPECT_EQ(filtered.negligible + filtered.tied + drawn.negligible + drawn.tied, 0);
}

// transformers' classifier-free guidance, in f64, with the library's own names. The likeliest of
// these logits are up to 100, where f32 has a spacing of 2^-17; half of it, by a temperature of 0.5
// and a p (1 - p) of 1/4, is 1.9e-6.
TEST(Guidance, LeavesTheSame) {
  Tally tally;
  tally.tolerance = 2e-6;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR "guidance.txt")) {
    ++tally.rows;
    compare("sampler", one, &tally);
  }
  EXPECT_EQ(tally.rows, 300);
  EXPECT_EQ(tally.negligible + tally.tied, 0);
}

// Ollama runs llama.cpp's server; koboldcpp's samplers in an order of llama.cpp's do what these do.
TEST(LlamaCppsKin, KeepTheSame) {
  const auto defaults = [](nlohmann::json parameters) {
    const nlohmann::json others = {
        {"temperature", 0.8}, {"top_k", 40}, {"top_p", 0.95}, {"min_p", 0.05}};
    for (const auto &[name, value] : others.items()) parameters.emplace(name, value);
    return parameters;
  };
  const std::set<std::string> of_ollama = {
      "temperature",      "top_k",          "top_p",         "min_p",
      "typical_p",        "repeat_penalty", "repeat_last_n", "presence_penalty",
      "frequency_penalty"};
  const std::map<std::string, std::string> of_koboldcpp = {{"temperature", "temperature"},
                                                           {"top_k", "top_k"},
                                                           {"top_p", "top_p"},
                                                           {"min_p", "min_p"},
                                                           {"typical_p", "typical"},
                                                           {"repeat_penalty", "rep_pen"},
                                                           {"repeat_last_n", "rep_pen_range"},
                                                           {"presence_penalty", "presence_penalty"},
                                                           {"logit_bias", "logit_bias"}};
  Tally ollama, koboldcpp;
  for (const Recorded &one : read_recorded(SAMPLER_RECORDED_DIR "llama_cpp.txt")) {
    const nlohmann::json parameters = defaults(one.parameters);
    Recorded kin = one;
    bool is_ollamas = true, is_koboldcpps = true;
    kin.parameters = nlohmann::json::object();
    for (const auto &[name, value] : parameters.items()) {
      is_ollamas = is_ollamas && of_ollama.count(name) > 0;
      is_koboldcpps = is_koboldcpps && of_koboldcpp.count(name) > 0;
      if (is_koboldcpps) kin.parameters[of_koboldcpp.at(name)] = value;
    }
    if (is_ollamas) {
      Recorded same = one;
      same.parameters = parameters;
      ++ollama.rows;
      compare("ollama", same, &ollama);
    }
    // koboldcpp has other words for "all" and "none", and no ban among biases.
    const bool has_ban = parameters.dump().find("false") != std::string::npos;
    const bool has_window = parameters.value("repeat_last_n", 64) > 0;
    if (!is_koboldcpps || !has_window || has_ban) continue;
    kin.parameters.emplace("rep_pen_range", 64);
    kin.parameters["sampler_order"] = {6, 0, 1, 3, 4, 2, 5};
    ++koboldcpp.rows;
    compare("koboldcpp", kin, &koboldcpp);
  }
  EXPECT_GE(ollama.rows, 100);
  EXPECT_GE(koboldcpp.rows, 100);
  EXPECT_EQ(ollama.negligible + koboldcpp.negligible, 0);
}

// Where a sum is a filter's share exactly, and a probability its threshold, engines differ in which
// side they are on.
TEST(Edges, KeepTheSame) {
  std::map<std::string, Tally> tallies;
  for (const char *file : {"edges.txt", "edges_vllm_v2.txt"}) {
    for (const RecordedEdge &edge : read_edges(std::string(SAMPLER_RECORDED_DIR) + file)) {
      Tally &tally = tallies[edge.preset];
      ++tally.rows;
      compare(edge.preset, edge.row, &tally);
    }
  }
  EXPECT_EQ(tallies.size(), 6u);
  for (const auto &[preset, tally] : tallies) {
    std::printf("%s: %d rows, %d tied\n", preset.c_str(), tally.rows, tally.tied);
    EXPECT_GE(tally.rows, 100) << preset;
    EXPECT_EQ(tally.negligible, 0) << preset;
  }
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
    // Which refuses a temperature of 0.
    if (!is_plain || one.parameters.value("temperature", 1.0) == 0.0) continue;
    compare("nano_vllm", one, &tally);
    EXPECT_EQ(engine_parameters::read("nano_vllm", one.parameters).draw_method,
              SAMPLER_DRAW_GUMBEL);
    ++num_plain;
  }
  EXPECT_GE(num_filtered, 50);
  EXPECT_GE(num_plain, 10);
}

}  // namespace
}  // namespace presets_test::presets_test
