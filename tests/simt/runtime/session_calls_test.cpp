// Sessions of a CUDA handle: their texts are those of the CPU; what they ask of CUDA, and whichever
// call of it fails.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "launch/launch.h"
#include "runtime.h"
#include "schedule.h"

namespace session_test {
namespace {

namespace runtime = simt::runtime;
using decoding_test::mixed_logits;
using decoding_test::table_logits;

class SessionCalls : public testing::Test {
 protected:
  SessionCalls() {
    runtime::reset();
    runtime::set_block_threads(64);
  }
  ~SessionCalls() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }
};

sampler_options device_options(std::int32_t host_parameters) {
  sampler_options options = handle_options(1, 5);
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.host_parameters = host_parameters;
  options.check_pointers = host_parameters;
  return options;
}

TEST_F(SessionCalls, TextsAreThoseOfTheCpu) {
  for (const std::int32_t host_parameters : {0, 1}) {
    for (const bool with_stages : {false, true}) {
      SCOPED_TRACE(testing::Message() << host_parameters << with_stages);
      Schedule schedule(std::uint64_t(10 + host_parameters), 50, {with_stages, false, false},
                        device_options(host_parameters));
      schedule.run();
      EXPECT_GE(schedule.num_compared, 40);
      EXPECT_GE(schedule.num_tokens, 300);
      EXPECT_GE(schedule.num_accepted, 20);
    }
  }
}

// A model of so many tokens that its rows are streamed, which repeats itself. After some texts a
// row is bad.
decoding_test::Logits long_row(const Tokens &text) {
  constexpr std::size_t kWidth = 9000;
  std::uint64_t hash = std::uint64_t(text.back()) * 7919 + 12345;
  decoding_test::Logits row(kWidth);
  for (float &x : row) {
    hash = hash * 6364136223846793005 + 1442695040888963407;
    x = -4.0f - float(hash >> 56) / 64;
  }
  for (std::size_t i = 0; i < 5; ++i) {
    row[(std::size_t(text.back()) * 3 + i * i) % 40] = 4.0f - float(i);
  }
  if (text.front() == 3 && text.size() == 19) row[kWidth - 1] = NAN;
  return row;
}

// The positions of drafts are read at once, also where a sequence has stages and a bad row; once
// all have the same rule.
TEST_F(SessionCalls, TextsOfLongRowsAreThoseOfTheCpu) {
  constexpr std::int32_t kOfAnotherRule = 0;
  SessionOptions options = small_options(5, 3);
  options.vocabulary_size = 9000;
  sampler_t cpu = nullptr;
  const sampler_options on_cpu = handle_options(1, 5);
  ASSERT_EQ(sampler_create(&on_cpu, &cpu), SAMPLER_OK);
  for (const std::int32_t host_parameters : {0, 1}) {
    SCOPED_TRACE(host_parameters);
    Driver driver(options, long_row, nullptr, device_options(host_parameters));
    std::vector<Wish> wishes;
    for (std::int32_t i = 0; i < 5; ++i) {
      Wish wish;
      wish.prompt = {i, 1, 2, i, 1};
      sampler_params params = sampler_params_default();
      params.temperature = i == 1 ? 0.0f : 0.5f;
      if (i % 2 == 0) params.repetition_penalty = 1.05f;
      wish.draws = {{0, std::uint64_t(i), params}};
      wish.max_new_tokens = i == kOfAnotherRule ? 9 : 25;
      auto args = sized<sampler_session_add_args>();
      args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
      if (i == kOfAnotherRule) args.acceptance = SAMPLER_ACCEPT_TYPICAL;
      wishes.push_back(wish);
      driver.add(wish, args);
    }
    runtime::forget_calls();
    driver.finish();
    for (std::int32_t i = 0; i < 5; ++i) {
      if (i == kOfAnotherRule) continue;
      const Alone expected = alone(cpu, long_row, wishes[std::size_t(i)], kContext);
      EXPECT_EQ(expected.reason == SAMPLER_FINISH_BAD_ROW, i == 3);
      EXPECT_EQ(driver.text(i), expected.text) << i;
      EXPECT_EQ(driver.get(i).finish_reason, expected.reason) << i;
    }
    int num_at_once = 0;
    for (const runtime::Launch &launch : runtime::launches()) {
      num_at_once += launch.kernel == sampler::kernels::match_kernel_address();
    }
    EXPECT_GT(num_at_once, 3);
    EXPECT_LT(driver.num_steps, 22);
  }
  sampler_destroy(cpu);
}

// Where rows need more than those of the session's own params, for some sequence's are others.
TEST_F(SessionCalls, NumbersOfSomeSequencesFitInTheWorkspace) {
  for (const std::int32_t host_parameters : {0, 1}) {
    for (const std::int32_t num_top : {0, 4}) {
      SCOPED_TRACE(testing::Message() << host_parameters << num_top);
      sampler_params own = sampler_params_default();
      own.temperature = 0;
      own.top_k = 82;
      SessionOptions options = small_options(4, 2);
      options.vocabulary_size = 9000;
      options.params = &own;
      options.max_top_logprobs = num_top;
      Extras extras;
      extras.has_logprobs = num_top > 0;
      extras.num_top = num_top;
      extras.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
      Driver driver(options, long_row, nullptr, device_options(host_parameters), extras);
      for (std::int32_t i = 0; i < 4; ++i) {
        Wish wish;
        wish.prompt = {i, 1, 2, i, 1};
        sampler_params params = own;
        if (i == 2) params.temperature = 0.6f;
        wish.draws = {{0, std::uint64_t(i), params}};
        wish.max_new_tokens = 12;
        auto args = sized<sampler_session_add_args>();
        args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
        args.acceptance = num_top > 0 ? SAMPLER_ACCEPT_SAMPLE_MATCH : SAMPLER_ACCEPT_TYPICAL;
        driver.add(wish, args);
      }
      runtime::forget_calls();
      driver.finish();
      int num_at_once = 0;
      for (const runtime::Launch &launch : runtime::launches()) {
        num_at_once += launch.kernel == sampler::kernels::match_kernel_address() ||
                       launch.kernel == sampler::kernels::decide_kernel_address();
      }
      EXPECT_GT(num_at_once, 2);
    }
  }
}

// One of many sequences has a top-k of its own: all rows are listed then, in the session's memory.
TEST_F(SessionCalls, TopKOfOneOfManySequencesFitsInTheWorkspace) {
  constexpr std::int32_t kNumSequences = 256;
  sampler_params own = sampler_params_default();
  own.min_keep = 7;
  SessionOptions options = small_options(kNumSequences, 0);
  options.vocabulary_size = 8192;
  options.params = &own;
  const auto logits = [](const Tokens &text) {
    auto row = long_row(text);
    row.resize(8192);
    return row;
  };
  Driver driver(options, logits, nullptr, device_options(0), {});
  for (std::int32_t i = 0; i < kNumSequences; ++i) {
    Wish wish;
    wish.prompt = {1, 2, i % 7};
    sampler_params params = own;
    if (i == 0) params.top_k = 40;
    wish.draws = {{0, 1, params}};
    wish.max_new_tokens = 1;
    driver.add(wish, sized<sampler_session_add_args>());
  }
  runtime::forget_calls();
  driver.finish();
  int num_listed = 0;
  for (const runtime::Launch &launch : runtime::launches()) {
    num_listed += launch.kernel == sampler::kernels::listed_kernel_address();
  }
  EXPECT_GT(num_listed, 0);
}

// Sequences of all kinds of drafts and verification.
class Mixed {
 public:
  explicit Mixed(sampler_stream stream = nullptr, std::int32_t host_parameters = 0)
      : driver(options(stream), target_,
               mixed_logits(target_, table_logits(8, kVocabulary, 1, false), 30, 3),
               device_options(host_parameters)) {}

