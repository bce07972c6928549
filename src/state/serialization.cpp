// Serialised format of sequences: a header; for each sequence its length, its prompt length, its
// adaptive values and its tokens; a checksum of all bytes before it. Integers are little-endian;
// floats are stored as their bits. A state that keeps values stores one set per length, others one
// set.
#include "state/serialization.h"

#include <algorithm>
#include <cstring>

#include "contract/bytes.h"

namespace sampler::state {

using contract::AdaptiveValues;
using contract::checksum;
using contract::get32;
using contract::get64;
using contract::put32;
using contract::put64;
using contract::StateSlot;
using contract::StateSlots;

namespace {

constexpr char kMagic[8] = {'S', 'M', 'P', 'L', 'S', 'T', 'A', 'T'};
constexpr uint32_t kVersion = 1;

// Offsets in the header, and in a sequence.
constexpr size_t kVersionAt = 8, kKeepsValuesAt = 12, kNumSlotsAt = 16, kHeaderBytes = 24;
constexpr size_t kLengthAt = 0, kPromptLengthAt = 4, kSequenceHeaderBytes = 8;
constexpr size_t kValuesBytes = sizeof(AdaptiveValues), kTokenBytes = 4, kChecksumBytes = 8;

uint64_t num_values(uint64_t length, bool keeps_values) {
  return keeps_values ? length + 1 : 1;
}

uint64_t sequence_bytes(uint64_t length, bool keeps_values) {
  return kSequenceHeaderBytes + num_values(length, keeps_values) * kValuesBytes +
         length * kTokenBytes;
}

float get_float(const unsigned char *at) {
  return contract::float_of(get32(at));
}

AdaptiveValues get_values(const unsigned char *at) {
  return {get_float(at), {get_float(at + 4), get_float(at + 8)}, get_float(at + 12)};
}

void put_values(unsigned char *at, const AdaptiveValues &values) {
  const float floats[] = {values.mu, values.adaptive_p.sum, values.adaptive_p.weight, values.top_p};
  for (size_t i = 0; i < SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
    put32(at + 4 * i, contract::bits_of(floats[i]));
  }
}

// View of a serialised sequence with valid lengths.
struct SequenceData {
  int32_t length, prompt_length;
  bool keeps_values;
  const unsigned char *values, *tokens;

  SequenceData(const unsigned char *at, bool keeps)
      : length(int32_t(get32(at + kLengthAt))),
        prompt_length(int32_t(get32(at + kPromptLengthAt))),
        keeps_values(keeps),
        values(at + kSequenceHeaderBytes),
        tokens(values + num_values(uint64_t(length), keeps) * kValuesBytes) {}

