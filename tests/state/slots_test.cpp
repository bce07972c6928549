// Random calls on many slots, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../seed.h"
#include "support.h"

namespace state_test::slots_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Makes calls with arguments of all kinds.
class Player {
 public:
  Player(std::uint64_t seed, Pair *pair, Pair *other) : random_(seed), pair_(pair), other_(other) {}

  void make_call() {
    switch (random_.between(0, 9)) {
      case 0:
      case 1:
        return append();
      case 2:
      case 3:
      case 4:
        return accept();
      case 5:
      case 6:
        return truncate();
      case 7:
        return copy();
      case 8:
        return random_.one_in(3) ? reset() : truncate();
      default:
        return move_bytes();
    }
  }

 private:
  // Distinct slots in any order, some of them none.
  Slots some_slots(std::int64_t most) {
    Slots all(std::size_t(pair_->num_slots()));
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = all.size(); i > 1; --i) {
      std::swap(all[i - 1], all[std::size_t(random_.between(0, std::int64_t(i) - 1))]);
    }
    all.resize(std::size_t(random_.between(0, std::min(most, pair_->num_slots()))));
    for (std::int32_t &slot : all) {
      if (random_.one_in(20)) slot = random_.one_in(2) ? -1 : std::int32_t(pair_->num_slots());
    }
    return all;
  }

  // Few distinct ones, but for some.
  std::int64_t token() {
    const std::int64_t id = random_.between(0, random_.one_in(4) ? INT32_MAX : 9);
    return id;
  }

  sampler_id_type type() { return random_.one_in(2) ? SAMPLER_ID_I32 : SAMPLER_ID_I64; }

  Text text(std::int64_t most, sampler_id_type id_type) {
    Text result(std::size_t(random_.between(0, most)));
    for (std::int64_t &id : result) id = token();
    if (!result.empty() && random_.one_in(20)) {
      const bool is_64 = id_type == SAMPLER_ID_I64;
      result[std::size_t(random_.between(0, std::int64_t(result.size()) - 1))] =
          is_64 && random_.one_in(2) ? std::int64_t(1) << 31 : -1;
    }
    return result;
  }

  void append() {
    const Slots slots = some_slots(100);
    const sampler_id_type id_type = type();
    const bool are_prompts = random_.one_in(2);
    std::vector<Text> lists;
    for (std::size_t i = 0; i < slots.size(); ++i) lists.push_back(text(12, id_type));
    pair_->append(slots, lists, are_prompts, id_type);
  }

  void accept() {
    const Slots slots = some_slots(100);
    const sampler_id_type id_type = type();
    const bool observes = !random_.one_in(3);
    std::vector<Accepted> rows;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Accepted row = {text(random_.one_in(3) ? 5 : 1, id_type), {}};
      for (std::size_t k = 0; observes && k < row.ids.size(); ++k) {
        row.observations.push_back(random_.one_in(4) ? kNaN : 9 * random_.unit());
      }
      rows.push_back(row);
    }
    const Adaptive adaptive = {std::int32_t(random_.between(0, 3)),
                               random_.unit(),
                               random_.unit(),
                               0.9F,
                               random_.one_in(2) ? 0.8F : 0.0F,
                               0.1F};
    pair_->accept(slots, rows, id_type, random_.one_in(4) ? nullptr : &adaptive);
  }

  void truncate() {
    const Slots slots = some_slots(3);
    std::vector<std::int32_t> lengths;
    for (const std::int32_t slot : slots) {
      const bool is_slot = slot >= 0 && slot < pair_->num_slots();
      const std::int64_t length = is_slot ? std::int64_t(pair_->slot(slot).tokens.size()) : 0;
      std::int64_t kept = random_.between(std::max<std::int64_t>(length - 4, 0), length);
      if (random_.one_in(8)) kept = random_.between(0, length);
      if (random_.one_in(20)) kept = random_.one_in(2) ? INT32_MIN : INT32_MAX;
      lengths.push_back(std::int32_t(kept));
    }
    pair_->truncate(slots, lengths);
  }

  // A source may come many times, and no destination is one of them.
  void copy() {
    if (random_.one_in(2)) {
      Slots sources;
      const Slots destinations = some_slots(3);
      for (std::size_t i = 0; i < destinations.size(); ++i) {
        sources.push_back(std::int32_t(random_.between(-1, other_->num_slots())));
      }
      return pair_->copy(*other_, sources, destinations);
    }
    Slots slots = some_slots(5);
    if (slots.size() < 2) return;
    const std::int32_t source = slots.back();
    slots.pop_back();
    pair_->copy(*pair_, Slots(slots.size(), source), slots);
    pair_->copy(*pair_, {source}, {source});
  }

  void reset() {
    if (random_.one_in(10)) return pair_->reset_all();
    const Slots slots = some_slots(2);
    std::vector<std::array<float, 4>> values;
    for (std::size_t i = 0; i < slots.size() && random_.one_in(2); ++i) {
      values.push_back({random_.unit(), random_.one_in(2) ? -kNaN : 2.0F, random_.unit(),
                        random_.one_in(10) ? -kInfinity : 0.5F});
    }
    if (values.size() != slots.size()) values.clear();
    pair_->reset(slots, values);
  }

  void move_bytes() {
    const std::int64_t first = random_.between(0, other_->num_slots());
    const std::int64_t count =
        random_.between(0, std::min<std::int64_t>(3, other_->num_slots() - first));
    pair_->move_bytes(*other_, first, count, random_.between(0, pair_->num_slots()));
  }

  Random random_;
  Pair *pair_;
  Pair *other_;
};

