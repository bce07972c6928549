// The adapter for llama.cpp: it draws what sampler_sample draws of the same text. Against a small
// fake of that interface, and by `./run peers llama` in llama.cpp itself.
#include "../../integrations/llama_cpp/sampler_llama.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kVocab = 3000;
constexpr uint64_t kSeed = 11;

struct Freed {
  void operator()(llama_sampler *smpl) const { llama_sampler_free(smpl); }
};
using Adapter = std::unique_ptr<llama_sampler, Freed>;

Adapter make(const sampler_params *params, int64_t num_vocab = kVocab,
             const sampler_token_lists &dry_breakers = {}) {
  sampler_llama_options options = {};
  options.library = SAMPLER_LIBRARY;
  options.params = params;
  options.num_vocab = num_vocab;
  options.seed = kSeed;
  options.dry_breakers = dry_breakers;
  std::array<char, SAMPLER_DL_ERROR_SIZE> error = {};
  Adapter made(sampler_llama_init(&options, error.data()));
  EXPECT_TRUE(made) << error.data();
  return made;
}

std::vector<float> logits_of_step(int step) {
  std::mt19937 engine(1000 + unsigned(step));
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(kVocab);
  for (float &x : logits) x = normal(engine);
  return logits;
}

// As llama_sampler_sample does it.
llama_token apply(llama_sampler *smpl, std::vector<llama_token_data> candidates) {
  llama_token_data_array array = {candidates.data(), candidates.size(), -1, false};
  llama_sampler_apply(smpl, &array);
  return array.selected < 0 ? -1 : array.data[array.selected].id;
}
std::vector<llama_token_data> candidates_of(const std::vector<float> &logits) {
  std::vector<llama_token_data> result;
  for (size_t i = 0; i < logits.size(); ++i) result.push_back({llama_token(i), logits[i], 0.0f});
  return result;
}

// What sampler_sample draws after a text, which it has as a list.
class Plain {
 public:
  explicit Plain(const sampler_params &params, const sampler_token_lists &dry_breakers = {})
      : params_(params), dry_breakers_(dry_breakers) {
    std::array<char, SAMPLER_DL_ERROR_SIZE> error = {};
    EXPECT_EQ(sampler_dl_open(&lib_, SAMPLER_LIBRARY, error.data()), 1) << error.data();
    const sampler_options options = sampler_options_default();
    EXPECT_EQ(lib_.create(&options, &sampler_), SAMPLER_OK);
  }
  ~Plain() {
    lib_.destroy(sampler_);
    sampler_dl_close(&lib_);
  }
  const sampler_dl &lib() const { return lib_; }
  llama_token draw(const std::vector<float> &logits, const std::vector<llama_token> &text) {
    const std::array<int64_t, 2> offsets = {0, int64_t(text.size())};
    sampler_pipeline pipeline = {};
    pipeline.struct_size = sizeof pipeline;
    pipeline.history = {offsets.data(), text.data(), 1, int64_t(text.size())};
    pipeline.dry_breakers = dry_breakers_;
    llama_token id = -7;
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = int64_t(logits.size());
    args.params = &params_;
    args.pipeline = &pipeline;
    args.random.seed = kSeed;
    args.random.offset = text.size();
    args.out_token_ids = &id;
    size_t bytes = 0;
    EXPECT_EQ(lib_.sample_workspace_size(sampler_, &args, &bytes), SAMPLER_OK) << lib_.last_error();
    workspace_.resize(bytes);
    args.exec.workspace = workspace_.data();
    args.exec.workspace_bytes = bytes;
    EXPECT_EQ(lib_.sample(sampler_, &args), SAMPLER_OK) << lib_.last_error();
    return id;
  }

 private:
  sampler_dl lib_;
  sampler_params params_;
  sampler_token_lists dry_breakers_;
  sampler_t sampler_ = nullptr;
  std::vector<char> workspace_;
};

sampler_params chain() {
  sampler_params params = sampler_params_default();
  params.repetition_penalty = 1.3f;
  params.frequency_penalty = 0.4f;
  params.penalty_window = 64;
  params.dry_multiplier = 0.8f;
  params.dry_base = 1.75f;
  params.dry_allowed_length = 2;
  params.top_k = 40;
  params.top_p = 0.95f;
  params.min_p = 0.05f;
  params.temperature = 0.8f;
  return params;
}

}  // namespace

