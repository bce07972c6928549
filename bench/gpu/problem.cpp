#include "problem.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "rows.h"

namespace gpu_check {

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

struct Operation {
  const char *name;
  size_t stream, workspace, workspace_bytes;  // offsets in the argument struct
  sampler_status (*call)(sampler_t, const void *);
};

#define OPERATION(name)                                                           \
  {                                                                               \
#name, offsetof(sampler_##name##_args, stream),                                 \
        offsetof(sampler_##name##_args, workspace),                                 \
        offsetof(sampler_##name##_args, workspace_bytes),                           \
        [](sampler_t sampler, const void *args) {                                   \
          return sampler_##name(sampler,                                            \
                                static_cast<const sampler_##name##_args *>(args));  \
        } \
  }

// By SAMPLER_OP_ number.
const Operation kOperations[kNumOperations] = {
    OPERATION(sample),     OPERATION(top_k),        OPERATION(top_p),
    OPERATION(min_p),      OPERATION(top_k_top_p),  OPERATION(argmax),
    OPERATION(softmax),    OPERATION(top_k_renorm), OPERATION(top_p_renorm),
    OPERATION(top_k_mask), OPERATION(top_k_select), OPERATION(chain_speculative),
    OPERATION(residual)};
#undef OPERATION

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what + ": " + sampler_last_error());
}

template <class T>
void put(std::vector<unsigned char> *bytes, size_t offset, const T &value) {
  std::memcpy(bytes->data() + offset, &value, sizeof value);
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

#define MEMBER(member)                 \
  template <class Args, class = void>  \
  constexpr bool has_##member = false; \
  template <class Args>                \
  constexpr bool has_##member<Args, std::void_t<decltype(std::declval<Args>().member)>> = true;
MEMBER(input)
MEMBER(row_stride)
MEMBER(input_dtype)
MEMBER(input_kind)
MEMBER(row_indices)
MEMBER(num_input_rows)
MEMBER(candidate_ids)
MEMBER(candidate_counts)
MEMBER(candidate_id_type)
MEMBER(token_id_type)
MEMBER(temperature)
MEMBER(temperatures)
MEMBER(top_k)
MEMBER(top_ks)
MEMBER(top_p)
MEMBER(top_ps)
MEMBER(min_p)
MEMBER(min_ps)
MEMBER(top_k_ties)
MEMBER(top_p_ties)
MEMBER(filter_order)
MEMBER(temperature_order)
MEMBER(draw_method)
MEMBER(logprob_kind)
MEMBER(seed)
MEMBER(num_selected)
MEMBER(num_drafts)
MEMBER(target)
MEMBER(output)
MEMBER(output_dtype)
MEMBER(output_stride)
MEMBER(out_token_ids)
MEMBER(out_kept_counts)
MEMBER(out_logprobs)
MEMBER(out_values)
MEMBER(out_counts)
MEMBER(out_accepted_counts)
MEMBER(accumulate_counts)
MEMBER(out_row_status)
#undef MEMBER

// Sets a member of args_ where the struct has it; the value is not computed where it has not.
#define SET(member, value)                                     \
  if constexpr (has_##member<Args>) {                          \
    args_.member = static_cast<decltype(args_.member)>(value); \
  }

// Adds the array that a member of args_ points to, where the struct has it.
#define ADD(member, ...)                               \
  if constexpr (has_##member<Args>) {                  \
    add(#member, offsetof(Args, member), __VA_ARGS__); \
  }

// Decides on the call, lays its arrays out, fills them.
template <class Args>
class Builder {
 public:
  Builder(Problem *problem, const Args &defaults)
      : problem_(*problem),
        case_(problem->case_),
        args_(defaults),
        structure_(case_.seed * 1000003 + uint64_t(case_.operation)),
        layout_(case_.layout * 1000033 + case_.seed),
        content_(case_.content * 1000037 + case_.seed) {
    decide();
    add_inputs();
    add_parameters();
    add_outputs();
    problem_.memory_.assign(end_ + kGapBytes, kInputGap);
    for (const Array &array : problem_.arrays_) {
      if (array.is_output) fill_output(array);
    }
    for (const auto &fill : fills_) (this->*fill.how)(fill);
    problem_.args_.resize(sizeof args_);
    std::memcpy(problem_.args_.data(), &args_, sizeof args_);
  }

 private:
  static constexpr bool kIsResidual = has_target<Args> && !has_num_drafts<Args>;

  // How an input array gets its content.
  struct Fill {
    void (Builder::*how)(const Fill &);
    size_t array, counts;  // indices of arrays; `counts` SIZE_MAX: none
    sampler_dtype dtype = SAMPLER_F32;
    sampler_input_kind kind = SAMPLER_LOGITS;
    size_t ids = SIZE_MAX;
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
    if (!has_logits_) return random->below(6) == 0 ? 0.0f : 1.0f;
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

  // ---- The struct but for its pointers ------------------------------------------------------

  void decide() {
    args_.num_rows = case_.num_rows;
    args_.num_cols = case_.num_cols;
    dtype_ = any<sampler_dtype>(3);
    draft_dtype_ = any<sampler_dtype>(3);
    if constexpr (has_input_kind<Args> || has_num_drafts<Args>) kind_ = any<sampler_input_kind>(2);
    draft_kind_ = one_in(3) ? any<sampler_input_kind>(2) : kind_;
    if constexpr (kIsResidual) kind_ = draft_kind_ = SAMPLER_PROBABILITIES;
    has_draft_ = !one_in(3);
    const int64_t cells = case_.num_rows * case_.num_cols;
    if constexpr (has_num_drafts<Args>) {
      args_.num_drafts = cells > (int64_t(1) << 24) ? 1 : int64_t(structure_.below(5));
      has_draft_ = has_draft_ && args_.num_drafts > 0;
      if (has_draft_ && draft_kind_ == SAMPLER_LOGITS) has_logits_ = true;
    }
    if (kind_ == SAMPLER_LOGITS) has_logits_ = true;
    has_candidates_ = one_in(4) && cells <= (int64_t(1) << 24) && has_candidate_id_type<Args>;
    SET(candidate_id_type, any<sampler_id_type>(2))
    SET(input_dtype, dtype_)
    SET(input_kind, kind_)
    SET(token_id_type, any<sampler_id_type>(2))
    SET(output_dtype, one_in(2) ? SAMPLER_F32 : dtype_)
    SET(top_k_ties, any<int>(2))
    SET(top_p_ties, any<int>(2))
    SET(filter_order, any<int>(3))
    SET(temperature_order, any<int>(2))
    SET(draw_method, one_in(3))
    SET(logprob_kind, any<int>(2))
    SET(accumulate_counts, one_in(4))
    SET(num_selected,
        std::min<int64_t>(case_.num_cols, pick<int64_t>({1, 2, 20, 50, 1000, 2049}, &structure_)))
    decide_parameters();
  }

  void decide_parameters() {
    SET(temperature, random_temperature(&structure_))
    const bool filters = has_logits_ || !has_target<Args>;
    if (filters) {
      SET(top_k, random_top_k(&structure_))
      SET(top_p, random_top_p(&structure_))
      SET(min_p, random_min_p(&structure_))
    }
    has_parameter_arrays_ = one_in(2);
    has_filter_arrays_ = has_parameter_arrays_ && filters;
    if constexpr (has_seed<Args>) {
      args_.seed = structure_.word();
      args_.offset = structure_.word();
    }
  }

  // ---- Arrays -------------------------------------------------------------------------------

  size_t add(const char *name, size_t pointer, bool is_output, size_t element, int64_t num_cols,
             int64_t stride, int64_t num_rows) {
    end_ = (end_ + kGapBytes + kAlignment - 1) / kAlignment * kAlignment;
    end_ += layout_.below(16) * element;  // aligned for its element type, not more
    problem_.arrays_.push_back({name, is_output, pointer, end_, size_t(num_cols) * element,
                                size_t(stride) * element, num_rows});
    end_ += size_t(num_rows) * size_t(stride) * element;
    return problem_.arrays_.size() - 1;
  }
  size_t add(const char *name, size_t pointer, bool is_output, size_t element, int64_t count) {
    return add(name, pointer, is_output, element, 1, 1, count);
  }
  // An input with one element a row, filled by `how`.
  void add(const char *name, size_t pointer, size_t element, int64_t count,
           void (Builder::*how)(const Fill &)) {
    fills_.push_back({how, add(name, pointer, false, element, count), SIZE_MAX});
  }

  int64_t random_stride() {
    const int64_t paddings[] = {0, 0, 1, 3, 5, 64};
    return case_.num_cols + paddings[layout_.below(6)];
  }

  // Rows, and where they are candidate lists, their ids and counts.
  int64_t add_rows(const char *name, size_t pointer, size_t ids_pointer, size_t counts_pointer,
                   sampler_dtype dtype, sampler_input_kind kind, int64_t num_rows) {
    const int64_t stride = random_stride();
    Fill fill = {&Builder::fill_rows, 0, SIZE_MAX, dtype, kind, SIZE_MAX};
    fill.array = add(name, pointer, false, size_of(dtype), case_.num_cols, stride, num_rows);
    if constexpr (has_candidate_id_type<Args>) {
      if (has_candidates_) {
        fill.ids = add("candidate_ids", ids_pointer, false, size_of_id(args_.candidate_id_type),
                       case_.num_cols, stride, num_rows);
        if (!one_in(4)) fill.counts = add("candidate_counts", counts_pointer, false, 4, num_rows);
      }
    }
    fills_.push_back(fill);
    return stride;
  }

  void add_inputs() {
    num_input_rows_ = case_.num_rows;
    if constexpr (has_row_indices<Args>) {
      if (one_in(3)) {
        num_input_rows_ = 1 + int64_t(structure_.below(size_t(case_.num_rows)));
        args_.num_input_rows = num_input_rows_;
        ADD(row_indices, 4, case_.num_rows, &Builder::fill_row_indices)
      }
    }
    if constexpr (has_input<Args>) {
      args_.row_stride = add_rows("input", offsetof(Args, input), offsetof(Args, candidate_ids),
                                  offsetof(Args, candidate_counts), dtype_, kind_, num_input_rows_);
    }
    if constexpr (has_num_drafts<Args>) add_chain_inputs();
    if constexpr (kIsResidual) add_residual_inputs();
  }

  void add_residual_inputs() {
    args_.target_dtype = dtype_;
    args_.target_row_stride =
        add_rows("target", offsetof(Args, target), 0, 0, dtype_, kind_, case_.num_rows);
    if (has_draft_) {
      args_.draft_dtype = draft_dtype_;
      args_.draft_row_stride =
          add_rows("draft", offsetof(Args, draft), 0, 0, draft_dtype_, draft_kind_, case_.num_rows);
    } else {
      add("draft_token_ids", offsetof(Args, draft_token_ids), size_of_id(args_.token_id_type),
          case_.num_rows, &Builder::fill_draft_token_ids);
    }
  }

  void add_chain_inputs() {
    const int64_t positions = args_.num_drafts + 1;
    args_.target_dtype = dtype_;
    args_.target_kind = kind_;
    args_.target_position_stride = add_rows(
        "target", offsetof(Args, target), offsetof(Args, target_candidate_ids),
        offsetof(Args, target_candidate_counts), dtype_, kind_, case_.num_rows * positions);
    args_.target_row_stride = positions * args_.target_position_stride;
    if (args_.num_drafts == 0) return;
    if (has_draft_) {
      args_.draft_dtype = draft_dtype_;
      args_.draft_kind = draft_kind_;
      args_.draft_position_stride =
          add_rows("draft", offsetof(Args, draft), offsetof(Args, draft_candidate_ids),
                   offsetof(Args, draft_candidate_counts), draft_dtype_, draft_kind_,
                   case_.num_rows * args_.num_drafts);
      args_.draft_row_stride = args_.num_drafts * args_.draft_position_stride;
    }
    add("draft_token_ids", offsetof(Args, draft_token_ids), size_of_id(args_.token_id_type),
        case_.num_rows * args_.num_drafts, &Builder::fill_draft_token_ids);
    if (one_in(2)) {
      add("draft_lengths", offsetof(Args, draft_lengths), 4, case_.num_rows,
          &Builder::fill_draft_lengths);
    }
  }

  void add_parameters() {
    const int64_t n = case_.num_rows;
    if (has_parameter_arrays_) ADD(temperatures, 4, n, &Builder::fill_temperatures)
    if (has_filter_arrays_) {
      ADD(top_ks, 4, n, &Builder::fill_top_ks)
      ADD(top_ps, 4, n, &Builder::fill_top_ps)
      ADD(min_ps, 4, n, &Builder::fill_min_ps)
    }
    if constexpr (has_seed<Args>) {
      if (!one_in(3)) {
        args_.num_seeds = one_in(2) ? 1 : n;
        add("seeds", offsetof(Args, seeds), 8, args_.num_seeds, &Builder::fill_words);
      }
      if (!one_in(3)) {
        args_.num_offsets = one_in(2) ? 1 : n;
        add("offsets", offsetof(Args, offsets), 8, args_.num_offsets, &Builder::fill_words);
      }
    }
  }

  void add_outputs() {
    const int64_t n = case_.num_rows;
    int64_t tokens = n;
    if constexpr (has_num_selected<Args>) tokens = n * args_.num_selected;
    if constexpr (has_num_drafts<Args>) tokens = n * (args_.num_drafts + 1);
    ADD(out_token_ids, true, size_of_id(args_.token_id_type), tokens)
    if constexpr (has_output<Args>) {
      args_.output_stride = random_stride();
      add("output", offsetof(Args, output), true, size_of(args_.output_dtype), case_.num_cols,
          args_.output_stride, n);
    }
    ADD(out_kept_counts, true, 4, n)
    ADD(out_logprobs, true, 4, n)
    if constexpr (has_num_selected<Args>) {
      ADD(out_values, true, size_of(args_.output_dtype), tokens)
    } else {
      ADD(out_values, true, 4, tokens)
    }
    ADD(out_counts, true, 4, n)
    if constexpr (has_out_accepted_counts<Args>) {
      add("out_accepted_counts", offsetof(Args, out_accepted_counts), true, 4, n);
      add("out_emitted_counts", offsetof(Args, out_emitted_counts), true, 4, n);
    }
    ADD(out_row_status, true, 4, n)
  }

  // ---- Content ------------------------------------------------------------------------------

  unsigned char *row_of(size_t array, int64_t row) {
    const Array &a = problem_.arrays_[array];
    return problem_.memory_.data() + a.begin + size_t(row) * a.stride_bytes;
  }

  void fill_output(const Array &array) {
    unsigned char *begin = problem_.memory_.data() + array.begin;
    std::fill_n(begin, size_t(array.num_rows) * array.stride_bytes, kOutputGap);
  }

  template <class T, class Make>
  void fill_each(const Fill &fill, const Make &make) {
    for (int64_t i = 0; i < problem_.arrays_[fill.array].num_rows; ++i) {
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
  void fill_row_indices(const Fill &fill) {
    fill_each<int32_t>(fill, [this] {
      const int32_t n = int32_t(num_input_rows_);
      return content_.below(20) == 0 ? pick<int32_t>({-1, n}, &content_)
                                     : int32_t(content_.below(size_t(n)));
    });
  }
  void fill_draft_lengths(const Fill &fill) {
    if constexpr (has_num_drafts<Args>) {
      fill_each<int32_t>(
          fill, [this] { return int32_t(content_.below(size_t(args_.num_drafts) + 3)) - 1; });
    }
  }
  void fill_draft_token_ids(const Fill &fill) {
    const auto make = [this] {
      return content_.below(10) == 0
                 ? pick<int64_t>({-1, case_.num_cols, kMaxVocabulary}, &content_)
                 : int64_t(content_.below(size_t(case_.num_cols)));
    };
    if (problem_.arrays_[fill.array].row_bytes == 8) {
      fill_each<int64_t>(fill, make);
    } else {
      fill_each<int32_t>(fill, [&] { return int32_t(make()); });
    }
  }

  void fill_rows(const Fill &fill) {
    const Array array = problem_.arrays_[fill.array];
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
                      problem_.arrays_[fill.ids].row_bytes);
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
      const double scale = has_target<Args> ? 1.0 : pick({1.0, 0.01, 300.0}, &content_);
      values = oracle_test::make_probabilities(values, scale);
    }
    const oracle_test::TypedRow typed = oracle_test::to_type(values, fill.dtype);
    const void *bits = fill.dtype == SAMPLER_F32 ? static_cast<const void *>(typed.values.data())
                                                 : typed.halfs.data();
    std::memcpy(row_of(fill.array, row), bits, problem_.arrays_[fill.array].row_bytes);
  }

  void put_id(const Fill &fill, int64_t row, size_t element, int64_t id) {
    if constexpr (has_candidate_id_type<Args>) {
      const size_t size = size_of_id(args_.candidate_id_type);
      std::memcpy(row_of(fill.ids, row) + element * size, &id, size);  // little endian
    }
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

  Problem &problem_;
  const Case case_;
  Args args_;
  Random structure_, layout_, content_;
  sampler_dtype dtype_ = SAMPLER_F32, draft_dtype_ = SAMPLER_F32;
  sampler_input_kind kind_ = SAMPLER_LOGITS, draft_kind_ = SAMPLER_LOGITS;
  bool has_logits_ = false, has_draft_ = false, has_candidates_ = false;
  bool has_parameter_arrays_ = false, has_filter_arrays_ = false;
  int64_t num_input_rows_ = 0;
  size_t end_ = 0;
  std::vector<Fill> fills_;
};
#undef SET
#undef ADD

const char *name(sampler_operation operation) {
  return kOperations[operation].name;
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
    out->operation = i;
    if (std::strcmp(operation, name(i)) == 0) {
      return out->num_rows > 0 && out->num_cols > 0 && out->num_cols < kMaxVocabulary;
    }
  }
  return false;
}

Problem::Problem(const Case &which) : case_(which), description_(to_text(which)) {
  switch (which.operation) {
#define BUILD(NAME, name)                                             \
  case SAMPLER_OP_##NAME:                                             \
    Builder<sampler_##name##_args>(this, SAMPLER_##NAME##_ARGS_INIT); \
    break;
    BUILD(SAMPLE, sample)
    BUILD(TOP_K, top_k)
    BUILD(TOP_P, top_p)
    BUILD(MIN_P, min_p)
    BUILD(TOP_K_TOP_P, top_k_top_p)
    BUILD(ARGMAX, argmax)
    BUILD(SOFTMAX, softmax)
    BUILD(TOP_K_RENORM, top_k_renorm)
    BUILD(TOP_P_RENORM, top_p_renorm)
    BUILD(TOP_K_MASK, top_k_mask)
    BUILD(TOP_K_SELECT, top_k_select)
    BUILD(CHAIN_SPECULATIVE, chain_speculative)
    BUILD(RESIDUAL, residual)
#undef BUILD
    default:
      throw std::logic_error("unknown operation");
  }
}

// Whether an array is one of those that a handle with host_parameters takes from the host.
bool is_parameters(const Array &array) {
  static constexpr const char *kNames[] = {"temperatures", "top_ks", "top_ps",
                                           "min_ps",       "seeds",  "offsets"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char *name) { return std::strcmp(array.name, name) == 0; });
}

std::vector<unsigned char> Problem::bound_args(const void *base, const void *parameters) const {
  std::vector<unsigned char> args = args_;
  for (const Array &array : arrays_) {
    const void *memory = is_parameters(array) ? parameters : base;
    put(&args, array.pointer, static_cast<const unsigned char *>(memory) + array.begin);
  }
  return args;
}

size_t Problem::workspace_bytes(sampler_t sampler) const {
  size_t bytes = 0;
  const std::vector<unsigned char> args = bound_args(memory_.data(), memory_.data());
  if (sampler_workspace_size(sampler, case_.operation, args.data(), &bytes) != SAMPLER_OK) {
    fail("sampler_workspace_size of " + description_);
  }
  return bytes;
}

void Problem::run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
                  void *workspace, size_t workspace_bytes) const {
  const Operation &operation = kOperations[case_.operation];
  std::vector<unsigned char> args = bound_args(base, parameters);
  put(&args, operation.stream, stream);
  put(&args, operation.workspace, workspace);
  put(&args, operation.workspace_bytes, workspace_bytes);
  if (operation.call(sampler, args.data()) != SAMPLER_OK) fail(description_);
}

void Problem::run(sampler_t cpu_sampler) {
  std::vector<unsigned char> workspace(workspace_bytes(cpu_sampler));
  run(cpu_sampler, memory_.data(), memory_.data(), nullptr,
      workspace.empty() ? nullptr : workspace.data(), workspace.size());
}

namespace {

const unsigned char *row_of(const Problem &problem, const Array &array, int64_t row) {
  return problem.memory().data() + array.begin + size_t(row) * array.stride_bytes;
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

std::optional<std::string> difference(const Problem &expected, const Array &a,
                                      const Problem &actual, const Array &b) {
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
  return std::string(a.name) + " differs in " + std::to_string(num_bad_rows) + " of " +
         std::to_string(a.num_rows) + " rows, first in " + first;
}

bool all_bytes_are(unsigned char value, const unsigned char *begin, const unsigned char *end) {
  return begin >= end ||
         (*begin == value && std::memcmp(begin, begin + 1, size_t(end - begin) - 1) == 0);
}

// What was written beside the arrays, and into the padding of their rows.
std::optional<std::string> overrun(const Problem &problem) {
  const unsigned char *begin = problem.memory().data();
  const unsigned char *gap = begin;
  for (const Array &array : problem.arrays()) {
    if (!all_bytes_are(kInputGap, gap, begin + array.begin)) {
      return std::string("bytes before ") + array.name + " were written";
    }
    gap = begin + array.begin + size_t(array.num_rows) * array.stride_bytes;
    const unsigned char fill = array.is_output ? kOutputGap : kInputGap;
    for (int64_t row = 0; row < array.num_rows && array.stride_bytes > array.row_bytes; ++row) {
      const unsigned char *at = row_of(problem, array, row);
      if (!all_bytes_are(fill, at + array.row_bytes, at + array.stride_bytes)) {
        return "padding of row " + std::to_string(row) + " of " + array.name + " was written";
      }
    }
  }
  if (all_bytes_are(kInputGap, gap, begin + problem.memory().size())) return std::nullopt;
  return "bytes behind the last array were written";
}

}  // namespace

std::vector<std::string> differences(const Problem &expected, const Problem &actual) {
  std::vector<std::string> result;
  for (size_t i = 0; i < expected.arrays().size(); ++i) {
    const auto line = difference(expected, expected.arrays()[i], actual, actual.arrays()[i]);
    if (line) result.push_back(*line);
  }
  for (const Problem *problem : {&expected, &actual}) {
    const auto line = overrun(*problem);
    if (line) result.push_back(*line);
  }
  return result;
}

}  // namespace gpu_check
