#include "call.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace capi_test {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

// x is a value that f16 holds exactly, an infinity or NaN.
std::uint16_t to_f16(float x) {
  const std::uint16_t sign = std::uint16_t((bits_of(x) >> 16) & 0x8000u);
  if (std::isnan(x)) return 0x7E00;
  if (std::isinf(x)) return std::uint16_t(sign | 0x7C00);
  if (x == 0) return sign;
  int exponent;
  const float fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  if (exponent < -13) return std::uint16_t(sign | int(std::ldexp(fraction, exponent + 24)));
  return std::uint16_t(sign | (exponent + 14) << 10 | (int(std::ldexp(fraction, 11)) & 0x3FF));
}

float from_f16(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 0x3FF;
  const float sign = (half & 0x8000) ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? kNan : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(0x400 | fraction), exponent - 25);
}

void store(unsigned char *element, sampler_dtype dtype, float value) {
  if (dtype == SAMPLER_F32) {
    std::memcpy(element, &value, sizeof value);
  } else {
    const std::uint16_t half =
        dtype == SAMPLER_F16 ? to_f16(value) : std::uint16_t(bits_of(value) >> 16);
    std::memcpy(element, &half, sizeof half);
  }
}

float load(const unsigned char *element, sampler_dtype dtype) {
  if (dtype == SAMPLER_F32) {
    float value;
    std::memcpy(&value, element, sizeof value);
    return value;
  }
  std::uint16_t half;
  std::memcpy(&half, element, sizeof half);
  return dtype == SAMPLER_F16 ? from_f16(half) : float_of(std::uint32_t(half) << 16);
}

void store_id(unsigned char *element, std::size_t size, std::int64_t id) {
  if (size == 8) {
    std::memcpy(element, &id, sizeof id);
  } else {
    const std::int32_t narrow = std::int32_t(id);
    std::memcpy(element, &narrow, sizeof narrow);
  }
}

std::int64_t load_id(const unsigned char *element, std::size_t size) {
  if (size == 8) {
    std::int64_t id;
    std::memcpy(&id, element, sizeof id);
    return id;
  }
  std::int32_t id;
  std::memcpy(&id, element, sizeof id);
  return id;
}

// Coarse, so that rows have ties.
float random_value(Random *random, sampler_input_kind kind) {
  if (kind == SAMPLER_LOGITS) return float(random->between(-40, 40)) / 8;
  return float(std::max<std::int64_t>(random->between(-20, 100), 0)) / 256;
}

const char *const kDtypeNames[] = {"f32", "f16", "bf16"};

}  // namespace

std::size_t size_of_dtype(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}

std::size_t size_of_id(sampler_id_type type) {
  return type == SAMPLER_ID_I32 ? 4 : 8;
}

// SplitMix64.
std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + std::int64_t(next() % std::uint64_t(high - low + 1));
}

Buffer::Buffer(std::size_t bytes, std::size_t misalignment, unsigned char fill)
    : memory_(new unsigned char[misalignment + bytes]), misalignment_(misalignment), size_(bytes) {
  std::memset(memory_.get(), fill, misalignment + bytes);
}

std::string describe(const Spec &spec) {
  std::string text = spec.op().name;
  text += std::string(" ") + kDtypeNames[spec.dtype];
  text += spec.kind == SAMPLER_LOGITS ? " logits" : " probabilities";
  if (spec.has_two_models()) {
    text += std::string(", draft ") + (spec.draft ? kDtypeNames[spec.draft_dtype] : "none");
    if (spec.draft) text += spec.draft_kind == SAMPLER_LOGITS ? " logits" : " probabilities";
  }
  if (spec.output_kind == SAMPLER_OUTPUT_VALUES) text += ", values";
  if (spec.candidates) text += ", candidates";
  if (spec.ragged) text += ", ragged";
  if (spec.row_indices) text += ", row_indices";
  if (spec.per_slot) text += ", parameters per slot";
  if (spec.slots) text += ", slots";
  if (spec.streams) text += ", streams";
  if (spec.reports) text += ", reports";
  if (spec.packs_lists) text += ", packed lists";
  if (spec.kept) text += ", kept";
  if (spec.draw_method == SAMPLER_DRAW_GUMBEL) text += ", gumbel";
  if (spec.token_id_type == SAMPLER_ID_I64) text += ", i64 ids";
  return text + ", " + std::to_string(spec.num_rows) + " rows of " + std::to_string(spec.num_cols);
}