  // A sequence without drafts, with a lookup, with drawn drafts, with a tree.
  void add_all() {
    for (int kind = 0; kind < 4; ++kind) {
      auto args = sized<sampler_session_add_args>();
      if (kind > 0) args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
      if (kind > 1) args.draft_source = SAMPLER_DRAFTS_MODEL;
      if (kind == 2) args.acceptance = SAMPLER_ACCEPT_STANDARD;
      if (kind == 3) args.draft_top_k = 2;
      driver.add(wish(kind), args);
    }
  }
  static Wish wish(int kind) {
    Wish wish;
    wish.prompt = {1, 2, 3, 1, 2};
    sampler_params params = sampler_params_default();
    params.temperature = 0.6f;
    if (kind == 1) params.repetition_penalty = 1.2f;
    if (kind == 3) params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2, params.adaptive_target = 3;
    wish.draws = {{0, std::uint64_t(kind), params}};
    wish.max_new_tokens = 7;
    return wish;
  }
  std::vector<Tokens> texts() const {
    std::vector<Tokens> result;
    for (std::int32_t i = 0; i < 4; ++i) result.push_back(driver.text(i));
    return result;
  }

 private:
  static SessionOptions options(sampler_stream stream) {
    SessionOptions options = small_options(4, 3);
    options.keep_drafter_rows = options.has_draft_trees = 1;
    options.stream = stream;
    return options;
  }

