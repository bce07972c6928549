// sampler_verify against what vLLM, SGLang and FlashInfer made of the same drafts, in their own
// layouts: tests/tools/record_engine_verification.py has recorded engine_golden.txt from their own
// kernels. Each had, in the place of its uniform numbers, those that the library makes of the
// sequences' seeds, rounded to what it takes; so what they emitted is to be emitted here, token by
// token. What that shows, by engine:
//
// - vllm_v2: _rejection_kernel and its helpers by Triton's interpreter: every verdict by the
//   standard rule, block, fly and with synthetic rates, and the residual's logits. Tokens out of
//   them are drawn by inverse CDF, which is the recorder's, in place of vLLM's Gumbel noise.
// - vllm_v1: RejectionSampler, with its stages, by PyTorch and Triton's interpreter. Recovered
//   tokens come of its own kernel with recorded noise: they are compared with what the same noise
//   makes of the residual that the library writes, not with the library's draw. Bonus tokens are
//   drawn by the recorder out of what vLLM's stages left.
// - sglang_chain: its Triton kernel by the interpreter, the draw included.
// - sglang_tree: its CUDA kernels for trees, which are built by its own one, compiled for the host
//   and run by one thread: the walk and the residual are theirs, sums and scans are those of
//   tests/tools/peers/cuda_on_host.h.
// - flashinfer: its CUDA kernel in the same way, with counts that are added to.
//
// Engines compute in f32 and in other orders: cases whose outcome changes when the coins are 3e-5
// smaller or larger were not recorded.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../sized.h"
#include "handles.h"
#include "problem.h"

namespace verification_test::engine_golden_test {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kCols = 8;
constexpr std::uint64_t kOffset = 7;

// name=1,2,3 name=...
using Fields = std::map<std::string, std::string>;

Ids numbers(const std::string &text) {
  Ids result;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) result.push_back(std::stoi(one));
  return result;
}

struct Recorded {
  Fields fields;
  Ids operator[](const char *name) const {
    const auto at = fields.find(name);
    return at == fields.end() ? Ids{} : numbers(at->second);
  }
  bool has(const char *name) const { return fields.count(name) > 0; }
  double real(const char *name) const { return std::stod(fields.at(name)); }
  std::int32_t number(const char *name) const { return std::stoi(fields.at(name)); }
  // In 1/8; 0: greedy.
  std::int32_t temperature() const { return has("temperature") ? number("temperature") : 8; }
};

Recorded fields_in(std::istream *words) {
  Recorded result;
  for (std::string word; *words >> word;) {
    const std::size_t equals = word.find('=');
    result.fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return result;
}

struct EngineCall {
  std::string layout, rule;
  Recorded settings;
  std::vector<Recorded> sequences;

  bool has_draft() const { return settings.number("has_draft") != 0; }
};

struct File {
  std::map<std::string, std::vector<Row>> rows;  // tp, dp: probabilities; tl, dl: logits
  std::vector<EngineCall> calls;
};

File read_file() {
  File file;
  std::ifstream in(ENGINE_GOLDEN);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, name, rule;
    words >> kind;
    if (kind == "row") {
      words >> name;
      const bool are_probabilities = name[1] == 'p';
      Row row;
      for (std::string value; words >> value;) {
        row.push_back(value == "."        ? -kInfinity
                      : are_probabilities ? std::stof(value) / 256
                                          : std::stof(value) / 16);
      }
      EXPECT_EQ(row.size(), std::size_t(kCols)) << line;
      file.rows[name].push_back(row);
    } else if (kind == "call") {
      words >> name >> rule;
      file.calls.push_back({name, rule, fields_in(&words), {}});
    } else if (kind == "seq") {
      file.calls.back().sequences.push_back(fields_in(&words));
    }
  }
  return file;
}

const File &recorded_file() {
  static const File *const file = new File(read_file());
  return *file;
}

// Gives a call its workspace.
template <class Args, class Size>
std::vector<unsigned char> workspace_of(sampler_t sampler, Args *args, const Size &size) {
  std::size_t bytes = 0;
  EXPECT_EQ(size(sampler, args, &bytes), SAMPLER_OK) << sampler_last_error();
  std::vector<unsigned char> workspace(bytes);
  args->exec.workspace = workspace.data();
  args->exec.workspace_bytes = bytes;
  return workspace;
}

