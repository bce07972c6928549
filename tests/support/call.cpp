#include "call.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "rows.h"

namespace test_support {

namespace {

using oracle_test::Random;
using oracle_test::RowKind;

// Between arrays, and in the padding of rows: NaN, or an invalid id, where the call would read it.
constexpr unsigned char kInputGap = 0xFF;
constexpr unsigned char kOutputGap = 0xC5;
constexpr size_t kGapBytes = 256;
constexpr size_t kAlignment = 256;

// Logits are made for so many elements at most; further rows repeat them.
constexpr int64_t kUniqueElements = 1 << 19;

constexpr int64_t kMaxVocabulary = 1 << 20;

struct Function {
  const char *name;
  sampler_status (*run)(sampler_t, const Structs &);
  sampler_status (*workspace_size)(sampler_t, const Structs &, size_t *);
};

#define FUNCTION(name)                                                                    \
  {                                                                                       \
#name, [](sampler_t sampler,                                                            \
              const Structs &structs) { return sampler_##name(sampler, &structs.args.name); }, \
        [](sampler_t sampler, const Structs &structs, size_t *out_bytes) {                \
          return sampler_##name##_workspace_size(sampler, &structs.args.name, out_bytes); \
        } \
  }
const Function kFunctions[kNumOperations] = {FUNCTION(sample), FUNCTION(filter), FUNCTION(select),
                                             FUNCTION(verify), FUNCTION(residual)};
#undef FUNCTION

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what + ": " + sampler_last_error());
}

size_t size_of(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}
size_t size_of_id(sampler_id_type type) {
  return type == SAMPLER_ID_I32 ? 4 : 8;
}

// Bits that make a row bad, or its element impossible.
uint32_t bad_bits(sampler_dtype dtype, sampler_input_kind kind, Random *random) {
  constexpr uint32_t kF32[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0xBF800000};
  constexpr uint32_t kF16[] = {0x7E00, 0x7C00, 0xFC00, 0xBC00};
  const size_t which = random->below(kind == SAMPLER_LOGITS ? 3 : 4);
  if (dtype == SAMPLER_F16) return kF16[which];
  return dtype == SAMPLER_F32 ? kF32[which] : kF32[which] >> 16;
}

}  // namespace

// Decides on the call, lays its arrays out, fills them.
class Builder {
 public:
  explicit Builder(Call *call)
      : call_(*call),
        case_(call->case_),
        structs_(call->structs_),
        structure_(case_.seed * 1000003 + uint64_t(case_.operation)),
        layout_(case_.layout * 1000033 + case_.seed),
        content_(case_.content * 1000037 + case_.seed) {
    decide();
    build();
    call_.memory_.assign(end_ + kGapBytes, kInputGap);
    for (const Array &array : call_.arrays_) {
      if (array.is_output) fill_output(array);
    }
    for (const auto &fill : fills_) (this->*fill.how)(fill);
  }

 private:
  // How an input array gets its content.
  struct Fill {
    void (Builder::*how)(const Fill &);
    size_t array;
    size_t ids = SIZE_MAX, counts = SIZE_MAX;  // indices of arrays; SIZE_MAX: none
    sampler_dtype dtype = SAMPLER_F32;
    sampler_input_kind kind = SAMPLER_LOGITS;
  };

  bool one_in(size_t n) { return structure_.below(n) == 0; }

  template <class T>
  T pick(std::initializer_list<T> values, Random *random) {
    return values.begin()[random->below(values.size())];
  }

  template <class T>
  T any(int count) {
    return T(structure_.below(size_t(count)));
  }

  float random_temperature(Random *random) {
    if (kind_ == SAMPLER_PROBABILITIES) return random->below(6) == 0 ? 0.0f : 1.0f;
    return pick({1.0f, 1.0f, 0.8f, 0.8f, 0.3f, 5.0f, 0.0f, 2e-5f, 1e30f, 0.02f, -1.0f}, random);
  }
  int32_t random_top_k(Random *random) {
    const int32_t n = int32_t(case_.num_cols);
    return pick<int32_t>({0, 0, 1, 2, 20, 50, 50, 300, 1000, 2048, n / 2, n - 1, n, n + 1, -3},
                         random);
  }
  float random_top_p(Random *random) {
    return pick({1.0f, 0.9f, 0.9f, 0.95f, 0.5f, 0.1f, 0.0f, 1e-7f, 1.0f - 0x1p-24f, -1.0f}, random);
  }
  float random_min_p(Random *random) {
    return pick({0.0f, 0.0f, 0.05f, 0.05f, 0.5f, 1.0f, 2.0f, -1.0f}, random);
  }

