// Lists of kept tokens that follow one another: their arguments, their room, and that a row's list
// is the same in any batch. (tests/pipeline compares them with the oracle.)
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "../sized.h"
#include "expect.h"

namespace capi_test::packed_lists_test {
namespace {

constexpr std::int64_t kCols = 300;

// A batch of rows of which one in five is bad, and what is asked of it.
struct Batch {
  explicit Batch(std::int64_t count, std::uint64_t seed = 1)
      : num_rows(count), token_ids(std::size_t(count), -7), offsets(std::size_t(count + 1), -7) {
    Random random(seed);
    for (std::int64_t i = 0; i < num_rows * kCols; ++i) {
      values.push_back(float(random.between(-400, 400)) / 100);
    }
    for (std::int64_t row = 3; row < num_rows; row += 5) {
      values[std::size_t(row * kCols + 7)] = std::nanf("");
    }
    params.top_p = 0.8F;
    args.input.values = values.data();
    args.input.num_rows = num_rows;
    args.input.num_cols = kCols;
    args.params = &params;
    args.out_token_ids = token_ids.data();
    args.report_args.out_kept_offsets = offsets.data();
    give_room(num_rows * kCols);
  }
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  void give_room(std::int64_t capacity) {
    ids.assign(std::size_t(capacity + kBeyond), -7);
    probabilities.assign(std::size_t(capacity + kBeyond), -7);
    args.report_args.kept_capacity = capacity;
    args.report_args.out_kept_token_ids = ids.data();
    args.report_args.out_kept_probabilities = probabilities.data();
  }

  sampler_status run(sampler_t sampler) {
    std::size_t bytes = 0;
    const sampler_status status = sampler_sample_workspace_size(sampler, &args, &bytes);
    if (status != SAMPLER_OK) return status;
    workspace.assign(bytes, 0x5C);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    return sampler_sample(sampler, &args);
  }

  std::int64_t num_kept() const { return offsets.back(); }
  // Whether nothing has been written from entry `begin` on.
  bool is_untouched_from(std::int64_t begin) const {
    for (std::size_t i = std::size_t(begin); i < ids.size(); ++i) {
      if (ids[i] != -7 || probabilities[i] != -7) return false;
    }
    return true;
  }

