// A simple call is the full call with its arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "batch.h"

namespace invariance_test::simple_test {
namespace {

using oracle_test::Batch;
using oracle_test::make_logits;
using oracle_test::make_probabilities;
using oracle_test::Random;
using oracle_test::RowKind;
using oracle_test::SamplerPtr;

constexpr std::uint64_t kSeed = 0x123456789ABCDEF, kOffset = 0xFEDCBA987654321;
constexpr std::size_t kNumRows = 30;
constexpr std::int64_t kNumDrafts = 2;
constexpr std::size_t kNumSequences = kNumRows / (kNumDrafts + 1);
const std::vector<std::size_t> kWidths = {1, 2, 33, 257};

// Rows of every kind, a bad one among them.
Batch random_batch(sampler_input_kind kind, std::size_t num_rows, std::size_t num_cols,
                   Random *random) {
  const auto dtype = static_cast<sampler_dtype>(random->below(3));
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto row_kind = static_cast<RowKind>(random->below(std::size_t(RowKind::kNumKinds)));
    rows.push_back(make_logits(row_kind, num_cols, dtype, random));
    if (kind == SAMPLER_PROBABILITIES) rows.back() = make_probabilities(rows.back(), 1.0);
  }
  rows[random->below(num_rows)][random->below(num_cols)] = std::nanf("");
  return Batch(dtype, kind, rows, random->below(4));
}

// Room for what any call here writes.
struct Outputs {
  explicit Outputs(const sampler_rows &input)
      : tokens(std::size_t(input.num_rows * input.num_cols), -7),
        accepted(std::size_t(input.num_rows), -7),
        emitted(accepted),
        values(tokens.size(), -7.0f) {}
  std::vector<std::int32_t> tokens, accepted, emitted;
  std::vector<float> values;

  // NaN equals itself.
  friend bool operator==(const Outputs &a, const Outputs &b) {
    const auto same = [](float x, float y) { return x == y || (x != x && y != y); };
    return a.tokens == b.tokens && a.accepted == b.accepted && a.emitted == b.emitted &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(), same);
  }
};

class SimpleCalls : public testing::Test {
 protected:
  using Work =
      std::function<sampler_status(const sampler_rows &, const sampler_params &, Outputs *)>;

  // Compares two ways to do the same, with parameters of all kinds.
  void expect_same(std::initializer_list<sampler_input_kind> kinds, const Work &simple,
                   const Work &full) {
    for (const sampler_input_kind kind : kinds) {
      for (const std::size_t num_cols : kWidths) {
        for (int repetition = 0; repetition < 8; ++repetition) {
          const Batch batch = random_batch(kind, kNumRows, num_cols, &random_);
          sampler_params params = sampler_params_default();
          params.temperature = kind == SAMPLER_PROBABILITIES ? 1.0f : random_.pick(kTemperatures);
          params.top_k = std::int32_t(random_.below(num_cols + 2));
          params.top_p = random_.pick(kTopPs);
          params.min_p = random_.pick(kMinPs);
          Outputs a(batch.rows()), b(batch.rows());
          ASSERT_EQ(simple(batch.rows(), params, &a), SAMPLER_OK) << sampler_last_error();
          ASSERT_EQ(full(batch.rows(), params, &b), SAMPLER_OK) << sampler_last_error();
          ASSERT_TRUE(a == b) << "V=" << num_cols << " kind=" << kind << " k=" << params.top_k
                              << " p=" << params.top_p << " T=" << params.temperature;
        }
      }
    }
  }

  // sampler_sample with these parameters.
  sampler_status sample(const sampler_rows &input, const sampler_params &params, Outputs *out) {
    auto args = sized<sampler_sample_args>();
    args.input = input;
    args.params = &params;
    args.random.seed = kSeed;
    args.random.offset = kOffset;
    args.out_token_ids = out->tokens.data();
    return sampler_sample(sampler_.get(), &args);
  }

  sampler_status filter(const sampler_rows &input, const sampler_params &params,
                        sampler_output_kind output_kind, Outputs *out) {
    auto args = sized<sampler_filter_args>();
    args.input = input;
    args.params = &params;
    args.output_kind = output_kind;
    args.output = out->values.data();
    return sampler_filter(sampler_.get(), &args);
  }

  const std::vector<float> kTemperatures = {1.0f, 0.7f, 2.0f, 0.0f}, kTopPs = {0.9f, 0.5f, 1.0f},
                           kMinPs = {0.05f, 0.3f, 0.0f};
  SamplerPtr sampler_ = oracle_test::make_sampler(kNumRows, 300);
  Random random_{seeded(1)};
};

using Params = sampler_params;
using Rows = sampler_rows;

// `member`s of the default parameters.
template <class... T>
Params only(const Params &params, T Params::*...member) {
  Params result = sampler_params_default();
  ((result.*member = params.*member), ...);
  return result;
}

constexpr auto kLogits = SAMPLER_LOGITS;
constexpr auto kProbabilities = SAMPLER_PROBABILITIES;

TEST_F(SimpleCalls, Argmax) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &, Outputs *out) {
        return sampler_argmax(sampler_.get(), &rows, out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &, Outputs *out) {
        Params greedy = sampler_params_default();
        greedy.temperature = 0.0f;
        return sample(rows, greedy, out);
      });
}

