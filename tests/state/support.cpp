#include "support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "edits_oracle.h"

namespace state_test {

namespace {

constexpr std::int32_t kUnwritten = 77;  // what outputs hold before a call

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

bool is_token(std::int64_t id) {
  return id >= 0 && id < (std::int64_t(1) << 31);
}

// Section 14.2 of the contract: what a token makes of the values.
Values moved(const Values &values, float observation, const Adaptive &adaptive) {
  float mu = float_of(values[0]), sum = float_of(values[1]), weight = float_of(values[2]);
  float top_p = float_of(values[3]);
  const bool observes = !std::isnan(observation);
  if (observes && (adaptive.kind == 1 || adaptive.kind == 2)) {
    const float target = adaptive.target == 0 ? 5.0F : adaptive.target;
    const float rate = adaptive.rate == 0 ? 0.1F : std::max(adaptive.rate, 0.0F);
    if (std::isnan(mu)) mu = 2 * target;
    mu = oracle::mirostat_moved(mu, observation, target, rate);
  }
  if (observes && adaptive.kind == 3 && adaptive.target >= 0) {
    const float decay = adaptive.rate == 0 ? 0.9F : std::min(std::max(adaptive.rate, 0.0F), 0.99F);
    oracle::AdaptiveSums sums = {sum, weight};
    if (std::isnan(sum)) sums = oracle::adaptive_p_start(std::min(adaptive.target, 1.0F), decay);
    sums = oracle::adaptive_p_moved(sums, observation, decay);
    sum = sums.sum;
    weight = sums.weight;
  }
  if (adaptive.decay > 0 && adaptive.decay < 1) {
    if (std::isnan(top_p)) top_p = std::min(std::max(adaptive.top_p, 0.0F), 1.0F);
    top_p = oracle::top_p_moved(top_p, adaptive.top_p, adaptive.decay, adaptive.least, false);
  }
  return {bits_of(mu), bits_of(sum), bits_of(weight), bits_of(top_p)};
}

template <class Args>
Args args_of(sampler_state_t state, const Slots &slots) {
  auto args = sized<Args>();
  args.state = state;
  args.slots = slots.data();
  args.num_rows = std::int64_t(slots.size());
  return args;
}

}  // namespace

Handle make_handle(int num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Handle(sampler);
}

State make_state(sampler_t sampler, const Shape &shape) {
  auto options = sized<sampler_state_options>();
  options.num_slots = shape.num_slots;
  options.max_tokens = shape.max_tokens;
  options.max_distinct_tokens = shape.max_distinct_tokens;
  options.keep_adaptive_values = shape.keeps_values;
  sampler_state_t state = nullptr;
  EXPECT_EQ(sampler_state_create(sampler, &options, &state), SAMPLER_OK) << sampler_last_error();
  return State(state);
}

Lists::Lists(const std::vector<Text> &lists, sampler_id_type type) {
  for (const Text &list : lists) {
    for (const std::int64_t id : list) {
      if (type == SAMPLER_ID_I32) ids32.push_back(static_cast<std::int32_t>(id));
      if (type == SAMPLER_ID_I64) ids64.push_back(id);
    }
    offsets.push_back(std::int64_t(ids32.size() + ids64.size()));
  }
}

sampler_token_lists Lists::view() const {
  sampler_token_lists view = {};
  view.offsets = offsets.data();
  view.num_lists = std::int64_t(offsets.size()) - 1;
  view.num_token_ids = offsets.back();
  view.token_ids = ids64.empty() ? static_cast<const void *>(ids32.data()) : ids64.data();
  return view;
}

Pair::Pair(sampler_t sampler, const Shape &shape)
    : offsets(std::size_t(shape.num_slots)),
      sampler_(sampler),
      shape_(shape),
      state_(make_state(sampler, shape)),
      slots_(std::size_t(shape.num_slots)) {}

void Pair::append(const Slots &slots, const std::vector<Text> &lists, bool are_prompts,
                  sampler_id_type type) {
  std::vector<sampler_row_status> expected_status, status(slots.size(), kUnwritten);
  std::vector<std::int32_t> expected_lengths, lengths(slots.size(), kUnwritten);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    if (!has(slots[row])) {
      expected_status.push_back(SAMPLER_ROW_INVALID_SLOT);
      expected_lengths.push_back(-1);
      continue;
    }
    Sequence &slot = slots_[std::size_t(slots[row])];
    const Text &list = lists[row];
    const std::size_t room = std::size_t(shape_.max_tokens) - slot.tokens.size();
    sampler_row_status expected = SAMPLER_ROW_OK;
    if (are_prompts && !list.empty() && slot.tokens.size() > std::size_t(slot.prompt_length)) {
      expected = SAMPLER_ROW_INVALID_LIST;
    } else if (list.size() > room) {
      expected = SAMPLER_ROW_STATE_FULL;
    } else if (!std::all_of(list.begin(), list.end(), is_token)) {
      expected = SAMPLER_ROW_INVALID_LIST;
    } else {
      slot.tokens.insert(slot.tokens.end(), list.begin(), list.end());
      slot.values.resize(slot.tokens.size() + 1, slot.present());
      if (are_prompts && !list.empty()) slot.prompt_length = std::int64_t(slot.tokens.size());
    }
    expected_status.push_back(expected);
    expected_lengths.push_back(std::int32_t(slot.tokens.size()));
  }
  const Lists ids(lists, type);
  auto args = args_of<sampler_state_append_args>(state(), slots);
  args.tokens = ids.view();
  args.token_id_type = type;
  args.token_kind = are_prompts ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
  args.out_lengths = lengths.data();
  args.out_row_status = status.data();
  ASSERT_EQ(sampler_state_append(sampler_, &args), SAMPLER_OK) << sampler_last_error();
  ASSERT_EQ(status, expected_status);
  ASSERT_EQ(lengths, expected_lengths);
}

