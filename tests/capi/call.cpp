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

// Of values that f16 holds exactly, infinities and NaN.
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

// Extent of an array whose rows lie apart, in elements.
std::int64_t extent(std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  return rows == 0 || cols == 0 ? 0 : (rows - 1) * stride + cols;
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
  if (spec.candidates) text += ", candidates";
  if (spec.row_indices) text += ", row_indices";
  if (spec.per_row) text += ", parameters per row";
  if (spec.draw_method == SAMPLER_DRAW_GUMBEL) text += ", gumbel";
  if (spec.token_id_type == SAMPLER_ID_I64) text += ", i64 ids";
  return text + ", " + std::to_string(spec.num_rows) + " rows of " + std::to_string(spec.num_cols);
}

std::vector<Spec> all_specs() {
  std::vector<Spec> specs;
  for (const Operation &operation : operations()) {
    const bool has_draft = operation.has("draft");
    const bool has_logits = operation.number != SAMPLER_OP_RESIDUAL;
    const bool has_kind = operation.has("input_kind") || has_draft;
    for (int bits = 0; bits < 3 * 2 * 2 * 2 * 2; ++bits) {
      Spec spec;
      spec.operation = operation.number;
      spec.dtype = sampler_dtype(bits % 3);
      spec.kind = sampler_input_kind(bits / 3 % 2);
      spec.candidates = bits / 6 % 2 != 0;
      // Operations on two models have no row_indices, and a draft instead.
      spec.row_indices = !has_draft && bits / 12 % 2 != 0;
      spec.draft = !has_draft || bits / 12 % 2 != 0;
      spec.draw_method = sampler_draw_method(bits / 24 % 2);
      if (spec.kind == SAMPLER_PROBABILITIES ? !has_kind : !has_logits) continue;
      if (spec.candidates && !operation.has("candidate_id_type")) continue;
      if (spec.row_indices && !operation.has("row_indices")) continue;
      if (spec.draw_method == SAMPLER_DRAW_GUMBEL && !operation.has("draw_method")) continue;
      spec.per_row = true;
      spec.output_dtype = spec.candidates ? SAMPLER_F32 : spec.dtype;
      spec.draft_dtype = sampler_dtype((spec.dtype + 1) % 3);
      spec.draft_kind = spec.kind;
      spec.token_id_type = sampler_id_type(spec.dtype == SAMPLER_F16);
      spec.candidate_id_type = sampler_id_type(spec.dtype == SAMPLER_BF16);
      specs.push_back(spec);
    }
  }
  return specs;
}

std::vector<Spec> few_specs() {
  std::vector<Spec> specs;
  for (const Spec &spec : all_specs()) {
    const bool rows = spec.dtype == SAMPLER_F32 && !spec.candidates && !spec.row_indices;
    const bool lists = spec.dtype == SAMPLER_F16 && spec.candidates &&
                       (spec.row_indices || !spec.op().has("row_indices"));
    if ((rows || lists) && spec.draft) specs.push_back(spec);
  }
  return specs;
}

namespace {

// Without what the operation does not have.
Spec possible(Spec spec) {
  spec.candidates = spec.candidates && spec.op().has("candidate_id_type");
  if (spec.is_residual()) spec.kind = spec.draft_kind = SAMPLER_PROBABILITIES;
  return spec;
}

}  // namespace

Call::Call(const Spec &wanted)
    : spec_(possible(wanted)), args_(wanted.op()), random_(wanted.contents) {
  const Spec &spec = spec_;
  args_.set("num_rows", spec.num_rows);
  args_.set("num_cols", spec.num_cols);
  args_.set_if_any("output_dtype", spec.output_dtype);
  args_.set_if_any("draw_method", spec.draw_method);
  args_.set_if_any("logprob_kind", SAMPLER_LOGPROB_PROCESSED);
  args_.set_if_any("num_selected", spec.num_selected);
  args_.set_if_any("token_id_type", spec.token_id_type);
  args_.set_if_any("candidate_id_type", spec.candidate_id_type);
  if (spec.is_residual()) {
    add_values("target", spec.dtype, spec.kind, spec.num_rows, "", "");
    if (spec.draft) {
      add_values("draft", spec.draft_dtype, spec.draft_kind, spec.num_rows, "", "");
    } else {
      add_drafts();
    }
  } else if (spec.is_chain()) {
    args_.set("num_drafts", spec.num_drafts);
    add_values("target", spec.dtype, spec.kind, spec.num_rows * (spec.num_drafts + 1),
               "target_candidate_ids", "target_candidate_counts");
    if (spec.draft) {
      add_values("draft", spec.draft_dtype, spec.draft_kind, spec.num_rows * spec.num_drafts,
                 "draft_candidate_ids", "draft_candidate_counts");
    }
    add_drafts();
    add_draft_lengths();
  } else {
    add_values("input", spec.dtype, spec.kind, spec.input_rows(), "candidate_ids",
               "candidate_counts");
  }
  if (spec.row_indices) add_row_indices();
  add_parameters();
  add_outputs();
}