std::vector<Spec> all_specs() {
  std::vector<Spec> specs;
  for (int number = 0; number < 6 * 3 * 2 * 3 * 2 * 2; ++number) {
    Spec spec;
    spec.operation = Op(number / 72);
    spec.dtype = sampler_dtype(number % 3);
    spec.kind = sampler_input_kind(number / 3 % 2);
    spec.candidates = number / 6 % 3 == 1;
    spec.ragged = number / 6 % 3 == 2;
    const bool has_variant = number / 18 % 2 != 0;
    spec.row_indices = has_variant && spec.op().has("row_indices");
    spec.output_kind = sampler_output_kind(has_variant && spec.operation == Op::kFilter);
    spec.draft = !(has_variant && spec.has_two_models());
    spec.draw_method = sampler_draw_method(number / 36 % 2);
    if (has_variant && spec.operation == Op::kSelect) continue;
    if (spec.draw_method == SAMPLER_DRAW_GUMBEL && spec.operation != Op::kSample) continue;
    if (spec.output_kind == SAMPLER_OUTPUT_VALUES && spec.kind != SAMPLER_LOGITS) continue;
    if (spec.is_residual() && (spec.kind == SAMPLER_LOGITS || spec.has_counts())) continue;
    if (spec.ragged && spec.dtype != SAMPLER_F32) continue;  // the same in all types
    spec.per_slot = true;
    spec.output_dtype = spec.candidates ? SAMPLER_F32 : spec.dtype;
    spec.draft_dtype = sampler_dtype((spec.dtype + 1) % 3);
    spec.draft_kind = spec.kind;
    spec.token_id_type = sampler_id_type(spec.dtype == SAMPLER_F16);
    spec.candidate_id_type = sampler_id_type(spec.dtype == SAMPLER_BF16);
    specs.push_back(spec);
  }
  return specs;
}

std::vector<Spec> few_specs() {
  std::vector<Spec> specs;
  for (Spec spec : all_specs()) {
    const bool rows = spec.dtype == SAMPLER_F32 && !spec.has_counts() && !spec.row_indices;
    // Scores of candidates need a workspace on a device, as reports on them do.
    const bool lists = spec.dtype == SAMPLER_F16 && spec.candidates &&
                       spec.operation != Op::kScore &&
                       (spec.row_indices || !spec.op().has("row_indices"));
    if ((!rows && !lists) || (spec.has_two_models() && !spec.draft)) continue;
    specs.push_back(spec);
    if (!spec.op().has("slots")) continue;
    spec.slots = spec.streams = true;
    specs.push_back(spec);
  }
  return specs;
}

std::vector<Spec> report_specs() {
  std::vector<Spec> specs;
  for (Spec spec : few_specs()) {
    spec.reports = true;
    if (spec.may_report() && !spec.slots) specs.push_back(spec);
  }
  return specs;
}

namespace {

// Without what the call does not have.
Spec possible(Spec spec) {
  if (spec.is_residual()) {
    spec.candidates = spec.ragged = false;
    spec.kind = spec.draft_kind = SAMPLER_PROBABILITIES;
  }
  spec.slots = spec.slots && spec.op().has("slots");
  spec.kept = spec.kept && spec.op().has("kept.offsets") && spec.kind == SAMPLER_LOGITS;
  spec.pipeline = spec.pipeline && spec.op().has("pipeline") && spec.kind == SAMPLER_LOGITS;
  return spec;
}

}  // namespace

Call::Call(const Spec &wanted)
    : spec_(possible(wanted)), args_(wanted.op()), random_(wanted.contents) {
  const Spec &spec = spec_;
  args_.set_if_any("output_dtype", spec.output_dtype);
  args_.set_if_any("output_kind", spec.output_kind);
  args_.set_if_any("draw_method", spec.draw_method);
  args_.set_if_any("logprob_kind", SAMPLER_LOGPROB_PROCESSED);
  args_.set_if_any("num_selected", spec.num_selected);
  args_.set_if_any("num_drafts", spec.num_drafts);
  args_.set_if_any("token_id_type", spec.token_id_type);
  add_rows(spec.view(), spec.dtype, spec.kind, spec.input_rows(), spec.num_positions());
  if (spec.has_two_models() && spec.draft) {
    add_rows("draft", spec.draft_dtype, spec.draft_kind, spec.num_rows * spec.num_draft_positions(),
             spec.num_draft_positions());
  }
  if (spec.is_verify() || (spec.is_residual() && !spec.draft)) add_drafts();
  if (spec.is_verify()) add_draft_counts();
  if (spec.row_indices) add_row_indices();
  if (spec.slots) add_slots();
  add_parameters();
  add_random();
  if (spec.pipeline) add_pipeline();
  if (spec.operation == Op::kScore) add_scored();
  add_outputs();
  if (spec.reports && spec.may_report()) add_reports();
}