TEST_F(SimpleCalls, Categorical) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_categorical(sampler_.get(), &rows, p.temperature, kSeed, kOffset,
                                   out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sample(rows, only(p, &Params::temperature), out);
      });
}

TEST_F(SimpleCalls, TopK) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_k(sampler_.get(), &rows, p.top_k, p.temperature, kSeed, kOffset,
                             out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sample(rows, only(p, &Params::temperature, &Params::top_k), out);
      });
}

TEST_F(SimpleCalls, TopP) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_p(sampler_.get(), &rows, p.top_p, p.temperature, kSeed, kOffset,
                             out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sample(rows, only(p, &Params::temperature, &Params::top_p), out);
      });
}

TEST_F(SimpleCalls, MinP) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_min_p(sampler_.get(), &rows, p.min_p, p.temperature, kSeed, kOffset,
                             out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sample(rows, only(p, &Params::temperature, &Params::min_p), out);
      });
}

TEST_F(SimpleCalls, TopKTopP) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_k_top_p(sampler_.get(), &rows, p.top_k, p.top_p, p.temperature, kSeed,
                                   kOffset, out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sample(rows, only(p, &Params::temperature, &Params::top_k, &Params::top_p), out);
      });
}

TEST_F(SimpleCalls, Softmax) {
  expect_same(
      {kLogits},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_softmax(sampler_.get(), &rows, p.temperature, out->values.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return filter(rows, only(p, &Params::temperature), SAMPLER_OUTPUT_PROBABILITIES, out);
      });
}

TEST_F(SimpleCalls, TopKRenorm) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_k_renorm(sampler_.get(), &rows, p.top_k, out->values.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return filter(rows, only(p, &Params::top_k), SAMPLER_OUTPUT_PROBABILITIES, out);
      });
}

TEST_F(SimpleCalls, TopPRenorm) {
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_p_renorm(sampler_.get(), &rows, p.top_p, out->values.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return filter(rows, only(p, &Params::top_p), SAMPLER_OUTPUT_PROBABILITIES, out);
      });
}

TEST_F(SimpleCalls, TopKMask) {
  expect_same(
      {kLogits},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_k_mask(sampler_.get(), &rows, p.top_k, out->values.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return filter(rows, only(p, &Params::top_k), SAMPLER_OUTPUT_VALUES, out);
      });
}

TEST_F(SimpleCalls, TopKSelect) {
  const auto num_selected = [](const Rows &rows, const Params &p) {
    return std::max<std::int64_t>(1, std::min<std::int64_t>(rows.num_cols, p.top_k));
  };
  expect_same(
      {kLogits, kProbabilities},
      [&](const Rows &rows, const Params &p, Outputs *out) {
        return sampler_top_k_select(sampler_.get(), &rows, num_selected(rows, p),
                                    out->values.data(), out->tokens.data(), nullptr);
      },
      [&](const Rows &rows, const Params &p, Outputs *out) {
        auto args = sized<sampler_select_args>();
        args.input = rows;
        args.num_selected = num_selected(rows, p);
        args.out_values = out->values.data();
        args.out_token_ids = out->tokens.data();
        return sampler_select(sampler_.get(), &args);
      });
}

TEST_F(SimpleCalls, ChainSpeculative) {
  for (const bool has_draft : {true, false}) {
    std::vector<std::int32_t> draft_ids;
    for (std::size_t i = 0; i < kNumSequences * kNumDrafts; ++i) {
      draft_ids.push_back(static_cast<std::int32_t>(random_.below(3)));
    }
    for (const sampler_input_kind kind : {kLogits, kProbabilities}) {
      for (const std::size_t num_cols : {3, 33}) {
        const Batch target = random_batch(kind, kNumRows, num_cols, &random_);
        const Batch draft = random_batch(kind, kNumSequences * kNumDrafts, num_cols, &random_);
        const sampler_rows target_rows = target.rows();
        const sampler_rows draft_rows = has_draft ? draft.rows() : sampler_rows{};
        Outputs a(target_rows), b(target_rows);
        ASSERT_EQ(sampler_chain_speculative(sampler_.get(), &target_rows,
                                            has_draft ? &draft_rows : nullptr, draft_ids.data(),
                                            kNumDrafts, kSeed, kOffset, a.tokens.data(),
                                            a.accepted.data(), a.emitted.data(), nullptr),
                  SAMPLER_OK)
            << sampler_last_error();
        auto args = sized<sampler_verify_args>();
        args.target = target_rows;
        args.draft = draft_rows;
        args.draft_token_ids = draft_ids.data();
        args.num_drafts = kNumDrafts;
        args.random.seed = kSeed;
        args.random.offset = kOffset;
        args.out_token_ids = b.tokens.data();
        args.out_accepted_counts = b.accepted.data();
        args.out_emitted_counts = b.emitted.data();
        ASSERT_EQ(sampler_verify(sampler_.get(), &args), SAMPLER_OK) << sampler_last_error();
        ASSERT_TRUE(a == b) << "V=" << num_cols << " kind=" << kind;
      }
    }
  }
}

}  // namespace
}  // namespace invariance_test::simple_test
