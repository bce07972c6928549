// Mutated serialised states and n-gram storages, half of them with the right checksum: each is
// CORRUPT_DATA or of another kind or size, and then nothing has changed, or the content gives the
// same bytes back. Memory stays a small multiple of the bytes.
//
// usage: bytes_attack [COUNT [SEED]]
#include <sampler/sampler.h>

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "../sized.h"

namespace {

// AddressSanitizer keeps what was freed.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsFreed = true;
#elif defined(__has_feature)
constexpr bool kKeepsFreed = __has_feature(address_sanitizer);
#else
constexpr bool kKeepsFreed = false;
#endif

using Random = std::mt19937_64;

void require(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s (%s)\n", what, sampler_last_error());
  std::abort();
}

std::int64_t between(Random *random, std::int64_t low, std::int64_t high) {
  return low + std::int64_t((*random)() % std::uint64_t(high - low + 1));
}

// What the C library gives, with its peak.
struct Memory {
  std::size_t held = 0, peak = 0;

  template <class Options>
  void install(Options *options) {
    options->allocator.user = this;
    options->allocator.allocate = [](void *user, std::size_t bytes, std::size_t alignment) {
      Memory &memory = *static_cast<Memory *>(user);
      memory.held += bytes;
      memory.peak = std::max(memory.peak, memory.held);
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    options->allocator.deallocate = [](void *user, void *block, std::size_t bytes, std::size_t) {
      static_cast<Memory *>(user)->held -= bytes;
      std::free(block);
    };
  }
};

void put(std::string *data, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && at + i < data->size(); ++i)
    (*data)[at + i] = char(value >> 8 * i);
}

void set_checksum(std::string *data) {
  if (data->size() < 8) return;
  std::uint64_t checksum = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < data->size() - 8; ++i) {
    checksum = (checksum ^ static_cast<unsigned char>((*data)[i])) * 0x100000001B3u;
  }
  put(data, data->size() - 8, checksum, 8);
}

// A few changes: bytes, numbers, cuts, repetitions, pieces of other data.
std::string mutated(Random *random, std::string data, const std::string &other) {
  static const std::uint64_t numbers[] = {0,
                                          1,
                                          2,
                                          7,
                                          48,
                                          49,
                                          255,
                                          256,
                                          0x7FFFFFFF,
                                          0x80000000,
                                          0xFFFFFFFF,
                                          0xFFFFFFFE,
                                          std::uint64_t(1) << 32,
                                          std::uint64_t(1) << 60,
                                          INT64_MAX,
                                          UINT64_MAX,
                                          0x7FC00000,
                                          0x7F800000,
                                          0x80000001,
                                          0xFFFFFFFFFFFFFFFB};
  for (std::int64_t i = between(random, 1, 4); i > 0 && !data.empty(); --i) {
    // Every other change is near the beginning, where the counts are.
    const auto last = std::int64_t(data.size()) - 1;
    const auto at =
        std::size_t(between(random, 0, (*random)() % 2 ? std::min<std::int64_t>(last, 80) : last));
    const auto size = std::size_t(between(random, 1, 40));
    switch ((*random)() % 8) {
      case 0:
        data[at] = char(data[at] ^ 1 << (*random)() % 8);
        break;
      case 1:
        data[at] = char((*random)());
        break;
      case 2:
      case 3:
        put(&data, at / 4 * 4, numbers[(*random)() % 20], (*random)() % 2 ? 4 : 8);
        break;
      case 4:
        data.resize(at);
        break;
      case 5:
        data.erase(at, size);
        break;
      case 6:
        data.insert(at, data.substr(std::size_t(between(random, 0, last)), size));
        break;
      default:
        if (!other.empty()) data.replace(at, size, other.substr(std::min(at, other.size()), size));
    }
  }
  return data;
}

struct Counts {
  std::int64_t taken = 0, corrupt = 0, other_kind = 0, with_checksum_taken = 0;
  double worst_memory = 0;  // bytes of memory for each of the data

  void add(sampler_status status, bool has_checksum) {
    taken += status == SAMPLER_OK;
    with_checksum_taken += status == SAMPLER_OK && has_checksum;
    corrupt += status == SAMPLER_ERROR_CORRUPT_DATA;
    other_kind += status == SAMPLER_ERROR_INVALID_ARGUMENT;
    require(status == SAMPLER_OK || status == SAMPLER_ERROR_CORRUPT_DATA ||
                status == SAMPLER_ERROR_INVALID_ARGUMENT,
            "CORRUPT_DATA, another kind, or taken");
  }

