// Serialisation of sequences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/state_slots.h"

namespace sampler::state {

// Serialised size of slots [first, first + count).
size_t serialized_bytes(const contract::StateSlots &state_slots, int64_t first, int64_t count);
void serialize(const contract::StateSlots &state_slots, int64_t first, int64_t count,
               unsigned char *out);

// Errors in serialised data.
enum class Fault { kNone, kCorrupt, kTooManySlots, kTooLong };

struct Checked {
  Fault fault = Fault::kNone;
  const char *reason = "";  // kCorrupt: "data ..."
  int64_t num_slots = 0;
  int64_t longest = 0;  // tokens of the longest sequence checked
};

// Checks every byte. `first`, in [0, num_slots]: destination of the first sequence.
Checked check_serialized(const contract::StateSlots &state_slots, int64_t first,
                         const unsigned char *data, size_t bytes);

// `data` must have passed check_serialized().
void deserialize(const contract::StateSlots &state_slots, int64_t first, const unsigned char *data);

}  // namespace sampler::state
