// integrations/mpi under mpirun: whatever has a sharded form, over processes. Every rank compares
// what it has with what the whole rows give, and what it sent with the plan.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "mpi_ranks.h"
#include "problem.h"
#include "random_calls.h"

namespace shards_test::mpi_calls_test {
namespace {

// The same calls at random on every rank of the world.
class Calls : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    sampler_options options = sampler_options_default();
    options.num_threads = 1;
    ASSERT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
    alarm(kMaxSeconds);
  }
  void TearDown() override {
    alarm(0);
    sampler_destroy(sampler_);
  }

  // Uneven and empty ones, too.
  Ranges own_range() {
    const int64_t num_ranks = communicator_.num_ranks();
    const uint64_t seed = random_();
    return communicator_.own(seed % 3 ? uneven_ranges(kNumCols, num_ranks, seed)
                                      : even_ranges(kNumCols, num_ranks));
  }
  Rows rows(int i, sampler_input_kind kind) {
    return make_rows(kNumRows, kNumCols, sampler_dtype(i % 3), kind, i % 4 == 0, random_());
  }
  std::string sample(const Rows &rows, const SampleCall &call) {
    Outcome outcome;
    return compare_sample(sampler_, rows, call, own_range(), &outcome);
  }

  const Communicator communicator_{GetParam()};
  const RunOverMpi over_mpi_{communicator_, kNumCols};
  std::mt19937_64 random_{7};
  sampler_t sampler_ = nullptr;
};

TEST_P(Calls, Sample) {
  for (int i = 0; i < 60; ++i) {
    const auto kind = sampler_input_kind(i % 4 == 3);
    const Rows given = rows(i, kind);
    const SampleCall call = random_sample(random_, kind, kNumCols);
    ASSERT_EQ(sample(given, call), "") << to_text(call) << " call " << i;
  }
}

TEST_P(Calls, SampleBySlot) {
  for (int i = 0; i < 40; ++i) {
    const auto kind = sampler_input_kind(i % 4 == 3);
    const Rows given = rows(i, kind);
    SampleCall call = draw_call(random_);
    if (kind == SAMPLER_PROBABILITIES) call.params.temperature = 1.0f;
    SlotArrays arrays(random_, 60);
    arrays.put(random_, &call);
    call.max_top_k = i % 2 ? 60 : 0;
    if (random_() % 2) call.wanted.num_top = 4;
    ASSERT_EQ(sample(given, call), "") << "call " << i;
  }
}

TEST_P(Calls, SampleWithEdits) {
  for (int i = 0; i < 40; ++i) {
    const Rows given = rows(i, SAMPLER_LOGITS);
    SampleCall call = draw_call(random_);
    SlotArrays arrays(random_, 60);
    arrays.put(random_, &call);
    Edits edits(random_);
    edits.put(random_, &call);
    call.max_top_k = 60;
    ASSERT_EQ(sample(given, call), "") << "call " << i;
  }
}

// Steps of a text that each rank has in a state of its own: penalties, top-p's decay.
TEST_P(Calls, SampleFromStates) {
  sampler_state_options options = {};
  options.struct_size = sizeof options;
  options.num_slots = kNumRows;
  options.max_tokens = 32;
  sampler_state_t state = nullptr;
  ASSERT_EQ(sampler_state_create(sampler_, &options, &state), SAMPLER_OK) << sampler_last_error();
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.state = state;
  for (int i = 0; i < 12; ++i) {
    const Rows given = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 5);
    SampleCall call = draw_call(random_);
    call.args.pipeline = &pipeline;
    call.params.top_p = 0.9f;
    call.params.top_p_decay = 0.8f;
    call.params.repetition_penalty = 1.5f;
    call.params.frequency_penalty = 0.3f;
    call.params.dry_multiplier = 0.8f;
    call.params.no_repeat_ngram_size = i % 3;
    call.args.random.seed = random_();
    ASSERT_EQ(sample(given, call), "") << "call " << i;
    const Tokens drawn = sample_whole(sampler_, given, call);
    sampler_accept_args accept = {};
    accept.struct_size = sizeof accept;
    accept.state = state;
    accept.num_rows = kNumRows;
    accept.token_ids = drawn.ids.data();
    accept.num_tokens = 1;
    accept.params = &call.params;
    ASSERT_EQ(sampler_accept(sampler_, &accept), SAMPLER_OK) << sampler_last_error();
  }
  sampler_state_destroy(state);
}

