// How calls take what an advance verifies.
#include "decoding/session/chain_layout.h"

#include <gtest/gtest.h>

#include "parts.h"

namespace session_test::chain_layout_test {
namespace {

using decoding::ChainGroup;
using decoding::DraftGroup;
using Tokens = std::vector<std::int32_t>;

decoding::SessionConfig config_of_four() {
  decoding::SessionConfig config = small_config();
  config.options.max_sequences = 4;
  config.options.has_draft_trees = 1;
  config.pipeline.token_bitmasks = reinterpret_cast<const std::uint32_t *>(&config);
  return config;
}

struct Layout : Parts {
  Layout()
      : Parts(config_of_four()),
        transfer(handle.get(), nullptr, 0, 0, &arena, &arena),
        drafting(config, &host, &table, &arrays),
        layout(config, &table, &drafting, &transfer, &arrays) {}

  // A sequence with `num_new` new tokens and these drafts.
  void add(std::int64_t num_new, const sampler_session_add_args &args, const Tokens &drafts) {
    const std::int32_t sequence = Parts::add({1}, args);
    for (std::int64_t i = 0; i < num_new; ++i) table.append(sequence, 2);
    std::copy(drafts.begin(), drafts.end(), table.drafts(sequence));
    table[sequence].num_drafts = std::int64_t(drafts.size());
  }
  void find(const Tokens &sequences) {
    spans.clear();
    masks.clear();
    for (const std::int32_t sequence : sequences) {
      sampler_span span = {};
      span.sequence = sequence;
      span.num_tokens = span.num_logits = table[sequence].num_drafts + 1;
      spans.push_back(span);
      for (std::int64_t i = 0; i < span.num_logits; ++i) {
        masks.push_back(100 + std::int32_t(masks.size()));
      }
    }
    auto args = sized<sampler_session_advance_args>();
    args.spans = spans.data();
    args.num_spans = std::int64_t(spans.size());
    args.token_bitmask_indices = masks.data();
    layout.find(args);
  }

  Handle handle;
  decoding::Transfer transfer;
  decoding::Drafting drafting;
  decoding::ChainLayout layout;
  std::vector<sampler_span> spans;
  Tokens masks;
};

Tokens tokens(const void *values, std::int64_t count) {
  const auto *const first = static_cast<const std::int32_t *>(values);
  return {first, first + count};
}

TEST(ChainLayout, SequencesOfOneCallStandTogether) {
  Layout parts;
  auto plain = sized<sampler_session_add_args>();
  plain.acceptance = SAMPLER_ACCEPT_SAMPLE_MATCH;
  auto standard = plain;
  standard.acceptance = SAMPLER_ACCEPT_STANDARD;
  parts.add(0, plain, {});
  parts.add(1, plain, {10, 11});
  parts.add(2, standard, {});  // verified, since its tokens are not drawn as sampler_sample does
  parts.add(3, plain, {12});
  parts.find({1, 0, 2, 3});
  EXPECT_EQ(parts.layout.num_rows(), 7);

  const ChainGroup &drawn = parts.layout.group(DraftGroup::kNone);
  ASSERT_EQ(drawn.count, 1);
  EXPECT_EQ(tokens(parts.layout.place_rows(drawn), 1), (Tokens{3}));
  EXPECT_EQ(tokens(parts.layout.place_slots(drawn), 1), (Tokens{0}));
  EXPECT_EQ(tokens(parts.layout.place_masks(drawn), 1), (Tokens{103}));

  const ChainGroup &chains = parts.layout.group(DraftGroup::kCertain);
  ASSERT_EQ(chains.count, 3);
  EXPECT_EQ(tokens(parts.layout.place_slots(chains), 3), (Tokens{1, 2, 3}));
  EXPECT_EQ(tokens(parts.layout.place_masks(chains), 15),
            (Tokens{100, 101, 102, -1, -1, 104, -1, -1, -1, -1, 105, 106, -1, -1, -1}));
  auto args = sized<sampler_verify_args>();
  auto layout = sized<sampler_draft_layout>();
  parts.layout.place_chains(chains, &layout, &args);
  EXPECT_EQ(layout.num_packed_drafts, 3);
  EXPECT_EQ(layout.num_packed_positions, 6);
  EXPECT_EQ(tokens(layout.packing_offsets, 4), (Tokens{0, 2, 2, 3}));
  EXPECT_EQ(tokens(args.draft_token_ids, 3), (Tokens{10, 11, 12}));
  EXPECT_EQ(tokens(layout.target_row_indices, 6), (Tokens{0, 1, 2, 4, 5, 6}));

  EXPECT_EQ(parts.layout.group(DraftGroup::kDrawn).count, 0);
  EXPECT_EQ(parts.layout.group(DraftGroup::kTrees).count, 0);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(parts.table.offsets()[i], std::uint64_t(i));
  EXPECT_EQ(parts.layout.chain(1).span, 0);
  EXPECT_EQ(parts.layout.chain(2).sequence, 2);
  EXPECT_EQ(parts.table[3].first_row, 5);
}

TEST(ChainLayout, TreesHavePlacesForAllDrafts) {
  Layout parts;
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_MODEL;
  args.draft_top_k = 2;
  for (std::int32_t i = 0; i < 2; ++i) {
    parts.add(1, args, {});
    const Tokens row = {10 + i, 20 + i};
    parts.drafting.add_selected(i, row.data(), 2);
    parts.drafting.join_siblings(i);
  }
  parts.find({0, 1});
  const ChainGroup &trees = parts.layout.group(DraftGroup::kTrees);
  ASSERT_EQ(trees.count, 2);
  auto call = sized<sampler_verify_args>();
  auto layout = sized<sampler_draft_layout>();
  parts.layout.place_trees(trees, &layout, &call);
  EXPECT_EQ(tokens(call.draft_counts, 2), (Tokens{2, 2}));
  EXPECT_EQ(tokens(call.draft_token_ids, 2), (Tokens{10, 20}));
  EXPECT_EQ(tokens(static_cast<const std::int32_t *>(call.draft_token_ids) + 4, 2),
            (Tokens{11, 21}));
  EXPECT_EQ(tokens(layout.parents, 2), (Tokens{-1, -1}));
  EXPECT_EQ(tokens(layout.target_row_indices, 3), (Tokens{0, 1, 2}));
  EXPECT_EQ(tokens(layout.target_row_indices + 5, 3), (Tokens{3, 4, 5}));
}

}  // namespace
}  // namespace session_test::chain_layout_test
