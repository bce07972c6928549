// A storage or a lookup that several threads call at once, and one that a process was forked with
// in the middle of a call.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "support.h"

namespace ngram_test::threads_test {
namespace {

constexpr std::int64_t kVocabulary = 1000;

// Calls a function on another thread in the middle of a storage's next call that allocates.
class Interrupted {
 public:
  explicit Interrupted(sampler_ngram_storage_options *options) {
    options->allocator.user = this;
    options->allocator.allocate = [](void *user, std::size_t bytes,
                                     std::size_t alignment) -> void * {
      auto *const self = static_cast<Interrupted *>(user);
      if (self->during) {
        const std::function<void()> once = std::move(self->during);
        self->during = nullptr;
        std::thread(once).join();
      }
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    options->allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
      std::free(memory);
    };
  }

  std::function<void()> during;
};

void expect_busy(sampler_status status, const std::string &name) {
  EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), name + " is serving another call; it serves one at a time");
}

TEST(Threads, EachFunctionFindsAStorageInUse) {
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary);
  Interrupted interrupted(&options);
  Storage storage(options);
  const std::string data = storage.serialized();
  const sampler_ngram &f = storage.functions;
  bool was_called = false;
  interrupted.during = [&] {
    was_called = true;
    const std::int32_t tokens[] = {1, 2};
    std::int32_t token = -7, known = -7;
    expect_busy(f.next_token(f.user, tokens, 2, 0, 0, &token, &known), "user");
    expect_busy(f.has_gram(f.user, tokens, 2, &known), "user");
    std::int64_t num_drafts = 0;
    expect_busy(f.propose(f.user, tokens, 2, 1, 0, 0, &token, &num_drafts), "user");
    expect_busy(f.update(f.user, tokens, 2, tokens, 1), "user");
    expect_busy(f.initialize(f.user, tokens, 2), "user");
    expect_busy(f.reset(f.user), "user");
    EXPECT_EQ(token, -7);
    EXPECT_EQ(known, -7);
    sampler_ngram_storage_stats stats = sized<sampler_ngram_storage_stats>();
    expect_busy(sampler_ngram_storage_get_stats(storage.get(), &stats), "storage");
    std::size_t bytes = 0;
    expect_busy(sampler_ngram_storage_serialize(storage.get(), nullptr, 0, &bytes), "storage");
    expect_busy(storage.deserialize(data), "storage");
  };
  storage.initialize({1, 2, 3});
  EXPECT_TRUE(was_called);
  EXPECT_EQ(storage.next({1, 2}), (Next{3, 1}));
}

bool last_error_has(const std::string &part) {
  return std::string(sampler_last_error()).find(part) != std::string::npos;
}

// Calls an interface over and over on some threads. Each call is served, or finds it in use. A
// lookup that could not be reset in between may have no more room.
void call_at_once(const sampler_ngram &f, std::function<sampler_status()> other) {
  std::atomic<int> num_served{0}, num_busy{0};
  const auto count = [&](sampler_status status) {
    const bool is_served = status == SAMPLER_OK || last_error_has("there is room for");
    ++(is_served ? num_served : num_busy);
    EXPECT_TRUE(is_served || last_error_has("is serving another call")) << sampler_last_error();
  };
  // Until each has happened; on one processor that takes a while.
  const auto run = [&] {
    Tokens text(3000);
    std::mt19937 random(1);
    for (std::int32_t &token : text) token = std::int32_t(random() % kVocabulary);
    for (int i = 0; i < 20 || (num_busy == 0 && i < 5000); ++i) {
      std::int32_t token, known;
      count(f.initialize(f.user, text.data(), std::int64_t(text.size())));
      count(f.next_token(f.user, text.data(), 50, 0, 0, &token, &known));
      count(f.has_gram(f.user, text.data(), 2, &known));
      count(f.update(f.user, text.data(), 10, text.data() + 10, 5));
      count(other());
      count(f.reset(f.user));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
  for (std::thread &thread : threads) thread.join();
  EXPECT_GT(num_served, 0);
  EXPECT_GT(num_busy, 0);
}

TEST(Threads, CallAStorageAtOnce) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 4, kVocabulary));
  call_at_once(storage.functions, [&] {
    std::size_t bytes;
    return sampler_ngram_storage_serialize(storage.get(), nullptr, 0, &bytes);
  });
  storage.reset();
  storage.initialize({1, 2, 3});
  EXPECT_EQ(storage.next({1, 2}), (Next{3, 1}));
}