Call::Array &Call::add(const std::string &member, Direction direction, std::size_t element_size,
                       std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  Array array;
  array.member = spec_.op().path(member);
  array.direction = direction;
  array.element_size = element_size;
  array.rows = rows;
  array.cols = cols;
  array.stride = stride;
  array.rows_per_group = std::max<std::int64_t>(rows, 1);
  array.group_stride = 0;
  array.dtype = SAMPLER_F32;
  const std::int64_t extent = rows == 0 || cols == 0 ? 0 : (rows - 1) * stride + cols;
  array.buffer = Buffer(std::size_t(extent) * element_size,
                        std::size_t(spec_.misalignment) * element_size, kSentinel);
  args_.set<void *>(member, array.buffer.data());
  arrays_.push_back(std::move(array));
  return arrays_.back();
}

// Elements of rows, or of their candidates.
Call::Array &Call::add_elements(const std::string &member, std::size_t element_size,
                                std::int64_t num_rows, std::int64_t num_positions) {
  Array &array = add(member, Direction::kIn, element_size, num_rows, spec_.num_cols,
                     spec_.num_cols + spec_.padding);
  if (spec_.sequence_padding == 0 || num_rows == 0) return array;
  array.rows_per_group = num_positions;
  array.group_stride = num_positions * array.stride + spec_.sequence_padding;
  const std::int64_t extent = (num_rows / num_positions - 1) * array.group_stride +
                              (num_positions - 1) * array.stride + array.cols;
  array.buffer = Buffer(std::size_t(extent) * element_size,
                        std::size_t(spec_.misalignment) * element_size, kSentinel);
  args_.set<void *>(member, array.buffer.data());
  return array;
}

void Call::add_rows(const std::string &view, sampler_dtype dtype, sampler_input_kind kind,
                    std::int64_t num_rows, std::int64_t num_positions) {
  {
    Array &array = add_elements(view + ".values", size_of_dtype(dtype), num_rows, num_positions);
    array.dtype = dtype;
    const std::size_t size = array.element_size;
    for (std::size_t at = 0; at < array.buffer.size(); at += size) {
      store(array.buffer.data() + at, dtype, kNan);
    }
    for (std::int64_t row = 0; row < num_rows; ++row) {
      for (std::int64_t i = 0; i < spec_.num_cols; ++i) {
        store(element(array, row, i), dtype, random_value(&random_, kind));
      }
      // Never empty.
      if (spec_.num_cols > 0) store(element(array, row, row % spec_.num_cols), dtype, 0.25f);
    }
    if (spec_.padding) args_.set(view + ".row_stride", array.stride);
    if (array.group_stride) args_.set(view + "_sequence_stride", array.group_stride);
  }
  args_.set(view + ".num_rows", num_rows);
  args_.set(view + ".num_cols", spec_.num_cols);
  args_.set(view + ".dtype", dtype);
  args_.set(view + ".kind", kind);
  args_.set(view + ".candidate_id_type", spec_.candidate_id_type);
  if (spec_.candidates) add_candidate_ids(view, num_rows, num_positions);
  if (spec_.has_counts()) add_candidate_counts(view, num_rows);
}

void Call::add_candidate_ids(const std::string &view, std::int64_t num_rows,
                             std::int64_t num_positions) {
  const std::size_t id_size = size_of_id(spec_.candidate_id_type);
  Array &array = add_elements(view + ".candidate_ids", id_size, num_rows, num_positions);
  std::vector<std::int64_t> vocabulary(std::size_t(2 * spec_.num_cols));
  std::iota(vocabulary.begin(), vocabulary.end(), 0);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::size_t i = 0; i < std::size_t(spec_.num_cols); ++i) {
      const auto other = random_.between(std::int64_t(i), std::int64_t(vocabulary.size()) - 1);
      std::swap(vocabulary[i], vocabulary[std::size_t(other)]);
      store_id(element(array, row, std::int64_t(i)), id_size, vocabulary[i]);
    }
  }
}