TEST(LlamaCpp, DrawsWhatTheLibraryDraws) {
  const sampler_params params = chain();
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  EXPECT_STREQ(llama_sampler_name(smpl.get()), "libsampler");
  Plain plain(params);
  std::vector<llama_token> text;
  for (const llama_token id : {5, 6, 7, 5, 6}) {  // a prompt
    llama_sampler_accept(smpl.get(), id);
    text.push_back(id);
  }
  for (int step = 0; step < 60; ++step) {
    const std::vector<float> logits = logits_of_step(step % 7);
    const llama_token id = plain.draw(logits, text);
    EXPECT_EQ(apply(smpl.get(), candidates_of(logits)), id) << step;
    EXPECT_EQ(apply(smpl.get(), candidates_of(logits)), id) << "again";
    EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), id);
    llama_sampler_accept(smpl.get(), id);
    text.push_back(id);
  }
}

// Some of the vocabulary, in any order, as samplers before this one leave it.
TEST(LlamaCpp, TakesWhatOthersHaveLeft) {
  const sampler_params params = chain();
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  Plain plain(params);
  std::mt19937 engine(3);
  std::vector<llama_token> text;
  for (int step = 0; step < 30; ++step) {
    std::vector<float> logits = logits_of_step(step);
    std::vector<llama_token_data> candidates = candidates_of(logits);
    std::shuffle(candidates.begin(), candidates.end(), engine);
    const size_t count = 1 + engine() % 500;
    for (size_t i = count; i < candidates.size(); ++i) logits[size_t(candidates[i].id)] = -INFINITY;
    candidates.resize(count);
    const llama_token id = plain.draw(logits, text);
    EXPECT_EQ(apply(smpl.get(), candidates), id) << step;
    llama_sampler_accept(smpl.get(), id);
    text.push_back(id);
  }
}

TEST(LlamaCpp, HasThePresetWithoutParameters) {
  const Adapter smpl = make(nullptr);
  ASSERT_TRUE(smpl);
  Plain probe(sampler_params_default());
  sampler_params params = {};
  ASSERT_EQ(probe.lib().params_preset(&params, sizeof params, "llama.cpp"), SAMPLER_OK);
  Plain plain(params);
  std::vector<llama_token> text;
  for (int step = 0; step < 20; ++step) {
    const std::vector<float> logits = logits_of_step(step);
    const llama_token id = plain.draw(logits, text);
    EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), id);
    llama_sampler_accept(smpl.get(), id);
    text.push_back(id);
  }
}

// A clone goes on as the one it was made of would, and the one does not notice: drafts that were
// accepted by a clone are taken back with it.
TEST(LlamaCpp, ClonesAndResets) {
  const sampler_params params = chain();
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  const auto go_on = [](llama_sampler *one, int steps) {
    std::vector<llama_token> result;
    for (int step = 0; step < steps; ++step) {
      result.push_back(sampler_llama_sample(one, logits_of_step(step).data()));
      llama_sampler_accept(one, result.back());
    }
    return result;
  };
  const std::vector<llama_token> first = go_on(smpl.get(), 20);
  const Adapter clone(llama_sampler_clone(smpl.get())), other(llama_sampler_clone(smpl.get()));
  ASSERT_TRUE(clone && other);
  const std::vector<llama_token> next = go_on(clone.get(), 20);
  EXPECT_NE(next, first);
  EXPECT_EQ(go_on(smpl.get(), 20), next);
  std::vector<llama_token> in_thread;
  std::thread([&] { in_thread = go_on(other.get(), 20); }).join();
  EXPECT_EQ(in_thread, next);
  llama_sampler_reset(smpl.get());
  EXPECT_EQ(go_on(smpl.get(), 20), first);
}

// llama_sampler_copy() takes drafts back: the copy goes on as what it was copied from would, also
// where one of them had grown beyond the room of the other.
TEST(LlamaCpp, TakesDraftsBack) {
  for (const int length : {10, 9000}) {
    const sampler_params params = chain();
    const Adapter smpl = make(&params), before = make(&params);
    ASSERT_TRUE(smpl && before);
    for (int i = 0; i < length; ++i) llama_sampler_accept(smpl.get(), llama_token(i * 7 % 300));
    llama_sampler_copy(smpl.get(), before.get());
    const std::vector<float> logits = logits_of_step(length);
    const llama_token id = sampler_llama_sample(smpl.get(), logits.data());
    for (const llama_token draft : {id, 5, 6, 7}) llama_sampler_accept(smpl.get(), draft);
    EXPECT_NE(sampler_llama_sample(smpl.get(), logits.data()), id) << length;
    llama_sampler_copy(before.get(), smpl.get());
    EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), id) << length;
    EXPECT_EQ(sampler_llama_sample(before.get(), logits.data()), id) << length;
  }
}

