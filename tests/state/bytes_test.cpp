// The memory of a state: its bytes follow from what its slots hold, and what comes and goes again
// leaves none behind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../seed.h"
#include "contract/state_slots.h"
#include "support.h"

namespace state_test::bytes_test {
namespace {

// Remembers the block that was taken last.
struct Recorder {
  const char *block = nullptr;
  std::size_t bytes = 0;
};

Handle make_recorded_handle(Recorder *recorder) {
  sampler_options options = sampler_options_default();
  options.num_threads = 1;
  options.allocator.user = recorder;
  options.allocator.allocate = [](void *user, std::size_t bytes, std::size_t alignment) {
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) return memory;
    std::memset(memory, 0xA5, bytes);
    auto *const self = static_cast<Recorder *>(user);
    *self = {static_cast<char *>(memory), bytes};
    return memory;
  };
  options.allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    std::free(memory);
  };
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  return Handle(sampler);
}

// A pair whose memory is seen.
struct Seen {
  Recorder last;
  Handle handle;
  Pair pair;
  Recorder recorder;  // the pair's block

  explicit Seen(const Shape &shape)
      : handle(make_recorded_handle(&last)), pair(handle.get(), shape), recorder(last) {}

  // All slots, which end with the block.
  std::string memory() const {
    const Shape &shape = pair.shape();
    const std::int64_t usual = std::max<std::int64_t>(shape.max_tokens / 4, 64);
    const std::int64_t distinct =
        shape.max_distinct_tokens ? shape.max_distinct_tokens : std::min(usual, shape.max_tokens);
    const sampler::contract::StateSlotLayout layout = {std::int32_t(shape.max_tokens),
                                                       std::int32_t(distinct), shape.keeps_values};
    const std::size_t bytes = layout.slot_bytes() * std::size_t(shape.num_slots);
    EXPECT_LT(bytes, recorder.bytes);
    return {recorder.block + recorder.bytes - bytes, bytes};
  }
};

Text random_text(Random *random, std::int64_t most) {
  Text text(std::size_t(random->between(0, most)));
  for (std::int64_t &id : text) {
    id = random->one_in(3) ? random->between(0, INT32_MAX) : random->between(0, 7);
  }
  return text;
}

const Shape kShapes[] = {{1, 1, 1, true},   {3, 60, 0, false}, {3, 60, 5, false},
                         {3, 60, 60, true}, {3, 60, 9, true},  {2, 500, 0, false}};

// Goes forward by accepted and appended tokens and back by truncation, in any order but the last
// forward step first.
TEST(Bytes, AreThoseOfBeforeAfterTruncation) {
  for (const Shape &shape : kShapes) {
    Seen seen(shape);
    Pair &pair = seen.pair;
    Random random(seeded(std::uint64_t(shape.max_tokens + shape.max_distinct_tokens)));
    struct Step {
      std::string memory;
      std::vector<std::int32_t> lengths;
    };
    std::vector<Step> steps;
    Slots slots;
    for (std::int32_t slot = 0; slot < shape.num_slots; ++slot) slots.push_back(slot);
    int num_back = 0;
    for (int round = 0; round < 2000 && !HasFatalFailure(); ++round) {
      if (!steps.empty() && (random.one_in(2) || steps.size() > 40)) {
        ++num_back;
        pair.truncate(slots, steps.back().lengths);
        ASSERT_TRUE(seen.memory() == steps.back().memory) << "round " << round;
        steps.pop_back();
        continue;
      }
      Step step = {seen.memory(), {}};
      std::vector<Text> lists;
      std::vector<Accepted> rows;
      for (const std::int32_t slot : slots) {
        step.lengths.push_back(std::int32_t(pair.slot(slot).tokens.size()));
        lists.push_back(random_text(&random, 6));
        rows.push_back({random_text(&random, 3), {}});
        for (std::size_t i = 0; i < rows.back().ids.size(); ++i) {
          rows.back().observations.push_back(random.unit());
        }
      }
      steps.push_back(step);
      // Without kept values truncation leaves them, so there they do not move.
      const Adaptive adaptive = {std::int32_t(round % 4), 3.0F, 0.2F, 0.9F, 0.7F, 0.1F};
      if (random.one_in(3)) {
        pair.append(slots, lists, random.one_in(2), SAMPLER_ID_I32);
      } else {
        pair.accept(slots, rows, SAMPLER_ID_I64, shape.keeps_values ? &adaptive : nullptr);
      }
    }
    EXPECT_GT(num_back, 500);
  }
}