// A recorded call as a call of the library, in the engine's layout.
class Replay {
 public:
  Replay(sampler_t sampler, const EngineCall &call, const File &file)
      : sampler_(sampler), call_(call), file_(file), steps_(call.settings.number("steps")) {
    args_.num_drafts = steps_;
    args_.random.offset = kOffset;
    const std::size_t size = call.sequences.size();
    tokens.assign(size * std::size_t(steps_ + 1), -7);
    positions.assign(tokens.size(), -7);
    emitted.assign(size, 3);  // what FlashInfer's counts begin with
    accepted.assign(size, 5);
    args_.out_token_ids = tokens.data();
    args_.out_positions = positions.data();
    args_.out_emitted_counts = emitted.data();
    args_.out_accepted_counts = accepted.data();
    if (call.layout == "vllm_v2") lay_vllm_v2();
    if (call.layout == "vllm_v1") lay_vllm_v1();
    if (call.layout == "sglang_chain" || call.layout == "sglang_tree") lay_sglang();
    if (call.layout == "flashinfer") lay_flashinfer();
    lay_slots();
    lay_rule();
    args_.params = &params_;
    args_.row_params = &row_params_;
  }

  void run() {
    args_.target.values = target_.data();
    args_.target.num_cols = kCols;
    args_.target.num_rows = std::int64_t(target_.size()) / kCols;
    if (call_.has_draft()) {
      args_.draft.values = draft_.data();
      args_.draft.num_cols = kCols;
      args_.draft.num_rows = std::int64_t(draft_.size()) / kCols;
    }
    const auto workspace = workspace_of(sampler_, &args_, sampler_verify_workspace_size);
    ASSERT_EQ(sampler_verify(sampler_, &args_), SAMPLER_OK) << sampler_last_error();
  }

  Ids tokens_of(std::size_t s) const { return until_end(tokens, s); }
  Ids positions_of(std::size_t s) const { return until_end(positions, s); }

  Ids tokens, positions, emitted, accepted;

 private:
  Ids until_end(const Ids &all, std::size_t s) const {
    const auto first = all.begin() + std::ptrdiff_t(s) * (steps_ + 1);
    return Ids(first, std::find(first, first + steps_ + 1, -1));
  }

  void put(const char *pool, std::int32_t number, std::vector<float> *rows) const {
    const Row &row = file_.rows.at(pool).at(std::size_t(number));
    rows->insert(rows->end(), row.begin(), row.end());
  }

  // target_logits [num_logits, V], cu_num_logits [B + 1], draft_sampled [num_logits], draft_logits
  // [slots, K, V], idx_mapping [B].
  void lay_vllm_v2() {
    slots_ = call_.settings["slots"];
    num_slots_ = std::int64_t(slots_.size()) + 2;
    draft_.assign(std::size_t(num_slots_ * steps_ * kCols), 0.0F);
    offsets_ = {0};
    for (std::size_t s = 0; s < call_.sequences.size(); ++s) {
      const Recorded &one = call_.sequences[s];
      for (const std::int32_t row : one["p"]) put("tl", row, &target_);
      drafts_.push_back(-9);  // is not read
      for (const std::int32_t id : one["x"]) drafts_.push_back(id);
      offsets_.push_back(std::int32_t(drafts_.size()));
      std::vector<float> rows;
      for (const std::int32_t row : one["q"]) put("dl", row, &rows);
      std::copy(rows.begin(), rows.end(), draft_.begin() + slots_[s] * steps_ * kCols);
    }
    args_.draft_layout.packing = SAMPLER_PACKING_POSITIONS;
    args_.draft_layout.packing_offsets = offsets_.data();
    args_.draft_layout.num_packed_positions = std::int64_t(drafts_.size());
    args_.draft_layout.num_sequences = std::int64_t(call_.sequences.size());
    args_.draft_token_ids = drafts_.data();
    args_.draft_layout.draft_rows_by_slot = call_.has_draft();
  }

