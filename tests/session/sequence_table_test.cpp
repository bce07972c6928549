// Sequences that come and go, grow and end.
#include <gtest/gtest.h>

#include "parts.h"

namespace session_test::sequence_table_test {
namespace {

TEST(SequenceTable, NumbersOfRemovedSequencesAreGivenAgain) {
  Parts parts;
  EXPECT_EQ(parts.add({1}), 0);
  EXPECT_EQ(parts.add({2}), 1);
  EXPECT_TRUE(parts.table.is_full());
  parts.table.remove(0);
  EXPECT_EQ(parts.table.find(0), nullptr);
  EXPECT_FALSE(parts.table.is_full());
  EXPECT_EQ(parts.add({3}), 0);
  EXPECT_EQ(parts.table.find(-1), nullptr);
  EXPECT_EQ(parts.table.find(2), nullptr);
}

TEST(SequenceTable, TextsEndWhereTheyMay) {
  Parts parts;
  parts.host.ends = {7};
  auto args = sized<sampler_session_add_args>();
  args.max_new_tokens = 3;
  const std::int32_t first = parts.add({7, 7}, args);  // in the prompt it ends nothing
  const decoding::SessionSequence &text = parts.table[first];
  EXPECT_TRUE(text.runs());
  parts.table.append(first, 8);
  EXPECT_TRUE(text.runs());
  parts.table.append(first, 7);
  EXPECT_EQ(text.reason, SAMPLER_FINISH_END_TOKEN);

  const std::int32_t second = parts.add({1}, args);
  for (int i = 0; i < 3; ++i) parts.table.append(second, 9);
  EXPECT_EQ(parts.table[second].reason, SAMPLER_FINISH_LENGTH);
  EXPECT_EQ(parts.table[second].num_new(), 3);

  parts.table.remove(first);
  const std::int32_t full = parts.add(std::vector<std::int32_t>(32, 1));
  EXPECT_EQ(parts.table[full].reason, SAMPLER_FINISH_CONTEXT);
}

TEST(SequenceTable, AStopSequenceIsOfNewTokens) {
  Parts parts;
  const std::int64_t offsets[] = {0, 2, 3};
  const std::int32_t tokens[] = {4, 5, 6};
  auto args = sized<sampler_session_add_args>();
  args.stop_sequences = {offsets, tokens, 2, 3};
  const std::int32_t first = parts.add({1, 4}, args);
  const decoding::SessionSequence &text = parts.table[first];
  parts.table.append(first, 5);
  EXPECT_TRUE(text.runs()) << "it begins in the prompt";

  // A copy has them, too.
  parts.host.copy(first, 1, 3, nullptr);
  parts.table.copy(first, nullptr);
  parts.table.append(1, 6);
  EXPECT_EQ(parts.table[1].reason, SAMPLER_FINISH_STOP_SEQUENCE);
  EXPECT_EQ(parts.table[1].stop_sequence, 1);

  parts.table.append(first, 4);
  EXPECT_TRUE(text.runs());
  parts.table.append(first, 5);
  EXPECT_EQ(text.reason, SAMPLER_FINISH_STOP_SEQUENCE);
  EXPECT_EQ(text.stop_sequence, 0);
}

TEST(SequenceTable, ACopyBeginsAStep) {
  Parts parts;
  auto args = sized<sampler_session_add_args>();
  args.seed = 11;
  args.acceptance = SAMPLER_ACCEPT_STANDARD;
  args.num_drafts = 3;
  const std::int32_t first = parts.add({1, 2, 3}, args);
  decoding::SessionSequence &text = parts.table[first];
  text.num_drafts = 2;
  text.step_drafts = 1;
  text.is_drafted = text.is_in_step = true;
  text.drafter_cache_length = 5;  // drafts that the copy has not
  const std::uint64_t seed = 12;
  parts.table.copy(first, &seed);
  const decoding::SessionSequence &copy = parts.table[1];
  EXPECT_EQ(copy.num_drafts, 0);
  EXPECT_EQ(copy.step_drafts, 3);
  EXPECT_FALSE(copy.is_drafted || copy.is_in_step);
  EXPECT_EQ(copy.drafter_cache_length, 3);
  EXPECT_EQ(parts.table.seeds()[first], 11u);
  EXPECT_EQ(parts.table.seeds()[1], 12u);
  EXPECT_EQ(parts.table.acceptances()[1], SAMPLER_ACCEPT_STANDARD);
}

TEST(SequenceTable, MarksAreOfOneCall) {
  Parts parts;
  parts.table.begin_marks();
  EXPECT_TRUE(parts.table.mark(1));
  EXPECT_TRUE(parts.table.mark(0));
  EXPECT_FALSE(parts.table.mark(1));
  parts.table.begin_marks();
  EXPECT_TRUE(parts.table.mark(1));
}

}  // namespace
}  // namespace session_test::sequence_table_test
