// Tokens per second, on one core, learned by n-gram storages of order 4 and appended to prompt
// lookups.
//
// The argument is the length of the text: ids of a vocabulary of 50,000, id i at a rate of about 1
// / (i + 1), drawn independently. That is harder than language, which repeats more.
#include <benchmark/benchmark.h>
#include <sampler/sampler.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace {

constexpr int kOrder = 4;
constexpr std::int64_t kVocabulary = 50000;

std::vector<std::int32_t> make_text(std::int64_t num_tokens) {
  std::mt19937 random(1);
  std::vector<std::int32_t> text(static_cast<std::size_t>(num_tokens));
  for (std::int32_t &token : text) {
    const double uniform = double(random()) / 4294967296.0;
    token = std::int32_t(std::pow(double(kVocabulary), uniform)) - 1;
  }
  return text;
}

// A storage and its interface, for one measurement.
struct Storage {
  Storage() {
    sampler_ngram_storage_options options = {};
    options.struct_size = sizeof options;
    options.order = kOrder;
    options.vocabulary_size = kVocabulary;
    ngram.struct_size = sizeof ngram;
    ok = sampler_ngram_storage_create(&options, &handle) == SAMPLER_OK &&
         sampler_ngram_storage_interface(handle, &ngram) == SAMPLER_OK;
  }
  ~Storage() { sampler_ngram_storage_destroy(handle); }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  void update_each(const std::vector<std::int32_t> &text) {
    for (std::size_t i = kOrder - 1; i < text.size(); ++i) {
      ok &=
          ngram.update(ngram.user, &text[i] - (kOrder - 1), kOrder - 1, &text[i], 1) == SAMPLER_OK;
    }
  }
  void initialize(const std::vector<std::int32_t> &text) {
    ok &= ngram.initialize(ngram.user, text.data(), std::int64_t(text.size())) == SAMPLER_OK;
  }

  sampler_ngram_storage_t handle = nullptr;
  sampler_ngram ngram = {};
  bool ok;
};

void finish(benchmark::State &state, bool ok) {
  if (!ok) state.SkipWithError(sampler_last_error());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// One call per token, into an empty storage: most n-grams are new.
void update_new(benchmark::State &state) {
  const std::vector<std::int32_t> text = make_text(state.range(0));
  bool ok = true;
  for (auto _ : state) {
    Storage storage;
    storage.update_each(text);
    ok &= storage.ok;
  }
  finish(state, ok);
}

// Updates with a text whose n-grams are all known.
void update_known(benchmark::State &state) {
  const std::vector<std::int32_t> text = make_text(state.range(0));
  Storage storage;
  storage.initialize(text);
  for (auto _ : state) storage.update_each(text);
  finish(state, storage.ok);
}

// One call for the text.
void initialize(benchmark::State &state) {
  const std::vector<std::int32_t> text = make_text(state.range(0));
  bool ok = true;
  for (auto _ : state) {
    Storage storage;
    storage.initialize(text);
    ok &= storage.ok;
  }
  finish(state, ok);
}

// Appends a token at a time, with 5 drafts after each.
void lookup(benchmark::State &state) {
  const std::vector<std::int32_t> text = make_text(state.range(0));
  sampler_prompt_lookup_options options = {};
  options.struct_size = sizeof options;
  options.max_tokens = state.range(0);
  options.vocabulary_size = kVocabulary;
  sampler_prompt_lookup_t handle = nullptr;
  bool ok = sampler_prompt_lookup_create(&options, &handle) == SAMPLER_OK;
  for (auto _ : state) {
    ok &= sampler_prompt_lookup_reset(handle) == SAMPLER_OK;
    for (const std::int32_t token : text) {
      std::int32_t drafts[5];
      std::int64_t num_drafts;
      ok &= sampler_prompt_lookup_append(handle, &token, 1) == SAMPLER_OK &&
            sampler_prompt_lookup_propose(handle, 5, drafts, &num_drafts) == SAMPLER_OK;
      benchmark::DoNotOptimize(drafts);
    }
  }
  finish(state, ok);
  sampler_prompt_lookup_destroy(handle);
}

void sizes(benchmark::internal::Benchmark *benchmark) {
  benchmark->Arg(10000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
}

BENCHMARK(update_new)->Apply(sizes);
BENCHMARK(update_known)->Apply(sizes);
BENCHMARK(initialize)->Apply(sizes);
BENCHMARK(lookup)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