void Pair::accept(const Slots &slots, const std::vector<Accepted> &rows, sampler_id_type type,
                  const Adaptive *adaptive) {
  std::vector<sampler_row_status> expected_status, status(slots.size(), kUnwritten);
  std::vector<std::int32_t> expected_lengths, lengths(slots.size(), kUnwritten);
  std::vector<std::uint64_t> expected_offsets = offsets;
  std::size_t num_tokens = 1;
  bool observes = false;
  for (const Accepted &row : rows) {
    num_tokens = std::max(num_tokens, row.ids.size());
    observes = observes || !row.observations.empty();
  }
  std::vector<Text> matrix;
  std::vector<float> observations;
  for (std::size_t row = 0; row < slots.size(); ++row) {
    Text padded = rows[row].ids;
    std::vector<float> seen = rows[row].observations;
    padded.resize(num_tokens, -1);
    seen.resize(num_tokens, std::nanf(""));
    matrix.push_back(padded);
    observations.insert(observations.end(), seen.begin(), seen.end());
    if (!has(slots[row])) {
      expected_status.push_back(SAMPLER_ROW_INVALID_SLOT);
      expected_lengths.push_back(-1);
      continue;
    }
    Sequence &slot = slots_[std::size_t(slots[row])];
    const Text ids(padded.begin(), std::find_if(padded.begin(), padded.end(),
                                                [](std::int64_t id) { return id < 0; }));
    const std::size_t room = std::size_t(shape_.max_tokens) - slot.tokens.size();
    sampler_row_status expected = SAMPLER_ROW_OK;
    if (ids.size() > room) {
      expected = SAMPLER_ROW_STATE_FULL;
    } else if (!std::all_of(ids.begin(), ids.end(), is_token)) {
      expected = SAMPLER_ROW_INVALID_LIST;
    } else {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        slot.tokens.push_back(ids[i]);
        slot.values.push_back(adaptive ? moved(slot.present(), seen[i], *adaptive)
                                       : slot.present());
      }
      expected_offsets[std::size_t(slots[row])] += ids.size();
    }
    expected_status.push_back(expected);
    expected_lengths.push_back(std::int32_t(slot.tokens.size()));
  }
  const Lists ids(matrix, type);
  auto args = args_of<sampler_accept_args>(state(), slots);
  args.token_ids = ids.view().token_ids;
  args.num_tokens = std::int64_t(num_tokens);
  args.token_id_type = type;
  args.observations = observes ? observations.data() : nullptr;
  sampler_params params = sampler_params_default();
  if (adaptive) {
    params.adaptive_kind = adaptive->kind;
    params.adaptive_target = adaptive->target;
    params.adaptive_rate = adaptive->rate;
    params.top_p = adaptive->top_p;
    params.top_p_decay = adaptive->decay;
    params.top_p_least = adaptive->least;
    args.params = &params;
  }
  args.offsets = offsets.data();
  args.out_lengths = lengths.data();
  args.out_row_status = status.data();
  ASSERT_EQ(sampler_accept(sampler_, &args), SAMPLER_OK) << sampler_last_error();
  ASSERT_EQ(status, expected_status);
  ASSERT_EQ(lengths, expected_lengths);
  ASSERT_EQ(offsets, expected_offsets);
}

