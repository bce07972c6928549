// Sequences as bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/sequences.h"

namespace sampler::state {

// How many bytes the slots [first, first + count) take.
size_t serialized_bytes(const contract::Sequences &sequences, int64_t first, int64_t count);
void serialize(const contract::Sequences &sequences, int64_t first, int64_t count,
               unsigned char *out);

// What is wrong with serialised data.
enum class Fault { kNone, kCorrupt, kTooManySlots, kTooLong };

struct Checked {
  Fault fault = Fault::kNone;
  const char *reason = "";  // kCorrupt: "data ..."
  int64_t num_slots = 0;
  int64_t longest = 0;  // tokens, of the sequences looked at
};

// Looks at every byte. `first`, in [0, num_slots]: where the sequences are to go.
Checked check_serialized(const contract::Sequences &sequences, int64_t first,
                         const unsigned char *data, size_t bytes);

// Of data that have been found good.
void deserialize(const contract::Sequences &sequences, int64_t first, const unsigned char *data);

}  // namespace sampler::state