// LLAMA_TOKEN_NULL.
TEST(LlamaCpp, AcceptsNothingOfNoToken) {
  const sampler_params params = chain();
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  const llama_token id = sampler_llama_sample(smpl.get(), logits_of_step(0).data());
  llama_sampler_accept(smpl.get(), -1);
  EXPECT_EQ(sampler_llama_sample(smpl.get(), logits_of_step(0).data()), id);
}

sampler_params mirostat(float rate) {
  sampler_params params = sampler_params_default();
  params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  params.adaptive_target = 3.0f;
  params.adaptive_rate = rate;
  return params;
}

TEST(LlamaCpp, MovesMirostat) {
  const sampler_params params = mirostat(0.3f);
  const Adapter smpl = make(&params), still = make(&params);
  ASSERT_TRUE(smpl && still);
  int num_others = 0;
  for (int step = 0; step < 60; ++step) {
    const std::vector<float> logits = logits_of_step(step);
    const llama_token id = sampler_llama_sample(smpl.get(), logits.data());
    num_others += sampler_llama_sample(still.get(), logits.data()) != id ? 1 : 0;
    llama_sampler_accept(smpl.get(), id);
    // Another token than it has drawn: its value stays, as its text grows.
    llama_sampler_accept(still.get(), (id + 1) % llama_token(kVocab));
  }
  EXPECT_GT(num_others, 0);
}

// A prompt is no draw, also where it begins with what equal logits would give.
TEST(LlamaCpp, LeavesMirostatAtItsStartInAPrompt) {
  const sampler_params params = mirostat(1.0f);
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  Plain plain(params);
  const llama_token first = plain.draw(std::vector<float>(kVocab, 0.0f), {});
  llama_sampler_accept(smpl.get(), first);
  for (int step = 0; step < 20; ++step) {
    const std::vector<float> logits = logits_of_step(step);
    EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), plain.draw(logits, {first}));
  }
}

// A copy between a draw and its accept knows what was drawn.
TEST(LlamaCpp, CopiesMirostatsDraw) {
  const sampler_params params = mirostat(1.0f);
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  for (int step = 0; step < 60; ++step) {
    const llama_token id = sampler_llama_sample(smpl.get(), logits_of_step(step).data());
    const Adapter copy(llama_sampler_clone(smpl.get()));
    ASSERT_TRUE(copy);
    llama_sampler_accept(smpl.get(), id);
    llama_sampler_accept(copy.get(), id);
    const std::vector<float> next = logits_of_step(step + 1);
    EXPECT_EQ(sampler_llama_sample(copy.get(), next.data()),
              sampler_llama_sample(smpl.get(), next.data()))
        << step;
  }
}

// A period that has a breaker in it is no repeat.
TEST(LlamaCpp, HasBreakersOfDry) {
  sampler_params params = sampler_params_default();
  params.temperature = 0.0f;
  params.dry_multiplier = 100.0f;
  const std::array<int64_t, 3> offsets = {0, 1, 3};
  const std::array<int32_t, 3> ids = {3, 8, 9};
  const sampler_token_lists breakers = {offsets.data(), ids.data(), 2, 3};
  const Adapter none = make(&params), smpl = make(&params, kVocab, breakers);
  ASSERT_TRUE(none && smpl);
  Plain plain(params, breakers);
  std::vector<float> logits(kVocab, 0.0f);
  logits[4] = 5.0f;  // the next token of both periods
  // 3 alone breaks, and 8 with 9 does, but not 9 with 8. Without a breaker 4 is a repeat.
  const std::vector<llama_token> texts[] = {
      {4, 1, 2, 3, 4, 1, 2, 3}, {4, 1, 8, 9, 4, 1, 8, 9}, {4, 1, 9, 8, 4, 1, 9, 8}};
  for (const std::vector<llama_token> &text : texts) {
    SCOPED_TRACE(text[2]);
    for (llama_sampler *const one : {none.get(), smpl.get()}) {
      llama_sampler_reset(one);
      for (const llama_token id : text) llama_sampler_accept(one, id);
    }
    const bool is_broken = text[2] != 9;
    EXPECT_NE(sampler_llama_sample(none.get(), logits.data()), 4);
    const llama_token id = sampler_llama_sample(smpl.get(), logits.data());
    EXPECT_EQ(id == 4, is_broken);
    EXPECT_EQ(id, plain.draw(logits, text));
    const Adapter clone(llama_sampler_clone(smpl.get()));
    ASSERT_TRUE(clone);
    EXPECT_EQ(sampler_llama_sample(clone.get(), logits.data()), id);
  }
}

