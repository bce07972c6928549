// A state of a handle with threads, and states of many handles at once.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "../seed.h"
#include "support.h"

namespace state_test::threads_test {
namespace {

constexpr std::int64_t kSlots = 24, kColumns = 50;

// Draws with penalties and n-grams from slots in another order at every step, and accepts what was
// drawn. The result is all that the state holds.
std::string play(sampler_t sampler, std::uint64_t seed) {
  Pair pair(sampler, {kSlots, 60, 9, false});
  Random random(seeded(seed));
  std::vector<float> logits(std::size_t(kSlots * kColumns));
  for (float &x : logits) x = 4 * random.unit();
  Slots slots(static_cast<std::size_t>(kSlots));
  std::iota(slots.begin(), slots.end(), 0);
  std::vector<std::int32_t> tokens(slots.size());
  std::vector<unsigned char> workspace(1 << 18);
  sampler_params params = sampler_params_default();
  params.frequency_penalty = 0.4F;
  params.no_repeat_ngram_size = 2;
  auto pipeline = sized<sampler_pipeline>();
  pipeline.state = pair.state();
  auto args = sized<sampler_sample_args>();
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = workspace.size();
  args.input.values = logits.data();
  args.input.num_rows = kSlots;
  args.input.num_cols = kColumns;
  args.slots = slots.data();
  args.num_slots = kSlots;
  args.params = &params;
  args.pipeline = &pipeline;
  args.random.seed = seed;
  args.out_token_ids = tokens.data();
  for (int step = 0; step < 40; ++step) {
    for (std::size_t i = slots.size(); i > 1; --i) {
      std::swap(slots[i - 1], slots[std::size_t(random.between(0, std::int64_t(i) - 1))]);
    }
    args.random.offset = std::uint64_t(step);
    EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
    std::vector<Accepted> rows;
    for (const std::int32_t token : tokens) rows.push_back({{token}, {}});
    pair.accept(slots, rows, SAMPLER_ID_I32, nullptr);
    if (step % 8 == 7) pair.truncate(slots, std::vector<std::int32_t>(slots.size(), step - 3));
  }
  pair.check();
  return pair.bytes();
}

TEST(Threads, OfTheHandleChangeNothing) {
  const std::string expected = play(make_handle(1).get(), 5);
  EXPECT_EQ(play(make_handle(4).get(), 5), expected);
  EXPECT_NE(play(make_handle(1).get(), 6), expected);
}

TEST(Threads, OfTheCallerHaveStatesOfTheirOwn) {
  constexpr std::uint64_t kThreads = 4;
  std::vector<std::string> expected, results(kThreads);
  for (std::uint64_t i = 0; i < kThreads; ++i) expected.push_back(play(make_handle().get(), i));
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&results, i] { results[i] = play(make_handle(2).get(), i); });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(results, expected);
}

}  // namespace
}  // namespace state_test::threads_test