  void print(const char *what) const {
    std::printf("%s: %" PRId64 " corrupt, %" PRId64 " of another kind or too large, %" PRId64
                " taken (%" PRId64
                " with a checksum made right); at most %.1f bytes of memory for each\n",
                what, corrupt, other_kind, taken, with_checksum_taken, worst_memory);
  }
};

// ---- States ----

class State {
 public:
  static constexpr std::int64_t kSlots = 4, kTokens = 48;

  State(bool keeps_values, std::int64_t max_distinct) : keeps_values_(keeps_values) {
    sampler_options handle = sampler_options_default();
    handle.num_threads = 1;
    memory_.install(&handle);
    require(sampler_create(&handle, &sampler_) == SAMPLER_OK, "a handle");
    auto options = sized<sampler_state_options>();
    options.num_slots = kSlots;
    options.max_tokens = kTokens;
    options.max_distinct_tokens = max_distinct;
    options.keep_adaptive_values = keeps_values;
    require(sampler_state_create(sampler_, &options, &state_) == SAMPLER_OK, "a state");
  }
  ~State() {
    sampler_state_destroy(state_);
    sampler_destroy(sampler_);
  }
  State(const State &) = delete;
  State &operator=(const State &) = delete;

  // Sequences of their own.
  void fill(Random *random) {
    std::vector<std::int32_t> tokens;
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      for (std::int64_t i = between(random, 0, 20); i > 0; --i) {
        tokens.push_back(std::int32_t(between(random, 0, (*random)() % 8 ? 6 : (1 << 20) - 1)));
      }
      offsets.push_back(std::int64_t(tokens.size()));
    }
    tokens.push_back(0);
    auto args = sized<sampler_state_append_args>();
    args.state = state_;
    args.num_rows = kSlots;
    args.tokens = {offsets.data(), tokens.data(), kSlots, offsets.back()};
    args.token_kind = (*random)() % 2 ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
    require(sampler_state_append(sampler_, &args) == SAMPLER_OK, "append");
  }

  std::string bytes(std::int64_t num_slots = kSlots) const {
    std::size_t size = 0;
    require(
        sampler_state_serialize(sampler_, state_, 0, num_slots, nullptr, 0, &size) == SAMPLER_OK,
        "a size");
    std::string data(size, '\0');
    require(sampler_state_serialize(sampler_, state_, 0, num_slots, data.data(), size, &size) ==
                SAMPLER_OK,
            "bytes");
    return data;
  }

  void take(const std::string &data, bool has_checksum, Counts *counts) {
    const std::string before = bytes();
    const std::size_t held = memory_.held;
    memory_.peak = held;
    // In a block of its size, for sanitizers.
    const std::vector<char> block(data.begin(), data.end());
    std::int64_t num_slots = -1;
    const sampler_status status =
        sampler_state_deserialize(sampler_, state_, 0, block.data(), block.size(), &num_slots);
    counts->add(status, has_checksum);
    require(memory_.peak == held && memory_.held == held, "no memory is taken");
    if (status != SAMPLER_OK) {
      require(bytes() == before, "all slots are as before");
    } else {
      require(num_slots >= 0 && num_slots <= kSlots, "slots that there are");
      // Sequences with their adaptive values at each place fit into states without these, and the
      // other way round.
      const bool is_of_its_kind = data[12] == char(keeps_values_);
      require(!is_of_its_kind || bytes(num_slots) == data, "the same bytes");
    }
  }

 private:
  const bool keeps_values_;
  Memory memory_;
  sampler_t sampler_ = nullptr;
  sampler_state_t state_ = nullptr;
};

Counts attack_states(Random *random, std::int64_t count) {
  Counts counts;
  while (count > 0) {
    const bool keeps_values = (*random)() % 2;
    State given(keeps_values, State::kTokens), other(keeps_values, State::kTokens);
    State taking(keeps_values, (*random)() % 2 ? State::kTokens : 6);
    for (int i = 0; i < 2; ++i) given.fill(random);
    other.fill(random);
    const std::string data = given.bytes(between(random, 0, State::kSlots)), others = other.bytes();
    for (int i = 0; i < 500; ++i, --count) {
      std::string changed = mutated(random, data, others);
      if (i % 2) set_checksum(&changed);
      taking.take(changed, i % 2, &counts);
    }
  }
  return counts;
}