  // ---- What all calls have ------------------------------------------------------------------

  bool is_verify() const { return case_.operation == kVerify; }
  bool is_residual() const { return case_.operation == kResidual; }

  void decide() {
    dtype_ = any<sampler_dtype>(3);
    draft_dtype_ = any<sampler_dtype>(3);
    kind_ = is_residual() ? SAMPLER_PROBABILITIES : any<sampler_input_kind>(2);
    draft_kind_ = one_in(3) && !is_residual() ? any<sampler_input_kind>(2) : kind_;
    const int64_t cells = case_.num_rows * case_.num_cols;
    num_drafts_ = is_residual() ? 1 : cells > (int64_t(1) << 24) ? 1 : any<int64_t>(5);
    has_draft_ = !one_in(3) && num_drafts_ > 0;
    has_candidates_ = one_in(4) && cells <= (int64_t(1) << 24) && !is_residual();
    has_counts_ = has_candidates_ ? !one_in(4) : one_in(5) && !is_residual();
    candidate_id_type_ = any<sampler_id_type>(2);
    token_id_type_ = any<sampler_id_type>(2);
    output_dtype_ = one_in(2) ? SAMPLER_F32 : dtype_;
  }

  void build() {
    switch (case_.operation) {
      case kSample:
        return build_sample(&structs_.args.sample);
      case kFilter:
        return build_filter(&structs_.args.filter);
      case kSelect:
        return build_select(&structs_.args.select);
      case kVerify:
        return build_verify(&structs_.args.verify);
      case kResidual:
        return build_residual(&structs_.args.residual);
    }
  }

  // ---- The calls ----------------------------------------------------------------------------

  void build_sample(sampler_sample_args *args) {
    args->struct_size = sizeof *args;
    const int64_t n = case_.num_rows;
    num_input_rows_ = n;
    if (one_in(3)) {
      num_input_rows_ = 1 + int64_t(structure_.below(size_t(n)));
      args->num_row_indices = n;
      add_input("row_indices", &args->row_indices, 4, n, &Builder::fill_row_indices);
    }
    add_rows("input", &args->input, dtype_, kind_, num_input_rows_);
    add_slots(&args->slots, &args->num_slots);
    add_parameters(true);
    add_random(&args->random);
    args->draw_method = one_in(3);
    args->logprob_kind = any<int>(2);
    args->token_id_type = token_id_type_;
    add_output("out_token_ids", &args->out_token_ids, size_of_id(token_id_type_), n);
    add_output("out_kept_counts", &args->out_kept_counts, 4, n);
    add_output("out_logprobs", &args->out_logprobs, 4, n);
    add_output("out_values", &args->out_values, 4, n);
    add_output("out_row_status", &args->out_row_status, 4, n);
  }

  void build_filter(sampler_filter_args *args) {
    args->struct_size = sizeof *args;
    add_rows("input", &args->input, dtype_, kind_, case_.num_rows);
    add_slots(&args->slots, &args->num_slots);
    add_parameters(true);
    if (kind_ == SAMPLER_LOGITS) args->output_kind = one_in(3);
    args->output_dtype = output_dtype_;
    args->output_stride = add_output_rows(&args->output);
    add_output("out_kept_counts", &args->out_kept_counts, 4, case_.num_rows);
    add_output("out_row_status", &args->out_row_status, 4, case_.num_rows);
  }

  void build_select(sampler_select_args *args) {
    args->struct_size = sizeof *args;
    add_rows("input", &args->input, dtype_, kind_, case_.num_rows);
    args->num_selected =
        std::min<int64_t>(case_.num_cols, pick<int64_t>({1, 2, 20, 50, 1000, 2049}, &structure_));
    if (one_in(2)) {
      add_parameter("selected_counts", &args->selected_counts, 4, case_.num_rows,
                    &Builder::fill_top_ks);
    }
    args->output_dtype = output_dtype_;
    args->token_id_type = token_id_type_;
    const int64_t tokens = case_.num_rows * args->num_selected;
    add_output("out_values", &args->out_values, size_of(output_dtype_), tokens);
    add_output("out_token_ids", &args->out_token_ids, size_of_id(token_id_type_), tokens);
    add_output("out_counts", &args->out_counts, 4, case_.num_rows);
    add_output("out_row_status", &args->out_row_status, 4, case_.num_rows);
  }

