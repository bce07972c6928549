#include "call.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "oracle.h"

namespace test_support {

namespace {

using oracle_test::Random;
using oracle_test::RowKind;

constexpr size_t kGapBytes = 256;

// Logits are generated for at most this many elements; further rows repeat them.
constexpr int64_t kUniqueElements = 1 << 19;

constexpr int64_t kMaxVocabulary = 1 << 20;

size_t size_of(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}
size_t size_of_id(sampler_id_type type) {
  return type == SAMPLER_ID_I32 ? 4 : 8;
}

// Bits of elements that make a row bad, or have no probability.
enum Special : size_t { kNaN, kInfinity, kMinusInfinity, kMinusOne, kZero };
uint32_t special_bits(sampler_dtype dtype, size_t which) {
  constexpr uint32_t kF32[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0xBF800000, 0};
  constexpr uint32_t kF16[] = {0x7E00, 0x7C00, 0xFC00, 0xBC00, 0};
  if (dtype == SAMPLER_F16) return kF16[which];
  return dtype == SAMPLER_F32 ? kF32[which] : kF32[which] >> 16;
}

}  // namespace

// Chooses a call, lays out its arrays and fills them.
class Builder {
 public:
  explicit Builder(Call *call)
      : call_(*call),
        case_(call->case_),
        fixed_(call->fixed_),
        structs_(call->structs_),
        structure_(case_.seed * 1000003 + uint64_t(case_.operation)),
        layout_(case_.layout * 1000033 + case_.seed),
        content_(case_.content * 1000037 + case_.seed) {
    decide();
    structs_.reports.struct_size = sizeof structs_.reports;
    structs_.layout.struct_size = sizeof structs_.layout;
    visit_args(case_.operation, structs_, [&](auto &args) {
      args.struct_size = sizeof args;
      build(&args);
    });
    call_.memory_.assign(end_ + kGapBytes, kInputGap);
    for (const Array &array : call_.arrays_) {
      if (array.is_output) fill_output(array);
    }
    for (const auto &fill : fills_) (this->*fill.how)(fill);
  }

 private:
  // Content of an input array.
  struct Fill {
    void (Builder::*how)(const Fill &) = nullptr;
    size_t array = SIZE_MAX, ids = SIZE_MAX, counts = SIZE_MAX;  // indices; SIZE_MAX: none
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
    if (fixed_.temperature) return *fixed_.temperature;
    return pick({1.0f, 1.0f, 0.8f, 0.8f, 0.3f, 5.0f, 0.0f, 1e-5f, 2e-5f, 0x1p64f, 0.02f, -1.0f},
                random);
  }
  int32_t random_top_k(Random *random) {
    if (fixed_.top_k) return *fixed_.top_k;
    constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
    const int32_t n = int32_t(case_.num_cols);
    return pick<int32_t>(
        {0, 0, 1, 2, 20, 50, 50, 300, 1000, 2048, n / 2, n - 1, n, n + 1, -3, kLargest}, random);
  }
  float random_top_p(Random *random) {
    if (fixed_.top_p) return *fixed_.top_p;
    return pick({1.0f, 0.9f, 0.9f, 0.95f, 0.5f, 0.1f, 0.0f, 1e-7f, 1.0f - 0x1p-24f, -1.0f}, random);
  }
  float random_min_p(Random *random) {
    return pick({0.0f, 0.0f, 0.05f, 0.05f, 0.5f, 1.0f, 2.0f, -1.0f}, random);
  }

  // ---- Common to all calls -------------------------------------------------------------------

  bool is_verify() const { return case_.operation == kVerify; }
  bool is_residual() const { return case_.operation == kResidual; }

  void decide() {
    dtype_ = fixed_.dtype.value_or(any<sampler_dtype>(3));
    draft_dtype_ = fixed_.dtype.value_or(any<sampler_dtype>(3));
    kind_ = is_residual() ? SAMPLER_PROBABILITIES : any<sampler_input_kind>(2);
    draft_kind_ = one_in(3) && !is_residual() ? any<sampler_input_kind>(2) : kind_;
    const int64_t cells = case_.num_rows * case_.num_cols;
    num_drafts_ = is_residual() ? 1 : cells > (int64_t(1) << 24) ? 1 : any<int64_t>(5);
    has_draft_ = !one_in(3) && num_drafts_ > 0;
    decide_lists();
    candidate_id_type_ = any<sampler_id_type>(2);
    token_id_type_ = any<sampler_id_type>(2);
    output_dtype_ = one_in(2) ? SAMPLER_F32 : dtype_;
  }

  // Decides whether rows are candidate lists, and whether their lengths differ.
  void decide_lists() {
    const bool may_have = !is_residual() && !fixed_.by_row;
    const bool is_large = case_.num_rows * case_.num_cols > (int64_t(1) << 24);
    has_candidates_ = one_in(4) && may_have && !is_large;
    has_counts_ = has_candidates_ ? !one_in(4) : one_in(5) && may_have && !fixed_.row_kind;
  }