// The last quarter of a row may be left out.
void Call::add_candidate_counts(const std::string &view, std::int64_t num_rows) {
  const std::string member = view + ".candidate_counts";
  add(member, Direction::kIn, sizeof(std::int32_t), num_rows, 1, 1);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t least = std::max(spec_.num_cols * 3 / 4, row % spec_.num_cols + 1);
    at<std::int32_t>(member, row) = std::int32_t(random_.between(least, spec_.num_cols));
  }
}

void Call::add_row_indices() {
  args_.set("num_row_indices", spec_.num_rows);
  add("row_indices", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("row_indices", row) = std::int32_t(random_.between(0, spec_.input_rows() - 1));
  }
}

// In any order, each once. Drawn apart, so that a call has the same contents without them.
void Call::add_slots() {
  Random random(spec_.contents + 1000);
  std::vector<std::int64_t> slots(std::size_t(spec_.num_slots()));
  std::iota(slots.begin(), slots.end(), 0);
  args_.set("num_slots", spec_.num_slots());
  add("slots", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::size_t row = 0; row < std::size_t(spec_.num_rows); ++row) {
    const auto other = random.between(std::int64_t(row), spec_.num_slots() - 1);
    std::swap(slots[row], slots[std::size_t(other)]);
    set_id("slots", std::int64_t(row), 0, slots[row]);
  }
}

// Slots that no row has keep the sentinels.
template <class T, class Make>
void Call::add_per_slot(const std::string &member, const Make &make) {
  add(member, Direction::kIn, sizeof(T), spec_.num_slots(), 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) at<T>(member, slot(row)) = make(row);
}

void Call::add_parameters() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  static const float kTemperatures[] = {0.7f, 1.0f, 2.5f, 0.0f, 1e-3f, 0x1p64f, -1.0f};
  static const std::int32_t kTopKs[] = {5, 0, 1000000, 20, 1, -3, 12, INT32_MIN};
  static const float kTopPs[] = {0.9f, 1.0f, 0.5f, 0.0f, 0.99f, 2.0f, -kInf};
  static const float kMinPs[] = {0.0f, 0.05f, -1.0f, 0.3f, kInf};
  if (spec_.per_slot && spec_.op().has("selected_counts")) {
    add_per_slot<std::int32_t>("selected_counts", [](std::int64_t row) { return kTopKs[row % 8]; });
  }
  if (!spec_.op().has("params")) return;
  const bool has_logits = spec_.kind == SAMPLER_LOGITS ||
                          (spec_.is_verify() && spec_.draft && spec_.draft_kind == SAMPLER_LOGITS);
  const bool filters = !spec_.is_verify() || has_logits;
  if (!spec_.per_slot) {
    args_.set("params.temperature", spec_.kind == SAMPLER_LOGITS ? 0.9f : 1.0f);
    if (!filters) return;
    args_.set<std::int32_t>("params.top_k", 20);
    args_.set("params.top_p", 0.9f);
    args_.set("params.min_p", 0.01f);
    return;
  }
  add_per_slot<float>("row_params.temperature", [&](std::int64_t row) {
    const float temperature = kTemperatures[row % 7];
    return spec_.kind == SAMPLER_LOGITS || temperature <= 0 ? temperature : 1.0f;
  });
  const bool off = spec_.filters_off;
  if (!filters && !off) return;
  add_per_slot<std::int32_t>("row_params.top_k",
                             [&](std::int64_t row) { return off ? 0 : kTopKs[row % 8]; });
  add_per_slot<float>("row_params.top_p",
                      [&](std::int64_t row) { return off ? 1.0f : kTopPs[row % 7]; });
  add_per_slot<float>("row_params.min_p",
                      [&](std::int64_t row) { return off ? 0.0f : kMinPs[row % 5]; });
}

void Call::add_random() {
  if (!spec_.op().has("random.seed")) return;
  if (spec_.per_slot) {
    add_per_slot<std::uint64_t>("random.seeds", [&](std::int64_t) { return random_.next(); });
    add_per_slot<std::uint64_t>("random.offsets", [&](std::int64_t) { return random_.next(); });
    args_.set("random.num_seeds", spec_.num_slots());
    args_.set("random.num_offsets", spec_.num_slots());
  } else {
    args_.set<std::uint64_t>("random.seed", 12345);
    args_.set<std::uint64_t>("random.offset", 7);
  }
  if (spec_.streams) {
    add_per_slot<std::uint32_t>("random.streams",
                                [&](std::int64_t) { return std::uint32_t(random_.next()); });
  }
}

