// The workspace: its size is exact for every call, its alignment and contents are of no matter, and
// nothing outside of it is touched.
#include <algorithm>
#include <climits>

#include "expect.h"

namespace capi_test::workspace_test {
namespace {

constexpr std::size_t kCanaryBytes = 128;

// Memory for a workspace at an offset from a 64-byte boundary, between canaries.
class Arena {
 public:
  Arena(std::size_t bytes, std::size_t misalignment, unsigned char contents)
      : bytes_(bytes), memory_(bytes + 2 * kCanaryBytes + 128, 0, 0x5C) {
    const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(memory_.data()) + kCanaryBytes;
    before_ = kCanaryBytes + (64 - start % 64) % 64 + misalignment;
    std::memset(data(), contents, bytes);
    contents_before_ = memory_.bytes();
  }

  unsigned char *data() { return memory_.data() + before_; }

  bool is_untouched_outside() const {
    const std::string now = memory_.bytes();
    return now.compare(0, before_, contents_before_, 0, before_) == 0 &&
           now.compare(before_ + bytes_, std::string::npos, contents_before_, before_ + bytes_,
                       std::string::npos) == 0;
  }
  bool is_untouched() const { return memory_.bytes() == contents_before_; }

 private:
  std::size_t bytes_, before_;
  Buffer memory_;
  std::string contents_before_;
};

Sampler bare_sampler(std::int32_t num_threads = 1) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  return make_sampler(options);
}

void check_exactness(const Spec &spec, std::int32_t num_threads) {
  SCOPED_TRACE(describe(spec) + ", threads: " + std::to_string(num_threads));
  const Sampler bare = bare_sampler(num_threads), roomy = roomy_sampler(num_threads);
  Call call(spec);
  const std::string expected = output_of(&call, roomy.get());
  const std::size_t bytes = workspace_size(bare.get(), call.args());
  ASSERT_GT(bytes, 0u);
  call.args().set("exec.workspace_bytes", bytes);
  unsigned char contents = 0;
  for (const std::size_t misalignment : {0, 1, 7, 33, 63}) {
    Arena arena(bytes, misalignment, contents);
    contents = std::uint8_t(contents + 0x55);  // 0, then patterns up to all ones
    call.args().set("exec.workspace", arena.data());
    EXPECT_TRUE(same_bytes(output_of(&call, bare.get()), expected));
    EXPECT_TRUE(arena.is_untouched_outside());
  }

  Arena arena(bytes, 1, 0);
  call.args().set("exec.workspace", arena.data());
  call.args().set("exec.workspace_bytes", bytes - 1);
  expect_refused(&call, bare.get(), SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
                 "exec.workspace_bytes is " + std::to_string(bytes - 1) + "; this call needs " +
                     std::to_string(bytes));
  EXPECT_TRUE(arena.is_untouched());
  call.args().set("exec.workspace_bytes", std::size_t(0));
  expect_refused(&call, bare.get(), SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
                 "exec.workspace_bytes is 0; this call needs " + std::to_string(bytes));
}

std::vector<Spec> few_and_report_specs() {
  std::vector<Spec> specs = few_specs();
  for (const Spec &spec : report_specs()) specs.push_back(spec);
  return specs;
}

TEST(Workspace, SizeIsExact) {
  for (const Spec &spec : all_specs()) check_exactness(spec, 1);
}

TEST(Workspace, SizeIsExactWithThreads) {
  for (const Spec &spec : few_and_report_specs()) check_exactness(spec, 3);
}

// Also where a row or a list has one element, and where columns do not fill a block.
TEST(Workspace, SizeIsExactForSmallRows) {
  for (Spec spec : few_and_report_specs()) {
    spec.num_rows = 1;
    for (const std::int64_t num_cols : {1, 2, 15, 16, 17}) {
      spec.num_cols = num_cols;
      spec.num_selected = 1;
      check_exactness(spec, 1);
    }
  }
}

// The size does not depend on arrays' contents or, a few named ones apart, on whether they are
// there.
TEST(Workspace, SizeNeedsNoArrays) {
  const Sampler sampler = bare_sampler(2);
  for (const Spec &spec : all_specs()) {
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    const std::size_t expected = workspace_size(sampler.get(), call.args());
    void *const nowhere = reinterpret_cast<void *>(std::uintptr_t(8));
    for (const auto &[member, layout] : spec.op().members) {
      if (!layout.is_pointer || member == "params" || member == "row_params") continue;
      if (member == "layout" || member == "reports") continue;
      const bool counts = member == "row_indices" || member == "slots" ||
                          member.find("candidate_") != std::string::npos;
      const bool is_set = call.args().get<void *>(member) != nullptr;
      call.args().set<void *>(member, counts && is_set ? nowhere : nullptr);
    }
    // A temperature is the value where there is no array.
    call.args().set_if_any("random.num_seeds", std::int64_t(0));
    call.args().set_if_any("random.num_offsets", std::int64_t(0));
    EXPECT_EQ(workspace_size(sampler.get(), call.args()), expected);
    if (spec.op().has("params")) {
      call.args().set<void *>("params", nullptr);
      call.args().set<void *>("row_params", nullptr);
    }
    EXPECT_EQ(workspace_size(sampler.get(), call.args()), expected);
  }
}

TEST(Workspace, SizeOfNoRowsIsNone) {
  const Sampler sampler = bare_sampler();
  for (Spec spec : few_and_report_specs()) {
    Call call(spec);
    take_rows(&call.args());
    EXPECT_EQ(workspace_size(sampler.get(), call.args()), 0u) << describe(spec);
  }
}

// The largest calls there are, of which only the size is asked.
TEST(Workspace, SizeOfTheLargestCalls) {
  const Sampler sampler = bare_sampler(256);
  for (const Operation &operation : operations()) {
    SCOPED_TRACE(operation.name);
    Args args(operation);
    for (const std::string view : {"input", "target"}) {
      args.set_if_any(view + ".num_rows", std::int64_t(INT32_MAX));
      args.set_if_any(view + ".num_cols", std::int64_t((1 << 20) - 1));
      if (!operation.has("params")) args.set_if_any(view + ".kind", SAMPLER_PROBABILITIES);
    }
    args.set_if_any("num_selected", std::int64_t((1 << 20) - 1));
    const std::size_t bytes = workspace_size(sampler.get(), args);
    EXPECT_GT(bytes, std::size_t(256) << 20);
    EXPECT_LT(bytes, std::size_t(64) << 30);
  }
}

TEST(Workspace, SizeChecksItsArguments) {
  const Sampler sampler = bare_sampler();
  for (const Operation &operation : operations()) {
    SCOPED_TRACE(operation.name);
    const Args args(operation);
    std::size_t bytes = 77;
    const auto expect_error = [&](sampler_t handle, const void *data, std::size_t *out_bytes,
                                  const char *message) {
      EXPECT_EQ(operation.workspace_size(handle, data, out_bytes), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_STREQ(sampler_last_error(), message);
      EXPECT_EQ(bytes, 77u);
    };
    expect_error(nullptr, args.data(), &bytes, "sampler is NULL; it must come from sampler_create");
    expect_error(sampler.get(), nullptr, &bytes, "args is NULL; it must point to a struct");
    expect_error(sampler.get(), args.data(), nullptr, "out_bytes is NULL; it is required");
  }
}

// A handle made for max_rows and max_cols serves every operation on that many and on fewer.
TEST(HandleWorkspace, SufficesForEveryOperation) {
  for (const std::int32_t num_threads : {1, 3, 8}) {
    sampler_options options = sampler_options_default();
    options.num_threads = num_threads;
    options.max_rows = 5;
    options.max_cols = 37;
    const Sampler sampler = make_sampler(options);
    for (Spec spec : all_specs()) {
      SCOPED_TRACE(describe(spec));
      for (const std::int64_t num_rows : {5, 4, 1}) {
        spec.num_rows = num_rows;
        spec.num_input_rows = spec.row_indices ? 9 : 0;  // as many as there may be
        for (const std::int64_t num_cols : {37, 16, 1}) {
          spec.num_cols = num_cols;
          spec.num_selected = std::min<std::int64_t>(num_cols, 5);
          Call call(spec);
          expect_ok(&call, sampler.get());
        }
      }
    }
  }
}

// Many rows of few columns, where the order of the outputs takes more than all else.
TEST(HandleWorkspace, SufficesForManyRows) {
  sampler_options options = sampler_options_default();
  options.max_rows = 5000;
  options.max_cols = 3;
  const Sampler sampler = make_sampler(options);
  for (Spec spec : all_specs()) {
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 5000;
    spec.num_cols = spec.num_selected = 3;
    Call call(spec);
    expect_ok(&call, sampler.get());
  }
}

TEST(HandleWorkspace, MayBeTooSmall) {
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = 1;
  const Sampler tiny = make_sampler(options);
  for (Spec spec : all_specs()) {
    SCOPED_TRACE(describe(spec));
    spec.num_cols = 200;  // more than what a workspace has for its alignment
    Call call(spec);
    call.reset_outputs();
    EXPECT_EQ(call.run(tiny.get()), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
    EXPECT_TRUE(call.outputs_are_untouched());
    const std::string message = sampler_last_error();
    EXPECT_NE(
        message.find("; this call needs " +
                     std::to_string(workspace_size(tiny.get(), call.args())) + ": create it with"),
        std::string::npos)
        << message;
    // The call's own comes first, however large the handle's is.
    const Sampler roomy = roomy_sampler();
    unsigned char byte = 0;
    call.args().set<void *>("exec.workspace", &byte);
    call.args().set("exec.workspace_bytes", std::size_t(1));
    EXPECT_EQ(call.run(roomy.get()), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
  }
}

// A pipeline of which nothing is on is none.
TEST(Workspace, IsNotForStagesThatAreOff) {
  sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  const float value = 0;
  std::int32_t id = 0;
  sampler_params params = sampler_params_default();
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = &value;
  args.input.num_rows = 1;
  args.input.num_cols = 1000;
  args.params = &params;
  args.out_token_ids = &id;
  std::size_t without = 0, with = 1;
  ASSERT_EQ(sampler_sample_workspace_size(sampler, &args, &without), SAMPLER_OK);
  params.repetition_penalty = params.typical_p = params.epsilon_cutoff = params.eta_cutoff = 1;
  params.top_h = params.xtc_threshold = params.dynamic_temperature_exponent = 1;
  params.top_n_sigma = -1;
  params.adaptive_target = 5;
  const std::int64_t offsets[] = {0, 1};
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history = {offsets, &id, 1, 1};
  args.pipeline = &pipeline;
  ASSERT_EQ(sampler_sample_workspace_size(sampler, &args, &with), SAMPLER_OK);
  EXPECT_EQ(with, without);
  params.repetition_penalty = 1.5f;
  ASSERT_EQ(sampler_sample_workspace_size(sampler, &args, &with), SAMPLER_OK);
  EXPECT_GT(with, without);
  sampler_destroy(sampler);
}

}  // namespace
}  // namespace capi_test::workspace_test