  // draft_token_ids [sum], cu_num_draft_tokens [B] without a leading 0, target_logits_indices
  // [sum], bonus_logits_indices [B], draft_probs [sum, V].
  void lay_vllm_v1() {
    const Ids places = call_.settings["rows"];
    target_.resize(places.size() * std::size_t(kCols));
    std::size_t place = 0;
    for (const Recorded &one : call_.sequences) {
      const Ids drafts = one["x"], rows = one["p"];
      for (std::size_t i = 0; i < rows.size(); ++i, ++place) {
        std::vector<float> row;
        put("tl", rows[i], &row);
        std::copy(row.begin(), row.end(), target_.begin() + places[place] * kCols);
        (i < drafts.size() ? target_indices_ : bonus_indices_).push_back(places[place]);
      }
      drafts_.insert(drafts_.end(), drafts.begin(), drafts.end());
      offsets_.push_back(std::int32_t(drafts_.size()));
      for (const std::int32_t row : one["q"]) put("dp", row, &draft_);
    }
    args_.draft_layout.packing = SAMPLER_PACKING_DRAFT_ENDS;
    args_.draft_layout.packing_offsets = offsets_.data();
    args_.draft_layout.num_packed_drafts = std::int64_t(drafts_.size());
    args_.draft_layout.num_sequences = std::int64_t(call_.sequences.size());
    args_.draft_token_ids = drafts_.data();
    args_.draft_layout.target_row_indices = target_indices_.data();
    args_.draft_layout.bonus_row_indices = bonus_indices_.data();
    if (call_.has_draft()) args_.draft.kind = SAMPLER_PROBABILITIES;
    set_stages(call_, &params_);
    if (!call_.settings.has("penalties")) return;
    text_offsets_ = {0};
    for (const Recorded &one : call_.sequences) {
      const Ids prompt = one["prompt"], output = one["output"];
      text_.insert(text_.end(), prompt.begin(), prompt.end());
      text_.insert(text_.end(), output.begin(), output.end());
      text_offsets_.push_back(std::int64_t(text_.size()));
      prompt_lengths_.push_back(std::int32_t(prompt.size()));
    }
    pipeline_.history = {text_offsets_.data(), text_.data(), std::int64_t(prompt_lengths_.size()),
                         std::int64_t(text_.size())};
    pipeline_.prompt_lengths = prompt_lengths_.data();
    args_.pipeline = &pipeline_;
  }

  // candidates [B, n] with the root first, target_probs [B, n, V], draft_probs [B, n - 1, V],
  // retrive_next_token, retrive_next_sibling [B, n].
  void lay_sglang() {
    for (const Recorded &one : call_.sequences) {
      candidates_.push_back(5);  // the root is not read
      for (const std::int32_t id : one["x"]) candidates_.push_back(id);
      for (const std::int32_t row : one["p"]) put("tp", row, &target_);
      for (const std::int32_t row : one["q"]) put("dp", row, &draft_);
      for (const std::int32_t link : one["first"]) first_children_.push_back(link);
      for (const std::int32_t link : one["next"]) next_siblings_.push_back(link);
    }
    args_.draft_token_ids = candidates_.data() + 1;
    args_.draft_layout.draft_token_stride = steps_ + 1;
    args_.target.kind = SAMPLER_PROBABILITIES;
    if (call_.has_draft()) args_.draft.kind = SAMPLER_PROBABILITIES;
    if (call_.layout == "sglang_chain") return;
    args_.draft_layout.first_children = first_children_.data();
    args_.draft_layout.next_siblings = next_siblings_.data();
  }

  // draft_probs [B, K, V], draft_token_ids [B, K], target_probs [B, K + 1, V].
  void lay_flashinfer() {
    for (const Recorded &one : call_.sequences) {
      for (const std::int32_t id : one["x"]) drafts_.push_back(id);
      for (const std::int32_t row : one["p"]) put("tp", row, &target_);
      for (const std::int32_t row : one["q"]) put("dp", row, &draft_);
    }
    args_.draft_token_ids = drafts_.data();
    args_.target.kind = SAMPLER_PROBABILITIES;
    if (call_.has_draft()) args_.draft.kind = SAMPLER_PROBABILITIES;
    args_.accumulate_counts = 1;
  }

  // Seeds and temperatures, by slot.
  void lay_slots() {
    if (slots_.empty()) {
      num_slots_ = std::int64_t(call_.sequences.size());
    } else {
      args_.slots = slots_.data();
    }
    args_.num_slots = slots_.empty() ? 0 : num_slots_;
    seeds_.assign(std::size_t(num_slots_), 1);
    temperatures_.assign(std::size_t(num_slots_), 1.0F);
    for (std::size_t s = 0; s < call_.sequences.size(); ++s) {
      const std::size_t slot = slots_.empty() ? s : std::size_t(slots_[s]);
      seeds_[slot] = std::stoull(call_.sequences[s].fields.at("seed"));
      temperatures_[slot] = float(call_.sequences[s].temperature()) / 8;
    }
    args_.random.seeds = seeds_.data();
    args_.random.num_seeds = num_slots_;
    row_params_.temperature = temperatures_.data();
  }

