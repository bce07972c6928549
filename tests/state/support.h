// A state beside an oracle of vectors and maps, which shares no code with it: every call is made of
// both, and what it returns is compared.
#ifndef SAMPLER_TESTS_STATE_SUPPORT_H_
#define SAMPLER_TESTS_STATE_SUPPORT_H_

#include <sampler/sampler.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../random.h"

namespace state_test {

using tests::Random;

template <class Struct>
Struct sized() {
  Struct value = {};
  value.struct_size = sizeof value;
  return value;
}

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;
using State = std::unique_ptr<sampler_state, Destroy>;

Handle make_handle(int num_threads = 1);

struct Shape {
  std::int64_t num_slots = 4;
  std::int64_t max_tokens = 40;
  std::int64_t max_distinct_tokens = 0;
  bool keeps_values = false;
};
State make_state(sampler_t sampler, const Shape &shape);

using Text = std::vector<std::int64_t>;
using Slots = std::vector<std::int32_t>;
using Values = std::array<std::uint32_t, SAMPLER_NUM_ADAPTIVE_VALUES>;  // bits of floats
constexpr Values kNotBegun = {0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000};

// What the oracle knows of a slot.
struct Sequence {
  Text tokens;
  std::int64_t prompt_length = 0;
  std::vector<Values> values = {kNotBegun};  // after each number of tokens

  const Values &present() const { return values.back(); }
  bool operator==(const Sequence &other) const {
    return tokens == other.tokens && prompt_length == other.prompt_length && values == other.values;
  }
};

// Numbers of the adaptive stages, for all slots.
struct Adaptive {
  sampler_adaptive_kind kind = 0;
  float target = 0, rate = 0, top_p = 1, decay = 0, least = 0;
};

// Tokens of a row that are accepted, and their observations; empty: none are given.
struct Accepted {
  Text ids;
  std::vector<float> observations;
};

// A state and the sequences that it should have.
class Pair {
 public:
  Pair(sampler_t sampler, const Shape &shape);

  sampler_t sampler() const { return sampler_; }
  sampler_state_t state() const { return state_.get(); }
  const Shape &shape() const { return shape_; }
  const Sequence &slot(std::int64_t slot) const { return slots_[std::size_t(slot)]; }
  std::int64_t num_slots() const { return shape_.num_slots; }

  // Each makes the call, of any slots, good or bad, and compares statuses and lengths. `lists` and
  // `rows` are one for each of `slots`.
  void append(const Slots &slots, const std::vector<Text> &lists, bool are_prompts,
              sampler_id_type type);
  void accept(const Slots &slots, const std::vector<Accepted> &rows, sampler_id_type type,
              const Adaptive *adaptive);
  void truncate(const Slots &slots, const std::vector<std::int32_t> &lengths);
  void copy(const Pair &source, const Slots &sources, const Slots &destinations);
  void reset(const Slots &slots, const std::vector<std::array<float, 4>> &values);
  void reset_all();
  // Replaces slots by those of another state, through bytes.
  void move_bytes(const Pair &source, std::int64_t first_source, std::int64_t count,
                  std::int64_t first);

  // Reads all slots, and compares.
  void check();
  std::string bytes() const;  // serialised
  std::vector<std::uint64_t> offsets;

 private:
  // Whether there is such a slot.
  bool has(std::int64_t slot) const { return slot >= 0 && slot < shape_.num_slots; }
  void put(std::int64_t slot, const Sequence &sequence, bool has_all_values);

  sampler_t sampler_;
  Shape shape_;
  State state_;
  std::vector<Sequence> slots_;
};

std::string serialize(sampler_t sampler, sampler_state_t state, std::int64_t first,
                      std::int64_t count);

// Lists one after the other, as sampler_token_lists has them.
struct Lists {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> ids32;
  std::vector<std::int64_t> ids64;

  Lists(const std::vector<Text> &lists, sampler_id_type type);
  sampler_token_lists view() const;
};

}  // namespace state_test

#endif  // SAMPLER_TESTS_STATE_SUPPORT_H_