TEST(Threads, CallALookupAtOnce) {
  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.max_tokens = 10000;
  options.vocabulary_size = kVocabulary;
  sampler_prompt_lookup_t lookup;
  ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
  Interface interface;
  ASSERT_EQ(sampler_prompt_lookup_interface(lookup, &interface.functions), SAMPLER_OK);
  call_at_once(interface.functions, [&] {
    std::int32_t drafts[4];
    std::int64_t num_drafts;
    const sampler_status status = sampler_prompt_lookup_propose(lookup, 4, drafts, &num_drafts);
    return status == SAMPLER_OK ? sampler_prompt_lookup_reset(lookup) : status;
  });
  interface.reset();
  interface.initialize({1, 2, 3, 1});
  EXPECT_EQ(interface.next({1, 2, 3, 1}), (Next{2, 1}));
  sampler_prompt_lookup_destroy(lookup);
}

// A model whose likeliest token is the latest one and one more.
sampler_status count_up(void *, const sampler_forward_args *args) {
  auto *row = static_cast<float *>(args->logits);
  for (std::int64_t span = 0; span < args->num_spans; ++span) {
    const std::int64_t end = args->token_offsets[span + 1];
    for (std::int64_t i = end - args->logit_counts[span]; i < end; ++i) {
      std::fill_n(row, kVocabulary, 0.0f);
      row[(args->token_ids[i] + 1) % kVocabulary] = 1;
      row += args->logits_row_stride;
    }
  }
  return SAMPLER_OK;
}

sampler_status decode(sampler_t sampler, const sampler_ngram &ngram, Tokens *out) {
  sampler_model model = sized<sampler_model>();
  model.forward = &count_up;
  model.truncate = [](void *, std::int32_t, std::int64_t) { return sampler_status(SAMPLER_OK); };
  model.vocabulary_size = kVocabulary;
  model.max_context = 100;
  model.max_sequences = 1;
  const std::int64_t offsets[] = {0, 1};
  const std::int32_t prompt = 10, end_token = 0;
  sampler_generation_args generation = sampler_generation_args_default();
  generation.target = &model;
  generation.num_sequences = 1;
  generation.prompt_offsets = offsets;
  generation.prompt_token_ids = &prompt;
  generation.end_token_ids = &end_token;
  generation.max_new_tokens = 40;
  out->assign(40, -7);
  generation.out_token_ids = out->data();
  SpeculativeArgs args;
  args.generation = &generation;
  args.ngram = &ngram;
  return sampler_speculative(sampler, &args);
}

