// Every argument rule, with its text; what is refused writes nothing.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <functional>

#include "support.h"

namespace unmask_test::arguments {
namespace {

constexpr std::int64_t kRows = 8, kBlocks = 2, kTooMany = std::int64_t(1) << 31;

class Arguments : public testing::Test {
 protected:
  Arguments() { std::memset(&memory_, 0x77, sizeof memory_); }

  UnmaskArgs good() {
    UnmaskArgs args;
    args.num_rows = kRows;
    args.num_blocks = kBlocks;
    args.candidate_token_ids = candidates_;
    args.scores = scores_;
    args.token_ids = memory_.tokens;
    args.unmask_params.num_committed = 1;
    args.out_changes = memory_.changes;
    args.out_confidences = memory_.confidences;
    args.out_committed_counts = memory_.counts[0];
    args.out_edited_counts = memory_.counts[1];
    args.out_masked_counts = memory_.counts[2];
    args.out_block_status = memory_.status;
    return args;
  }

  void expect_refused(const sampler_unmask_args *args, const std::string &message,
                      bool depends_on_shapes) {
    std::string before(reinterpret_cast<const char *>(&memory_), sizeof memory_);
    EXPECT_EQ(sampler_unmask(handle_.get(), args), SAMPLER_ERROR_INVALID_ARGUMENT) << message;
    EXPECT_EQ(sampler_last_error(), message);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(&memory_), sizeof memory_), before);
    std::size_t bytes = 77;
    const sampler_status status = sampler_unmask_workspace_size(handle_.get(), args, &bytes);
    EXPECT_EQ(status, depends_on_shapes ? SAMPLER_ERROR_INVALID_ARGUMENT : SAMPLER_OK) << message;
    if (depends_on_shapes) {
      EXPECT_EQ(sampler_last_error(), message);
    }
  }

  struct Rule {
    std::function<void(UnmaskArgs *)> change;
    std::string message;
    bool depends_on_shapes = true;  // what the workspace's size refuses, too
  };
  void refuse(const std::vector<Rule> &rules) {
    for (const Rule &rule : rules) {
      UnmaskArgs args = good();
      rule.change(&args);
      expect_refused(&args, rule.message, rule.depends_on_shapes);
    }
  }

  const Handle handle_ = make_handle();
  std::int32_t candidates_[kRows] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::int64_t offsets_[kBlocks + 1] = {0, 4, 8};
  float scores_[2 * kRows] = {};
  struct Memory {
    std::int32_t tokens[kRows];
    std::uint8_t changes[kRows];
    float confidences[kRows];
    std::int32_t counts[3][kBlocks];
    sampler_row_status status[kBlocks];
  } memory_;
};

using Args = UnmaskArgs;

TEST_F(Arguments, GoodOnesPass) {
  const UnmaskArgs args = good();
  EXPECT_EQ(sampler_unmask(handle_.get(), &args), SAMPLER_OK) << sampler_last_error();
}

TEST_F(Arguments, OfShapes) {
  refuse({
      {[](Args *a) { a->num_rows = -1; }, "num_rows is -1; it must be at least 0"},
      {[](Args *a) { a->num_rows = kTooMany; },
       "num_rows is 2147483648; it must be below 2147483648"},
      {[](Args *a) { a->num_rows = INT64_MIN; },
       "num_rows is -9223372036854775808; it must be at least 0"},
      {[](Args *a) { a->num_blocks = -1; }, "num_blocks is -1; it must be at least 0"},
      {[](Args *a) { a->num_blocks = 65537; }, "num_blocks is 65537; it must be below 65537"},
      {[](Args *a) { a->num_blocks = 3; },
       "num_rows is 8; without block_offsets it must be a multiple of num_blocks, 3"},
      {[](Args *a) { a->num_blocks = 0; },
       "num_rows is 8; without block_offsets it must be a multiple of num_blocks, 0"},
      {[](Args *a) { a->token_id_type = 2; },
       "token_id_type is 2; it must be one of its constants, 0 to 1"},
      {[](Args *a) { a->unmask_params.confidence = -1; },
       "params->confidence is -1; it must be one of its constants, 0 to 5"},
      {[](Args *a) { a->unmask_params.confidence = 6; },
       "params->confidence is 6; it must be one of its constants, 0 to 5"},
      {[](Args *a) { a->score_stride = -1; },
       "score_stride is -1; it must be 0 or at least the scores of a row, 1"},
      {[](Args *a) {
         a->unmask_params.confidence = SAMPLER_CONFIDENCE_MARGIN;
         a->score_stride = 1;
       },
       "score_stride is 1; it must be 0 or at least the scores of a row, 2"},
      {[](Args *a) { a->unmask_params.confidence = SAMPLER_CONFIDENCE_RANDOM; },
       "scores is set; it must be NULL with confidence 4"},
      {[](Args *a) { a->unmask_params.mask_token_id = -1; },
       "params->mask_token_id is -1; it must be at least 0"},
      {[](Args *a) { a->unmask_params.mask_token_id = kTooMany; },
       "params->mask_token_id is 2147483648; it must be below 2147483648"},
      {[](Args *a) {
         a->token_ids = nullptr;
         a->unmask_params.mask_token_id = 3;
       },
       "params->mask_token_id is 3; it must be 0"},
      {[](Args *a) { a->num_slots = 3; }, "num_slots is 3; it must be 0"},
      {[](Args *a) {
         a->unmask_params.confidence = SAMPLER_CONFIDENCE_POSITION;
         a->scores = nullptr;
         a->score_stride = 1;
       },
       "score_stride is 1; it must be 0"},
  });
}

