#include "model_callbacks.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "model_files.h"

namespace model_callbacks_test {
namespace {

using generate::Gpt2Model;
using generate::Gpt2Sequence;
using generate::ModelCallbacks;
using Ids = std::vector<std::int32_t>;
using Logits = std::vector<float>;

constexpr std::size_t kVocabSize = 37;
constexpr std::size_t kStride = 48;

const Gpt2Model &small_model() {
  static const Gpt2Model model = [] {
    const TempDir dir;
    ModelFiles::odd_sizes().write(dir.path());
    return Gpt2Model(dir.path());
  }();
  return model;
}

struct Span {
  std::int32_t sequence;
  std::int64_t start;
  Ids token_ids;
  std::int64_t num_logits;
  Ids parents = {};  // of all spans or of none
};

class Callbacks : public testing::Test {
 protected:
  // The logits wanted of all spans, without what lies between rows.
  sampler_status forward(const std::vector<Span> &spans, Logits *out_logits = nullptr) {
    Ids sequences, token_ids, parents;
    std::vector<std::int64_t> starts, offsets = {0}, logit_counts;
    std::size_t num_rows = 0;
    for (const Span &span : spans) {
      sequences.push_back(span.sequence);
      starts.push_back(span.start);
      token_ids.insert(token_ids.end(), span.token_ids.begin(), span.token_ids.end());
      parents.insert(parents.end(), span.parents.begin(), span.parents.end());
      offsets.push_back(static_cast<std::int64_t>(token_ids.size()));
      logit_counts.push_back(span.num_logits);
      num_rows += static_cast<std::size_t>(span.num_logits);
    }
    Logits memory(num_rows * kStride);
    sampler_forward_args args = {};
    args.struct_size = sizeof args;
    args.num_spans = static_cast<std::int64_t>(spans.size());
    args.sequences = sequences.data();
    args.starts = starts.data();
    args.token_offsets = offsets.data();
    args.token_ids = token_ids.data();
    args.logit_counts = logit_counts.data();
    args.logits = memory.data();
    args.num_logit_rows = static_cast<std::int64_t>(num_rows);
    args.logits_row_stride = kStride;
    args.logits_dtype = dtype_;
    if (!parents.empty()) args.parents = parents.data();
    const sampler_status status = callbacks_.get()->forward(callbacks_.get()->user, &args);
    for (std::size_t row = 0; out_logits != nullptr && row < num_rows; ++row) {
      const float *begin = &memory[row * kStride];
      out_logits->insert(out_logits->end(), begin, begin + kVocabSize);
    }
    return status;
  }

  sampler_status truncate(std::int32_t sequence, std::int64_t length) {
    return callbacks_.get()->truncate(callbacks_.get()->user, sequence, length);
  }

  sampler_status fork(std::int32_t source, std::int32_t destination) {
    return callbacks_.get()->fork(callbacks_.get()->user, source, destination);
  }