  NextLogits target_ = table_logits(7, kVocabulary, 1, false);

 public:
  Driver driver;
};

// One wait, no memory, and all work on its stream; nothing else waits, and a plan asks nothing.
TEST_F(SessionCalls, AnAdvanceWaitsOnce) {
  char stream;
  Mixed mixed(reinterpret_cast<sampler_stream>(&stream));
  runtime::forget_calls();
  mixed.add_all();
  EXPECT_EQ(runtime::calls()["cudaStreamSynchronize"], 0);
  int num_steps = 0;
  for (;; ++num_steps) {
    runtime::forget_calls();
    const Driver::Step step = mixed.driver.plan();
    EXPECT_TRUE(runtime::calls().empty());
    if (step.spans.empty() && step.drafter_spans.empty()) break;
    mixed.driver.run(step);
    EXPECT_EQ(runtime::calls()["cudaStreamSynchronize"], 1);
    EXPECT_EQ(runtime::calls()["cudaDeviceSynchronize"], 0);
    EXPECT_EQ(runtime::calls()["cudaMalloc"], 0);
    EXPECT_EQ(runtime::calls()["cudaFree"], 0);
    for (const runtime::Launch &launch : runtime::launches()) {
      EXPECT_EQ(launch.stream, reinterpret_cast<cudaStream_t>(&stream));
    }
  }
  EXPECT_GE(num_steps, 5);
}

// A part of a prompt wants no logits, and nothing of the device.
TEST_F(SessionCalls, WithoutRowsNothingIsAsked) {
  Mixed mixed;
  mixed.add_all();
  const Driver::Step step = mixed.driver.plan({0}, 4);
  ASSERT_EQ(step.spans.size(), 1u);
  ASSERT_EQ(step.spans[0].num_logits, 0);
  runtime::forget_calls();
  mixed.driver.run(step);
  EXPECT_EQ(runtime::calls()["cudaStreamSynchronize"], 0);
  EXPECT_TRUE(runtime::launches().empty());
}

// The rates are uploaded to the workspace, which has room for them beside all that drafts need.
TEST_F(SessionCalls, RatesFitInTheWorkspace) {
  static constexpr float kRates[] = {0.9f, 0.8f, 0.7f};
  const NextLogits target = table_logits(7, kVocabulary, 1, false);
  for (const std::int64_t draft_top_k : {0, 2}) {
    for (const bool has_stages : {false, true}) {
      SessionOptions options = small_options(1, 3);
      options.keep_drafter_rows = options.has_draft_trees = 1;
      options.acceptance_params.synthetic_rates = kRates;
      Driver driver(options, target, table_logits(8, kVocabulary, 1, false), device_options(0));
      auto args = sized<sampler_session_add_args>();
      args.draft_source = SAMPLER_DRAFTS_MODEL;
      args.acceptance = SAMPLER_ACCEPT_SYNTHETIC;
      args.draft_top_k = draft_top_k;
      Wish wish = Mixed::wish(has_stages ? 3 : 0);
      if (has_stages) wish.draws[0].params.repetition_penalty = 1.4f;
      driver.add(wish, args);
      for (int i = 0; i < 40 && driver.runs(0); ++i) driver.run(driver.plan());
      EXPECT_EQ(driver.text(0).size(), 5u + 7u);
      EXPECT_GT(driver.get(0).num_accepted, 0);
    }
  }
}

// The workspace has room for any number of top tokens, though more of them need other kernels.
TEST_F(SessionCalls, FewTopTokensFitInTheWorkspace) {
  constexpr std::int64_t kColumns = 8200, kTop = 5, kSequences = 20;
  runtime::reset({{{7}, 227 << 10, 228 << 10, 90}});  // few teams run at once
  sampler_options handle_options = device_options(0);
  handle_options.max_rows = kSequences;
  handle_options.max_cols = kColumns;
  sampler_t sampler = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_create(&handle_options, &sampler)) << sampler_last_error();
  auto options = sized<SessionOptions>();
  options.max_sequences = kSequences;
  options.max_context = 8;
  options.vocabulary_size = options.max_top_logprobs = kColumns;
  sampler_session_t session = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_session_create(sampler, &options, &session))
      << sampler_last_error();
  const std::int32_t prompt[] = {1, 2};
  sampler_params params = sampler_params_default();
  params.typical_p = 0.9f;
  params.repetition_penalty = 1.1f;
  auto add = sized<sampler_session_add_args>();
  add.token_ids = prompt;
  add.num_tokens = 2;
  add.params = &params;
  std::int32_t sequence;
  for (int i = 0; i < kSequences; ++i) {
    ASSERT_EQ(SAMPLER_OK, sampler_session_add(session, &add, &sequence)) << sampler_last_error();
  }
  std::vector<sampler_span> spans(kSequences);
  std::vector<std::int64_t> counts(kSequences);
  std::int64_t num_spans = 0;
  auto plan = sized<sampler_session_plan_args>();
  plan.out_spans = spans.data();
  plan.out_num_spans = &num_spans;
  ASSERT_EQ(SAMPLER_OK, sampler_session_plan(session, &plan)) << sampler_last_error();
  std::vector<float> logits(kSequences * kColumns);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = float(i % 977) * 0.01f;
  std::vector<std::int32_t> tokens(kSequences), top_ids(kSequences * kTop);
  auto reports = sized<sampler_report_args>();
  reports.num_top_logprobs = kTop;
  reports.out_top_token_ids = top_ids.data();
  auto advance = sized<sampler_session_advance_args>();
  advance.spans = spans.data();
  advance.num_spans = num_spans;
  advance.logits = logits.data();
  advance.out_token_ids = tokens.data();
  advance.out_counts = counts.data();
  advance.reports = &reports;
  EXPECT_EQ(SAMPLER_OK, sampler_session_advance(session, &advance)) << sampler_last_error();
  EXPECT_EQ(1, counts[kSequences - 1]);
  EXPECT_EQ(976, top_ids[0]);
  sampler_session_destroy(session);
  sampler_destroy(sampler);
}

