// The library as a plugin's host has it: opened with dlopen, in threads that it knows nothing of,
// with and without memory.
//
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sampler/sampler.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "malloc_hooks.h"

namespace {

std::atomic<bool> records_callers{false}, memory_is_out{false}, keys_are_refused{false};
std::atomic<int> num_refused{0};
std::array<void *, 4096> callers;
std::atomic<std::size_t> num_callers{0};

// Whether `caller`, a function that asks for memory, is to get some.
bool may_have(void *caller) {
  if (records_callers) callers.at(num_callers++) = caller;
  if (memory_is_out) ++num_refused;
  return !memory_is_out;
}

const bool is_asked = (capi_test::may_allocate = &may_have, true);

}  // namespace

// Where the process has many keys, the C library needs memory to set one.
extern "C" int pthread_setspecific(pthread_key_t key, const void *value) noexcept {
  using Function = int (*)(pthread_key_t, const void *);
  static const Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_setspecific"));
  return keys_are_refused ? ENOMEM : next(key, value);
}

namespace {

class Library {
 public:
  Library() {
    // Allocations of the loader are its own affair, those of the library's constructors are not.
    num_callers = 0;
    records_callers = true;
    handle_ = dlopen(SAMPLER_LIBRARY, RTLD_NOW);
    records_callers = false;
    if (!handle_) ADD_FAILURE() << dlerror();
  }

  template <class Function>
  Function *get(Function *, const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle_, name));
  }

 private:
  void *handle_;
};

#define FUNCTION(library, name) (library).get(static_cast<decltype(&name)>(nullptr), #name)

std::string file_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

// Runs `body` on a new thread, which finds no memory from its start to its end. Returns the
// number of its requests.
int requests_without_memory(const std::function<void()> &body) {
  std::atomic<int> step{0};
  std::thread thread([&] {
    while (step != 1) std::this_thread::yield();
    body();
    step = 2;
    while (step != 3) std::this_thread::yield();
  });
  num_refused = 0;
  memory_is_out = true;
  step = 1;
  while (step != 2) std::this_thread::yield();
  const int result = num_refused;
  memory_is_out = false;
  step = 3;
  thread.join();
  return result;
}

TEST(Dlopen, AllocatesNothingItself) {
  const Library library;
  const std::string file = file_of(reinterpret_cast<void *>(FUNCTION(library, sampler_version)));
  ASSERT_NE(file.find("libsampler.so"), std::string::npos);
  ASSERT_GT(num_callers, 0u);  // the loader's
  const auto begin = callers.begin();
  const auto num_own = std::count_if(begin, begin + std::ptrdiff_t(num_callers),
                                     [&](void *caller) { return file_of(caller) == file; });
  // CUDA's start-up code, which is linked in, registers 52 kernels and takes ten blocks for each.
  EXPECT_LE(num_own, SAMPLER_LIBRARY_HAS_CUDA ? 550 : 0);
}

TEST(Dlopen, AThreadsFirstErrorNeedsNoMemory) {
  const Library library;
  const auto argmax = FUNCTION(library, sampler_argmax);
  const auto last_error = FUNCTION(library, sampler_last_error);
  sampler_status status = SAMPLER_OK;
  char text[256] = "";
  EXPECT_EQ(requests_without_memory([&] {
              status = argmax(nullptr, nullptr, nullptr, nullptr);
              std::strcpy(text, last_error());
            }),
            0);
  EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "sampler is NULL; it must come from sampler_create");
}

// Again and again: what could not be used is given back.
TEST(Dlopen, AThreadThatNoKeyCanBeSetForHasNoText) {
  const Library library;
  const auto argmax = FUNCTION(library, sampler_argmax);
  const auto last_error = FUNCTION(library, sampler_last_error);
  bool all_told = true;
  EXPECT_EQ(requests_without_memory([&] {
              keys_are_refused = true;
              for (int i = 0; i < 1000; ++i) {
                all_told =
                    all_told &&
                    argmax(nullptr, nullptr, nullptr, nullptr) == SAMPLER_ERROR_INVALID_ARGUMENT &&
                    std::strcmp(last_error(), "") == 0;
              }
              keys_are_refused = false;
            }),
            0);
  EXPECT_TRUE(all_told);
}

TEST(Dlopen, AThreadsFirstExceptionNeedsNoMemory) {
  const Library library;
  sampler_options options = sampler_options_default();
  options.max_rows = 2;
  options.max_cols = 4;
  options.num_threads = 2;
  options.parallel_for = [](void *, std::int64_t, sampler_task_fn, void *) {
    // Not even of the host's: libstdc++ has some aside for it.
    memory_is_out = false;
    try {
      throw 7;
    } catch (...) {
      memory_is_out = true;
      throw;
    }
  };
  sampler_t sampler = nullptr;
  ASSERT_EQ(FUNCTION(library, sampler_create)(&options, &sampler), SAMPLER_OK);
  const float logits[8] = {};
  std::int32_t token_ids[2];
  sampler_rows input = {};
  input.values = logits;
  input.num_rows = 2;
  input.num_cols = 4;
  const auto argmax = FUNCTION(library, sampler_argmax);
  sampler_status status = SAMPLER_OK;
  EXPECT_EQ(requests_without_memory([&] { status = argmax(sampler, &input, token_ids, nullptr); }),
            0);
  EXPECT_EQ(status, SAMPLER_ERROR_CALLBACK);
  FUNCTION(library, sampler_destroy)(sampler);
}

// Threads that have an error text at the same time, more than the library has room for without
// memory. Each has its own; one that finds no memory has none.
TEST(Dlopen, ManyThreadsHaveTexts) {
  const Library library;
  const auto workspace_size = FUNCTION(library, sampler_sample_workspace_size);
  const auto last_error = FUNCTION(library, sampler_last_error);
  const auto create = FUNCTION(library, sampler_create);
  const auto destroy = FUNCTION(library, sampler_destroy);
  sampler_t sampler = nullptr;
  ASSERT_EQ(create(nullptr, &sampler), SAMPLER_OK);
  const auto fails = [&](int number) {
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input.num_rows = -number;
    args.input.num_cols = 1;
    std::size_t bytes;
    EXPECT_EQ(workspace_size(sampler, &args, &bytes), SAMPLER_ERROR_INVALID_ARGUMENT);
  };
  const auto expected = [](int number) {
    return "input.num_rows is -" + std::to_string(number) + "; it must be at least 0";
  };
  constexpr int kNumThreads = 400;
  for (int round = 0; round < 3; ++round) {  // rooms are given back when threads end
    std::atomic<int> num_failed{0};
    std::atomic<bool> may_end{false};
    std::vector<std::thread> threads;
    for (int i = 1; i <= kNumThreads; ++i) {
      threads.emplace_back([&, i] {
        EXPECT_STREQ(last_error(), "");
        fails(i);
        ++num_failed;
        while (!may_end) usleep(1000);
        EXPECT_EQ(last_error(), expected(i));
      });
    }
    while (num_failed != kNumThreads) usleep(1000);
    std::string text = "none";
    EXPECT_EQ(requests_without_memory([&] {
                fails(1);
                text.assign(last_error());
              }),
              1);
    EXPECT_EQ(text, "");
    may_end = true;
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(requests_without_memory([&] { fails(1); }), 0);
  }
  destroy(sampler);
}

}  // namespace