// Ids count up from `first_id`; no bits of lists that no row has are sentinels, since one list's
// end is the next one's begin.
void Call::add_lists(const std::string &lists, std::int64_t num_lists, std::int64_t ids_each,
                     std::int64_t first_id) {
  const std::int64_t num_ids = num_lists * ids_each;
  args_.set(lists + ".num_lists", num_lists);
  args_.set(lists + ".num_token_ids", num_ids);
  add(lists + ".offsets", Direction::kIn, sizeof(std::int64_t), num_lists + 1, 1, 1);
  for (std::int64_t i = 0; i <= num_lists; ++i) {
    at<std::int64_t>(lists + ".offsets", i) = i * ids_each;
  }
  add(lists + ".token_ids", Direction::kIn, size_of_id(spec_.token_id_type), num_ids, 1, 1);
  for (std::int64_t i = 0; i < num_ids; ++i) {
    set_id(lists + ".token_ids", i, 0, (first_id + i) % spec_.num_cols);
  }
}

// Few tokens are banned, so that every row keeps some.
void Call::add_pipeline() {
  const std::int64_t slots = spec_.num_slots();
  args_.set("pipeline.token_id_type", spec_.token_id_type);
  add_lists("pipeline.history", slots, 9, 0);
  args_.set("pipeline.max_history_tokens", std::int64_t(9));
  add_per_slot<std::int32_t>("pipeline.prompt_lengths",
                             [](std::int64_t row) { return std::int32_t(row % 9); });
  add_guidance();
  add_lists("pipeline.biased", slots, 3, 5);
  add("pipeline.biases", Direction::kIn, sizeof(float), 3 * slots, 1, 1);
  for (std::int64_t i = 0; i < 3 * slots; ++i) at<float>("pipeline.biases", i) = 0.25f;
  add_lists("pipeline.bias_contexts", 3 * slots, 1, 8);
  const std::int64_t width = 2 * spec_.num_cols;
  args_.set("pipeline.num_dense_biases", slots);
  args_.set("pipeline.dense_bias_stride", width);
  add("pipeline.dense_bias", Direction::kIn, sizeof(float), slots, width, width);
  for (std::int64_t i = 0; i < slots; ++i) {
    for (std::int64_t j = 0; j < width; ++j) set_value("pipeline.dense_bias", i, j, 0.5f);
  }
  add_lists("pipeline.allowed", slots, spec_.num_cols, 0);
  add_lists("pipeline.banned", slots, 1, 3);
  add_lists("pipeline.stop", slots, 1, 4);
  add_lists("pipeline.unpenalized", slots, 1, 6);
  add_lists("pipeline.bad_words", 2, 2, 1);
  add("pipeline.bad_word_offsets", Direction::kIn, sizeof(std::int64_t), slots + 1, 1, 1);
  for (std::int64_t i = 0; i <= slots; ++i) {
    at<std::int64_t>("pipeline.bad_word_offsets", i) = i > slots / 2;
  }
  add_lists("pipeline.dry_breakers", 2, 1, 7);
  const std::int64_t words = (width + 31) / 32;
  args_.set("pipeline.num_token_bitmasks", std::int64_t(3));
  args_.set("pipeline.token_bitmask_stride", words);
  add("pipeline.token_bitmasks", Direction::kIn, sizeof(std::uint32_t), 3, words, words);
  for (std::int64_t i = 0; i < 3 * words; ++i) {
    at<std::uint32_t>("pipeline.token_bitmasks", i) = 0xFFFFFFF7u;
  }
  add("pipeline.token_bitmask_indices", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("pipeline.token_bitmask_indices", row) = std::int32_t(row % 4 - 1);
  }
  add_edit_numbers();
}

// Rows laid out like the input's; the first output row has none.
void Call::add_guidance() {
  const std::int64_t num_rows = 3;
  args_.set("pipeline.num_guidance_rows", num_rows);
  Array &array = add("pipeline.guidance_logits", Direction::kIn, size_of_dtype(spec_.dtype),
                     num_rows, spec_.num_cols, spec_.num_cols + spec_.padding);
  array.dtype = spec_.dtype;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::int64_t i = 0; i < spec_.num_cols; ++i) {
      store(element(array, row, i), spec_.dtype, random_value(&random_, SAMPLER_LOGITS));
    }
  }
  add("pipeline.guidance_row_indices", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("pipeline.guidance_row_indices", row) = std::int32_t(row % 4 - 1);
  }
}