// ---- N-gram storages ----

class Storage {
 public:
  Storage(const sampler_ngram_storage_options &wanted) {
    sampler_ngram_storage_options options = wanted;
    memory_.install(&options);
    require(sampler_ngram_storage_create(&options, &storage_) == SAMPLER_OK, "a storage");
    require(sampler_ngram_storage_interface(storage_, &ngram_) == SAMPLER_OK, "its interface");
  }
  ~Storage() { sampler_ngram_storage_destroy(storage_); }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  void learn(const std::vector<std::int32_t> &text) {
    require(ngram_.initialize(ngram_.user, text.data(), std::int64_t(text.size())) == SAMPLER_OK,
            "learned");
  }

  void forget() { require(ngram_.reset(ngram_.user) == SAMPLER_OK, "forgotten"); }

  std::string bytes() const {
    std::size_t size = 0;
    require(sampler_ngram_storage_serialize(storage_, nullptr, 0, &size) == SAMPLER_OK, "a size");
    std::string data(size, '\0');
    require(sampler_ngram_storage_serialize(storage_, data.data(), size, &size) == SAMPLER_OK,
            "bytes");
    return data;
  }

  void take(const std::string &data, bool has_checksum, const std::vector<std::int32_t> &text,
            Counts *counts) {
    const std::string before = bytes();
    const std::size_t held = memory_.held;
    memory_.peak = held;
    const std::vector<char> block(data.begin(), data.end());
    const sampler_status status =
        sampler_ngram_storage_deserialize(storage_, block.data(), block.size());
    counts->add(status, has_checksum);
    const auto size = double(std::max<std::size_t>(data.size(), 1000));
    counts->worst_memory = std::max(counts->worst_memory, double(memory_.peak - held) / size);
    require(double(memory_.peak - held) < 20 * size, "memory of a small multiple");
    require(bytes() == (status == SAMPLER_OK ? data : before), "the same bytes");
    if (status != SAMPLER_OK) return;
    learn(text);  // which it goes on with
    std::int32_t token = -1, known = -1;
    require(ngram_.next_token(ngram_.user, text.data(), std::int64_t(text.size()), 1, 1, &token,
                              &known) == SAMPLER_OK,
            "an answer");
    forget();
  }

 private:
  Memory memory_;
  sampler_ngram_storage_t storage_ = nullptr;
  sampler_ngram ngram_ = sized<sampler_ngram>();
};

Counts attack_storages(Random *random, std::int64_t count) {
  Counts counts;
  while (count > 0) {
    auto options = sized<sampler_ngram_storage_options>();
    options.kind = (*random)() % 2 ? SAMPLER_NGRAM_ALL_ORDERS : SAMPLER_NGRAM_ONE_LEVEL;
    options.order = std::int32_t(between(random, 2, 5));
    options.vocabulary_size = (*random)() % 2 ? 300 : 1 << 16;
    std::vector<std::int32_t> text;
    for (std::int64_t i = between(random, 1, 60); i > 0; --i) {
      text.push_back(std::int32_t(between(random, 0, (*random)() % 8 ? 5 : 299)));
    }
    Storage given(options), other(options), taking(options);
    given.learn(text);
    other.learn({text.rbegin(), text.rend()});
    const std::string data = given.bytes(), others = other.bytes();
    for (int i = 0; i < 500; ++i, --count) {
      std::string changed = mutated(random, data, others);
      if (i % 2) set_checksum(&changed);
      taking.take(changed, i % 2, text, &counts);
    }
  }
  return counts;
}

// The process's largest memory. getrusage counts that of the program that started it, too.
std::int64_t most_kibibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t result = 0;
    if (word == "VmHWM:" && status >> result) return result;
  }
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 20000;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : seeded(31));
  const Counts states = attack_states(&random, count / 2),
               storages = attack_storages(&random, count / 2);
  states.print("states");
  storages.print("storages");
  const std::int64_t most = most_kibibytes();
  std::printf("%lld MiB at most\n", static_cast<long long>(most / 1024));
  require(kKeepsFreed || (most > 0 && most < 200 * 1024), "memory of the process");
  for (const Counts &counts : {states, storages}) {
    require(counts.corrupt > count / 8 && counts.with_checksum_taken > 0, "both have been met");
  }
  return 0;
}