TEST_P(Calls, Filter) {
  for (int i = 0; i < 40; ++i) {
    const auto kind = sampler_input_kind(i % 4 == 3);
    const Rows given = rows(i, kind);
    FilterCall call;
    call.params = draw_params(random_, kind, kNumCols);
    call.args.output_dtype = random_() % 2 ? given.dtype : sampler_dtype(SAMPLER_F32);
    call.args.output_kind = kind == SAMPLER_LOGITS ? int32_t(random_() % 2) : 0;
    ASSERT_EQ(compare_filter(sampler_, given, call, own_range()), "")
        << to_text(call.params) << " call " << i;
  }
}

// Without filters: softmax, and renormalisation.
TEST_P(Calls, Normalise) {
  for (int i = 0; i < 6; ++i) {
    const Rows given = rows(i, sampler_input_kind(i % 2));
    ASSERT_EQ(compare_filter(sampler_, given, FilterCall(), own_range()), "") << "call " << i;
  }
}

TEST_P(Calls, Select) {
  for (int i = 0; i < 12; ++i) {
    const Rows given = rows(i, sampler_input_kind(i % 2));
    const int64_t num_selected = std::array<int64_t, 3>{1, 5, kNumCols}[size_t(i % 3)];
    std::vector<int32_t> counts;
    for (int64_t row = 0; row < kNumRows; ++row) counts.push_back(int32_t(random_() % 7) - 1);
    ASSERT_EQ(
        compare_select(sampler_, given, num_selected, i % 2 ? counts.data() : nullptr, own_range()),
        "")
        << num_selected << " call " << i;
  }
}

TEST_P(Calls, LeaveResiduals) {
  for (int i = 0; i < 12; ++i) {
    const Rows p = rows(i, SAMPLER_PROBABILITIES);
    const Rows q = i % 4 == 1 ? p : rows(i + 1, SAMPLER_PROBABILITIES);  // nothing is left of p
    std::vector<int32_t> drafts;
    for (int64_t row = 0; row < kNumRows; ++row) {
      drafts.push_back(int32_t(random_() % uint64_t(kNumCols + 2)) - 1);
    }
    ASSERT_EQ(compare_residual(sampler_, p, q, i % 2 ? nullptr : drafts.data(),
                               i % 3 ? sampler_dtype(SAMPLER_F32) : p.dtype, own_range()),
              "")
        << "call " << i;
  }
}

// Chains of some drafts, the first tokens of their rows or any, by rows of the drafter or without.
TEST_P(Calls, Verify) {
  for (int i = 0; i < 24; ++i) {
    const int64_t num_drafts = i % 5, num_sequences = 4;
    const bool is_greedy = i % 3 == 0;
    const auto kind = sampler_input_kind(!is_greedy || i % 2);
    const Rows target = make_rows(num_sequences * (num_drafts + 1), kNumCols, sampler_dtype(i % 3),
                                  kind, i % 4 == 0, random_());
    const Rows draft = make_rows(num_sequences * num_drafts, kNumCols, sampler_dtype(i / 2 % 3),
                                 kind, i % 4 == 0, random_());
    std::vector<int32_t> ids, counts;
    for (int64_t j = 0; j < num_sequences * num_drafts; ++j) {
      const int64_t row = j / num_drafts * (num_drafts + 1) + j % num_drafts;
      const auto begin = target.values.begin() + row * kNumCols;
      const int64_t first = std::max_element(begin, begin + kNumCols) - begin;
      ids.push_back(random_() % 3 ? int32_t(first) : int32_t(random_() % (kNumCols + 2)) - 1);
    }
    for (int64_t j = 0; j < num_sequences; ++j) {
      counts.push_back(int32_t(random_() % uint64_t(num_drafts + 3)) - 1);
    }
    VerifyCall call;
    if (is_greedy) call.params.temperature = 0.0f;
    call.args.num_drafts = num_drafts;
    call.args.draft_token_ids = num_drafts ? ids.data() : nullptr;
    call.args.draft_counts = i % 4 == 2 ? counts.data() : nullptr;
    call.args.random.seed = random_();
    call.has_draft = num_drafts > 0 && i % 2;
    call.wants_accepted = i % 2;
    Outcome outcome;
    ASSERT_EQ(compare_verify(sampler_, target, draft, call, own_range(), &outcome), "")
        << "call " << i;
  }
}

std::string name_of(const testing::TestParamInfo<Order> &of) {
  const std::string names[] = {"World", "Reversed", "Apart"};
  return names[size_t(of.param)];
}

INSTANTIATE_TEST_SUITE_P(All, Calls,
                         testing::Values(Order::kWorld, Order::kReversed, Order::kApart), name_of);

}  // namespace
}  // namespace shards_test::mpi_calls_test