  sampler_dtype dtype_ = SAMPLER_F32;
  ModelCallbacks callbacks_{small_model(), 3};
};

Logits logits_behind(const Ids &ids) {
  Gpt2Sequence sequence(small_model().config());
  Logits logits(kVocabSize);
  small_model().forward({{&sequence, ids.data(), static_cast<int>(ids.size())}}, logits.data());
  return logits;
}

Logits joined(Logits a, const Logits &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Callbacks, TellTheModelsLimits) {
  const sampler_model &model = *callbacks_.get();
  EXPECT_EQ(model.struct_size, sizeof(sampler_model));
  EXPECT_EQ(model.vocabulary_size, 37);
  EXPECT_EQ(model.max_context, 16);
  EXPECT_EQ(model.max_sequences, 3);
  EXPECT_EQ(model.logits_dtype, SAMPLER_F32);
  EXPECT_EQ(model.reads_parents, 1);
}

TEST_F(Callbacks, GiveTheModelsLogits) {
  Logits logits;
  ASSERT_EQ(forward({{2, 0, {1, 2, 3}, 2}, {0, 0, {7, 8}, 0}}, &logits), SAMPLER_OK);
  EXPECT_EQ(logits, joined(logits_behind({1, 2}), logits_behind({1, 2, 3})));
  logits.clear();
  ASSERT_EQ(forward({{0, 2, {9}, 1}, {2, 3, {4, 5}, 1}}, &logits), SAMPLER_OK);
  EXPECT_EQ(logits, joined(logits_behind({7, 8, 9}), logits_behind({1, 2, 3, 4, 5})));
  EXPECT_GT(callbacks_.seconds(), 0);
  EXPECT_EQ(callbacks_.failure(), nullptr);
}

TEST_F(Callbacks, GoByParents) {
  Logits logits;
  ASSERT_EQ(forward({{1, 0, {7, 8}, 1, {-1, 0}}, {0, 0, {1, 2, 3, 4}, 3, {-1, 0, 0, 2}}}, &logits),
            SAMPLER_OK);
  Logits expected = joined(logits_behind({7, 8}), logits_behind({1, 2}));
  expected = joined(joined(expected, logits_behind({1, 3})), logits_behind({1, 3, 4}));
  EXPECT_EQ(logits, expected);
}

TEST_F(Callbacks, CutAndForkCaches) {
  ASSERT_EQ(forward({{0, 0, {1, 2, 3, 4}, 0}, {1, 0, {5}, 0}}), SAMPLER_OK);
  ASSERT_EQ(fork(0, 1), SAMPLER_OK);
  ASSERT_EQ(truncate(0, 2), SAMPLER_OK);
  Logits logits;
  ASSERT_EQ(forward({{0, 2, {6}, 1}, {1, 4, {6}, 1}}, &logits), SAMPLER_OK);
  EXPECT_EQ(logits, joined(logits_behind({1, 2, 6}), logits_behind({1, 2, 3, 4, 6})));
  ASSERT_EQ(truncate(1, 0), SAMPLER_OK);
  logits.clear();
  ASSERT_EQ(forward({{1, 0, {6}, 1}}, &logits), SAMPLER_OK);
  EXPECT_EQ(logits, logits_behind({6}));
}

TEST_F(Callbacks, MakeStatusesOfErrorsAndChangeNothing) {
  ASSERT_EQ(forward({{0, 0, {1, 2}, 0}}), SAMPLER_OK);
  const std::vector<Span> bad[] = {
      {{0, 2, {37}, 1}},        // not in the vocabulary
      {{0, 2, {-1}, 1}},        //
      {{0, 2, Ids(15, 1), 1}},  // more than the context
      {{0, 2, {}, 0}},          // no token
      {{0, 2, {1}, 2}},         // more logits than tokens
      {{0, 1, {1}, 1}},         // not at the end of the cache
      {{3, 0, {1}, 1}},         // no such sequence
      {{-1, 0, {1}, 1}},        //
      {{0, 2, {1}, 1}, {1, 0, {37}, 1}},
  };
  for (const std::vector<Span> &spans : bad) {
    EXPECT_EQ(forward(spans), SAMPLER_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(truncate(0, 3), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(truncate(0, -1), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(truncate(3, 0), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fork(0, 3), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fork(-1, 0), SAMPLER_ERROR_INVALID_ARGUMENT);
  dtype_ = SAMPLER_F16;
  EXPECT_EQ(forward({{0, 2, {3}, 1}}), SAMPLER_ERROR_INVALID_ARGUMENT);
  dtype_ = SAMPLER_F32;
  Logits logits;
  ASSERT_EQ(forward({{0, 2, {3}, 1}, {1, 0, {4}, 1}}, &logits), SAMPLER_OK);
  EXPECT_EQ(logits, joined(logits_behind({1, 2, 3}), logits_behind({4})));
}

TEST_F(Callbacks, KeepTheFirstFailure) {
  EXPECT_EQ(forward({{0, 0, {37}, 1}}), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(truncate(0, 1), SAMPLER_ERROR_INVALID_ARGUMENT);
  ASSERT_NE(callbacks_.failure(), nullptr);
  try {
    std::rethrow_exception(callbacks_.failure());
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "a token id is outside the vocabulary");
  }
}

}  // namespace
}  // namespace model_callbacks_test