  void build_verify(sampler_verify_args *args) {
    args->struct_size = sizeof *args;
    const int64_t n = case_.num_rows, positions = num_drafts_ + 1;
    args->num_drafts = num_drafts_;
    add_rows("target", &args->target, dtype_, kind_, n * positions);
    args->target_sequence_stride = sequence_stride(args->target, positions);
    if (has_draft_) {
      add_rows("draft", &args->draft, draft_dtype_, draft_kind_, n * num_drafts_);
      args->draft_sequence_stride = sequence_stride(args->draft, num_drafts_);
    }
    args->token_id_type = token_id_type_;
    add_input("draft_token_ids", &args->draft_token_ids, size_of_id(token_id_type_),
              n * num_drafts_, &Builder::fill_draft_token_ids);
    if (one_in(2)) {
      add_input("draft_counts", &args->draft_counts, 4, n, &Builder::fill_draft_counts);
    }
    add_slots(&args->slots, &args->num_slots);
    const bool draft_has_logits = has_draft_ && draft_kind_ == SAMPLER_LOGITS;
    add_parameters(kind_ == SAMPLER_LOGITS || draft_has_logits);
    add_random(&args->random);
    args->accumulate_counts = one_in(4);
    add_output("out_token_ids", &args->out_token_ids, size_of_id(token_id_type_), n * positions);
    add_output("out_accepted_counts", &args->out_accepted_counts, 4, n);
    add_output("out_emitted_counts", &args->out_emitted_counts, 4, n);
    add_output("out_row_status", &args->out_row_status, 4, n);
  }

  void build_residual(sampler_residual_args *args) {
    args->struct_size = sizeof *args;
    add_rows("target", &args->target, dtype_, kind_, case_.num_rows);
    args->token_id_type = token_id_type_;
    if (has_draft_) {
      add_rows("draft", &args->draft, draft_dtype_, draft_kind_, case_.num_rows);
    } else {
      add_input("draft_token_ids", &args->draft_token_ids, size_of_id(token_id_type_),
                case_.num_rows, &Builder::fill_draft_token_ids);
    }
    args->output_dtype = output_dtype_;
    args->output_stride = add_output_rows(&args->output);
    add_output("out_row_status", &args->out_row_status, 4, case_.num_rows);
  }

  // ---- Arrays -------------------------------------------------------------------------------

  // `pointer` is the member of structs_ that will point to it.
  Array *add(const std::string &name, const void *pointer, size_t element, int64_t num_cols,
             int64_t stride, int64_t num_rows) {
    end_ = (end_ + kGapBytes + kAlignment - 1) / kAlignment * kAlignment;
    end_ += layout_.below(16) * element;  // aligned for its element type, not more
    const size_t offset = size_t(static_cast<const unsigned char *>(pointer) -
                                 reinterpret_cast<const unsigned char *>(&structs_));
    call_.arrays_.push_back({name, false, false, offset, end_, size_t(num_cols) * element,
                             size_t(stride) * element, num_rows});
    end_ += size_t(num_rows) * size_t(stride) * element;
    return &call_.arrays_.back();
  }

  size_t last_array() const { return call_.arrays_.size() - 1; }

  // An input of one element a row, filled by `how`.
  Array *add_input(const std::string &name, const void *pointer, size_t element, int64_t count,
                   void (Builder::*how)(const Fill &)) {
    Array *array = add(name, pointer, element, 1, 1, count);
    fills_.push_back({how, last_array()});
    return array;
  }

  // One that a handle may take from the host.
  void add_parameter(const std::string &name, const void *pointer, size_t element, int64_t count,
                     void (Builder::*how)(const Fill &)) {
    add_input(name, pointer, element, count, how)->is_parameter = true;
  }

  void add_output(const std::string &name, const void *pointer, size_t element, int64_t count) {
    add(name, pointer, element, 1, 1, count)->is_output = true;
  }

  int64_t random_stride() {
    const int64_t paddings[] = {0, 0, 1, 3, 5, 64};
    return case_.num_cols + paddings[layout_.below(6)];
  }