TEST_F(Arguments, OfRules) {
  const auto without_scores = [](Args *a, sampler_confidence kind) {
    a->unmask_params.confidence = kind;
    a->scores = nullptr;
  };
  refuse({
      {[](Args *a) { a->unmask_params.order_temperature = NAN; },
       "params->order_temperature is NaN; it must be a number"},
      {[](Args *a) { a->unmask_params.order_temperature = INFINITY; },
       "params->order_temperature is inf; it must be at most 2^64"},
      {[&](Args *a) {
         without_scores(a, SAMPLER_CONFIDENCE_RANDOM);
         a->unmask_params.order_temperature = 1;
       },
       "params->order_temperature is 1; it must be off with confidence 4"},
      {[](Args *a) { a->unmask_params.threshold = NAN; },
       "params->threshold is NaN; it must be a number"},
      {[&](Args *a) {
         without_scores(a, SAMPLER_CONFIDENCE_POSITION);
         a->unmask_params.threshold = 0.5F;
       },
       "params->threshold is 0.5; it must be off with confidence 5"},
      {[](Args *a) { a->unmask_params.entropy_bound = NAN; },
       "params->entropy_bound is NaN; it must be a number"},
      {[](Args *a) { a->unmask_params.entropy_bound = 1; },
       "params->entropy_bound is 1; it must be off with confidence 0"},
      {[](Args *a) {
         a->unmask_params.confidence = SAMPLER_CONFIDENCE_GIVEN;
         a->unmask_params.threshold = -0.5F;
       },
       "params->threshold is -0.5; with confidence 3 it must be above 0, or 0 for off"},
      {[](Args *a) {
         a->unmask_params.confidence = SAMPLER_CONFIDENCE_GIVEN;
         a->unmask_params.edit_threshold = -0.5F;
       },
       "params->edit_threshold is -0.5; with confidence 3 it must be above 0, or 0 for off"},
      {[](Args *a) { a->unmask_params.edit_threshold = NAN; },
       "params->edit_threshold is NaN; it must be a number"},
      {[&](Args *a) {
         without_scores(a, SAMPLER_CONFIDENCE_RANDOM);
         a->unmask_params.edit_threshold = 0.5F;
       },
       "params->edit_threshold is 0.5; it must be off with confidence 4"},
      {[](Args *a) {
         a->token_ids = nullptr;
         a->unmask_params.edit_threshold = 0.5F;
       },
       "params->edit_threshold is 0.5; without token_ids it must be off"},
      {[](Args *a) { a->unmask_params.block_length = 1; },
       "params->block_length is 1; it must be 0"},
      {[](Args *a) { a->unmask_params.blocks_after_prompt = 1; },
       "params->blocks_after_prompt is 1; it must be 0"},
      {[](Args *a) { a->unmask_params.blocks_after_prompt = 2; },
       "params->blocks_after_prompt is 2; it must be one of its constants, 0 to 1"},
      {[](Args *a) { a->reserved = 1; }, "reserved is 1; it must be 0"},
  });
}

TEST_F(Arguments, OfArrays) {
  const auto hex = [](const void *address) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", address);
    return std::string(text);
  };
  const void *const odd = reinterpret_cast<const char *>(scores_) + 1;
  refuse({
      {[](Args *a) { a->candidate_token_ids = nullptr; },
       "candidate_token_ids is NULL; it is required", false},
      {[](Args *a) { a->scores = nullptr; }, "scores is NULL; it is required", false},
      {[&](Args *a) { a->scores = static_cast<const float *>(odd); },
       "scores is " + hex(odd) + "; it must be aligned to 4 bytes", false},
      {[&](Args *a) { a->block_offsets = static_cast<const std::int64_t *>(odd); },
       "block_offsets is " + hex(odd) + "; it must be aligned to 8 bytes", false},
      {[&](Args *a) { a->candidate_token_ids = memory_.tokens; },
       "token_ids overlaps candidate_token_ids; outputs must overlap neither inputs nor each other",
       false},
      {[&](Args *a) { a->out_edited_counts = memory_.counts[0] + 1; },
       "out_committed_counts overlaps out_edited_counts; outputs must overlap neither inputs nor "
       "each other",
       false},
  });
  expect_refused(nullptr, "args is NULL; it must point to a struct", true);
  std::size_t bytes = 77;
  const UnmaskArgs args = good();
  EXPECT_EQ(sampler_unmask_workspace_size(handle_.get(), &args, nullptr),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_unmask(nullptr, &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_unmask_workspace_size(handle_.get(), &args, &bytes), SAMPLER_OK);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(Arguments, NothingToDo) {
  sampler_unmask_args args = sized<sampler_unmask_args>();
  EXPECT_EQ(sampler_unmask(handle_.get(), &args), SAMPLER_OK) << sampler_last_error();
  args.out_committed_counts = memory_.counts[0];
  args.out_masked_counts = memory_.counts[2];
  args.num_blocks = 2;  // of no rows
  EXPECT_EQ(sampler_unmask(handle_.get(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(memory_.counts[0][1], 0);
  EXPECT_EQ(memory_.counts[2][0], 0);
}

}  // namespace
}  // namespace unmask_test::arguments