const char *const kFailing[] = {"cudaMemcpyAsync", "cudaStreamSynchronize", "cudaLaunchKernelExC"};

// Whichever fails, an advance says so and changes nothing: the texts are the same in the end.
TEST_F(SessionCalls, AnAdvanceThatFailsChangesNothing) {
  for (const std::int32_t host_parameters : {0, 1}) {
    Mixed whole(nullptr, host_parameters);
    whole.add_all();
    whole.driver.finish();
    for (const std::string function : kFailing) {
      int index = 0;
      for (;; index += 1 + index / 8) {
        SCOPED_TRACE(testing::Message() << function << " " << index);
        Mixed mixed(nullptr, host_parameters);
        mixed.add_all();
        mixed.driver.expect_failure(SAMPLER_ERROR_CUDA);
        runtime::fail_call(function, cudaErrorLaunchFailure, index);
        mixed.driver.finish();
        ASSERT_EQ(mixed.texts(), whole.texts());
        if (mixed.driver.num_failed == 0) break;
        EXPECT_EQ(mixed.driver.failure.find(function + ": "), 0u) << mixed.driver.failure;
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
      }
      runtime::reset_failures();
      EXPECT_GT(index, 5) << function;
    }
  }
}

// The same of sequences that are added and forked, while the state still lacks the last tokens.
TEST_F(SessionCalls, AnAddOrForkThatFailsChangesNothing) {
  Mixed whole;
  whole.add_all();
  whole.driver.finish();
  const Wish wish = Mixed::wish(1);
  auto add = sized<sampler_session_add_args>();
  add.token_ids = wish.prompt.data();
  add.num_tokens = std::int64_t(wish.prompt.size());
  auto fork = sized<sampler_session_fork_args>();
  for (const std::string function : {"cudaMemcpyAsync", "cudaLaunchKernelExC"}) {
    for (const bool is_fork : {false, true}) {
      int index = 0;
      for (;; ++index) {
        SCOPED_TRACE(testing::Message() << function << " " << index << " " << is_fork);
        Mixed mixed;
        mixed.add_all();
        mixed.driver.remove(3);
        mixed.driver.run(mixed.driver.plan());
        const auto call = [&](std::int32_t *sequence) {
          return is_fork ? sampler_session_fork(mixed.driver.session(), &fork, sequence)
                         : sampler_session_add(mixed.driver.session(), &add, sequence);
        };
        runtime::fail_call(function, cudaErrorLaunchFailure, index);
        std::int32_t sequence = -1;
        const sampler_status status = call(&sequence);
        if (status == SAMPLER_OK) break;
        EXPECT_EQ(status, SAMPLER_ERROR_CUDA);
        EXPECT_EQ(std::string(sampler_last_error()).find(function + ": "), 0u);
        EXPECT_EQ(sequence, -1);
        ASSERT_EQ(call(&sequence), SAMPLER_OK) << sampler_last_error();
        EXPECT_EQ(sequence, 3);
        mixed.driver.remove(sequence);
        mixed.driver.add(Mixed::wish(3), sized<sampler_session_add_args>());
        mixed.driver.finish();
        EXPECT_EQ(mixed.texts(), whole.texts());
      }
      runtime::reset_failures();
      EXPECT_GE(index, 2);
    }
  }
}