const Shape kShapes[] = {{1, 1, 0, false},   {1, 1, 1, true},     {5, 40, 0, false},
                         {5, 40, 0, true},   {5, 40, 3, false},   {5, 40, 3, true},
                         {5, 30, 30, true},  {3, 1000, 0, false}, {70, 20, 7, true},
                         {2, 300, 75, false}};

TEST(Slots, HoldWhatTheOracleHoldsAfterAnyCalls) {
  const Handle handle = make_handle();
  std::uint64_t seed = 0;
  for (const Shape &first : kShapes) {
    for (const Shape &second : kShapes) {
      SCOPED_TRACE(++seed);
      Pair one(handle.get(), first), two(handle.get(), second);
      Player player_of_one(seeded(seed), &one, &two),
          player_of_two(seeded(seed + 1000), &two, &one);
      for (int round = 0; round < 200 && !testing::Test::HasFatalFailure(); ++round) {
        player_of_one.make_call();
        player_of_two.make_call();
        one.check();
        two.check();
      }
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
  }
}

// Without slots row i has slot i; a call of no rows does nothing.
TEST(Slots, AreTheRowsWhereNoneAreGiven) {
  const Handle handle = make_handle();
  Pair pair(handle.get(), {3, 10, 0, false});
  const Lists lists({{1, 2}, {3}}, SAMPLER_ID_I32);
  auto args = sized<sampler_state_append_args>();
  args.state = pair.state();
  args.num_rows = 2;
  args.tokens = lists.view();
  ASSERT_EQ(sampler_state_append(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
  auto none = sized<sampler_state_append_args>();
  none.state = pair.state();
  ASSERT_EQ(sampler_state_append(handle.get(), &none), SAMPLER_OK) << sampler_last_error();
  std::int32_t lengths[3] = {};
  auto read = sized<sampler_state_read_args>();
  read.state = pair.state();
  read.num_rows = 3;
  read.out_lengths = lengths;
  ASSERT_EQ(sampler_state_read(handle.get(), &read), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(lengths[0], 2);
  EXPECT_EQ(lengths[1], 1);
  EXPECT_EQ(lengths[2], 0);
}

// Rows of bad slots have their own outputs.
TEST(Slots, ThatAreNoneAreReadAsNothing) {
  const Handle handle = make_handle();
  const State state = make_state(handle.get(), {2, 10, 0, false});
  const Slots slots = {2, 0, -1};
  std::int64_t ids[6] = {7, 7, 7, 7, 7, 7};
  std::int32_t lengths[3] = {7, 7, 7}, prompt_lengths[3] = {7, 7, 7};
  float values[12] = {};
  sampler_row_status status[3] = {};
  auto read = sized<sampler_state_read_args>();
  read.state = state.get();
  read.slots = slots.data();
  read.num_rows = 3;
  read.out_token_ids = ids;
  read.num_tokens = 2;
  read.token_id_type = SAMPLER_ID_I64;
  read.out_lengths = lengths;
  read.out_prompt_lengths = prompt_lengths;
  read.out_adaptive_values = values;
  read.out_row_status = status;
  ASSERT_EQ(sampler_state_read(handle.get(), &read), SAMPLER_OK) << sampler_last_error();
  for (const int row : {0, 2}) {
    EXPECT_EQ(status[row], std::uint32_t(SAMPLER_ROW_INVALID_SLOT));
    EXPECT_EQ(lengths[row], -1);
    EXPECT_EQ(prompt_lengths[row], -1);
    EXPECT_EQ(ids[2 * row], -1);
    EXPECT_EQ(ids[2 * row + 1], -1);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(values[4 * row + i]));
  }
  EXPECT_EQ(status[1], std::uint32_t(SAMPLER_ROW_OK));
  EXPECT_EQ(lengths[1], 0);
}

// A slot that a call names twice has undefined contents; the other slots are as they were.
TEST(Slots, ThatComeTwiceHarmNoOther) {
  const Handle handle = make_handle();
  Pair pair(handle.get(), {3, 10, 4, true});
  pair.append({0, 1, 2}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, true, SAMPLER_ID_I32);
  const auto others = [&] {
    return serialize(handle.get(), pair.state(), 0, 1) +
           serialize(handle.get(), pair.state(), 2, 1);
  };
  const std::string before = others();
  const Slots slots = {1, 1, 1};
  const std::int32_t ids[] = {10, 11, 12};
  auto accept = sized<sampler_accept_args>();
  accept.state = pair.state();
  accept.slots = slots.data();
  accept.num_rows = 3;
  accept.token_ids = ids;
  accept.num_tokens = 1;
  EXPECT_EQ(sampler_accept(handle.get(), &accept), SAMPLER_OK);
  const std::int32_t lengths[] = {5, 1, 3};
  auto truncate = sized<sampler_state_truncate_args>();
  truncate.state = pair.state();
  truncate.slots = slots.data();
  truncate.num_rows = 3;
  truncate.lengths = lengths;
  EXPECT_EQ(sampler_state_truncate(handle.get(), &truncate), SAMPLER_OK);
  EXPECT_EQ(others(), before);
}

}  // namespace
}  // namespace state_test::slots_test