TEST(Bytes, FollowFromWhatTheSlotsHold) {
  for (const Shape &shape : kShapes) {
    Seen seen(shape);
    Pair &pair = seen.pair;
    // Whose slots count other tokens.
    Pair other(seen.handle.get(), {1, shape.max_tokens, shape.max_tokens / 9 + 1, true});
    Random random(seeded(99));
    for (int round = 0; round < 300 && !HasFatalFailure(); ++round) {
      const std::int32_t slot = std::int32_t(random.between(0, shape.num_slots - 1));
      const Text text = random_text(&random, 20);
      const Adaptive adaptive = {1, 3.0F, 0.2F, 0.9F, 0.7F, 0.1F};
      switch (random.between(0, 7)) {
        case 6:
          other.append({0}, {text}, false, SAMPLER_ID_I32);
          pair.copy(other, {0}, {slot});
          break;
        case 7:
          other.copy(pair, {slot}, {0});
          break;
        case 0:
          pair.reset({slot}, {{random.unit(), random.unit(), NAN, -NAN}});
          break;
        case 1:
          pair.append({slot}, {text}, random.one_in(2), SAMPLER_ID_I32);
          break;
        case 2:
          pair.copy(pair, {slot}, {std::int32_t((slot + 1) % shape.num_slots)});
          break;
        case 3:
          pair.truncate({slot}, {std::int32_t(random.between(0, 30))});
          break;
        default:
          pair.accept({slot}, {{text, std::vector<float>(text.size(), 0.5F)}}, SAMPLER_ID_I32,
                      &adaptive);
      }
      Seen fresh(shape);
      fresh.pair.move_bytes(pair, 0, shape.num_slots, 0);
      ASSERT_TRUE(fresh.memory() == seen.memory()) << "round " << round;
    }
  }
}

TEST(Bytes, AreAllGivenBack) {
  Recorder recorder;
  const Handle handle = make_recorded_handle(&recorder);
  auto options = sized<sampler_state_options>();
  options.num_slots = 7;
  options.max_tokens = 100;
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_OK);
  const State state = make_state(handle.get(), {7, 100, 0, false});
  EXPECT_EQ(recorder.bytes, bytes);
}

// What a server of 100,000 sequences takes.
TEST(Bytes, OfManySlotsAreFew) {
  const Handle handle = make_handle();
  auto options = sized<sampler_state_options>();
  options.num_slots = 100000;
  options.max_tokens = 4096;
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_OK);
  EXPECT_LT(bytes, std::size_t(4) << 30);
  EXPECT_GT(bytes, options.num_slots * options.max_tokens * sizeof(std::int32_t));
  const std::size_t usual = bytes;
  options.max_distinct_tokens = 1024;
  ASSERT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_OK);
  EXPECT_EQ(bytes, usual);
  options.keep_adaptive_values = 1;
  ASSERT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_OK);
  EXPECT_GE(bytes, usual + options.num_slots * options.max_tokens * 16);
}

TEST(Bytes, OfTooManySlotsAreRefused) {
  const Handle handle = make_handle();
  auto options = sized<sampler_state_options>();
  options.num_slots = INT32_MAX;
  options.max_tokens = INT32_MAX;
  std::size_t bytes = 77;
  EXPECT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(bytes, 77u);
  EXPECT_STREQ(
      sampler_last_error(),
      "num_slots is 2147483647 and max_tokens 2147483647; they must fit the address space");
  sampler_state_t state = reinterpret_cast<sampler_state_t>(&options);
  EXPECT_EQ(sampler_state_create(handle.get(), &options, &state), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(state, nullptr);
}

TEST(Bytes, ThatTheAllocatorHasNotAreAnError) {
  sampler_options handle_options = sampler_options_default();
  handle_options.num_threads = 1;
  static bool is_empty;
  is_empty = false;
  handle_options.allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) {
    void *memory = nullptr;
    if (!is_empty && posix_memalign(&memory, alignment, bytes) != 0) memory = nullptr;
    return memory;
  };
  handle_options.allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    std::free(memory);
  };
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&handle_options, &sampler), SAMPLER_OK);
  const Handle handle(sampler);
  is_empty = true;
  auto options = sized<sampler_state_options>();
  options.num_slots = 1;
  options.max_tokens = 8;
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_state_size(sampler, &options, &bytes), SAMPLER_OK);
  sampler_state_t state = reinterpret_cast<sampler_state_t>(&options);
  EXPECT_EQ(sampler_state_create(sampler, &options, &state), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(state, nullptr);
  EXPECT_EQ(sampler_last_error(),
            "the allocator returned NULL for the state, " + std::to_string(bytes) + " bytes");
}

}  // namespace
}  // namespace state_test::bytes_test