  int32_t token(int32_t i) const { return int32_t(get32(tokens + size_t(i) * kTokenBytes)); }
  AdaptiveValues value(int32_t i) const { return get_values(values + size_t(i) * kValuesBytes); }
  AdaptiveValues present() const { return value(keeps_values ? length : 0); }
  const unsigned char *end() const { return tokens + size_t(length) * kTokenBytes; }
};

// Null, or a description of the error.
const char *fault_of_contents(const SequenceData &data) {
  for (int32_t i = 0; i < data.length; ++i) {
    if (data.token(i) < 0) return "have a token that is none";
  }
  const auto is_one = [](float x) {
    return !contract::is_nan(x) || contract::bits_of(x) == contract::bits_of(contract::quiet_nan());
  };
  const int64_t count = int64_t(num_values(uint64_t(data.length), data.keeps_values));
  for (int64_t i = 0; i < count; ++i) {
    const AdaptiveValues values = data.value(int32_t(i));
    if (!contract::are_valid_values(values) || !is_one(values.mu) ||
        !is_one(values.adaptive_p.sum) || !is_one(values.adaptive_p.weight) ||
        !is_one(values.top_p)) {
      return "have an adaptive value that is none";
    }
  }
  return nullptr;
}

// Null, or a description of the error. Advances `*at` to the end of the sequence.
const char *check_sequence(bool keeps_values, const unsigned char **at, const unsigned char *end,
                           int64_t *longest) {
  constexpr const char *kShort = "are shorter than their sequences";
  const uint64_t rest = uint64_t(end - *at);
  if (rest < kSequenceHeaderBytes) return kShort;
  const uint32_t length = get32(*at + kLengthAt), prompt_length = get32(*at + kPromptLengthAt);
  if (length > uint32_t(INT32_MAX)) return "have a sequence that is too long";
  if (rest < sequence_bytes(length, keeps_values)) return kShort;
  if (prompt_length > length) return "have a prompt longer than its sequence";
  const SequenceData data(*at, keeps_values);
  *at = data.end();
  *longest = std::max<int64_t>(*longest, length);
  return fault_of_contents(data);
}

void set(const StateSlot &sequence, const SequenceData &data) {
  const bool has_all_values = data.keeps_values && sequence.layout().keeps_values;
  sequence.reset(has_all_values ? data.value(0) : data.present());
  for (int32_t i = 0; i < data.length; ++i) {
    sequence.append(data.token(i), i < data.prompt_length);
    if (has_all_values) sequence.set_values(data.value(i + 1));
  }
}

}  // namespace

size_t serialized_bytes(const StateSlots &state_slots, int64_t first, int64_t count) {
  uint64_t bytes = kHeaderBytes + kChecksumBytes;
  for (int64_t slot = first; slot < first + count; ++slot) {
    bytes += sequence_bytes(uint64_t(state_slots[slot].length()), state_slots.layout.keeps_values);
  }
  return size_t(bytes);
}

void serialize(const StateSlots &state_slots, int64_t first, int64_t count, unsigned char *out) {
  const bool keeps_values = state_slots.layout.keeps_values;
  std::memcpy(out, kMagic, sizeof kMagic);
  put32(out + kVersionAt, kVersion);
  put32(out + kKeepsValuesAt, keeps_values);
  put64(out + kNumSlotsAt, uint64_t(count));
  unsigned char *at = out + kHeaderBytes;
  for (int64_t slot = first; slot < first + count; ++slot) {
    const StateSlot sequence = state_slots[slot];
    const int32_t length = sequence.length();
    put32(at + kLengthAt, uint32_t(length));
    put32(at + kPromptLengthAt, uint32_t(sequence.prompt_length()));
    at += kSequenceHeaderBytes;
    for (int32_t i = keeps_values ? 0 : length; i <= length; ++i, at += kValuesBytes) {
      put_values(at, sequence.values_after(i));
    }
    for (int32_t i = 0; i < length; ++i, at += kTokenBytes) {
      put32(at, uint32_t(sequence.tokens()[i]));
    }
  }
  put64(at, checksum(out, size_t(at - out)));
}

Checked check_serialized(const StateSlots &state_slots, int64_t first, const unsigned char *data,
                         size_t bytes) {
  Checked result;
  const auto corrupt = [&](const char *reason) {
    result.fault = Fault::kCorrupt;
    result.reason = reason;
    return result;
  };
  if (bytes < kHeaderBytes + kChecksumBytes) return corrupt("are shorter than a header");
  if (std::memcmp(data, kMagic, sizeof kMagic) != 0) return corrupt("are no sequences of a state");
  if (get32(data + kVersionAt) != kVersion) return corrupt("are of an unknown format version");
  const unsigned char *const end = data + bytes - kChecksumBytes;
  if (get64(end) != checksum(data, size_t(end - data))) return corrupt("have a wrong checksum");
  const uint32_t keeps_values = get32(data + kKeepsValuesAt);
  if (keeps_values > 1) return corrupt("have an unknown flag");

  const uint64_t num_slots = get64(data + kNumSlotsAt);
  const unsigned char *at = data + kHeaderBytes;
  if (num_slots > uint64_t(end - at) / kSequenceHeaderBytes) {
    return corrupt("are shorter than their sequences");
  }
  result.num_slots = int64_t(num_slots);
  for (uint64_t i = 0; i < num_slots; ++i) {
    const char *const reason = check_sequence(keeps_values != 0, &at, end, &result.longest);
    if (reason) return corrupt(reason);
  }
  if (at != end) return corrupt("are longer than their sequences");
  if (result.num_slots > state_slots.num_slots - first) result.fault = Fault::kTooManySlots;
  if (result.longest > state_slots.layout.max_tokens) result.fault = Fault::kTooLong;
  return result;
}

void deserialize(const StateSlots &state_slots, int64_t first, const unsigned char *data) {
  const bool keeps_values = get32(data + kKeepsValuesAt) != 0;
  const int64_t num_slots = int64_t(get64(data + kNumSlotsAt));
  const unsigned char *at = data + kHeaderBytes;
  for (int64_t i = 0; i < num_slots; ++i) {
    const SequenceData sequence(at, keeps_values);
    set(state_slots[first + i], sequence);
    at = sequence.end();
  }
}

}  // namespace sampler::state