void Call::add_edit_numbers() {
  const auto floats = [&](const std::string &name, float value) {
    args_.set("params." + name, value);
    if (!spec_.per_slot) return;
    add_per_slot<float>("row_params." + name,
                        [&](std::int64_t row) { return row % 3 == 0 ? 0.0f : value; });
  };
  const auto integers = [&](const std::string &name, std::int32_t value) {
    args_.set("params." + name, value);
    if (!spec_.per_slot) return;
    add_per_slot<std::int32_t>("row_params." + name,
                               [&](std::int64_t row) { return row % 3 == 0 ? 0 : value; });
  };
  floats("guidance_scale", 1.5f);
  floats("repetition_penalty", 1.25f);
  floats("frequency_penalty", 0.5f);
  floats("presence_penalty", 0.125f);
  integers("penalty_window", 8);
  integers("exponential_decay_start", 2);
  floats("exponential_decay_factor", 1.125f);
  floats("dry_multiplier", 0.75f);
  floats("dry_base", 1.5f);
  integers("dry_allowed_length", 1);
  integers("dry_window", 7);
  integers("no_repeat_ngram_size", 4);
  integers("min_new_tokens", 5);
  // Lists of what was kept do without the two that change what they say.
  if (!spec_.kept) floats("dynamic_temperature_range", 0.25f);
  floats("dynamic_temperature_exponent", 2.0f);
  floats("typical_p", 0.9f);
  floats("top_n_sigma", 4.0f);
  floats("epsilon_cutoff", 0.001f);
  floats("eta_cutoff", 0.001f);
  floats("top_h", 0.9f);
  integers("p_less", SAMPLER_P_LESS_NORM);
  floats("min_k", 400.0f);
  floats("top_a", 0.001f);
  if (spec_.may_report()) floats("xtc_probability", 0.5f);
  floats("xtc_threshold", 0.2f);
  integers("min_keep", 2);
  if (!spec_.kept) integers("adaptive_kind", SAMPLER_ADAPTIVE_MIROSTAT_V2);
  floats("adaptive_target", 4.0f);
  floats("adaptive_rate", 0.25f);
  floats("top_p_decay", 0.75f);
  floats("top_p_least", 0.5f);
  add("pipeline.adaptive_values", Direction::kIn, sizeof(float), spec_.num_slots(),
      SAMPLER_NUM_ADAPTIVE_VALUES, SAMPLER_NUM_ADAPTIVE_VALUES);
  for (std::int64_t i = 0; i < spec_.num_slots() * SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
    at<float>("pipeline.adaptive_values", i) = 0.75f;
  }
  if (spec_.per_slot) {
    add_per_slot<std::int64_t>("row_params.top_p_reset_token_id", [](std::int64_t) { return 7; });
  }
  if (!spec_.per_slot || spec_.operation != Op::kSample) return;
  add_per_slot<std::int64_t>("row_params.forced_token_id", [](std::int64_t) { return -1; });
}

// A token of each row, and lists of the tokens up to the middle one that it may be one of.
void Call::add_scored() {
  add("token_ids", Direction::kIn, size_of_id(spec_.token_id_type), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    const std::int64_t input = spec_.row_indices ? id("row_indices", row, 0) : row;
    const std::int64_t col = random_.between(0, spec_.num_cols / 2);
    set_id("token_ids", row, 0, spec_.candidates ? id("input.candidate_ids", input, col) : col);
  }
  if (spec_.kept) add_lists("kept", spec_.num_rows, spec_.num_cols, 0);
}

void Call::add_drafts() {
  const std::int64_t num_drafts = spec_.num_draft_positions();
  add("draft_token_ids", Direction::kIn, size_of_id(spec_.token_id_type), spec_.num_rows,
      num_drafts, num_drafts);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    for (std::int64_t i = 0; i < num_drafts; ++i) {
      const std::int64_t position = row * spec_.num_positions() + i;
      std::int64_t best = 0;  // a likely draft, so that some are accepted
      for (std::int64_t col = 1; col < spec_.num_cols / 2; ++col) {
        if (value("target.values", position, col) > value("target.values", position, best)) {
          best = col;
        }
      }
      set_id("draft_token_ids", row, i,
             spec_.candidates ? id("target.candidate_ids", position, best) : best);
    }
  }
}

