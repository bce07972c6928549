// Where drafts come from, without a session around them.
#include "decoding/session/drafting.h"

#include <gtest/gtest.h>

#include "parts.h"

namespace session_test::drafting_test {
namespace {

using Tokens = std::vector<std::int32_t>;

decoding::SessionConfig config_of(bool has_trees, std::int64_t lookup_tokens) {
  decoding::SessionConfig config = small_config();
  config.options.has_draft_trees = has_trees;
  config.options.lookup_tokens = lookup_tokens;
  config.options.filler_top_k = 2;
  return config;
}

struct Drafts : Parts {
  explicit Drafts(const decoding::SessionConfig &given,
                  const decoding::SessionHost::Rules &rules = {})
      : Parts(given, rules), drafting(config, &host, &table, &arrays) {}

  decoding::Drafting drafting;
};

sampler_session_add_args args_of(sampler_draft_source source) {
  auto args = sized<sampler_session_add_args>();
  args.draft_source = source;
  return args;
}

TEST(Drafting, OfALookupGoesOnAsTheTextDid) {
  Drafts parts(config_of(false, 8));
  auto args = args_of(SAMPLER_DRAFTS_PROMPT_LOOKUP);
  args.prompt_length = 1;
  const std::int32_t sequence = parts.add({1, 2, 3, 1, 2}, args);
  in_call([&](sampler::abi::Entry &entry) {
    parts.drafting.begin(sequence);
    parts.drafting.learn(entry, sequence, 0);
    parts.drafting.draft(entry, sequence);
    EXPECT_EQ(parts.drafts(sequence), (Tokens{3, 1, 2, 3}));
    EXPECT_TRUE(parts.table[sequence].is_drafted);

    // Up to an end token.
    parts.host.ends = {1};
    parts.drafting.draft(entry, sequence);
    EXPECT_EQ(parts.drafts(sequence), (Tokens{3, 1}));

    // A text that outgrows its lookup has no drafts.
    for (int i = 0; i < 4; ++i) parts.table.append(sequence, 5);
    parts.drafting.learn(entry, sequence, 5);
    EXPECT_FALSE(parts.table[sequence].is_drafting);
    parts.drafting.draft(entry, sequence);
    EXPECT_EQ(parts.table[sequence].num_drafts, 0);
  });
}

TEST(Drafting, ACopyLooksUpInItsOwnText) {
  Drafts parts(config_of(false, 8));
  auto args = args_of(SAMPLER_DRAFTS_PROMPT_LOOKUP);
  args.prompt_length = 1;
  in_call([&](sampler::abi::Entry &entry) {
    const std::int32_t first = parts.add({1, 2, 1}, args);
    parts.drafting.begin(first);
    parts.drafting.learn(entry, first, 0);
    parts.host.copy(first, 1, 3, nullptr);
    parts.table.copy(first, nullptr);
    parts.drafting.copy(first, 1);
    parts.table.append(1, 9);
    parts.table.append(1, 1);
    parts.drafting.learn(entry, 1, 3);
    parts.drafting.draft(entry, first);
    parts.drafting.draft(entry, 1);
    EXPECT_EQ(parts.drafts(first), (Tokens{2, 1, 2, 1}));
    EXPECT_EQ(parts.drafts(1), (Tokens{9, 1, 9, 1}));
  });
}

TEST(Drafting, WantsNoMoreThanATextHasRoomFor) {
  Drafts parts(config_of(false, 0));
  parts.config.options.drafter_context = 20;
  auto args = args_of(SAMPLER_DRAFTS_MODEL);
  args.max_new_tokens = 10;
  const std::int32_t sequence = parts.add(Tokens(10, 1), args);
  const decoding::SessionSequence &text = parts.table[sequence];
  EXPECT_EQ(parts.drafting.wanted(text), 0) << "the first token is the target's";
  EXPECT_EQ(parts.drafting.wanted(text, 11), 4);
  EXPECT_EQ(parts.drafting.wanted(text, 17), 2) << "one token is the target's";
  parts.config.options.drafter_context = 12;
  EXPECT_EQ(parts.drafting.wanted(text, 11), 2) << "the last draft is not fed";
  EXPECT_EQ(parts.drafting.wanted(text, 14), 0);

  decoding::SessionHost::Rules rules = {};
  rules.drafts_first = true;
  Drafts first(config_of(false, 0), rules);
  first.add(Tokens(10, 1), args);
  EXPECT_EQ(first.drafting.wanted(first.table[0]), 4);
}

TEST(Drafting, SiblingsOfATreeFollowItsFirstPath) {
  Drafts parts(config_of(true, 0));
  auto args = args_of(SAMPLER_DRAFTS_MODEL);
  args.draft_top_k = 2;
  const std::int32_t sequence = parts.add({1}, args);
  parts.table.append(sequence, 2);
  const Tokens rows[] = {{10, 20}, {11, -1}};
  for (const Tokens &row : rows) parts.drafting.add_selected(sequence, row.data(), 2);
  parts.drafting.add_selected(sequence, Tokens{-1, -1}.data(), 2);
  EXPECT_TRUE(parts.table[sequence].is_drafted) << "a bad row is the last";
  parts.drafting.join_siblings(sequence);
  EXPECT_EQ(parts.drafts(sequence), (Tokens{10, 11, 20}));
  const std::int32_t *const parents = parts.drafting.parents_of(sequence);
  EXPECT_EQ(Tokens(parents, parents + 3), (Tokens{-1, 0, -1}));
  EXPECT_EQ(parts.drafting.depth_of(sequence), 2);
}

TEST(Drafting, EndsAtAnUnlikelyDraw) {
  Drafts parts(config_of(false, 0));
  auto args = args_of(SAMPLER_DRAFTS_MODEL);
  args.least_draft_probability = 0.25f;
  const std::int32_t sequence = parts.add({1}, args);
  parts.drafting.add_drawn(sequence, 3, -1.0f);
  EXPECT_FALSE(parts.table[sequence].is_drafted);
  parts.drafting.add_drawn(sequence, 4, -1.5f);
  EXPECT_TRUE(parts.table[sequence].is_drafted);
  EXPECT_EQ(parts.drafts(sequence), (Tokens{3, 4}));
}

// N-grams that know nothing, and what they were taught.
std::vector<Tokens> lessons;
sampler_status update(void *, const std::int32_t *, std::int64_t, const std::int32_t *next,
                      std::int64_t count) {
  lessons.push_back(Tokens(next, next + count));
  return SAMPLER_OK;
}

TEST(Drafting, NgramsLearnTheLikeliestTokensAndTheOneThatCame) {
  Drafts parts(config_of(false, 0));
  auto ngram = sized<sampler_ngram>();
  ngram.update = update;
  auto args = args_of(SAMPLER_DRAFTS_NGRAM);
  args.ngram = &ngram;
  const std::int32_t sequence = parts.add({1}, args);
  for (const std::int32_t token : {5, 6, 7}) parts.table.append(sequence, token);
  const std::int32_t rows[] = {0, 0, 5, 9, 8, -1, -1, -1};
  std::copy_n(rows, 8, parts.drafting.likeliest());
  parts.table[sequence].first_row = 1;
  lessons.clear();
  in_call([&](sampler::abi::Entry &entry) {
    parts.drafting.learn(entry, sequence, 1);
    EXPECT_EQ(lessons, (std::vector<Tokens>{{5, 9}, {8, 6}, {7}}));
    parts.host.ngrams_fail = true;
    parts.drafting.learn(entry, sequence, 1);
    EXPECT_FALSE(parts.table[sequence].is_drafting);
    EXPECT_EQ(lessons.size(), 3u);
  });
}

}  // namespace
}  // namespace session_test::drafting_test