// Longer than the text there is room for at first.
TEST(LlamaCpp, GrowsWithTheText) {
  sampler_params params = sampler_params_default();
  params.frequency_penalty = 0.01f;
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  Plain plain(params);
  std::vector<llama_token> text;
  for (int i = 0; i < 9000; ++i) {
    text.push_back(llama_token(i * 7 % 300));
    llama_sampler_accept(smpl.get(), text.back());
  }
  const std::vector<float> logits = logits_of_step(1);
  EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), plain.draw(logits, text));
  const Adapter clone(llama_sampler_clone(smpl.get()));
  ASSERT_TRUE(clone);
  EXPECT_EQ(sampler_llama_sample(clone.get(), logits.data()), plain.draw(logits, text));
}

TEST(LlamaCpp, SelectsNothingOfBadRows) {
  const sampler_params params = chain();
  const Adapter smpl = make(&params);
  ASSERT_TRUE(smpl);
  std::vector<float> logits = logits_of_step(0);
  logits[17] = NAN;
  EXPECT_EQ(apply(smpl.get(), candidates_of(logits)), -1);
  EXPECT_EQ(sampler_llama_sample(smpl.get(), logits.data()), -1);
  std::fill(logits.begin(), logits.end(), -INFINITY);
  EXPECT_EQ(apply(smpl.get(), candidates_of(logits)), -1);
  EXPECT_EQ(apply(smpl.get(), {}), -1);
  logits.assign(kVocab + 1, 0.0f);
  EXPECT_EQ(apply(smpl.get(), candidates_of(logits)), -1) << "more than the vocabulary";
  EXPECT_GE(apply(smpl.get(), candidates_of(logits_of_step(0))), 0);
}

TEST(LlamaCpp, SaysWhatIsWrong) {
  sampler_llama_options options = {};
  options.num_vocab = 100;
  options.library = "/nowhere/libsampler.so";
  std::array<char, SAMPLER_DL_ERROR_SIZE> error = {};
  EXPECT_EQ(sampler_llama_init(&options, error.data()), nullptr);
  EXPECT_NE(std::string(error.data()).find("/nowhere"), std::string::npos) << error.data();
  options.library = SAMPLER_LIBRARY;
  for (const int64_t num_vocab : {int64_t(0), int64_t(-1), int64_t(1) << 40}) {
    options.num_vocab = num_vocab;
    EXPECT_EQ(sampler_llama_init(&options, error.data()), nullptr);
    EXPECT_NE(std::string(error.data()).find(std::to_string(num_vocab)), std::string::npos)
        << error.data();
  }
  sampler_params params = sampler_params_default();
  params.dry_multiplier = 1.0f;
  const std::array<int64_t, 3> offsets = {0, 1, 2};
  const std::array<int32_t, 2> ids = {9, 3};
  options.num_vocab = 100;
  options.params = &params;
  options.dry_breakers = {offsets.data(), ids.data(), 2, 2};
  llama_sampler *const smpl = sampler_llama_init(&options, error.data());
  ASSERT_NE(smpl, nullptr);
  EXPECT_EQ(sampler_llama_sample(smpl, std::array<float, 100>().data()), -1);  // not ascending
  llama_sampler_free(smpl);
  options.dry_breakers = {nullptr, ids.data(), 2, 2};
  EXPECT_EQ(sampler_llama_init(&options, error.data()), nullptr);
  EXPECT_NE(std::string(error.data()).find("dry_breakers"), std::string::npos) << error.data();
  options.dry_breakers = {};
  params.filter_order = 99;
  EXPECT_EQ(sampler_llama_init(&options, error.data()), nullptr);
  EXPECT_NE(std::string(error.data()).find("filter_order"), std::string::npos) << error.data();
}