void Call::add_draft_counts() {
  add("draft_counts", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("draft_counts", row) = std::int32_t(spec_.num_drafts - row % 2);
  }
}

void Call::add_outputs() {
  const Operation &op = spec_.op();
  const std::int64_t rows = spec_.num_rows;
  const bool select = op.has("num_selected");
  const std::int64_t tokens = select ? spec_.num_selected : spec_.num_positions();
  if (op.has("out_token_ids")) {
    add("out_token_ids", Direction::kOut, size_of_id(spec_.token_id_type), rows, tokens, tokens);
  }
  if (op.has("out_values")) {
    const sampler_dtype dtype = select ? spec_.output_dtype : SAMPLER_F32;
    add("out_values", Direction::kOut, size_of_dtype(dtype), rows, tokens, tokens).dtype = dtype;
  }
  if (op.has("output")) {
    const std::int64_t stride = spec_.num_cols + spec_.padding;
    args_.set("output_stride", spec_.padding ? stride : 0);
    add("output", Direction::kOut, size_of_dtype(spec_.output_dtype), rows, spec_.num_cols, stride)
        .dtype = spec_.output_dtype;
  }
  if (spec_.pipeline && op.has("out_observations")) {
    add("out_observations", Direction::kOut, sizeof(float), rows, 1, 1);
  }
  for (const char *member : {"out_kept_counts", "out_logprobs", "out_counts", "out_accepted_counts",
                             "out_emitted_counts", "out_row_status"}) {
    if (op.has(member)) add(member, Direction::kOut, 4, rows, 1, 1);
  }
}

void Call::add_reports() {
  const std::int64_t rows = spec_.num_rows, cols = spec_.num_cols;
  const std::size_t id_size = size_of_id(spec_.token_id_type);
  const auto out = [&](const char *member, std::size_t size, std::int64_t per_row) {
    add(member, Direction::kOut, size, rows, per_row, per_row);
  };
  const std::int64_t top = std::min<std::int64_t>(3, cols),
                     chosen = std::min<std::int64_t>(2, cols);
  args_.set("num_top_logprobs", top);
  out("out_top_token_ids", id_size, top);
  out("out_top_logprobs", sizeof(float), top);
  args_.set("num_chosen", chosen);
  add("chosen_token_ids", Direction::kIn, id_size, rows, chosen, chosen);
  Random random(spec_.contents + 2000);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < chosen; ++i) {
      set_id("chosen_token_ids", row, i, random.between(-1, cols));
    }
  }
  out("out_chosen_logprobs", sizeof(float), chosen);
  out("out_ranks", sizeof(std::int32_t), 1);
  out("out_entropies", sizeof(float), 1);
  args_.set("kept_bitmask_stride", (2 * cols + 31) / 32);
  out("out_kept_bitmask", sizeof(std::uint32_t), (2 * cols + 31) / 32);
  add_kept_lists((cols + 1) / 2);
  out("out_removed_by", sizeof(std::uint8_t), cols);
}

// With room for that many tokens of each row.
void Call::add_kept_lists(std::int64_t capacity) {
  const std::int64_t num_lists = spec_.packs_lists ? 1 : spec_.num_rows;
  if (spec_.packs_lists) {
    capacity *= spec_.num_rows;
    const std::int64_t num_offsets = spec_.num_rows + 1;
    add("out_kept_offsets", Direction::kOut, sizeof(std::int64_t), 1, num_offsets, num_offsets);
  }
  args_.set("kept_capacity", capacity);
  add("out_kept_token_ids", Direction::kOut, size_of_id(spec_.token_id_type), num_lists, capacity,
      capacity);
  add("out_kept_probabilities", Direction::kOut, sizeof(float), num_lists, capacity, capacity);
}

// Whether an array has no rows like the others.
bool Call::is_packed(const std::string &member) const {
  return spec_.packs_lists &&
         (member == "reports.out_kept_offsets" || member == "reports.out_kept_token_ids" ||
          member == "reports.out_kept_probabilities");
}

void Call::reset_outputs() {
  for (Array &array : arrays_) {
    if (array.direction != Direction::kOut) continue;
    std::memset(array.buffer.data(), kSentinel, array.buffer.size());
  }
}

bool Call::outputs_are_untouched() const {
  const std::string bytes = output();
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == char(kSentinel); });
}