  void lay_rule() {
    const Recorded &settings = call_.settings;
    if (call_.rule == "block") args_.acceptance_params.rule = SAMPLER_ACCEPT_BLOCK;
    if (call_.rule == "threshold") {
      args_.acceptance_params.rule = SAMPLER_ACCEPT_THRESHOLD;
      args_.acceptance_params.threshold_single = float(settings.real("single")) / 16;
      args_.acceptance_params.threshold_total = float(settings.real("total")) / 16;
    }
    if (call_.rule == "fly") {
      args_.acceptance_params.rule = SAMPLER_ACCEPT_DEFERRED;
      args_.acceptance_params.deferred_window = settings.number("window");
      args_.acceptance_params.deferred_entropy = float(settings.real("entropy"));
      args_.acceptance_params.deferred_top_k = settings.number("top_k");
    }
    if (call_.rule == "synthetic") {
      args_.acceptance_params.rule = SAMPLER_ACCEPT_SYNTHETIC;
      for (const std::int32_t rate : settings["rates"]) rates_.push_back(float(rate) / 16);
      args_.acceptance_params.synthetic_rates = rates_.data();
    }
  }

 public:
  static void set_stages(const EngineCall &call, sampler_params *params) {
    if (call.settings.has("top_k")) {
      params->top_k = call.settings.number("top_k");
      params->top_k_ties = SAMPLER_TIES_KEEP;
      params->top_p = float(call.settings.real("top_p")) / 64;
    }
    if (call.settings.has("penalties")) {
      const Ids penalties = call.settings["penalties"];
      params->repetition_penalty = float(penalties[0]) / 16;
      params->frequency_penalty = float(penalties[1]) / 16;
      params->presence_penalty = float(penalties[2]) / 16;
      params->penalty_form = SAMPLER_PENALTY_RECIPROCAL;
    }
  }

 private:
  sampler_t sampler_;
  const EngineCall &call_;
  const File &file_;
  const std::int64_t steps_;
  VerifyArgs args_ = VerifyArgs();
  sampler_params params_ = sampler_params_default();
  sampler_row_params row_params_ = sized<sampler_row_params>();
  sampler_pipeline pipeline_ = sized<sampler_pipeline>();
  std::int64_t num_slots_ = 0;
  std::vector<float> target_, draft_, temperatures_, rates_;
  std::vector<std::uint64_t> seeds_;
  std::vector<std::int64_t> text_offsets_;
  Ids slots_, offsets_, drafts_, candidates_, target_indices_, bonus_indices_, first_children_,
      next_siblings_, text_, prompt_lengths_;
};

// What vLLM's first runner recovers behind `kept` drafts, with the recorded noise, of the library's
// target distribution and residual; -1 where two tokens come so near that a rounding decides.
std::int32_t recovered(sampler_t sampler, const EngineCall &call, const Recorded &one,
                       std::size_t kept) {
  const File &file = recorded_file();
  const Row row = file.rows.at("tl").at(std::size_t(one["p"][kept]));
  Row p(kCols), rest(kCols);
  auto filter = sized<sampler_filter_args>();
  filter.input.values = row.data();
  filter.input.num_rows = 1;
  filter.input.num_cols = kCols;
  sampler_params params = sampler_params_default();
  Replay::set_stages(call, &params);
  params.temperature = float(one.temperature()) / 8;
  filter.params = &params;
  filter.output = p.data();
  auto pipeline = sized<sampler_pipeline>();
  Ids text = one["prompt"];
  const std::int32_t prompt_length = std::int32_t(text.size());
  const Ids output = one["output"], drafts = one["x"];
  text.insert(text.end(), output.begin(), output.end());
  text.insert(text.end(), drafts.begin(), drafts.begin() + std::ptrdiff_t(kept));
  const std::int64_t offsets[] = {0, std::int64_t(text.size())};
  if (call.settings.has("penalties")) {
    pipeline.history = {offsets, text.data(), 1, offsets[1]};
    pipeline.prompt_lengths = &prompt_length;
    filter.pipeline = &pipeline;
  }
  const auto of_filter = workspace_of(sampler, &filter, sampler_filter_workspace_size);
  EXPECT_EQ(sampler_filter(sampler, &filter), SAMPLER_OK) << sampler_last_error();
  auto residual = sized<sampler_residual_args>();
  residual.target = filter.input;
  residual.target.values = p.data();
  residual.target.kind = SAMPLER_PROBABILITIES;
  if (call.has_draft()) {
    residual.draft = residual.target;
    residual.draft.values = file.rows.at("dp").at(std::size_t(one["q"][kept])).data();
  } else {
    residual.draft_token_ids = &drafts[kept];
  }
  residual.output = rest.data();
  const auto of_residual = workspace_of(sampler, &residual, sampler_residual_workspace_size);
  EXPECT_EQ(sampler_residual(sampler, &residual), SAMPLER_OK) << sampler_last_error();
  const Ids noise = one["noise"];
  std::vector<double> scores;
  for (std::size_t i = 0; i < rest.size(); ++i) scores.push_back(double(rest[i]) * noise[i]);
  const auto best = std::max_element(scores.begin(), scores.end());
  for (auto score = scores.begin(); score != scores.end(); ++score) {
    if (score != best && *score > *best * (1 - 1e-4)) return -1;
  }
  return std::int32_t(best - scores.begin());
}

