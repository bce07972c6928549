// The numbers of sampler_params by sequence, as arrays of sampler_row_params. A call gets only
// those in which some sequence differs from the session: equal numbers cost nothing, and plain
// parameters stay plain.
#pragma once

#include <cstdint>

#include "contract/parameter_table.h"
#include "decoding/session/arena.h"
#include "decoding/session/transfer.h"
#include "sampler/sampling.h"

namespace sampler::decoding {

// Places a caller's numbers by slot for calls.
sampler_row_params place_numbers(const sampler_row_params &by_slot, int64_t num_slots,
                                 Transfer *transfer);

class SessionNumbers {
 public:
  static constexpr int kCount = contract::kNumScalars;

  // `common`, the session's, must outlive this.
  SessionNumbers(const sampler_params &common, int64_t num_sequences, Arena *arena);

  // Sets a sequence's numbers to those of `params`; clears them.
  void set(int32_t sequence, const sampler_params &params);
  void clear(int32_t sequence);
  float guidance_scale(int32_t sequence) const;
  // Copies a sequence's numbers to `params`.
  void get(int32_t sequence, sampler_params *params) const;

  // Places the arrays that differ. `plain`: of temperature, top-k, top-p and min-p.
  sampler_row_params arrays(bool plain, Transfer *transfer) const;
  // All arrays that may exist, at the address `somewhere`.
  sampler_row_params all_arrays(const void *somewhere) const;
  static sampler_row_params all_plain_arrays(const void *somewhere);

  bool needs_ends() const;    // whether stages need the end tokens
  bool has_adaptive() const;  // stages that drawn tokens move
  static bool needs_ends(const sampler_params &params);

 private:
  // Whether kParameters[i] is one of temperature, top-k, top-p and min-p.
  static bool is_plain(int i) { return i < contract::kNumFilterParameters; }
  bool may_be_on(const contract::ParameterInfo &parameter) const;
  // Calls f(parameter, values) for each array that differs.
  template <class F>
  void for_each_array(bool plain, const F &f) const;
  // The same arrays, in host memory.
  sampler_row_params own_arrays() const;

  const sampler_params &common_;
  int64_t num_sequences_;
  uint32_t *values_;                 // [kCount, num_sequences]
  int64_t num_others_[kCount] = {};  // sequences whose number differs from the common one
};

}  // namespace sampler::decoding