TEST_F(SessionCalls, ACreationThatFailsLeavesNothing) {
  const sampler_options handle = device_options(0);
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&handle, &sampler), SAMPLER_OK);
  const int num_allocations = runtime::num_allocations();
  const sampler_session_options options = small_options(4, 3);
  for (const std::string function :
       {"cudaMalloc", "cudaStreamSynchronize", "cudaLaunchKernelExC"}) {
    for (int index = 0;; ++index) {
      runtime::fail_call(function, cudaErrorMemoryAllocation, index);
      auto session = reinterpret_cast<sampler_session_t>(&sampler);
      const sampler_status status = sampler_session_create(sampler, &options, &session);
      if (status == SAMPLER_OK) {
        EXPECT_GT(index, 0) << function;
        sampler_session_destroy(session);
        break;
      }
      EXPECT_EQ(status, SAMPLER_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(std::string(sampler_last_error()).find(function + ": "), 0u);
      EXPECT_EQ(session, nullptr);
      EXPECT_EQ(runtime::num_allocations(), num_allocations);
    }
    runtime::reset_failures();
  }
  sampler_destroy(sampler);
}

// A capture cannot wait.
TEST_F(SessionCalls, AStreamThatIsCapturedIsRefused) {
  Mixed mixed;
  mixed.add_all();
  mixed.driver.expect_failure(SAMPLER_ERROR_CUDA);
  {
    const runtime::Recording recording;
    mixed.driver.run(mixed.driver.plan());
  }
  EXPECT_EQ(mixed.driver.num_failed, 1);
  mixed.driver.finish();
  Mixed whole;
  whole.add_all();
  whole.driver.finish();
  EXPECT_EQ(mixed.texts(), whole.texts());
}

TEST_F(SessionCalls, PointersAreLookedAt) {
  Mixed mixed(nullptr, 1);
  mixed.add_all();
  const Driver::Step step = mixed.driver.plan();
  ASSERT_EQ(step.spans.size(), 4u);
  const std::size_t num_values = 4 * std::size_t(kVocabulary);
  const Logits on_host(num_values);
  Tokens token_ids(16);
  std::vector<std::int64_t> counts(4);
  void *const on_device = runtime::allocate(0, num_values * sizeof(float));
  auto args = sized<sampler_session_advance_args>();
  args.spans = step.spans.data();
  args.num_spans = 4;
  args.logits = on_host.data();
  args.out_token_ids = token_ids.data();
  args.out_counts = counts.data();
  char expected[200];
  runtime::forget_calls();
  EXPECT_EQ(sampler_session_advance(mixed.driver.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  std::snprintf(expected, sizeof expected, "logits is %p; it must be memory of CUDA device 0",
                static_cast<const void *>(args.logits));
  EXPECT_STREQ(sampler_last_error(), expected);
  args.logits = on_device;
  args.out_token_ids = static_cast<std::int32_t *>(on_device) + 4;
  args.num_spans = 1;
  EXPECT_EQ(sampler_session_advance(mixed.driver.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  args.out_token_ids = static_cast<std::int32_t *>(on_device) + kVocabulary;
  EXPECT_EQ(sampler_session_advance(mixed.driver.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  std::snprintf(expected, sizeof expected, "out_token_ids is %p; it must be host memory",
                static_cast<const void *>(args.out_token_ids));
  EXPECT_STREQ(sampler_last_error(), expected);
  EXPECT_TRUE(runtime::launches().empty());
  runtime::release(on_device);
}

}  // namespace
}  // namespace session_test