struct Tally {
  int sequences = 0, kept = 0, rejected = 0, finished = 0, skipped = 0;
};

void compare(sampler_t sampler, const EngineCall &call, Tally *tally) {
  Replay replay(sampler, call, recorded_file());
  replay.run();
  if (testing::Test::HasFatalFailure()) return;
  for (std::size_t s = 0; s < call.sequences.size(); ++s) {
    const Recorded &one = call.sequences[s];
    SCOPED_TRACE("sequence " + std::to_string(s) + ", seed " + one.fields.at("seed"));
    Ids expected = one["out"], actual = replay.tokens_of(s);
    const Ids drafts = one["x"];
    const bool is_greedy = one.temperature() == 0;
    if (call.rule == "fly" && is_greedy) {
      // vLLM keeps drafts in greedy rows too where it is in doubt, the library the argmax alone.
      ASSERT_LE(actual.size(), expected.size());
      expected.resize(actual.size());
      expected.back() = actual.back();
    }
    ASSERT_EQ(actual.size(), expected.size());
    const std::size_t kept = expected.size() - 1;
    const bool is_rejected = kept < drafts.size();
    ++tally->sequences;
    tally->kept += int(kept);
    const bool is_leaf = one.has("first") && one["first"][std::size_t(one["at"].back())] == -1;
    (is_rejected && !is_leaf ? tally->rejected : tally->finished) += 1;
    if (call.layout == "vllm_v2" && call.rule == "synthetic" && is_rejected && !is_greedy) {
      // vLLM draws out of the residual here, the library out of the target's row.
      expected.pop_back();
      actual.pop_back();
    } else if (call.layout == "vllm_v1" && is_rejected && !is_greedy) {
      // vLLM's first runner subtracts the row that is given for a placeholder.
      const bool is_compared = drafts[kept] >= 0;
      const std::int32_t token = is_compared ? recovered(sampler, call, one, kept) : -1;
      tally->skipped += token < 0;
      if (token >= 0) {
        EXPECT_EQ(expected.back(), token);
      }
      expected.pop_back();
      actual.pop_back();
    }
    EXPECT_EQ(actual, expected);
    if (one.has("at")) {
      EXPECT_EQ(replay.positions_of(s), one["at"]);
    }
    if (one.has("accepted")) {
      EXPECT_EQ(replay.accepted[s], one.number("accepted"));
      EXPECT_EQ(replay.emitted[s], one.number("emitted"));
    } else {
      EXPECT_EQ(replay.emitted[s], std::int32_t(kept));
    }
  }
}

class EngineGolden : public testing::TestWithParam<const char *> {};

TEST_P(EngineGolden, IsWhatTheEngineEmits) {
  const pipeline_test::Handles handles;
  for (const sampler_t sampler : {handles.simd.get(), handles.reference.get()}) {
    Tally tally;
    int calls = 0;
    for (const EngineCall &call : recorded_file().calls) {
      if (call.layout != GetParam()) continue;
      SCOPED_TRACE(call.layout + " " + call.rule + ", call " + std::to_string(calls++));
      compare(sampler, call, &tally);
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GE(tally.sequences, 200);
    EXPECT_GT(tally.kept, tally.sequences / 4);
    EXPECT_GT(tally.rejected, tally.sequences / 10);
    EXPECT_GT(tally.finished, tally.sequences / 20);
    EXPECT_LT(tally.skipped * 5, tally.rejected);
    std::printf(
        "%s: %d calls, %d sequences, %d drafts kept, %d with a rejection, %d without "
        "a token to compare\n",
        GetParam(), calls, tally.sequences, tally.kept, tally.rejected, tally.skipped);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, EngineGolden,
                         testing::Values("vllm_v2", "vllm_v1", "sglang_chain", "sglang_tree",
                                         "flashinfer"));

}  // namespace
}  // namespace verification_test::engine_golden_test
