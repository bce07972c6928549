// Creating samplers: options and their rules, memory hooks, the log, what the library reports of
// itself.
#include <sched.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "counting_allocator.h"
#include "expect.h"

namespace capi_test::handle_test {
namespace {

struct LogLine {
  sampler_log_level level;
  std::string text;
  std::thread::id thread;
  bool operator==(const LogLine &other) const {
    return level == other.level && text == other.text && thread == other.thread;
  }
};

class RecordingLog {
 public:
  void install(sampler_options *options) {
    options->log_user = this;
    options->log = [](void *user, sampler_log_level level, const char *message) {
      static_cast<RecordingLog *>(user)->lines.push_back(
          {level, message, std::this_thread::get_id()});
    };
  }
  std::vector<LogLine> lines;
};

TEST(Create, OfNothing) {
  sampler_t sampler = reinterpret_cast<sampler_t>(&sampler);
  ASSERT_EQ(sampler_create(nullptr, &sampler), SAMPLER_OK);
  const Sampler owner(sampler);
  ASSERT_NE(sampler, nullptr);
  Call call(Spec{});
  expect_refused(&call, sampler, SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
                 "the sampler's workspace has 0 bytes; this call needs " +
                     std::to_string(workspace_size(sampler, call.args())) +
                     ": create it with larger max_rows and max_cols, or set exec.workspace");
  sampler_destroy(nullptr);
}

TEST(Create, WithoutAPlaceForIt) {
  const sampler_options options = sampler_options_default();
  EXPECT_EQ(sampler_create(&options, nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_sampler is NULL; it is required");
}

// On failure the handle is NULL, nothing was allocated for good, and the log heard the text.
void expect_not_created(sampler_options options, sampler_status status,
                        const std::string &message) {
  SCOPED_TRACE(message);
  CountingAllocator allocator;
  if (!options.allocator.allocate && !options.allocator.deallocate) allocator.install(&options);
  RecordingLog log;
  log.install(&options);
  sampler_t sampler = reinterpret_cast<sampler_t>(&options);
  EXPECT_EQ(sampler_create(&options, &sampler), status);
  EXPECT_EQ(sampler, nullptr);
  EXPECT_EQ(sampler_last_error(), message);
  EXPECT_EQ(log.lines,
            std::vector<LogLine>({{SAMPLER_LOG_ERROR, message, std::this_thread::get_id()}}));
}

template <class T>
void refuse_option(T sampler_options::*member, T value, const std::string &message) {
  sampler_options options = sampler_options_default();
  options.*member = value;
  expect_not_created(options, SAMPLER_ERROR_INVALID_ARGUMENT, message);
}

TEST(Options, EachRuleIsChecked) {
  const auto enumeration = [](std::int32_t sampler_options::*member, const std::string &name) {
    for (const std::int32_t value : {-1, 2, INT32_MIN, INT32_MAX}) {
      refuse_option(
          member, value,
          name + " is " + std::to_string(value) + "; it must be one of its constants, 0 to 1");
    }
  };
  enumeration(&sampler_options::device_type, "device_type");
  enumeration(&sampler_options::use_fallback_token, "use_fallback_token");
  enumeration(&sampler_options::host_parameters, "host_parameters");
  enumeration(&sampler_options::check_pointers, "check_pointers");
  for (const std::int32_t value : {-1, 1, INT32_MAX}) {
    refuse_option(&sampler_options::device_id, value,
                  "device_id is " + std::to_string(value) + "; it must be 0");
    refuse_option(&sampler_options::reserved, value,
                  "reserved is " + std::to_string(value) + "; it must be 0");
  }
  for (const std::int32_t value : {-1, INT32_MIN}) {
    refuse_option(&sampler_options::num_threads, value,
                  "num_threads is " + std::to_string(value) + "; it must be at least 0");
  }
  for (const std::int32_t value : {257, INT32_MAX}) {
    refuse_option(&sampler_options::num_threads, value,
                  "num_threads is " + std::to_string(value) + "; it must be below 257");
  }
  for (const std::int64_t value : {std::int64_t(-1), std::int64_t(INT64_MIN)}) {
    refuse_option(&sampler_options::max_rows, value,
                  "max_rows is " + std::to_string(value) + "; it must be at least 0");
    refuse_option(&sampler_options::max_cols, value,
                  "max_cols is " + std::to_string(value) + "; it must be at least 0");
  }
  for (const std::int64_t value : {std::int64_t(1) << 31, std::int64_t(INT64_MAX)}) {
    refuse_option(&sampler_options::max_rows, value,
                  "max_rows is " + std::to_string(value) + "; it must be below 2147483648");
  }
  for (const std::int64_t value : {std::int64_t(1) << 20, std::int64_t(INT64_MAX)}) {
    refuse_option(&sampler_options::max_cols, value,
                  "max_cols is " + std::to_string(value) + "; it must be below 1048576");
  }
  refuse_option(&sampler_options::max_rows, std::int64_t(3),
                "max_rows is 3 and max_cols 0; both or neither must be 0");
  refuse_option(&sampler_options::max_cols, std::int64_t(4),
                "max_rows is 0 and max_cols 4; both or neither must be 0");
  sampler_allocator hooks = {};
  hooks.allocate = [](void *, std::size_t, std::size_t) -> void * { std::abort(); };
  refuse_option(&sampler_options::allocator, hooks,
                "allocator.deallocate is NULL; both hooks or neither must be set");
  hooks = {};
  hooks.deallocate = [](void *, void *, std::size_t, std::size_t) { std::abort(); };
  refuse_option(&sampler_options::allocator, hooks,
                "allocator.allocate is NULL; both hooks or neither must be set");
}

TEST(Options, FallbackTokenMayBeAnyId) {
  sampler_options options = sampler_options_default();
  options.fallback_token_id = -5;  // not in use
  make_sampler(options);
  options.use_fallback_token = 1;
  expect_not_created(options, SAMPLER_ERROR_INVALID_ARGUMENT,
                     "fallback_token_id is -5; it must be at least 0");
  options.fallback_token_id = 1 << 20;
  expect_not_created(options, SAMPLER_ERROR_INVALID_ARGUMENT,
                     "fallback_token_id is 1048576; it must be below 1048576");
  for (const std::int64_t id : {0, (1 << 20) - 1}) {
    options.fallback_token_id = id;
    make_sampler(options);
  }
}

TEST(Options, AnotherAbiIsRefused) {
  sampler_options options = sampler_options_default();
  options.abi_version = SAMPLER_ABI_VERSION + 1;
  expect_not_created(options, SAMPLER_ERROR_ABI_MISMATCH,
                     "abi_version is " + std::to_string(SAMPLER_ABI_VERSION + 1) +
                         "; this library has " + std::to_string(SAMPLER_ABI_VERSION));
  options.abi_version = UINT32_MAX;
  expect_not_created(
      options, SAMPLER_ERROR_ABI_MISMATCH,
      "abi_version is 4294967295; this library has " + std::to_string(SAMPLER_ABI_VERSION));
}

TEST(Options, CudaIsUnsupportedInABuildWithoutIt) {
  sampler_capabilities capabilities = sized<sampler_capabilities>();
  ASSERT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
  if (capabilities.cuda_compiled) GTEST_SKIP() << "this build has CUDA";
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  expect_not_created(options, SAMPLER_ERROR_UNSUPPORTED,
                     "device_type is SAMPLER_DEVICE_CUDA; this build has no CUDA");
}

TEST(Options, HugeWorkspaceIsOutOfMemory) {
  sampler_options options = sampler_options_default();
  options.max_rows = INT32_MAX;
  options.max_cols = (1 << 20) - 1;
  options.num_threads = 256;
  CountingAllocator allocator(1);
  allocator.install(&options);
  sampler_t sampler = reinterpret_cast<sampler_t>(&options);
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(sampler, nullptr);
  // 256 tasks with a double word and more for each column, and the order of the outputs.
  EXPECT_GT(allocator.last_bytes(), 256u * 8 * ((1u << 20) - 1) + 4u * INT32_MAX);
}

TEST(AllocatorHooks, FailingAtEveryCallInTurn) {
  static const char *const kBlocks[] = {"handle", "workspace", "threads"};
  sampler_options options = roomy_options(4);
  for (int failing_call = 0;; ++failing_call) {
    CountingAllocator allocator(failing_call);
    allocator.install(&options);
    RecordingLog log;
    log.install(&options);
    sampler_t sampler = reinterpret_cast<sampler_t>(&options);
    const sampler_status status = sampler_create(&options, &sampler);
    if (status == SAMPLER_OK) {
      EXPECT_EQ(failing_call, 3);
      EXPECT_EQ(allocator.num_blocks(), 3u);
      sampler_destroy(sampler);
      break;
    }
    EXPECT_EQ(status, SAMPLER_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(sampler, nullptr);
    EXPECT_EQ(allocator.num_blocks(), 0u);
    ASSERT_LT(failing_call, 3);
    const std::string message = std::string("the allocator returned NULL for the ") +
                                kBlocks[failing_call] + ", " +
                                std::to_string(allocator.last_bytes()) + " bytes";
    EXPECT_EQ(sampler_last_error(), message);
    EXPECT_EQ(log.lines,
              std::vector<LogLine>({{SAMPLER_LOG_ERROR, message, std::this_thread::get_id()}}));
  }
}

TEST(AllocatorHooks, AreCalledByCreateAndDestroyAlone) {
  CountingAllocator allocator;
  sampler_options options = roomy_options(3);
  allocator.install(&options);
  const Sampler plain = roomy_sampler();
  const Sampler hooked = make_sampler(options);
  const int num_calls = allocator.num_calls();
  const std::size_t num_blocks = allocator.num_blocks();
  for (const Spec &spec : few_specs()) {
    Call call(spec);
    const std::string expected = output_of(&call, plain.get());
    EXPECT_TRUE(same_bytes(output_of(&call, hooked.get()), expected)) << describe(spec);
  }
  EXPECT_EQ(allocator.num_calls(), num_calls);
  EXPECT_EQ(allocator.num_blocks(), num_blocks);
}

// A callback that throws breaks its contract; even so nothing is thrown at the caller or leaked.
TEST(Callbacks, ThatThrow) {
  sampler_options options = roomy_options();
  options.allocator.allocate = [](void *, std::size_t, std::size_t) -> void * { throw 1; };
  options.allocator.deallocate = [](void *, void *, std::size_t, std::size_t) {};
  sampler_t sampler = reinterpret_cast<sampler_t>(&options);
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(sampler, nullptr);

  options = roomy_options();
  CountingAllocator allocator;
  allocator.install(&options);
  options.log = [](void *, sampler_log_level, const char *) { throw 1; };
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  Call call(Spec{});
  call.args().set("input.num_cols", std::int64_t(0));
  expect_refused(&call, sampler, SAMPLER_ERROR_INVALID_ARGUMENT,
                 "input.num_cols is 0; it must be at least 1");
  sampler_destroy(sampler);

  options.allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) {
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  options.allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    std::free(memory);
    throw 1;
  };
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  sampler_destroy(sampler);
}

TEST(Log, HearsOfHandlesAndErrors) {
  RecordingLog log;
  sampler_options options = roomy_options();
  log.install(&options);
  const Sampler sampler = make_sampler(options);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0].level, SAMPLER_LOG_INFO);
  EXPECT_EQ(log.lines[0].text.rfind("sampler created on the CPU", 0), 0u) << log.lines[0].text;

  Call call(Spec{});
  expect_ok(&call, sampler.get());
  EXPECT_EQ(log.lines.size(), 1u);
  call.args().set("input.num_cols", std::int64_t(0));
  const auto fail = [&] {
    EXPECT_EQ(call.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(log.lines.back(),
              (LogLine{SAMPLER_LOG_ERROR, "input.num_cols is 0; it must be at least 1",
                       std::this_thread::get_id()}));
    EXPECT_EQ(log.lines.back().text, sampler_last_error());
  };
  fail();
  std::thread(fail).join();
  std::size_t bytes;
  EXPECT_EQ(sampler_sample_workspace_size(sampler.get(), nullptr, &bytes),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(log.lines.back().text, "args is NULL; it must point to a struct");
  EXPECT_EQ(sampler_argmax(sampler.get(), nullptr, nullptr, nullptr),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(log.lines.back().text, "input is NULL; it is required");
  EXPECT_EQ(log.lines.size(), 5u);
  for (const LogLine &line : log.lines) EXPECT_EQ(line.text.find('\n'), std::string::npos);
}

// A log may use other samplers, whose errors change neither its line nor the text of the call.
TEST(Log, LineAndTextOutliveErrorsOfCallsThatItMakes) {
  struct Line {
    std::string before, after;
  } line;
  sampler_options options = roomy_options();
  options.log_user = &line;
  options.log = [](void *user, sampler_log_level, const char *message) {
    const std::string before = message;
    sampler_options bad = sampler_options_default();
    bad.num_threads = -1;
    sampler_t none;
    EXPECT_EQ(sampler_create(&bad, &none), SAMPLER_ERROR_INVALID_ARGUMENT);
    *static_cast<Line *>(user) = {before, message};
  };
  const Sampler sampler = make_sampler(options);
  Call call(Spec{});
  call.args().set("input.num_cols", std::int64_t(0));
  const std::string text = "input.num_cols is 0; it must be at least 1";
  expect_refused(&call, sampler.get(), SAMPLER_ERROR_INVALID_ARGUMENT, text.c_str());
  EXPECT_EQ(line.before, text);
  EXPECT_EQ(line.after, text);
}

TEST(Library, PrintsNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Sampler sampler = roomy_sampler(2);
  for (const Spec &spec : few_specs()) {
    Call call(spec);
    call.run(sampler.get());
    call.args().set(spec.view() + std::string(".num_rows"), std::int64_t(-1));
    call.run(sampler.get());
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Library, NamesEveryStatus) {
  static const char *const kNames[] = {
      "SAMPLER_OK",
      "SAMPLER_ERROR_INVALID_ARGUMENT",
      "SAMPLER_ERROR_OUT_OF_MEMORY",
      "SAMPLER_ERROR_WORKSPACE_TOO_SMALL",
      "SAMPLER_ERROR_UNSUPPORTED",
      "SAMPLER_ERROR_ABI_MISMATCH",
      "SAMPLER_ERROR_SYSTEM",
      "SAMPLER_ERROR_CALLBACK",
      "SAMPLER_ERROR_CUDA",
      "SAMPLER_ERROR_INTERNAL",
      "SAMPLER_ERROR_CORRUPT_DATA",
  };
  for (int status = 0; status < 11; ++status) {
    EXPECT_STREQ(sampler_status_string(status), kNames[status]);
  }
  for (const sampler_status unknown : {-1, 11, INT32_MIN, INT32_MAX}) {
    EXPECT_STREQ(sampler_status_string(unknown), "SAMPLER_STATUS_UNKNOWN");
  }
}

TEST(Library, TellsItsVersion) {
  EXPECT_EQ(sampler_version(), std::uint32_t(SAMPLER_VERSION));
  EXPECT_EQ(sampler_abi_version(), std::uint32_t(SAMPLER_ABI_VERSION));
  const std::string candidate =
      SAMPLER_VERSION_CANDIDATE ? "-rc" + std::to_string(SAMPLER_VERSION_CANDIDATE) : "";
  EXPECT_EQ(sampler_version_string(), std::to_string(SAMPLER_VERSION_MAJOR) + "." +
                                          std::to_string(SAMPLER_VERSION_MINOR) + "." +
                                          std::to_string(SAMPLER_VERSION_PATCH) + candidate);
}

TEST(Capabilities, AreOfThisMachine) {
  sampler_capabilities capabilities = sized<sampler_capabilities>();
  ASSERT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
  EXPECT_EQ(capabilities.struct_size, sizeof capabilities);
  EXPECT_EQ(capabilities.version, sampler_version());
  EXPECT_EQ(capabilities.abi_version, sampler_abi_version());
  EXPECT_TRUE(capabilities.isa_usable & SAMPLER_ISA_SCALAR);
  EXPECT_EQ(capabilities.isa_usable & ~capabilities.isa_compiled, 0u);
  EXPECT_EQ(capabilities.isa_active & ~capabilities.isa_usable, 0u);
  EXPECT_TRUE(capabilities.isa_active != 0 &&
              (capabilities.isa_active & (capabilities.isa_active - 1)) == 0)
      << capabilities.isa_active;
  EXPECT_TRUE(capabilities.cuda_compiled || capabilities.num_cuda_devices == 0);
}

// SAMPLER_ISA while the object lives.
class IsaVariable {
 public:
  explicit IsaVariable(const char *value) {
    if (const char *before = std::getenv("SAMPLER_ISA")) before_ = before;
    setenv("SAMPLER_ISA", value, 1);
  }
  ~IsaVariable() {
    if (before_.empty()) {
      unsetenv("SAMPLER_ISA");
    } else {
      setenv("SAMPLER_ISA", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

struct NamedIsa {
  const char *name;
  std::uint32_t bit;
};
constexpr NamedIsa kIsas[] = {{"scalar", SAMPLER_ISA_SCALAR},
                              {"avx2", SAMPLER_ISA_AVX2},
                              {"avx512", SAMPLER_ISA_AVX512},
                              {"neon", SAMPLER_ISA_NEON}};

TEST(InstructionSet, IsTheOneThatTheEnvironmentNames) {
  for (const NamedIsa &isa : kIsas) {
    const IsaVariable variable(isa.name);
    sampler_capabilities capabilities = sized<sampler_capabilities>();
    ASSERT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
    const bool usable = capabilities.isa_usable & isa.bit;
    EXPECT_EQ(capabilities.isa_active, usable ? isa.bit : 0u) << isa.name;
    sampler_t sampler = nullptr;
    EXPECT_EQ(sampler_create(nullptr, &sampler),
              usable ? SAMPLER_OK : SAMPLER_ERROR_INVALID_ARGUMENT)
        << isa.name;
    EXPECT_EQ(sampler != nullptr, usable);
    sampler_destroy(sampler);
  }
}

TEST(InstructionSet, OfAnotherNameIsRefused) {
  sampler_capabilities capabilities = sized<sampler_capabilities>();
  ASSERT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
  std::string usable;
  for (const NamedIsa &isa : kIsas) {
    if (capabilities.isa_usable & isa.bit)
      usable += (usable.empty() ? "" : ", ") + std::string(isa.name);
  }
  for (const char *name : {"AVX2", "avx", "best"}) {
    const IsaVariable variable(name);
    sampler_t sampler = nullptr;
    EXPECT_EQ(sampler_create(nullptr, &sampler), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler, nullptr);
    EXPECT_EQ(sampler_last_error(), std::string("the environment variable SAMPLER_ISA is ") + name +
                                        "; it must be one of " + usable + ", or unset");
  }
}

TEST(Capabilities, CountTheProcessorsOfTheThread) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  sampler_capabilities capabilities = sized<sampler_capabilities>();
  ASSERT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
  EXPECT_EQ(capabilities.num_processors, std::uint32_t(CPU_COUNT(&all)));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(sampler_get_capabilities(&capabilities), SAMPLER_OK);
  EXPECT_EQ(capabilities.num_processors, 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

TEST(Capabilities, OfNoStruct) {
  EXPECT_EQ(sampler_get_capabilities(nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_capabilities is NULL; it must point to a struct");
}

}  // namespace
}  // namespace capi_test::handle_test
