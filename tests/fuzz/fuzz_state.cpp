// Fuzzes deserialising sequences, and what a state does with those that it took.
//
// The input is a flag, a number of sequences, and serialised sequences without header and checksum,
// which are added, so that the contents decide. What is taken must give the same bytes back, and a
// state that comes to the same sequences by calls must be equal to it after any truncation.
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../sized.h"

namespace {

constexpr std::int64_t kSlots = 4, kTokens = 48;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
};

class State {
 public:
  State(sampler_t sampler, bool keeps_values, std::int64_t max_distinct) : sampler_(sampler) {
    auto options = sized<sampler_state_options>();
    options.num_slots = kSlots;
    options.max_tokens = kTokens;
    options.max_distinct_tokens = max_distinct;
    options.keep_adaptive_values = keeps_values;
    sampler_state_t state = nullptr;
    require(sampler_state_create(sampler, &options, &state) == SAMPLER_OK);
    state_.reset(state);
  }

  bool take(const std::string &data) {
    const std::string before = bytes();
    std::int64_t num_slots = -1;
    const sampler_status status =
        sampler_state_deserialize(sampler_, state_.get(), 0, data.data(), data.size(), &num_slots);
    require(status == SAMPLER_OK || status == SAMPLER_ERROR_CORRUPT_DATA ||
            status == SAMPLER_ERROR_INVALID_ARGUMENT);
    require(status == SAMPLER_OK || bytes() == before);
    return status == SAMPLER_OK;
  }

  std::string bytes(std::int64_t num_slots = kSlots) const {
    std::size_t bytes = 0;
    require(sampler_state_serialize(sampler_, state_.get(), 0, num_slots, nullptr, 0, &bytes) ==
            SAMPLER_OK);
    std::string data(bytes, '\0');
    require(sampler_state_serialize(sampler_, state_.get(), 0, num_slots, data.data(), bytes,
                                    &bytes) == SAMPLER_OK);
    return data;
  }

  void truncate(std::int32_t length) {
    const std::vector<std::int32_t> lengths(kSlots, length);
    auto args = sized<sampler_state_truncate_args>();
    args.state = state_.get();
    args.num_rows = kSlots;
    args.lengths = lengths.data();
    require(sampler_state_truncate(sampler_, &args) == SAMPLER_OK);
  }

  void copy(const State &source) {
    const std::int32_t slots[kSlots] = {0, 1, 2, 3};
    auto args = sized<sampler_state_copy_args>();
    args.source = source.state_.get();
    args.destination = state_.get();
    args.source_slots = args.destination_slots = slots;
    args.num_rows = kSlots;
    require(sampler_state_copy(sampler_, &args) == SAMPLER_OK);
  }

 private:
  sampler_t sampler_;
  std::unique_ptr<sampler_state, Destroy> state_;
};

void put(std::string *data, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) (*data)[at + i] = char(value >> 8 * i);
}

std::string with_header(const std::uint8_t *input, std::size_t bytes, bool keeps_values,
                        std::uint64_t num_slots) {
  std::string data("SMPLSTAT");
  data.resize(24);
  put(&data, 8, 1, 4);
  put(&data, 12, keeps_values, 4);
  put(&data, 16, num_slots, 8);
  data.append(reinterpret_cast<const char *>(input), bytes);
  std::uint64_t checksum = 0xCBF29CE484222325u;
  for (const char byte : data) {
    checksum = (checksum ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  }
  data.resize(data.size() + 8);
  put(&data, data.size() - 8, checksum, 8);
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t bytes) {
  static const std::unique_ptr<sampler_handle, Destroy> sampler = [] {
    sampler_options options = sampler_options_default();
    options.num_threads = 1;
    sampler_t created = nullptr;
    require(sampler_create(&options, &created) == SAMPLER_OK);
    return std::unique_ptr<sampler_handle, Destroy>(created);
  }();
  const bool keeps_values = bytes > 0 && input[0] % 2 != 0;
  const std::int64_t num_slots = bytes > 1 ? input[1] % 8 : 0;
  const std::size_t used = std::min<std::size_t>(bytes, 2);
  const std::string data =
      with_header(input + used, bytes - used, keeps_values, std::uint64_t(num_slots));
  State first(sampler.get(), keeps_values, 5), second(sampler.get(), keeps_values, kTokens);
  if (!first.take(data)) return 0;
  require(first.bytes(num_slots) == data);
  second.copy(first);
  for (std::int32_t length = kTokens; length >= 0; length -= 1 + length / 4) {
    first.truncate(length);
    second.truncate(length);
    const std::string truncated = first.bytes();
    require(second.bytes() == truncated);
    require(first.take(truncated));
    require(first.bytes() == truncated);
  }
  return 0;
}
