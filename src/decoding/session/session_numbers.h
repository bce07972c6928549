// The numbers of sampler_params by sequence, as the arrays of sampler_row_params. Only those go
// along with a call that some sequence has otherwise than the session: what all have alike costs
// nothing, and plain parameters stay plain.
#pragma once

#include <cstdint>

#include "decoding/session/arena.h"
#include "decoding/session/transfer.h"
#include "sampler/sampling.h"

namespace sampler::decoding {

// Numbers by slot of a caller's, where calls find them.
sampler_row_params place_numbers(const sampler_row_params &by_slot, int64_t num_slots,
                                 Transfer *transfer);

class SessionNumbers {
 public:
  static constexpr int kCount = 29;

  // `common`, the session's, outlives it.
  SessionNumbers(const sampler_params &common, int64_t num_sequences, Arena *arena);

  // A sequence gets the numbers of `params`, or has none any more.
  void set(int32_t sequence, const sampler_params &params);
  void clear(int32_t sequence);
  // Puts a sequence's numbers into `params`.
  void get(int32_t sequence, sampler_params *params) const;

  // The arrays that differ, where calls find them. `plain`: of temperature, top-k, top-p and min-p.
  sampler_row_params arrays(bool plain, Transfer *transfer) const;
  // All that there can be, at any address.
  sampler_row_params all_arrays(const void *somewhere) const;
  static sampler_row_params all_plain_arrays(const void *somewhere);

  bool has_minimum() const;   // of new tokens
  bool has_adaptive() const;  // stages that drawn tokens move
  static bool has_minimum(const sampler_params &params) { return params.min_new_tokens > 0; }

 private:
  struct Number;
  static const Number kNumbers[kCount];
  bool is_listed(sampler_stage stage) const;
  // f(number, values) for each array that differs.
  template <class F>
  void for_each_array(bool plain, const F &f) const;
  // Those arrays, on the host.
  sampler_row_params own_arrays() const;

  const sampler_params &common_;
  int64_t num_sequences_;
  uint32_t *values_;                 // [kCount, num_sequences]
  int64_t num_others_[kCount] = {};  // sequences whose number is not the common one
};

}  // namespace sampler::decoding