  static constexpr std::int64_t kBeyond = 5;
  std::int64_t num_rows;
  std::vector<float> values, probabilities;
  std::vector<std::int32_t> token_ids, ids;
  std::vector<std::int64_t> offsets;
  std::vector<unsigned char> workspace;
  sampler_params params = sampler_params_default();
  SampleArgs args;
};

TEST(PackedLists, AreAllThereOrNone) {
  const Sampler sampler = roomy_sampler();
  Batch batch(40);
  ASSERT_EQ(batch.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
  const std::int64_t num_kept = batch.num_kept();
  ASSERT_GT(num_kept, 400);
  EXPECT_TRUE(batch.is_untouched_from(num_kept));
  const auto ids = batch.ids;
  const auto offsets = batch.offsets;
  for (const std::int64_t capacity : {num_kept, num_kept - 1, std::int64_t(1), std::int64_t(0)}) {
    batch.give_room(capacity);
    if (capacity == 0) batch.args.report_args.out_kept_token_ids = nullptr;
    if (capacity == 0) batch.args.report_args.out_kept_probabilities = nullptr;
    ASSERT_EQ(batch.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(batch.offsets, offsets);
    const std::int64_t written = capacity == num_kept ? num_kept : 0;
    EXPECT_TRUE(batch.is_untouched_from(written));
    EXPECT_EQ(std::memcmp(batch.ids.data(), ids.data(), std::size_t(written) * sizeof ids[0]), 0);
  }
}

// As single rows, in batches of other sizes, and by any number of threads.
TEST(PackedLists, OfARowAreTheSameInAnyBatch) {
  Batch all(33);
  ASSERT_EQ(all.run(roomy_sampler().get()), SAMPLER_OK) << sampler_last_error();
  for (const int num_threads : {1, 2, 5}) {
    const Sampler sampler = roomy_sampler(num_threads);
    for (const std::int64_t size : {1, 4, 33}) {
      for (std::int64_t first = 0; first < all.num_rows; first += size) {
        Batch part(std::min(size, all.num_rows - first));
        part.args.input.values = all.values.data() + first * kCols;
        ASSERT_EQ(part.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
        const std::int64_t begin = all.offsets[std::size_t(first)];
        for (std::int64_t i = 0; i <= part.num_rows; ++i) {
          ASSERT_EQ(part.offsets[std::size_t(i)], all.offsets[std::size_t(first + i)] - begin);
        }
        const auto same = [&](const auto &a, const auto &b) {
          return std::memcmp(a.data(), b.data() + begin,
                             std::size_t(part.num_kept()) * sizeof a[0]) == 0;
        };
        EXPECT_TRUE(same(part.ids, all.ids));
        EXPECT_TRUE(same(part.probabilities, all.probabilities));
        EXPECT_TRUE(part.is_untouched_from(part.num_kept()));
      }
    }
  }
}

// Each of the two arrays may be left out.
TEST(PackedLists, HaveIdsOrProbabilitiesAlone) {
  const Sampler sampler = roomy_sampler(3);
  Batch both(9), ids(9), probabilities(9);
  ids.args.report_args.out_kept_probabilities = nullptr;
  probabilities.args.report_args.out_kept_token_ids = nullptr;
  for (Batch *batch : {&both, &ids, &probabilities}) {
    ASSERT_EQ(batch->run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(batch->offsets, both.offsets);
  }
  EXPECT_EQ(ids.ids, both.ids);
  EXPECT_EQ(probabilities.probabilities, both.probabilities);
}

TEST(PackedLists, OfNoRowsAreOneOffset) {
  const Sampler sampler = roomy_sampler();
  Batch batch(1);
  batch.args.input.num_rows = 0;
  ASSERT_EQ(batch.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(batch.workspace.size(), 0u);
  EXPECT_EQ(batch.offsets, (std::vector<std::int64_t>{0, -7}));
  EXPECT_TRUE(batch.is_untouched_from(0));
}

// Room for more than the rows can have costs no workspace.
TEST(PackedLists, TakeWorkspaceForWhatTheRowsCanHave) {
  const Sampler sampler = roomy_sampler();
  Batch batch(2);
  std::size_t enough = 0, more = 0, less = 0;
  const auto size_with = [&](std::int64_t capacity, std::size_t *bytes) {
    batch.args.report_args.kept_capacity = capacity;
    EXPECT_EQ(sampler_sample_workspace_size(sampler.get(), &batch.args, bytes), SAMPLER_OK);
  };
  size_with(2 * kCols, &enough);
  size_with(std::int64_t(1) << 51, &more);
  size_with(kCols, &less);
  EXPECT_EQ(more, enough);
  EXPECT_LE(less + kCols * 8, enough + 128);
  batch.args.report_args.kept_capacity = 2 * kCols;
  batch.workspace.resize(enough);
  batch.args.exec.workspace = batch.workspace.data();
  batch.args.exec.workspace_bytes = enough - 1;
  EXPECT_EQ(sampler_sample(sampler.get(), &batch.args), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
  EXPECT_TRUE(batch.is_untouched_from(0));
}

TEST(PackedLists, HaveArgumentsThatAreChecked) {
  const Sampler sampler = roomy_sampler();
  const auto refuse = [&](const auto &change, const std::string &text) {
    Batch batch(4);
    change(&batch);
    EXPECT_EQ(batch.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(sampler_last_error()).substr(0, text.size()), text);
    EXPECT_TRUE(batch.is_untouched_from(0));
    EXPECT_EQ(batch.token_ids[0], -7);
  };
  refuse([](Batch *b) { b->args.report_args.kept_capacity = -1; },
         "reports->kept_capacity is -1; it must be at least 0");
  refuse([](Batch *b) { b->args.report_args.kept_capacity = (std::int64_t(1) << 51) + 1; },
         "reports->kept_capacity is 2251799813685249; it must be below 2251799813685249");
  refuse(
      [](Batch *b) {
        b->args.report_args.out_kept_token_ids = nullptr;
        b->args.report_args.out_kept_probabilities = nullptr;
      },
      "reports->out_kept_token_ids is NULL; it is required");
  refuse(
      [](Batch *b) {
        b->args.report_args.out_kept_offsets =
            reinterpret_cast<std::int64_t *>(reinterpret_cast<char *>(b->offsets.data()) + 4);
      },
      "reports->out_kept_offsets is ");
  refuse(
      [](Batch *b) {
        b->args.report_args.out_kept_offsets = reinterpret_cast<std::int64_t *>(b->ids.data());
      },
      "reports->out_kept_");
  refuse(
      [](Batch *b) {
        b->offsets.resize(b->ids.size());  // so long that the list overlaps nothing else
        b->args.report_args.out_kept_token_ids = b->args.report_args.out_kept_offsets =
            b->offsets.data();
      },
      "reports->out_kept_");
  refuse([](Batch *b) { b->args.report_args.out_kept_probabilities = b->values.data(); },
         "reports->out_kept_probabilities overlaps input.values");
}

}  // namespace
}  // namespace capi_test::packed_lists_test