  // The stride of the rows.
  int64_t add_output_rows(const void *pointer) {
    const int64_t stride = random_stride();
    add("output", pointer, size_of(output_dtype_), case_.num_cols, stride, case_.num_rows)
        ->is_output = true;
    return stride;
  }

  // Rows, and where they are candidate lists, their ids; their lengths, where they differ.
  void add_rows(const std::string &name, sampler_rows *rows, sampler_dtype dtype,
                sampler_input_kind kind, int64_t num_rows) {
    rows->num_rows = num_rows;
    rows->num_cols = case_.num_cols;
    rows->row_stride = random_stride();
    rows->dtype = dtype;
    rows->kind = kind;
    Fill fill = {&Builder::fill_rows, 0};
    fill.dtype = dtype;
    fill.kind = kind;
    add(name + ".values", &rows->values, size_of(dtype), case_.num_cols, rows->row_stride,
        num_rows);
    fill.array = last_array();
    if (has_candidates_) {
      rows->candidate_id_type = candidate_id_type_;
      add(name + ".candidate_ids", &rows->candidate_ids, size_of_id(candidate_id_type_),
          case_.num_cols, rows->row_stride, num_rows);
      fill.ids = last_array();
    }
    if (has_counts_) {
      add(name + ".candidate_counts", &rows->candidate_counts, 4, 1, 1, num_rows);
      fill.counts = last_array();
    }
    fills_.push_back(fill);
  }

  // Rows are contiguous: that, or the 0 that says it.
  int64_t sequence_stride(const sampler_rows &rows, int64_t positions) {
    return layout_.below(2) == 0 ? 0 : positions * rows.row_stride;
  }

  void add_slots(const int32_t *const *slots, int64_t *num_slots) {
    num_slots_ = case_.num_rows;
    if (!one_in(3)) return;
    num_slots_ = 1 + int64_t(structure_.below(size_t(2 * case_.num_rows)));
    *num_slots = num_slots_;
    add_input("slots", slots, 4, case_.num_rows, &Builder::fill_slots);
  }

  // Of the filters any, as one value or by slot.
  void add_parameters(bool has_filters) {
    sampler_params &params = structs_.params = sampler_params_default();
    sampler_row_params &arrays = structs_.row_params = {};
    arrays.struct_size = sizeof arrays;
    const bool by_slot = one_in(2);
    const auto add_one = [&](const char *name, const void *array,
                             void (Builder::*how)(const Fill &)) {
      if (by_slot) add_parameter(name, array, 4, num_slots_, how);
    };
    params.temperature = random_temperature(&structure_);
    add_one("row_params.temperature", &arrays.temperature, &Builder::fill_temperatures);
    params.top_k_ties = any<int>(2);
    params.top_p_ties = any<int>(2);
    params.filter_order = any<int>(3);
    params.temperature_order = any<int>(2);
    const int filters = has_filters ? any<int>(8) : 0;
    if (filters & 1) {
      params.top_k = random_top_k(&structure_);
      add_one("row_params.top_k", &arrays.top_k, &Builder::fill_top_ks);
    }
    if (filters & 2) {
      params.top_p = random_top_p(&structure_);
      add_one("row_params.top_p", &arrays.top_p, &Builder::fill_top_ps);
    }
    if (filters & 4) {
      params.min_p = random_min_p(&structure_);
      add_one("row_params.min_p", &arrays.min_p, &Builder::fill_min_ps);
    }
  }

  void add_random(sampler_random *random) {
    random->seed = structure_.word();
    random->offset = structure_.word();
    if (!one_in(3)) {
      random->num_seeds = one_in(2) ? 1 : num_slots_;
      add_parameter("random.seeds", &random->seeds, 8, random->num_seeds, &Builder::fill_words);
    }
    if (!one_in(3)) {
      random->num_offsets = one_in(2) ? 1 : num_slots_;
      add_parameter("random.offsets", &random->offsets, 8, random->num_offsets,
                    &Builder::fill_words);
    }
    if (one_in(3)) {
      add_parameter("random.streams", &random->streams, 4, num_slots_, &Builder::fill_streams);
    }
  }

  // ---- Content ------------------------------------------------------------------------------

  unsigned char *row_of(size_t array, int64_t row) {
    const Array &a = call_.arrays_[array];
    return call_.memory_.data() + a.begin + size_t(row) * a.stride_bytes;
  }