// A loop's calls are calls like others: one that finds the storage in use ends the loop.
TEST(Threads, CallTheStorageOfALoop) {
  sampler_options sampler_options = sampler_options_default();
  sampler_options.max_rows = 64;
  sampler_options.max_cols = kVocabulary;
  sampler_t sampler;
  ASSERT_EQ(sampler_create(&sampler_options, &sampler), SAMPLER_OK);
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary);
  Interrupted interrupted(&options);
  Storage storage(options);
  Tokens tokens, expected(40);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = std::int32_t(11 + i);
  bool was_called = false;
  interrupted.during = [&] {
    was_called = true;
    EXPECT_EQ(decode(sampler, storage.functions, &tokens), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(last_error_has("initialize returned ")) << sampler_last_error();
  };
  storage.initialize({1, 2, 3});
  EXPECT_TRUE(was_called);

  std::atomic<bool> is_done{false};
  std::thread other([&] {
    const sampler_ngram &f = storage.functions;
    const Tokens text(2000, 1);
    while (!is_done) {
      f.initialize(f.user, text.data(), std::int64_t(text.size()));
      f.reset(f.user);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 100; ++i) {
    const sampler_status status = decode(sampler, storage.functions, &tokens);
    EXPECT_TRUE(status == SAMPLER_OK ? tokens == expected : last_error_has(" returned "))
        << sampler_last_error();
  }
  is_done = true;
  other.join();
  EXPECT_EQ(decode(sampler, storage.functions, &tokens), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(tokens, expected);
  sampler_destroy(sampler);
}

// Runs `body` in a child process, which must end well: by exit(), which writes what was counted of
// the lines that ran.
void expect_child(const std::function<void()> &body) {
  std::fflush(nullptr);  // so that the child does not write it again
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body();
    const int result = testing::Test::HasFailure() ? 1 : 42;
#if defined(__SANITIZE_ADDRESS__)
    // What the parent's other threads hold is lost in a child: LeakSanitizer would report it.
    _exit(result);
#else
    std::exit(result);
#endif
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

// A child never reads a storage that its parent was changing.
TEST(Fork, AStorageInUseIsEmptyInTheChild) {
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary);
  Interrupted interrupted(&options);
  sampler_ngram_storage_t storage;
  ASSERT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
  Interface interface;
  ASSERT_EQ(sampler_ngram_storage_interface(storage, &interface.functions), SAMPLER_OK);
  interface.initialize({1, 2, 3});
  for (const bool is_destroyed_at_once : {false, true}) {
    interrupted.during = [&] {
      expect_child([&] {
        if (!is_destroyed_at_once) {
          EXPECT_FALSE(interface.next({1, 2}).known);
          interface.initialize({1, 2, 7});
          EXPECT_EQ(interface.next({1, 2}), (Next{7, 1}));
        }
        sampler_ngram_storage_destroy(storage);
      });
    };
    // Enough for a larger table.
    Tokens text(2000);
    std::mt19937 random(is_destroyed_at_once);
    for (std::int32_t &token : text) token = std::int32_t(random() % kVocabulary);
    interface.initialize(text);
    EXPECT_EQ(interrupted.during, nullptr);
    EXPECT_EQ(interface.next({1, 2}), (Next{3, 1}));
  }
  sampler_ngram_storage_destroy(storage);
}

// Calls a function in the middle of the next call that uses a page of memory.
class Touched {
 public:
  Touched(void *page, std::size_t bytes, std::function<void()> during)
      : page_(page), bytes_(bytes), during_(std::move(during)) {
    current = this;
    struct sigaction action = {};
    action.sa_handler = [](int) { current->happens(); };
    sigaction(SIGSEGV, &action, &before_);
    mprotect(page_, bytes_, PROT_NONE);
  }
  ~Touched() { EXPECT_FALSE(during_) << "was not touched"; }

 private:
  void happens() {
    mprotect(page_, bytes_, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_, nullptr);
    std::exchange(during_, nullptr)();
  }

  static inline Touched *current;
  void *page_;
  std::size_t bytes_;
  std::function<void()> during_;
  struct sigaction before_;
};

// The like of a lookup, which is changed by calls that call nothing.
TEST(Fork, ALookupInUseIsEmptyInTheChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the child is made in a signal handler, where ThreadSanitizer wants no allocation";
#endif
  static const auto page_bytes = std::size_t(sysconf(_SC_PAGESIZE));
  static unsigned char *memory;
  static std::size_t memory_bytes;
  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.max_tokens = std::int64_t(page_bytes);  // the last pages of the memory are the text's
  options.vocabulary_size = kVocabulary;
  options.allocator.allocate = [](void *, std::size_t bytes, std::size_t) -> void * {
    memory_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    memory = static_cast<unsigned char *>(std::aligned_alloc(page_bytes, memory_bytes));
    return memory;
  };
  options.allocator.deallocate = [](void *, void *block, std::size_t, std::size_t) {
    std::free(block);
  };
  sampler_prompt_lookup_t lookup;
  ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
  Interface interface;
  ASSERT_EQ(sampler_prompt_lookup_interface(lookup, &interface.functions), SAMPLER_OK);
  interface.initialize({1, 2, 3});
  EXPECT_TRUE(interface.has({1, 2}));
  {
    const Touched touched(memory + memory_bytes - 2 * page_bytes, page_bytes, [&] {
      expect_child([&] {
        EXPECT_FALSE(interface.has({1, 2}));
        interface.initialize({1, 2, 7, 1, 2});
        EXPECT_TRUE(interface.has({2, 7}));
        EXPECT_FALSE(interface.has({2, 3}));
        sampler_prompt_lookup_destroy(lookup);
      });
    });
    interface.initialize(Tokens(page_bytes - 3, 5));
  }
  EXPECT_TRUE(interface.has({2, 3}));
  EXPECT_TRUE(interface.has({3, 5}));
  sampler_prompt_lookup_destroy(lookup);
}

}  // namespace
}  // namespace ngram_test::threads_test