std::string Call::output() const {
  std::string bytes;
  for (const Array &array : arrays_) {
    if (array.direction == Direction::kOut) bytes += array.buffer.bytes();
  }
  return bytes;
}

std::string Call::output_row(std::int64_t row) const {
  std::string bytes;
  for (const Array &array : arrays_) {
    if (array.direction != Direction::kOut || is_packed(array.member)) continue;
    bytes.append(reinterpret_cast<const char *>(element(array, row, 0)),
                 std::size_t(array.cols) * array.element_size);
  }
  return bytes;
}

bool Call::output_padding_is_untouched() const {
  for (const Array &array : arrays_) {
    if (array.direction != Direction::kOut) continue;
    for (std::int64_t row = 0; row + 1 < array.rows; ++row) {
      const unsigned char *begin = element(array, row, array.cols);
      const unsigned char *end = element(array, row + 1, 0);
      if (std::any_of(begin, end, [](unsigned char c) { return c != kSentinel; })) return false;
    }
  }
  return true;
}

std::string Call::inputs() const {
  std::string bytes = args_.bytes();
  for (const Array &array : arrays_) {
    if (array.direction == Direction::kIn) bytes += array.buffer.bytes();
  }
  return bytes;
}

void Call::set_value(const std::string &member, std::int64_t row, std::int64_t col, float value) {
  const Array &array = find(member);
  store(element(array, row, col), array.dtype, value);
}

float Call::value(const std::string &member, std::int64_t row, std::int64_t col) const {
  const Array &array = find(member);
  return load(element(array, row, col), array.dtype);
}

void Call::set_row(const std::string &member, std::int64_t row, float value) {
  for (std::int64_t col = 0; col < spec_.num_cols; ++col) set_value(member, row, col, value);
}

void Call::set_id(const std::string &member, std::int64_t row, std::int64_t col, std::int64_t id) {
  const Array &array = find(member);
  store_id(element(array, row, col), array.element_size, id);
}

std::int64_t Call::id(const std::string &member, std::int64_t row, std::int64_t col) const {
  const Array &array = find(member);
  return load_id(element(array, row, col), array.element_size);
}

void Call::copy_row(const Call &from, const std::string &member, std::int64_t from_row,
                    std::int64_t row) {
  const Array &source = from.find(member), &target = find(member);
  std::memcpy(element(target, row, 0), element(source, from_row, 0),
              std::size_t(source.cols) * source.element_size);
}

void Call::copy_output_row(const Call &from, std::int64_t from_row, std::int64_t row) {
  for (const Array &array : from.arrays_) {
    if (array.member == "slots" || !has_array(array.member)) continue;
    if (array.member.rfind("pipeline.", 0) == 0) continue;
    if (array.member.rfind("row_params.", 0) == 0 || array.member.rfind("random.", 0) == 0) {
      copy_row(from, array.member, from.slot(from_row), slot(row));
      continue;
    }
    const std::int64_t count = array.rows / from.spec_.num_rows;
    for (std::int64_t i = 0; i < count; ++i) {
      copy_row(from, array.member, from_row * count + i, row * count + i);
    }
  }
}

bool Call::has_array(const std::string &member) const {
  const std::string path = spec_.op().path(member);
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const Array &array) { return array.member == path; });
}

std::vector<std::string> Call::names(Direction direction) const {
  std::vector<std::string> members;
  for (const Array &array : arrays_) {
    if (array.direction == direction) members.push_back(array.member);
  }
  return members;
}

const Call::Array &Call::find(const std::string &member) const {
  const std::string path = spec_.op().path(member);
  for (const Array &array : arrays_) {
    if (array.member == path) return array;
  }
  std::fprintf(stderr, "%s: no array %s\n", describe(spec_).c_str(), member.c_str());
  std::abort();
}

unsigned char *Call::element(const Array &array, std::int64_t row, std::int64_t col) {
  const std::int64_t index = row / array.rows_per_group * array.group_stride +
                             row % array.rows_per_group * array.stride + col;
  return array.buffer.data() + std::size_t(index) * array.element_size;
}

Sampler make_sampler(const sampler_options &options) {
  sampler_t sampler = nullptr;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) {
    std::fprintf(stderr, "sampler_create: %s\n", sampler_last_error());
    std::abort();
  }
  return Sampler(sampler);
}

sampler_options roomy_options(std::int32_t num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  options.max_rows = 96;
  options.max_cols = 4096;
  return options;
}

}  // namespace capi_test