  void fill_output(const Array &array) {
    unsigned char *begin = call_.memory_.data() + array.begin;
    std::fill_n(begin, size_t(array.num_rows) * array.stride_bytes, kOutputGap);
  }

  template <class T, class Make>
  void fill_each(const Fill &fill, const Make &make) {
    for (int64_t i = 0; i < call_.arrays_[fill.array].num_rows; ++i) {
      const T value = make();
      std::memcpy(row_of(fill.array, i), &value, sizeof value);
    }
  }

  // Of the values that scalars can have, and NaN.
  template <class Make>
  void fill_floats(const Fill &fill, const Make &make) {
    fill_each<uint32_t>(fill, [&] {
      const float value = make();
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      return content_.below(40) == 0 ? 0x7FC00000u : bits;
    });
  }

  void fill_temperatures(const Fill &fill) {
    fill_floats(fill, [this] { return random_temperature(&content_); });
  }
  void fill_top_ps(const Fill &fill) {
    fill_floats(fill, [this] { return random_top_p(&content_); });
  }
  void fill_min_ps(const Fill &fill) {
    fill_floats(fill, [this] { return random_min_p(&content_); });
  }
  void fill_top_ks(const Fill &fill) {
    fill_each<int32_t>(fill, [this] { return random_top_k(&content_); });
  }
  void fill_words(const Fill &fill) {
    fill_each<uint64_t>(fill, [this] { return content_.word(); });
  }
  void fill_streams(const Fill &fill) {
    fill_each<uint32_t>(fill, [this] { return uint32_t(content_.word()); });
  }
  // In [0, n), and now and then not.
  void fill_indices(const Fill &fill, int64_t n) {
    fill_each<int32_t>(fill, [&] {
      return content_.below(20) == 0 ? pick<int32_t>({-1, int32_t(n)}, &content_)
                                     : int32_t(content_.below(size_t(n)));
    });
  }
  void fill_row_indices(const Fill &fill) { fill_indices(fill, num_input_rows_); }
  void fill_slots(const Fill &fill) { fill_indices(fill, num_slots_); }
  void fill_draft_counts(const Fill &fill) {
    fill_each<int32_t>(fill,
                       [this] { return int32_t(content_.below(size_t(num_drafts_) + 3)) - 1; });
  }
  void fill_draft_token_ids(const Fill &fill) {
    const auto make = [this] {
      return content_.below(10) == 0
                 ? pick<int64_t>({-1, case_.num_cols, kMaxVocabulary}, &content_)
                 : int64_t(content_.below(size_t(case_.num_cols)));
    };
    if (call_.arrays_[fill.array].row_bytes == 8) {
      fill_each<int64_t>(fill, make);
    } else {
      fill_each<int32_t>(fill, [&] { return int32_t(make()); });
    }
  }

  void fill_rows(const Fill &fill) {
    const Array array = call_.arrays_[fill.array];
    const int64_t num_unique =
        std::clamp<int64_t>(kUniqueElements / case_.num_cols, 1, array.num_rows);
    for (int64_t row = 0; row < array.num_rows; ++row) {
      const int64_t from = int64_t(content_.below(size_t(num_unique)));
      if (row < num_unique) {
        fill_row(fill, row);
        if (fill.ids != SIZE_MAX) fill_ids(fill, row);
      } else {
        std::memcpy(row_of(fill.array, row), row_of(fill.array, from), array.row_bytes);
        if (fill.ids != SIZE_MAX) {
          std::memcpy(row_of(fill.ids, row), row_of(fill.ids, from),
                      call_.arrays_[fill.ids].row_bytes);
        }
      }
    }
    for (int64_t row = 0; row < array.num_rows; ++row) {
      if (fill.counts != SIZE_MAX) fill_count(fill, row);
      if (content_.below(16) == 0) spoil_row(fill, row);
    }
  }

  void fill_row(const Fill &fill, int64_t row) {
    const auto kind = RowKind(content_.below(size_t(RowKind::kNumKinds)));
    std::vector<float> values =
        oracle_test::make_logits(kind, size_t(case_.num_cols), fill.dtype, &content_);
    if (fill.kind == SAMPLER_PROBABILITIES) {
      const double scale = is_verify() || is_residual() ? 1.0 : pick({1.0, 0.01, 300.0}, &content_);
      values = oracle_test::make_probabilities(values, scale);
    }
    const oracle_test::TypedRow typed = oracle_test::to_type(values, fill.dtype);
    const void *bits = fill.dtype == SAMPLER_F32 ? static_cast<const void *>(typed.values.data())
                                                 : typed.halfs.data();
    std::memcpy(row_of(fill.array, row), bits, call_.arrays_[fill.array].row_bytes);
  }