  // ---- The calls ----------------------------------------------------------------------------

  void build(sampler_sample_args *args) {
    const int64_t n = case_.num_rows;
    num_input_rows_ = n;
    if (one_in(3) && !fixed_.by_row) {
      num_input_rows_ = 1 + int64_t(structure_.below(size_t(n)));
      args->num_row_indices = n;
      add_input("row_indices", &args->row_indices, 4, n, &Builder::fill_row_indices);
    }
    add_rows("input", &args->input, dtype_, kind_, num_input_rows_);
    add_slots(&args->slots, &args->num_slots);
    add_parameters(true);
    add_random(&args->random);
    args->draw_method = one_in(3);
    structs_.reports.logprob_kind = any<int>(2);
    args->token_id_type = token_id_type_;
    add_output("out_token_ids", &args->out_token_ids, size_of_id(token_id_type_), n);
    add_output("out_kept_counts", &structs_.reports.out_kept_counts, 4, n);
    add_output("out_logprobs", &structs_.reports.out_logprobs, 4, n);
    add_output("out_values", &structs_.reports.out_values, 4, n);
    add_output("out_row_status", &args->out_row_status, 4, n);
  }

  void build(sampler_filter_args *args) {
    add_rows("input", &args->input, dtype_, kind_, case_.num_rows);
    add_slots(&args->slots, &args->num_slots);
    add_parameters(true);
    if (kind_ == SAMPLER_LOGITS) args->output_kind = any<int>(2);
    args->output_dtype = output_dtype_;
    args->output_stride = add_output_rows(&args->output);
    add_output("out_kept_counts", &args->out_kept_counts, 4, case_.num_rows);
    add_output("out_row_status", &args->out_row_status, 4, case_.num_rows);
  }

