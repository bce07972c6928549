#include "counted_sequences.h"

#include <cstdlib>
#include <cstring>

#include "contract/state_slots.h"

namespace state_test {

void append_and_truncate(const std::int32_t *tokens, std::int32_t num_tokens,
                         std::int32_t max_distinct) {
  const sampler::contract::StateSlotLayout layout = {num_tokens, max_distinct, false};
  char *const memory = static_cast<char *>(std::calloc(1, layout.slot_bytes()));
  if (!memory) std::abort();
  const sampler::contract::StateSlot sequence(memory, layout);
  for (std::int32_t i = 0; i < num_tokens; ++i) sequence.append(tokens[i], false);
  sequence.truncate(0);
  std::free(memory);
}

}  // namespace state_test