  void put_id(const Fill &fill, int64_t row, size_t element, int64_t id) {
    const size_t size = size_of_id(candidate_id_type_);
    std::memcpy(row_of(fill.ids, row) + element * size, &id, size);  // little endian
  }

  // A random selection from twice as many ids as there are.
  void fill_ids(const Fill &fill, int64_t row) {
    std::vector<int32_t> ids(size_t(std::min(case_.num_cols * 2, kMaxVocabulary)));
    std::iota(ids.begin(), ids.end(), 0);
    for (size_t i = 0; i < size_t(case_.num_cols); ++i) {
      std::swap(ids[i], ids[i + content_.below(ids.size() - i)]);
      put_id(fill, row, i, ids[i]);
    }
  }

  void fill_count(const Fill &fill, int64_t row) {
    const int32_t n = int32_t(case_.num_cols);
    const int32_t count = content_.below(2) == 0 ? n : int32_t(content_.below(size_t(n) + 1));
    const int32_t bad = pick({-1, n + 1}, &content_);
    const int32_t value = content_.below(20) == 0 ? bad : count;
    std::memcpy(row_of(fill.counts, row), &value, sizeof value);
  }

  void spoil_row(const Fill &fill, int64_t row) {
    const size_t n = size_t(case_.num_cols), at = content_.below(n);
    if (fill.ids != SIZE_MAX && content_.below(2) == 0) {
      put_id(fill, row, at, pick<int64_t>({-1, kMaxVocabulary, 0}, &content_));
      return;
    }
    const uint32_t bits = bad_bits(fill.dtype, fill.kind, &content_);
    std::memcpy(row_of(fill.array, row) + at * size_of(fill.dtype), &bits, size_of(fill.dtype));
  }

  Call &call_;
  const Case case_;
  Structs &structs_;
  Random structure_, layout_, content_;
  sampler_dtype dtype_, draft_dtype_, output_dtype_;
  sampler_input_kind kind_, draft_kind_;
  sampler_id_type candidate_id_type_, token_id_type_;
  bool has_draft_, has_candidates_, has_counts_;
  int64_t num_drafts_, num_slots_ = 0, num_input_rows_ = 0;
  size_t end_ = 0;
  std::vector<Fill> fills_;
};

const char *name(Operation operation) {
  return kFunctions[operation].name;
}

std::string to_text(const Case &which) {
  char text[160];
  std::snprintf(text, sizeof text, "%s:%" PRId64 ":%" PRId64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64,
                name(which.operation), which.num_rows, which.num_cols, which.seed, which.content,
                which.layout);
  return text;
}

bool from_text(const std::string &text, Case *out) {
  char operation[32];
  if (std::sscanf(text.c_str(), "%31[^:]:%" SCNd64 ":%" SCNd64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64,
                  operation, &out->num_rows, &out->num_cols, &out->seed, &out->content,
                  &out->layout) < 4) {
    return false;
  }
  for (int i = 0; i < kNumOperations; ++i) {
    out->operation = Operation(i);
    if (std::strcmp(operation, name(out->operation)) == 0) {
      return out->num_rows > 0 && out->num_cols > 0 && out->num_cols < kMaxVocabulary;
    }
  }
  return false;
}

Call::Call(const Case &which) : case_(which), description_(to_text(which)) {
  Builder(this);
}

void Call::bind(const void *base, const void *parameters, Structs *out) const {
  *out = structs_;
  for (const Array &array : arrays_) {
    const void *memory = array.is_parameter ? parameters : base;
    const void *begin = static_cast<const unsigned char *>(memory) + array.begin;
    std::memcpy(reinterpret_cast<unsigned char *>(out) + array.pointer, &begin, sizeof begin);
  }
  const auto set_parameters = [&](auto *args) {
    args->params = &out->params;
    args->row_params = &out->row_params;
  };
  if (case_.operation == kSample) set_parameters(&out->args.sample);
  if (case_.operation == kFilter) set_parameters(&out->args.filter);
  if (case_.operation == kVerify) set_parameters(&out->args.verify);
}

