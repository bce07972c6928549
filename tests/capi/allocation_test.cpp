// Calls allocate nothing and start no thread; a handle whose threads cannot be started is an error.
//
// The C library's functions are replaced by ones that count.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "expect.h"
#include "malloc_hooks.h"
#include "session_calls.h"
#include "shard_calls.h"
#include "state_calls.h"

namespace {

std::atomic<int> num_maps{0}, num_thread_starts{0};
std::atomic<int> failing_thread_start{-1};  // its number counted from 0; -1: none

}  // namespace

extern "C" {

void *mmap(void *address, std::size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  ++num_maps;
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument) noexcept {
  using Function = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static const Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_create"));
  if (num_thread_starts++ == failing_thread_start) return EAGAIN;
  return next(thread, attributes, function, argument);
}

}  // extern "C"

namespace capi_test {
namespace {

struct Counts {
  int allocations = num_allocations, releases = num_releases, maps = num_maps,
      thread_starts = num_thread_starts;

  bool operator==(const Counts &other) const {
    return allocations == other.allocations && releases == other.releases && maps == other.maps &&
           thread_starts == other.thread_starts;
  }
};

std::ostream &operator<<(std::ostream &out, const Counts &counts) {
  return out << counts.allocations << " allocations, " << counts.releases << " releases, "
             << counts.maps << " mmaps, " << counts.thread_starts << " threads";
}

TEST(Counting, CountsEverything) {
  const auto expect_counted = [](std::atomic<int> *count, const auto &action) {
    const int before = *count;
    action();
    EXPECT_GT(*count, before);
  };
  void *volatile memory;  // keeps the compiler from leaving the pairs out
  expect_counted(&num_allocations, [&] { memory = std::malloc(3); });
  expect_counted(&num_allocations, [&] { memory = std::realloc(memory, 300); });
  expect_counted(&num_releases, [&] { std::free(memory); });
  expect_counted(&num_allocations, [&] { memory = std::calloc(3, 3); });
  std::free(memory);
  expect_counted(&num_allocations, [&] { memory = std::aligned_alloc(64, 64); });
  std::free(memory);
  expect_counted(&num_allocations, [&] {
    void *aligned = nullptr;
    EXPECT_EQ(posix_memalign(&aligned, 64, 64), 0);
    memory = aligned;
  });
  std::free(memory);
  expect_counted(&num_allocations, [&] { memory = operator new(3); });
  expect_counted(&num_releases, [&] { operator delete(memory); });
  expect_counted(&num_maps, [&] {
    memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  munmap(memory, 4096);
  expect_counted(&num_thread_starts, [&] { std::thread([] {}).join(); });
  // The library's own calls of these come here as well.
  expect_counted(&num_allocations, [&] { roomy_sampler(); });
  expect_counted(&num_thread_starts, [&] { roomy_sampler(2); });
}

void run_in_order(void *, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
  for (std::int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
}

// Whether a handle's own workspace has room for reports; a device's calls take more.
bool has_room_for_reports() {
  const Sampler sampler = roomy_sampler();
  const auto specs = report_specs();
  return std::all_of(specs.begin(), specs.end(), [&](const Spec &spec) {
    Call call(spec);
    return call.run(sampler.get()) != SAMPLER_ERROR_WORKSPACE_TOO_SMALL;
  });
}

TEST(Calls, AllocateNothing) {
  sampler_options with_parallel_for = roomy_options(4);
  with_parallel_for.parallel_for = &run_in_order;
  for (const sampler_options &options : {roomy_options(1), roomy_options(4), with_parallel_for}) {
    std::vector<Spec> specs = all_specs();
    if (has_room_for_reports()) {
      for (const Spec &spec : report_specs()) specs.push_back(spec);
    }
    for (Spec spec : specs) {
      SCOPED_TRACE(describe(spec));
      spec.num_rows = 12;
      const Sampler sampler = make_sampler(options);
      Call call(spec), broken(spec);
      broken.args().set(spec.view() + std::string(".num_cols"), std::int64_t(0));
      std::size_t bytes = 0;
      const Counts before;
      sampler_status status = call.run(sampler.get());
      const Counts after_first;
      status |= call.run(sampler.get());
      status |= spec.op().workspace_size(sampler.get(), call.args().data(), &bytes);
      const sampler_status failure = broken.run(sampler.get());
      const char *const error = sampler_last_error();
      const Counts after_others;
      EXPECT_EQ(status, SAMPLER_OK);
      EXPECT_EQ(failure, SAMPLER_ERROR_INVALID_ARGUMENT) << error;
      EXPECT_EQ(after_first, before);
      EXPECT_EQ(after_others, before);
    }
  }
}

TEST(Calls, InOneLineAllocateNothing) {
  const Sampler sampler = roomy_sampler(4);
  const std::vector<float> values(20 * 37, 0.5f);
  std::vector<float> output(20 * 37);
  std::vector<std::int32_t> token_ids(20 * 37);
  sampler_rows input = {};
  input.values = values.data();
  input.num_rows = 20;
  input.num_cols = 37;
  const sampler_t handle = sampler.get();
  float *const out = output.data();
  std::int32_t *const ids = token_ids.data();
  const Counts before;
  sampler_status status = sampler_argmax(handle, &input, ids, nullptr);
  status |= sampler_top_k_top_p(handle, &input, 5, 0.9f, 0.8f, 1, 2, ids, nullptr);
  status |= sampler_top_p_renorm(handle, &input, 0.9f, out, nullptr);
  status |= sampler_top_k_select(handle, &input, 5, out, ids, nullptr);
  input.kind = SAMPLER_PROBABILITIES;
  status |= sampler_chain_speculative(handle, &input, nullptr, ids, 3, 1, 2, ids + 20, nullptr,
                                      nullptr, nullptr);
  const sampler_status failure = sampler_argmax(handle, nullptr, ids, nullptr);
  const Counts after;
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(failure, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(after, before);
}

TEST(Calls, OfManyRowsAndColumnsAllocateNothing) {
  sampler_options options = sampler_options_default();
  options.num_threads = 2;
  options.max_rows = 2000;
  options.max_cols = 50000;
  const Sampler sampler = make_sampler(options);
  Spec spec;
  spec.num_rows = 2000;
  spec.num_input_rows = 1;
  spec.row_indices = true;
  spec.num_cols = 50000;
  Call call(spec);
  const Counts before;
  const sampler_status status = call.run(sampler.get());
  const Counts after;
  EXPECT_EQ(status, SAMPLER_OK);
  EXPECT_EQ(after, before);
}

TEST(Calls, OfAStateAllocateNothing) {
  const Sampler sampler = roomy_sampler(4);
  const sampler_t handle = sampler.get();
  StateCalls calls(handle);
  ASSERT_EQ(calls.create(), SAMPLER_OK);
  Spec spec;
  spec.num_rows = 2;
  Call sample(spec);
  auto args = sized<sampler_sample_args>();
  std::memcpy(&args, sample.args().data(), sizeof args);
  calls.params.no_repeat_ngram_size = 2;
  args.params = &calls.params;
  args.row_params = nullptr;
  args.pipeline = &calls.pipeline;
  calls.params.adaptive_kind = 0;
  calls.params.top_p_decay = 0;
  std::size_t bytes = 0;
  const Counts before;
  sampler_status status = sampler_state_append(handle, &calls.append);
  status |= sampler_sample(handle, &args);
  status |= sampler_accept(handle, &calls.accept);
  status |= sampler_state_truncate(handle, &calls.truncate);
  status |= sampler_state_copy(handle, &calls.copy);
  status |= sampler_state_read(handle, &calls.read);
  status |= calls.serialize();
  status |= sampler_state_reset(handle, &calls.reset);
  status |= calls.deserialize();
  status |= sampler_state_size(handle, &calls.options, &bytes);
  const sampler_status failure = sampler_accept(handle, nullptr);
  const Counts after;
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(failure, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(after, before);
}

TEST(Sessions, AllocateNothing) {
  const Sampler sampler = roomy_sampler(4);
  SessionCalls calls(sampler.get());
  calls.start();
  ASSERT_NE(calls.session, nullptr);
  std::size_t bytes = 0;
  const Counts before;
  sampler_status status = sampler_session_advance(calls.session, &calls.advance);
  status |= sampler_session_fork(calls.session, &calls.fork, &calls.sequence);
  status |= sampler_session_plan(calls.session, &calls.plan);
  status |= sampler_session_advance(calls.session, &calls.advance);
  status |= sampler_session_get(calls.session, 0, &calls.out);
  status |= sampler_session_remove(calls.session, 0);
  status |= sampler_session_add(calls.session, &calls.add, &calls.sequence);
  status |= sampler_session_size(sampler.get(), &calls.options, &bytes);
  const sampler_status failure = sampler_session_advance(calls.session, nullptr);
  const Counts after;
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(failure, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(after, before);
}

TEST(Shards, AllocateNothing) {
  const Sampler sampler = roomy_sampler(4);
  ShardCalls calls(sampler.get());
  const Counts before;
  sampler_status status = sampler_shard_plan(sampler.get(), &calls.shard, &calls.plan);
  status |= calls.run();
  const sampler_status failure = sampler_shard_round(sampler.get(), nullptr, 0);
  const Counts after;
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(failure, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(after, before);
}

TEST(OtherFunctions, AllocateNothing) {
  sampler_options options;
  sampler_capabilities capabilities = sized<sampler_capabilities>();
  sampler_params params;
  sampler_get_capabilities(&capabilities);  // starts CUDA's runtime in a build that has it
  const Counts before;
  sampler_options_init(&options, sizeof options);
  sampler_params_init(&params, sizeof params);
  sampler_params_preset(&params, sizeof params, "vllm");
  sampler_params_preset(&params, sizeof params, "unknown");
  sampler_preset_name(0);
  sampler_get_capabilities(&capabilities);
  sampler_version_string();
  sampler_status_string(3);
  sampler_last_error();
  const Counts after;
  EXPECT_EQ(after, before);
}

std::size_t num_threads_of_process() {
  std::size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
    count += !entry.path().empty();
  }
  return count;
}

int num_blocks = 0;

TEST(Create, WhenTheSystemRefusesAThread) {
  sampler_options options = roomy_options(5);
  options.allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) {
    ++num_blocks;
    return aligned_alloc(alignment, bytes);
  };
  options.allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    --num_blocks;
    free(memory);
  };
  const std::size_t num_threads = num_threads_of_process();
  for (int failing = 0; failing < 4; ++failing) {
    sampler_t sampler = reinterpret_cast<sampler_t>(&options);
    failing_thread_start = num_thread_starts + failing;
    EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_ERROR_SYSTEM);
    failing_thread_start = -1;
    EXPECT_STREQ(sampler_last_error(), "num_threads is 5; the system refused to start so many");
    EXPECT_EQ(sampler, nullptr);
    EXPECT_EQ(num_blocks, 0);
    for (int i = 0; i < 1000 && num_threads_of_process() != num_threads; ++i) usleep(1000);
    EXPECT_EQ(num_threads_of_process(), num_threads);
  }
}

// Creating and destroying brings the heap back to where it was, except what the C library keeps
// once: less than the smallest block for each round.
TEST(Create, AndDestroyLeakNothing) {
  const auto create_and_use = [] {
    const Sampler sampler = roomy_sampler(3);
    Call call(few_specs().front());
    call.run(sampler.get());
    StateCalls(sampler.get()).start();
  };
  create_and_use();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 200; ++i) create_and_use();
  EXPECT_LT(mallinfo2().uordblks, before + 200 * 32);
}

}  // namespace
}  // namespace capi_test