void Pair::truncate(const Slots &slots, const std::vector<std::int32_t> &lengths) {
  std::vector<sampler_row_status> expected_status, status(slots.size(), kUnwritten);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    expected_status.push_back(has(slots[row]) ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_SLOT);
    if (!has(slots[row])) continue;
    Sequence &slot = slots_[std::size_t(slots[row])];
    const std::int64_t size = std::int64_t(slot.tokens.size());
    const std::int64_t kept = std::min<std::int64_t>(std::max(lengths[row], 0), size);
    const Values present = slot.present();
    slot.tokens.resize(std::size_t(kept));
    slot.values.resize(std::size_t(kept) + 1);
    if (!shape_.keeps_values) slot.values.back() = present;
    slot.prompt_length = std::min(slot.prompt_length, kept);
  }
  auto args = args_of<sampler_state_truncate_args>(state(), slots);
  args.lengths = lengths.data();
  args.out_row_status = status.data();
  ASSERT_EQ(sampler_state_truncate(sampler_, &args), SAMPLER_OK) << sampler_last_error();
  ASSERT_EQ(status, expected_status);
}

void Pair::put(std::int64_t slot, const Sequence &sequence, bool has_all_values) {
  Sequence &own = slots_[std::size_t(slot)];
  own = sequence;
  if (!has_all_values) own.values.assign(own.values.size(), sequence.present());
}

void Pair::copy(const Pair &source, const Slots &sources, const Slots &destinations) {
  std::vector<sampler_row_status> expected_status, status(sources.size(), kUnwritten);
  const bool has_all_values = source.shape_.keeps_values && shape_.keeps_values;
  for (std::size_t row = 0; row < sources.size(); ++row) {
    sampler_row_status expected = SAMPLER_ROW_OK;
    if (!source.has(sources[row]) || !has(destinations[row])) {
      expected = SAMPLER_ROW_INVALID_SLOT;
    } else if (std::int64_t(source.slot(sources[row]).tokens.size()) > shape_.max_tokens) {
      expected = SAMPLER_ROW_STATE_FULL;
    } else {
      put(destinations[row], Sequence(source.slot(sources[row])), has_all_values);
    }
    expected_status.push_back(expected);
  }
  auto args = sized<sampler_state_copy_args>();
  args.source = source.state();
  args.destination = state();
  args.source_slots = sources.data();
  args.destination_slots = destinations.data();
  args.num_rows = std::int64_t(sources.size());
  args.out_row_status = status.data();
  ASSERT_EQ(sampler_state_copy(sampler_, &args), SAMPLER_OK) << sampler_last_error();
  ASSERT_EQ(status, expected_status);
}

void Pair::reset(const Slots &slots, const std::vector<std::array<float, 4>> &values) {
  std::vector<sampler_row_status> expected_status, status(slots.size(), kUnwritten);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    sampler_row_status expected = SAMPLER_ROW_OK;
    Sequence sequence;
    if (!values.empty()) {
      for (std::size_t i = 0; i < values[row].size(); ++i) {
        const float x = values[row][i];
        if (std::isinf(x)) expected = SAMPLER_ROW_INVALID_PARAMETER;
        if (!std::isnan(x)) sequence.values[0][i] = bits_of(x);
      }
    }
    if (!has(slots[row])) expected = SAMPLER_ROW_INVALID_SLOT;
    if (expected == SAMPLER_ROW_OK) slots_[std::size_t(slots[row])] = sequence;
    expected_status.push_back(expected);
  }
  auto args = args_of<sampler_state_reset_args>(state(), slots);
  args.adaptive_values = values.empty() ? nullptr : values[0].data();
  args.out_row_status = status.data();
  ASSERT_EQ(sampler_state_reset(sampler_, &args), SAMPLER_OK) << sampler_last_error();
  ASSERT_EQ(status, expected_status);
}