size_t Call::workspace_bytes(sampler_t sampler) const {
  size_t bytes = 0;
  Structs structs;
  bind(memory_.data(), memory_.data(), &structs);
  const Function &function = kFunctions[case_.operation];
  if (function.workspace_size(sampler, structs, &bytes) != SAMPLER_OK) {
    fail("workspace_size of " + description_);
  }
  return bytes;
}

void Call::run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
               void *workspace, size_t workspace_bytes) const {
  Structs structs;
  bind(base, parameters, &structs);
  // All arguments begin with the size and `exec`.
  structs.args.sample.exec = {stream, workspace, workspace_bytes};
  if (kFunctions[case_.operation].run(sampler, structs) != SAMPLER_OK) fail(description_);
}

void Call::run(sampler_t cpu_sampler) {
  std::vector<unsigned char> workspace(workspace_bytes(cpu_sampler));
  run(cpu_sampler, memory_.data(), memory_.data(), nullptr,
      workspace.empty() ? nullptr : workspace.data(), workspace.size());
}

namespace {

const unsigned char *row_of(const Call &call, const Array &array, int64_t row) {
  return call.memory().data() + array.begin + size_t(row) * array.stride_bytes;
}

std::string hex(const unsigned char *bytes, size_t at, size_t end) {
  std::string text;
  char digits[4];
  for (size_t i = at / 8 * 8; i < std::min(at / 8 * 8 + 8, end); ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

std::optional<std::string> difference(const Call &expected, const Array &a, const Call &actual,
                                      const Array &b) {
  int64_t num_bad_rows = 0;
  std::string first;
  for (int64_t row = 0; row < a.num_rows; ++row) {
    const unsigned char *x = row_of(expected, a, row), *y = row_of(actual, b, row);
    if (std::memcmp(x, y, a.row_bytes) == 0) continue;
    if (num_bad_rows++ > 0) continue;
    const size_t at = size_t(std::mismatch(x, x + a.row_bytes, y).first - x);
    first = "row " + std::to_string(row) + " byte " + std::to_string(at) + " of " +
            std::to_string(a.row_bytes) + ": " + hex(y, at, a.row_bytes) + ", expected " +
            hex(x, at, a.row_bytes);
  }
  if (num_bad_rows == 0) return std::nullopt;
  return a.name + " differs in " + std::to_string(num_bad_rows) + " of " +
         std::to_string(a.num_rows) + " rows, first in " + first;
}

bool all_bytes_are(unsigned char value, const unsigned char *begin, const unsigned char *end) {
  return begin >= end ||
         (*begin == value && std::memcmp(begin, begin + 1, size_t(end - begin) - 1) == 0);
}

// What was written beside the arrays, and into the padding of their rows.
std::optional<std::string> overrun(const Call &call) {
  const unsigned char *begin = call.memory().data();
  const unsigned char *gap = begin;
  for (const Array &array : call.arrays()) {
    if (!all_bytes_are(kInputGap, gap, begin + array.begin)) {
      return "bytes before " + array.name + " were written";
    }
    gap = begin + array.begin + size_t(array.num_rows) * array.stride_bytes;
    const unsigned char fill = array.is_output ? kOutputGap : kInputGap;
    for (int64_t row = 0; row < array.num_rows && array.stride_bytes > array.row_bytes; ++row) {
      const unsigned char *at = row_of(call, array, row);
      if (!all_bytes_are(fill, at + array.row_bytes, at + array.stride_bytes)) {
        return "padding of row " + std::to_string(row) + " of " + array.name + " was written";
      }
    }
  }
  if (all_bytes_are(kInputGap, gap, begin + call.memory().size())) return std::nullopt;
  return "bytes after the last array were written";
}

}  // namespace

std::vector<std::string> differences(const Call &expected, const Call &actual) {
  std::vector<std::string> result;
  for (size_t i = 0; i < expected.arrays().size(); ++i) {
    const auto line = difference(expected, expected.arrays()[i], actual, actual.arrays()[i]);
    if (line) result.push_back(*line);
  }
  for (const Call *call : {&expected, &actual}) {
    const auto line = overrun(*call);
    if (line) result.push_back(*line);
  }
  return result;
}

}  // namespace test_support