Call::Array &Call::add(const std::string &member, Direction direction, std::size_t element_size,
                       std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  Array array;
  array.member = member;
  array.direction = direction;
  array.element_size = element_size;
  array.rows = rows;
  array.cols = cols;
  array.stride = stride;
  array.dtype = SAMPLER_F32;
  array.buffer = Buffer(std::size_t(extent(rows, cols, stride)) * element_size,
                        std::size_t(spec_.misalignment) * element_size, kSentinel);
  args_.set<void *>(member, array.buffer.data());
  arrays_.push_back(std::move(array));
  return arrays_.back();
}

void Call::add_values(const std::string &member, sampler_dtype dtype, sampler_input_kind kind,
                      std::int64_t rows, const std::string &ids_member,
                      const std::string &counts_member) {
  const std::int64_t stride = spec_.num_cols + spec_.padding;
  {
    Array &array = add(member, Direction::kIn, size_of_dtype(dtype), rows, spec_.num_cols, stride);
    array.dtype = dtype;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < (row + 1 < rows ? stride : spec_.num_cols); ++i) {
        const float value = i < spec_.num_cols ? random_value(&random_, kind) : kNan;
        store(element(array, row, i), dtype, value);
      }
      if (spec_.num_cols > 0) set_value(member, row, row % spec_.num_cols, 0.25f);  // never empty
    }
  }
  args_.set_if_any(member + "_dtype", dtype);
  args_.set_if_any(member + "_kind", kind);
  if (spec_.is_chain()) {
    args_.set(member + "_position_stride", spec_.padding ? stride : 0);
  } else {
    args_.set(spec_.is_residual() ? member + "_row_stride" : "row_stride",
              spec_.padding ? stride : 0);
  }
  if (spec_.candidates) add_candidates(ids_member, counts_member, rows, stride);
}

void Call::add_candidates(const std::string &ids_member, const std::string &counts_member,
                          std::int64_t rows, std::int64_t stride) {
  const std::size_t id_size = size_of_id(spec_.candidate_id_type);
  Array &array = add(ids_member, Direction::kIn, id_size, rows, spec_.num_cols, stride);
  std::vector<std::int64_t> vocabulary(std::size_t(2 * spec_.num_cols));
  std::iota(vocabulary.begin(), vocabulary.end(), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < std::size_t(spec_.num_cols); ++i) {
      const auto other = random_.between(std::int64_t(i), std::int64_t(vocabulary.size()) - 1);
      std::swap(vocabulary[i], vocabulary[std::size_t(other)]);
      store_id(element(array, row, std::int64_t(i)), id_size, vocabulary[i]);
    }
  }
  // The last quarter of a row may be left out.
  add(counts_member, Direction::kIn, sizeof(std::int32_t), rows, 1, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t least = std::max(spec_.num_cols * 3 / 4, row % spec_.num_cols + 1);
    at<std::int32_t>(counts_member, row) = std::int32_t(random_.between(least, spec_.num_cols));
  }
}

void Call::add_row_indices() {
  args_.set("num_input_rows", spec_.num_input_rows);
  add("row_indices", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("row_indices", row) = std::int32_t(random_.between(0, spec_.input_rows() - 1));
  }
}

template <class T, class Make>
void Call::add_per_row(const std::string &member, const Make &make) {
  if (!spec_.op().has(member)) return;
  add(member, Direction::kIn, sizeof(T), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) at<T>(member, row) = make(row);
}