void Pair::reset_all() {
  slots_.assign(slots_.size(), Sequence());
  auto args = sized<sampler_state_reset_args>();
  args.state = state();
  ASSERT_EQ(sampler_state_reset(sampler_, &args), SAMPLER_OK) << sampler_last_error();
}

void Pair::move_bytes(const Pair &source, std::int64_t first_source, std::int64_t count,
                      std::int64_t first) {
  const bool has_all_values = source.shape_.keeps_values && shape_.keeps_values;
  const std::string data = serialize(source.sampler_, source.state(), first_source, count);
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    longest = std::max(longest, std::int64_t(source.slot(first_source + i).tokens.size()));
  }
  const bool fits = longest <= shape_.max_tokens && first + count <= shape_.num_slots;
  std::int64_t num_slots = kUnwritten;
  ASSERT_EQ(
      sampler_state_deserialize(sampler_, state(), first, data.data(), data.size(), &num_slots),
      fits ? SAMPLER_OK : SAMPLER_ERROR_INVALID_ARGUMENT)
      << sampler_last_error();
  ASSERT_EQ(num_slots, fits ? count : kUnwritten);
  if (!fits) return;
  std::vector<Sequence> moved;
  for (std::int64_t i = 0; i < count; ++i) moved.push_back(source.slot(first_source + i));
  for (std::int64_t i = 0; i < count; ++i) put(first + i, moved[std::size_t(i)], has_all_values);
}

void Pair::check() {
  const std::size_t num_slots = std::size_t(shape_.num_slots);
  const std::size_t num_tokens = std::size_t(shape_.max_tokens) + 2;
  for (const sampler_id_type type : {SAMPLER_ID_I32, SAMPLER_ID_I64}) {
    std::vector<std::int32_t> ids32(type ? 0 : num_slots * num_tokens, kUnwritten);
    std::vector<std::int64_t> ids64(type ? num_slots * num_tokens : 0, kUnwritten);
    std::vector<std::int32_t> lengths(num_slots, kUnwritten), prompt_lengths = lengths;
    std::vector<Values> values(num_slots);
    std::vector<sampler_row_status> status(num_slots, kUnwritten);
    auto args = sized<sampler_state_read_args>();
    args.state = state();
    args.num_rows = std::int64_t(num_slots);
    args.out_token_ids = type ? static_cast<void *>(ids64.data()) : ids32.data();
    args.num_tokens = std::int64_t(num_tokens);
    args.token_id_type = type;
    args.out_lengths = lengths.data();
    args.out_prompt_lengths = prompt_lengths.data();
    args.out_adaptive_values = reinterpret_cast<float *>(values.data());
    args.out_row_status = status.data();
    ASSERT_EQ(sampler_state_read(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    for (std::size_t s = 0; s < num_slots; ++s) {
      const Sequence &slot = slots_[s];
      ASSERT_EQ(status[s], std::uint32_t(SAMPLER_ROW_OK));
      ASSERT_EQ(lengths[s], std::int64_t(slot.tokens.size())) << "slot " << s;
      ASSERT_EQ(prompt_lengths[s], slot.prompt_length) << "slot " << s;
      ASSERT_EQ(values[s], slot.present()) << "slot " << s;
      for (std::size_t i = 0; i < num_tokens; ++i) {
        const std::int64_t id = type ? ids64[s * num_tokens + i] : ids32[s * num_tokens + i];
        ASSERT_EQ(id, i < slot.tokens.size() ? slot.tokens[i] : -1) << "slot " << s;
      }
    }
  }
}

std::string serialize(sampler_t sampler, sampler_state_t state, std::int64_t first,
                      std::int64_t count) {
  std::size_t bytes = 0, written = 0;
  EXPECT_EQ(sampler_state_serialize(sampler, state, first, count, nullptr, 0, &bytes), SAMPLER_OK)
      << sampler_last_error();
  std::string data(bytes, '\0');
  EXPECT_EQ(sampler_state_serialize(sampler, state, first, count, data.data(), bytes, &written),
            SAMPLER_OK)
      << sampler_last_error();
  EXPECT_EQ(written, bytes);
  return data;
}

std::string Pair::bytes() const {
  return serialize(sampler_, state(), 0, num_slots());
}

}  // namespace state_test