  void build(sampler_select_args *args) {
    add_rows("input", &args->input, dtype_, kind_, case_.num_rows);
    const int64_t most = std::min<int64_t>(case_.num_cols, 4500);
    args->num_selected =
        std::min<int64_t>(most, pick<int64_t>({1, 2, 20, 50, 1000, 2048, 2049, most}, &structure_));
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

  void build(sampler_verify_args *args) {
    const int64_t n = case_.num_rows, positions = num_drafts_ + 1;
    args->num_drafts = num_drafts_;
    target_ = add_rows("target", &args->target, dtype_, kind_, n * positions);
    structs_.layout.target_sequence_stride = sequence_stride(args->target, positions);
    if (has_draft_) {
      if (one_in(3)) decide_lists();  // else as the target's
      draft_ = add_rows("draft", &args->draft, draft_dtype_, draft_kind_, n * num_drafts_);
      structs_.layout.draft_sequence_stride = sequence_stride(args->draft, num_drafts_);
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

  void build(sampler_residual_args *args) {
    target_ = add_rows("target", &args->target, dtype_, kind_, case_.num_rows);
    args->token_id_type = token_id_type_;
    if (has_draft_) {
      draft_ = add_rows("draft", &args->draft, draft_dtype_, draft_kind_, case_.num_rows);
    } else {
      add_input("draft_token_ids", &args->draft_token_ids, size_of_id(token_id_type_),
                case_.num_rows, &Builder::fill_draft_token_ids);
    }
    args->output_dtype = output_dtype_;
    args->output_stride = add_output_rows(&args->output);
    add_output("out_row_status", &args->out_row_status, 4, case_.num_rows);
  }

  // ---- Arrays -------------------------------------------------------------------------------

  // `pointer`: the member of structs_ that will point to the array.
  Array *add(const std::string &name, const void *pointer, size_t element, int64_t num_cols,
             int64_t stride, int64_t num_rows) {
    end_ = (end_ + kGapBytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
    end_ += layout_.below(16) * element;  // aligned for its element type, not more
    const size_t offset = size_t(static_cast<const unsigned char *>(pointer) -
                                 reinterpret_cast<const unsigned char *>(&structs_));
    call_.arrays_.push_back({name, false, false, offset, end_, size_t(num_cols) * element,
                             size_t(stride) * element, num_rows});
    end_ += size_t(num_rows) * size_t(stride) * element;
    return &call_.arrays_.back();
  }

  size_t last_array() const { return call_.arrays_.size() - 1; }

  // An input with one element per row, filled by `how`.
  Array *add_input(const std::string &name, const void *pointer, size_t element, int64_t count,
                   void (Builder::*how)(const Fill &)) {
    Array *array = add(name, pointer, element, 1, 1, count);
    fills_.push_back({how, last_array()});
    return array;
  }

  // An input that a handle may take from the host.
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

  // Returns the stride of the rows.
  int64_t add_output_rows(const void *pointer) {
    const int64_t stride = random_stride();
    add("output", pointer, size_of(output_dtype_), case_.num_cols, stride, case_.num_rows)
        ->is_output = true;
    return stride;
  }

  // Adds rows; for candidate lists also ids; for ragged rows also lengths.
  Fill add_rows(const std::string &name, sampler_rows *rows, sampler_dtype dtype,
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
    return fill;
  }

  // Rows are contiguous: their stride, or 0, which means the same.
  int64_t sequence_stride(const sampler_rows &rows, int64_t positions) {
    return layout_.below(2) == 0 ? 0 : positions * rows.row_stride;
  }

  void add_slots(const int32_t *const *slots, int64_t *num_slots) {
    num_slots_ = case_.num_rows;
    if (!one_in(3) || fixed_.by_row) return;
    num_slots_ = 1 + int64_t(structure_.below(size_t(2 * case_.num_rows)));
    *num_slots = num_slots_;
    add_input("slots", slots, 4, case_.num_rows, &Builder::fill_slots);
  }

  // Sets mostly some of the filters, as one value or by slot. Without `has_filters`, filters set by
  // slot make rows bad.
  void add_parameters(bool has_filters) {
    sampler_params &params = structs_.params = sampler_params_default();
    sampler_row_params &arrays = structs_.row_params = {};
    arrays.struct_size = sizeof arrays;
    const bool by_slot = one_in(2) || fixed_.by_row;
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
    params.top_p_sum = params.top_p_ties ^ params.top_k_ties;
    const bool may_have = has_filters || (by_slot && one_in(4));
    const int filters = may_have ? any<int>(8) | any<int>(8) : 0;
    if ((filters & 1) || (has_filters && fixed_.top_k)) {
      params.top_k = random_top_k(&structure_);
      add_one("row_params.top_k", &arrays.top_k, &Builder::fill_top_ks);
    }
    if ((filters & 2) || (has_filters && fixed_.top_p)) {
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
    if (!one_in(3) || fixed_.by_row) {
      random->num_seeds = one_in(2) && !fixed_.by_row ? 1 : num_slots_;
      add_parameter("random.seeds", &random->seeds, 8, random->num_seeds, &Builder::fill_words);
    }
    if (!one_in(3) || fixed_.by_row) {
      random->num_offsets = one_in(2) && !fixed_.by_row ? 1 : num_slots_;
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

  // Values valid for scalars, and NaN.
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
  // In [0, n), sometimes outside.
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
  // Drafts that may be accepted: mostly the likeliest of the drafter or the target.
  void fill_draft_token_ids(const Fill &fill) {
    const int64_t first_no_column = fixed_.by_row ? -1 : case_.num_cols;
    int64_t row = 0;
    const auto make = [&]() -> int64_t {
      const int64_t draft_row = row++;
      const size_t choice = content_.below(10);
      if (choice == 0) return pick<int64_t>({-1, kMaxVocabulary, first_no_column}, &content_);
      if (choice < 4) return int64_t(content_.below(size_t(case_.num_cols)));
      if (choice < 7 && has_draft_) return likeliest(draft_, draft_row);
      return likeliest(target_, target_row(draft_row));
    };
    if (call_.arrays_[fill.array].row_bytes == 8) {
      fill_each<int64_t>(fill, make);
    } else {
      fill_each<int32_t>(fill, [&] { return int32_t(make()); });
    }
  }

  // The position of a draft's row among the target's rows.
  int64_t target_row(int64_t draft_row) const {
    const int64_t positions = is_verify() ? num_drafts_ + 1 : 1;
    return draft_row / num_drafts_ * positions + draft_row % num_drafts_;
  }

  int64_t likeliest(const Fill &fill, int64_t row) {
    int64_t best = 0;
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < case_.num_cols; ++i) {
      const float value = value_of(row_of(fill.array, row), fill.dtype, i);
      if (value > most) best = i, most = value;
    }
    if (fill.ids == SIZE_MAX) return best;
    int64_t id = 0;
    const size_t size = size_of_id(candidate_id_type_);
    std::memcpy(&id, row_of(fill.ids, row) + size_t(best) * size, size);  // little endian
    return id;
  }

  void copy_row(const Fill &from, int64_t from_row, const Fill &fill, int64_t row) {
    const auto copy = [&](size_t from_array, size_t array) {
      std::memcpy(row_of(array, row), row_of(from_array, from_row), call_.arrays_[array].row_bytes);
    };
    copy(from.array, fill.array);
    if (fill.ids != SIZE_MAX) copy(from.ids, fill.ids);
  }

  // Sometimes a row repeats an earlier one, or the drafter's row is the target's.
  void fill_rows(const Fill &fill) {
    const Array array = call_.arrays_[fill.array];
    const bool is_draft = has_draft_ && fill.array == draft_.array;
    const bool may_copy = is_draft && draft_dtype_ == dtype_ && draft_kind_ == kind_ &&
                          (fill.ids == SIZE_MAX) == (target_.ids == SIZE_MAX);
    const int64_t num_unique =
        std::clamp<int64_t>(kUniqueElements / case_.num_cols, 1, array.num_rows);
    for (int64_t row = 0; row < array.num_rows; ++row) {
      const int64_t from = int64_t(content_.below(size_t(std::min(row + 1, num_unique))));
      if (row >= num_unique || (from < row && content_.below(6) == 0)) {
        copy_row(fill, from, fill, row);
      } else if (may_copy && content_.below(4) == 0) {
        copy_row(target_, target_row(row), fill, row);
      } else {
        fill_row(fill, row);
        if (fill.ids != SIZE_MAX) fill_ids(fill, row);
      }
    }
    for (int64_t row = 0; row < array.num_rows; ++row) {
      if (fill.counts != SIZE_MAX) fill_count(fill, row);
      if (content_.below(16) == 0 && !fixed_.row_kind) spoil_row(fill, row);
    }
  }

  void fill_row(const Fill &fill, int64_t row) {
    const auto drawn = RowKind(content_.below(size_t(RowKind::kNumKinds)));
    const RowKind kind = fixed_.row_kind.value_or(drawn);
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

  // A random selection from twice as many ids as needed.
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
    const int32_t value = content_.below(20) == 0 && !fixed_.row_kind ? bad : count;
    std::memcpy(row_of(fill.counts, row), &value, sizeof value);
  }

  void spoil_row(const Fill &fill, int64_t row) {
    const size_t n = size_t(case_.num_cols), at = content_.below(n);
    if (fill.ids != SIZE_MAX && content_.below(2) == 0) {
      put_id(fill, row, at, pick<int64_t>({-1, kMaxVocabulary, 0}, &content_));
      return;
    }
    const bool is_logits = fill.kind == SAMPLER_LOGITS;
    const bool is_empty = content_.below(4) == 0;
    const size_t drawn = content_.below(is_logits ? kMinusOne : kZero);
    const size_t impossible = is_logits ? kMinusInfinity : kZero;
    const uint32_t bits = special_bits(fill.dtype, is_empty ? impossible : drawn);
    for (size_t i = is_empty ? 0 : at; i < (is_empty ? n : at + 1); ++i) {
      std::memcpy(row_of(fill.array, row) + i * size_of(fill.dtype), &bits, size_of(fill.dtype));
    }
  }

  Call &call_;
  const Case case_;
  const Fixed fixed_;
  Structs &structs_;
  Random structure_, layout_, content_;
  sampler_dtype dtype_, draft_dtype_, output_dtype_;
  sampler_input_kind kind_, draft_kind_;
  sampler_id_type candidate_id_type_, token_id_type_;
  bool has_draft_, has_candidates_, has_counts_;
  int64_t num_drafts_, num_slots_ = 0, num_input_rows_ = 0;
  size_t end_ = 0;
  std::vector<Fill> fills_;
  Fill target_, draft_;
};

float value_of(const void *values, sampler_dtype dtype, int64_t element) {
  const unsigned char *bytes = static_cast<const unsigned char *>(values);
  uint32_t bits = 0;
  std::memcpy(&bits, bytes + size_t(element) * size_of(dtype), size_of(dtype));  // little endian
  if (dtype == SAMPLER_F16) return oracle::f16_to_f32(uint16_t(bits));
  if (dtype == SAMPLER_BF16) return oracle::bf16_to_f32(uint16_t(bits));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

const char *name(Operation operation) {
  const char *const names[kNumOperations] = {"sample", "filter", "select", "verify", "residual"};
  return names[operation];
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

Call::Call(const Case &which, const Fixed &fixed)
    : case_(which), fixed_(fixed), description_(to_text(which)) {
  Builder(this);
}

void Call::bind(const Address &address, Structs *out) const {
  *out = structs_;
  for (const Array &array : arrays_) {
    const void *begin = address(array);
    std::memcpy(reinterpret_cast<unsigned char *>(out) + array.pointer, &begin, sizeof begin);
  }
  const auto set_parameters = [&](auto *args) {
    args->params = &out->params;
    args->row_params = &out->row_params;
  };
  if (case_.operation == kSample) set_parameters(&out->args.sample);
  if (case_.operation == kSample) out->args.sample.reports = &out->reports;
  if (case_.operation == kVerify) out->args.verify.layout = &out->layout;
  if (case_.operation == kFilter) set_parameters(&out->args.filter);
  if (case_.operation == kVerify) set_parameters(&out->args.verify);
}

}  // namespace test_support