void Call::add_parameters() {
  const bool has_logits = spec_.kind == SAMPLER_LOGITS ||
                          (spec_.is_chain() && spec_.draft && spec_.draft_kind == SAMPLER_LOGITS);
  const bool filters = !spec_.is_chain() || has_logits;
  if (!spec_.per_row) {
    args_.set_if_any("temperature", spec_.kind == SAMPLER_LOGITS ? 0.9f : 1.0f);
    if (filters) {
      args_.set_if_any<std::int32_t>("top_k", 20);
      args_.set_if_any("top_p", 0.9f);
      args_.set_if_any("min_p", 0.01f);
    }
    args_.set_if_any<std::uint64_t>("seed", 12345);
    args_.set_if_any<std::uint64_t>("offset", 7);
    return;
  }
  constexpr float kInf = std::numeric_limits<float>::infinity();
  static const float kTemperatures[] = {0.7f, 1.0f, 2.5f, 0.0f, 1e-3f, kInf, -1.0f};
  static const std::int32_t kTopKs[] = {5, 0, 1000000, 20, 1, -3, 12, INT32_MIN};
  static const float kTopPs[] = {0.9f, 1.0f, 0.5f, 0.0f, 0.99f, 2.0f, -kInf};
  static const float kMinPs[] = {0.0f, 0.05f, -1.0f, 0.3f, kInf};
  add_per_row<float>("temperatures", [&](std::int64_t row) {
    const float temperature = kTemperatures[row % 7];
    return spec_.kind == SAMPLER_LOGITS || temperature <= 0 ? temperature : 1.0f;
  });
  if (spec_.filters_off) {
    add_per_row<std::int32_t>("top_ks", [](std::int64_t) { return 0; });
    add_per_row<float>("top_ps", [](std::int64_t) { return 1.0f; });
    add_per_row<float>("min_ps", [](std::int64_t) { return 0.0f; });
  } else if (filters) {
    add_per_row<std::int32_t>("top_ks", [&](std::int64_t row) { return kTopKs[row % 8]; });
    add_per_row<float>("top_ps", [&](std::int64_t row) { return kTopPs[row % 7]; });
    add_per_row<float>("min_ps", [&](std::int64_t row) { return kMinPs[row % 5]; });
  }
  if (spec_.op().has("seeds")) {
    add_per_row<std::uint64_t>("seeds", [&](std::int64_t) { return random_.next(); });
    add_per_row<std::uint64_t>("offsets", [&](std::int64_t) { return random_.next(); });
    args_.set("num_seeds", spec_.num_rows);
    args_.set("num_offsets", spec_.num_rows);
  }
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
        if (value("target", position, col) > value("target", position, best)) best = col;
      }
      set_id("draft_token_ids", row, i,
             spec_.candidates ? id("target_candidate_ids", position, best) : best);
    }
  }
}

void Call::add_draft_lengths() {
  add("draft_lengths", Direction::kIn, sizeof(std::int32_t), spec_.num_rows, 1, 1);
  for (std::int64_t row = 0; row < spec_.num_rows; ++row) {
    at<std::int32_t>("draft_lengths", row) = std::int32_t(spec_.num_drafts - row % 2);
  }
}

void Call::add_outputs() {
  const Operation &op = spec_.op();
  const std::int64_t rows = spec_.num_rows;
  const bool select = op.has("num_selected");
  std::int64_t tokens = 1;
  if (select) tokens = spec_.num_selected;
  if (spec_.is_chain()) tokens = spec_.num_drafts + 1;
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
  for (const char *member : {"out_kept_counts", "out_logprobs", "out_counts", "out_accepted_counts",
                             "out_emitted_counts", "out_row_status"}) {
    if (op.has(member)) add(member, Direction::kOut, 4, rows, 1, 1);
  }
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
    if (array.direction != Direction::kOut) continue;
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
  std::string bytes(static_cast<const char *>(args_.data()), spec_.op().args_size);
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

bool Call::has_array(const std::string &member) const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const Array &array) { return array.member == member; });
}

std::vector<std::string> Call::outputs() const {
  std::vector<std::string> names;
  for (const Array &array : arrays_) {
    if (array.direction == Direction::kOut) names.push_back(array.member);
  }
  return names;
}

const Call::Array &Call::find(const std::string &member) const {
  for (const Array &array : arrays_) {
    if (array.member == member) return array;
  }
  std::fprintf(stderr, "%s: no array %s\n", describe(spec_).c_str(), member.c_str());
  std::abort();
}

unsigned char *Call::element(const Array &array, std::int64_t row, std::int64_t col) {
  return array.buffer.data() + std::size_t(row * array.stride + col) * array.element_size;
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
  sampler_options options = SAMPLER_OPTIONS_INIT;
  options.num_threads = num_threads;
  options.max_rows = 64;
  options.max_cols = 1024;
  return options;
}

}  // namespace capi_test
