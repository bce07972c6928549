#include "decoding/loop_transfer.h"

#include <cstring>

namespace sampler::decoding {

namespace {

// After its size sampler_row_params is addresses of numbers, of 4 bytes but for these.
constexpr size_t kFirst = offsetof(sampler_row_params, temperature);
constexpr size_t kCount = (sizeof(sampler_row_params) - kFirst) / sizeof(void *);
static_assert(kFirst + kCount * sizeof(void *) == sizeof(sampler_row_params) && kCount == 31);

bool has_8_bytes(size_t place) {
  return place == offsetof(sampler_row_params, forced_token_id) ||
         place == offsetof(sampler_row_params, top_p_reset_token_id);
}

}  // namespace

sampler_row_params LoopTransfer::parameters(const sampler_row_params &by_text, int64_t num_texts) {
  sampler_row_params result = by_text;
  for (size_t place = kFirst; place < sizeof result; place += sizeof(void *)) {
    const uint32_t *values;
    std::memcpy(&values, reinterpret_cast<const char *>(&by_text) + place, sizeof values);
    values = parameter(values, has_8_bytes(place) ? 2 * num_texts : num_texts);
    std::memcpy(reinterpret_cast<char *>(&result) + place, &values, sizeof values);
  }
  return result;
}

size_t LoopTransfer::most_parameter_bytes(int64_t num_texts) {
  return kCount * Arena::padded(size_t(num_texts) * sizeof(uint64_t));
}

}  // namespace sampler::decoding
