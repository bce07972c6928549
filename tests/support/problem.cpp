#include "problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "contract/elements.h"
#include "contract/float_bits.h"

namespace test_support {

using namespace sampler::contract;

const Scale kSmall = {{1, 2, 3, 31, 32, 33, 127, 128, 129, 500, 1000, 2048, 2049, 5000}, 5};
const Scale kLarge = {{20000, 32000, 50257, 128256, 262144}, 2};

namespace {

constexpr unsigned char kCanary = 0xC5;

template <class T>
T *add_output(Outputs *outputs, const char *name, int64_t count, size_t size) {
  outputs->push_back({name, std::vector<unsigned char>(size_t(count) * size + 16, kCanary)});
  return reinterpret_cast<T *>(outputs->back().bytes.data());
}

template <class T>
T *add_output(Outputs *outputs, const char *name, int64_t count) {
  return add_output<T>(outputs, name, count, sizeof(T));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

Problem::Problem(std::mt19937_64 &random, const Scale &scale)
    : random_(random), fixed_(scale.fixed) {
  num_cols_ = scale.widths[random_() % scale.widths.size()];
  num_rows_ = 1 + int64_t(random_() % uint64_t(scale.max_rows));
  candidates_ = one_in(4);
  std::ostringstream text;
  text << num_rows_ << " rows of " << num_cols_ << (candidates_ ? " candidates" : " columns");
  description_ = text.str();
}

void Problem::describe(const std::string &text) {
  description_ += "; " + text;
}

float Problem::random_logit(Shape shape, sampler_dtype dtype, int64_t column) {
  std::normal_distribution<float> normal;
  const bool f16 = dtype == SAMPLER_F16;
  switch (shape) {
    case Shape::kNormal:
      return 3.0f * normal(random_);
    case Shape::kLikeAModels:
      return -1.1f * std::log(float(1 + random_() % uint64_t(num_cols_)));
    case Shape::kAllEqual:
      return 0.0f;
    case Shape::kTwoValues:
      return one_in(2) ? 1.0f : -1.0f;
    case Shape::kOneFinite:
      return column == num_cols_ / 2 ? 5.0f : -kInfinity;
    case Shape::kMasked:
      return one_in(3) ? normal(random_) : -kInfinity;
    case Shape::kFlat:
      return 0.01f * normal(random_);
    case Shape::kTies:
      return std::round(4.0f * normal(random_)) / 2.0f;
    case Shape::kHuge:
      return f16 ? std::clamp(2e4f * normal(random_), -65504.0f, 65504.0f)
                 : 1e30f * normal(random_);
    case Shape::kSubnormal:
      return (f16 ? 1e-5f : 1e-40f) * normal(random_);
    default:
      return column % 7 == 0 ? -0.0f : 0.0f;
  }
}

float Problem::random_value(sampler_input_kind kind, Shape shape, sampler_dtype dtype,
                            int64_t column) {
  const float logit = random_logit(shape, dtype, column);
  if (kind == SAMPLER_LOGITS) return logit;
  if (shape == Shape::kHuge || shape == Shape::kSubnormal) return std::abs(logit);
  const float limit = dtype == SAMPLER_F16 ? 11.0f : 80.0f;
  return std::isinf(logit) ? 0.0f : std::exp(std::min(logit, limit));
}

// Rows whose shape is fixed have all columns, unless they are candidate lists.
Problem::Elements Problem::random_elements() {
  if (candidates_) return Elements::kCandidates;
  return !fixed_.shape && one_in(4) ? Elements::kFirst : Elements::kAll;
}

Rows Problem::make_rows(Storage *storage, int64_t num_rows, int64_t num_cols,
                        sampler_input_kind kind, Elements elements) {
  const bool candidates = elements == Elements::kCandidates;
  const bool has_counts = elements != Elements::kAll;
  Rows rows;
  rows.kind = kind;
  rows.num_rows = num_rows;
  rows.num_cols = num_cols;
  rows.stride = num_cols + int64_t(random_() % 6);
  const sampler_dtype drawn_dtype = pick({SAMPLER_F32, SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16});
  rows.dtype = fixed_.dtype.value_or(drawn_dtype);
  rows.id_type = pick({SAMPLER_ID_I32, SAMPLER_ID_I64});
  // Any alignment that the element type allows. What no row covers is poison: NaN.
  const int64_t shift = int64_t(random_() % 8);
  const size_t extent = size_t(shift + num_rows * rows.stride);
  storage->values.assign(extent * size_of(rows.dtype), 0xFF);
  if (candidates) storage->ids.assign(extent * size_of_id(rows.id_type), 0xFF);
  if (has_counts) storage->counts.assign(size_t(num_rows), 0);

  std::vector<int64_t> all_ids(size_t(std::max<int64_t>(num_cols * 2, 8)));
  for (int64_t row = 0; row < num_rows; ++row) {
    const Shape drawn = Shape(random_() % uint64_t(Shape::kNumShapes));
    const Shape shape = fixed_.shape.value_or(drawn);
    for (size_t i = 0; i < all_ids.size(); ++i) all_ids[i] = int64_t(i);
    if (candidates) std::shuffle(all_ids.begin(), all_ids.end(), random_);
    const int64_t count =
        has_counts && one_in(2) ? int64_t(random_() % uint64_t(num_cols + 1)) : num_cols;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = shift + row * rows.stride + i;
      store_value(storage->values.data(), rows.dtype, at, random_value(kind, shape, rows.dtype, i));
      if (candidates) store_id({storage->ids.data(), rows.id_type}, at, all_ids[size_t(i)]);
    }
    if (has_counts) storage->counts[size_t(row)] = int32_t(count);
    if (fixed_.shape) continue;
    const int64_t somewhere =
        shift + row * rows.stride + int64_t(random_() % uint64_t(std::max<int64_t>(count, 1)));
    if (count > 0 && one_in(12)) {
      store_value(storage->values.data(), rows.dtype, somewhere,
                  pick({std::nanf(""), kInfinity, kind == SAMPLER_LOGITS ? -kInfinity : -1.0f}));
    }
    if (candidates && count > 1 && one_in(8)) {
      store_id({storage->ids.data(), rows.id_type}, somewhere,
               pick<int64_t>({all_ids[0], all_ids[1], -1, kMaxVocabulary}));
    }
    if (has_counts && one_in(12)) {
      storage->counts[size_t(row)] = pick({-1, int32_t(num_cols) + 1});
    }
  }
  rows.values = storage->values.data() + size_t(shift) * size_of(rows.dtype);
  if (candidates) rows.ids = storage->ids.data() + size_t(shift) * size_of_id(rows.id_type);
  if (has_counts) rows.counts = storage->counts.data();
  if (elements == Elements::kFirst) describe("of different lengths");
  return rows;
}

// A slot for each row, now and then one that there is not. Null: its own number.
Slots Problem::make_slots(int64_t num_rows) {
  if (!one_in(3)) return {nullptr, num_rows};
  const int64_t num_slots = 1 + int64_t(random_() % uint64_t(2 * num_rows));
  slots_.clear();
  for (int64_t i = 0; i < num_rows; ++i) {
    slots_.push_back(one_in(10) ? pick({-1, int32_t(num_slots)})
                                : int32_t(random_() % uint64_t(num_slots)));
  }
  describe("of " + std::to_string(num_slots) + " slots");
  return {slots_.data(), num_slots};
}

void Problem::make_parameters(Parameters *parameters, int64_t num_slots, sampler_input_kind kind,
                              int64_t num_cols) {
  const auto temperature = [&]() -> float {
    if (kind == SAMPLER_PROBABILITIES) return one_in(6) ? 0.0f : 1.0f;
    if (fixed_.temperature) return *fixed_.temperature;
    return pick({1.0f, 1.0f, 0.8f, 0.8f, 0.3f, 5.0f, 0.0f, 2e-5f, 1e30f, 0.02f});
  };
  const auto top_k = [&]() -> int32_t {
    if (fixed_.top_k) return *fixed_.top_k;
    const int32_t width = int32_t(num_cols);
    constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
    return pick<int32_t>({0, 0, 1, 2, 50, kLargest, 300, 1000, width - 1, width, width + 1, -3});
  };
  const auto top_p = [&]() -> float {
    if (fixed_.top_p) return *fixed_.top_p;
    return pick({1.0f, 1.0f, 0.9f, 0.95f, 0.5f, 0.1f, 0.0f, 1e-7f, 1.0f - 0x1p-24f, -1.0f});
  };
  const auto min_p = [&]() -> float { return pick({0.0f, 0.0f, 0.0f, 0.05f, 0.5f, 1.0f, 2.0f}); };
  parameters->temperature = {temperature()};
  parameters->top_k = {top_k()};
  parameters->top_p = {top_p()};
  parameters->min_p = {min_p()};
  if (one_in(2)) {
    temperatures_.clear(), top_ks_.clear(), top_ps_.clear(), min_ps_.clear();
    for (int64_t i = 0; i < num_slots; ++i) {
      temperatures_.push_back(one_in(20) ? std::nanf("") : temperature());
      top_ks_.push_back(top_k());
      top_ps_.push_back(one_in(20) ? std::nanf("") : top_p());
      min_ps_.push_back(min_p());
    }
    parameters->temperature.array = temperatures_.data();
    parameters->top_k.array = top_ks_.data();
    parameters->top_p.array = top_ps_.data();
    parameters->min_p.array = min_ps_.data();
  }
  FilterRules &rules = parameters->rules;
  rules.top_k_ties = pick({SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP});
  rules.top_p_ties = pick({SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP});
  rules.order =
      pick({SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_FILTERS_JOINT, SAMPLER_FILTERS_MIN_P_FIRST});
  rules.temperature_order = pick({SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_LAST});
  std::ostringstream text;
  text << "T " << parameters->temperature.value << ", k " << parameters->top_k.value << ", p "
       << parameters->top_p.value << ", min-p " << parameters->min_p.value
       << (parameters->temperature.array ? " or per slot" : "") << ", order " << int(rules.order);
  describe(text.str());
}

void Problem::make_randomness(Randomness *random, int64_t num_slots) {
  random->seed.value = random_();
  random->offset.value = random_();
  seeds_.clear(), offsets_.clear(), streams_.clear();
  for (int64_t i = 0; i < num_slots; ++i) {
    seeds_.push_back(random_());
    offsets_.push_back(random_());
    streams_.push_back(uint32_t(random_()));
  }
  if (one_in(2)) random->seed.array = seeds_.data(), random->seed.per_slot = one_in(2);
  if (one_in(2)) random->offset.array = offsets_.data(), random->offset.per_slot = one_in(2);
  if (one_in(3)) random->streams = streams_.data();
}

SampleRequest Problem::sample_request() {
  SampleRequest request;
  const sampler_input_kind kind = pick({SAMPLER_LOGITS, SAMPLER_LOGITS, SAMPLER_PROBABILITIES});
  request.input = make_rows(&input_, num_rows_, num_cols_, kind, random_elements());
  request.num_rows = num_rows_;
  if (one_in(3)) {
    request.num_rows = 1 + int64_t(random_() % 7);
    row_indices_.clear();
    for (int64_t i = 0; i < request.num_rows; ++i) {
      row_indices_.push_back(one_in(10) ? pick({-1, int32_t(num_rows_)})
                                        : int32_t(random_() % uint64_t(num_rows_)));
    }
    if (one_in(2)) std::sort(row_indices_.begin(), row_indices_.end());
    request.row_indices = row_indices_.data();
  }
  request.slots = make_slots(request.num_rows);
  make_parameters(&request.parameters, request.slots.count, kind, num_cols_);
  make_randomness(&request.random, request.slots.count);
  request.draw_method =
      pick({SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_GUMBEL});
  request.logprob_kind = pick({SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED});
  request.bad_row_token = one_in(4) ? 0 : -1;
  request.out_token_ids.type = pick({SAMPLER_ID_I32, SAMPLER_ID_I64});
  describe(request.draw_method == SAMPLER_DRAW_GUMBEL ? "sample, Gumbel" : "sample");
  return request;
}

RowsRequest Problem::rows_request() {
  RowsRequest request;
  request.output_kind =
      pick({SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_VALUES});
  const sampler_input_kind kind = request.output_kind == SAMPLER_OUTPUT_VALUES || one_in(2)
                                      ? SAMPLER_LOGITS
                                      : SAMPLER_PROBABILITIES;
  request.input = make_rows(&input_, num_rows_, num_cols_, kind, random_elements());
  request.slots = make_slots(num_rows_);
  make_parameters(&request.parameters, request.slots.count, kind, num_cols_);
  request.output_dtype = one_in(2) ? SAMPLER_F32 : request.input.dtype;
  request.output_stride = num_cols_ + int64_t(random_() % 5);
  describe(request.output_kind == SAMPLER_OUTPUT_VALUES ? "mask" : "probabilities");
  return request;
}

SelectRequest Problem::select_request() {
  SelectRequest request;
  const sampler_input_kind kind = pick({SAMPLER_LOGITS, SAMPLER_PROBABILITIES});
  request.input = make_rows(&input_, num_rows_, num_cols_, kind, random_elements());
  request.num_selected = std::min<int64_t>(
      num_cols_, pick<int64_t>({1, 2, 20, 50, 1000, 2048, 2049, 4500, num_cols_}));
  if (num_cols_ > 10000) request.num_selected = std::min<int64_t>(request.num_selected, 4500);
  if (one_in(2)) {
    top_ks_.clear();
    for (int64_t i = 0; i < num_rows_; ++i) {
      top_ks_.push_back(int32_t(random_() % uint64_t(request.num_selected + 2)) - 1);
    }
    request.selected_counts = top_ks_.data();
  }
  request.output_dtype = one_in(2) ? SAMPLER_F32 : request.input.dtype;
  request.out_token_ids.type = pick({SAMPLER_ID_I32, SAMPLER_ID_I64});
  describe("select " + std::to_string(request.num_selected));
  return request;
}

ChainRequest Problem::chain_request() {
  ChainRequest request;
  request.num_rows = num_rows_;
  request.num_drafts = int64_t(random_() % 4);
  const int64_t positions = request.num_drafts + 1;
  const sampler_input_kind target_kind = pick({SAMPLER_LOGITS, SAMPLER_PROBABILITIES});
  const sampler_input_kind draft_kind = pick({SAMPLER_LOGITS, SAMPLER_PROBABILITIES});
  const auto elements = [&] {
    const Elements drawn = random_elements();
    const bool is_large = drawn == Elements::kCandidates && num_cols_ > 1000;
    return is_large ? Elements::kAll : drawn;
  };
  request.target = make_rows(&input_, num_rows_ * positions, num_cols_, target_kind, elements());
  request.target_row_stride = positions * request.target.stride;
  if (request.num_drafts > 0 && !one_in(3)) {
    request.draft = make_rows(&draft_, num_rows_ * request.num_drafts, num_cols_, draft_kind,
                              one_in(2) ? elements() : Elements::kAll);
    request.draft_row_stride = request.num_drafts * request.draft.stride;
  }
  request.out_token_ids.type = pick({SAMPLER_ID_I32, SAMPLER_ID_I64});
  make_draft_token_ids(request.out_token_ids.type, num_rows_ * request.num_drafts);
  request.draft_token_ids = draft_token_ids_.data();
  if (one_in(2)) {
    draft_counts_.clear();
    for (int64_t i = 0; i < num_rows_; ++i) {
      draft_counts_.push_back(int32_t(random_() % uint64_t(positions + 2)) - 1);
    }
    request.draft_counts = draft_counts_.data();
  }
  request.slots = make_slots(num_rows_);
  make_parameters(&request.parameters, request.slots.count, target_kind, num_cols_);
  make_randomness(&request.random, request.slots.count);
  request.accumulate_counts = one_in(2);
  describe("chain of " + std::to_string(request.num_drafts));
  return request;
}

ResidualRequest Problem::residual_request() {
  ResidualRequest request;
  request.num_rows = num_rows_;
  request.target = make_rows(&input_, num_rows_, num_cols_, SAMPLER_PROBABILITIES, Elements::kAll);
  request.token_id_type = pick({SAMPLER_ID_I32, SAMPLER_ID_I64});
  switch (random_() % 4) {
    case 0:
      make_draft_token_ids(request.token_id_type, num_rows_);
      request.draft_token_ids = draft_token_ids_.data();
      break;
    case 1:  // nothing is left
      request.draft = request.target;
      break;
    default:
      request.draft =
          make_rows(&draft_, num_rows_, num_cols_, SAMPLER_PROBABILITIES, Elements::kAll);
  }
  request.output_dtype = one_in(2) ? SAMPLER_F32 : request.target.dtype;
  request.output_stride = num_cols_ + int64_t(random_() % 5);
  describe(request.draft.values ? "residual" : "residual without a token");
  return request;
}

void Problem::make_draft_token_ids(sampler_id_type type, int64_t count) {
  draft_token_ids_.assign(size_t(count) * size_of_id(type), 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = one_in(10) ? pick<int64_t>({-1, num_cols_, kMaxVocabulary})
                                  : int64_t(random_() % uint64_t(num_cols_));
    store_id({draft_token_ids_.data(), type}, i, id);
  }
}

std::string difference(const Outputs &expected, const Outputs &actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto &a = expected[i].bytes, &b = actual[i].bytes;
    const auto first = std::mismatch(a.begin(), a.end(), b.begin());
    if (first.first == a.end()) continue;
    return expected[i].name + " differ at byte " + std::to_string(first.first - a.begin());
  }
  return "";
}

Outputs Problem::bind_outputs(SampleRequest *request) const {
  Outputs outputs;
  outputs.reserve(8);
  const int64_t n = request->num_rows;
  request->out_token_ids.data =
      add_output<void>(&outputs, "token ids", n, size_of_id(request->out_token_ids.type));
  request->out_kept_counts = add_output<int32_t>(&outputs, "kept counts", n);
  request->out_logprobs = add_output<float>(&outputs, "logprobs", n);
  request->out_values = add_output<float>(&outputs, "values", n);
  request->out_row_status = add_output<uint32_t>(&outputs, "row status", n);
  return outputs;
}

Outputs Problem::bind_outputs(RowsRequest *request) const {
  Outputs outputs;
  outputs.reserve(8);
  const int64_t n = request->input.num_rows;
  request->output = add_output<void>(&outputs, "output", n * request->output_stride,
                                     size_of(request->output_dtype));
  request->out_kept_counts = add_output<int32_t>(&outputs, "kept counts", n);
  request->out_row_status = add_output<uint32_t>(&outputs, "row status", n);
  return outputs;
}

Outputs Problem::bind_outputs(SelectRequest *request) const {
  Outputs outputs;
  outputs.reserve(8);
  const int64_t n = request->input.num_rows;
  request->out_values = add_output<void>(&outputs, "values", n * request->num_selected,
                                         size_of(request->output_dtype));
  request->out_token_ids.data = add_output<void>(&outputs, "ids", n * request->num_selected,
                                                 size_of_id(request->out_token_ids.type));
  request->out_counts = add_output<int32_t>(&outputs, "counts", n);
  request->out_row_status = add_output<uint32_t>(&outputs, "row status", n);
  return outputs;
}

Outputs Problem::bind_outputs(ChainRequest *request) const {
  Outputs outputs;
  outputs.reserve(8);
  const int64_t n = request->num_rows;
  request->out_token_ids.data = add_output<void>(&outputs, "ids", n * (request->num_drafts + 1),
                                                 size_of_id(request->out_token_ids.type));
  request->out_accepted_counts = add_output<int32_t>(&outputs, "accepted", n);
  request->out_emitted_counts = add_output<int32_t>(&outputs, "emitted", n);
  request->out_row_status = add_output<uint32_t>(&outputs, "row status", n);
  return outputs;
}

Outputs Problem::bind_outputs(ResidualRequest *request) const {
  Outputs outputs;
  outputs.reserve(8);
  const int64_t n = request->num_rows;
  request->output = add_output<void>(&outputs, "output", n * request->output_stride,
                                     size_of(request->output_dtype));
  request->out_row_status = add_output<uint32_t>(&outputs, "row status", n);
  return outputs;
}

}  // namespace test_support
