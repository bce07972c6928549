#include "run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>

#include "oracle.h"

namespace invariance_test {
namespace {

std::size_t to_size(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::size_t element_size(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}
std::size_t id_size(sampler_id_type type) {
  return type == SAMPLER_ID_I32 ? 4 : 8;
}

// Bits of a value that the type holds exactly, or that is the bit pattern of a NaN in it.
std::uint32_t bits_of(float value, sampler_dtype dtype) {
  if (dtype == SAMPLER_F16) return oracle::f32_to_f16(value);
  if (dtype == SAMPLER_BF16) return oracle::f32_to_bf16(value);
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Elements of a run-time size in memory of any alignment, with guards before and behind.
class Array {
 public:
  Array() = default;
  Array(std::size_t count, std::size_t element_size, const Setting &setting)
      : Array(count * element_size, element_size * setting.misalignment, setting.fill,
              element_size) {}
  Array(std::size_t bytes, std::size_t misalignment, unsigned char fill, std::size_t element_size)
      : element_size_(element_size), bytes_(bytes), memory_(bytes + misalignment + 3 * kAlignment) {
    std::fill(memory_.begin(), memory_.end(), kGuard);
    const std::size_t begin = reinterpret_cast<std::uintptr_t>(memory_.data()) % kAlignment;
    begin_ = 2 * kAlignment - begin + misalignment;
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes, fill);
  }

  void *data() { return memory_.empty() ? nullptr : memory_.data() + begin_; }
  std::size_t size() const { return bytes_ / element_size_; }
  std::size_t bytes() const { return bytes_; }

  void set(std::size_t i, std::uint64_t bits) {
    std::memcpy(memory_.data() + begin_ + i * element_size_, &bits,
                element_size_);  // little endian
  }
  std::uint64_t get(std::size_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, memory_.data() + begin_ + i * element_size_, element_size_);
    return bits;
  }

  bool are_guards_intact() const {
    const auto is_guard = [](unsigned char byte) { return byte == kGuard; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(memory_.begin(), begin, is_guard) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), is_guard);
  }

  friend bool operator==(const Array &a, const Array &b) { return a.memory_ == b.memory_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr unsigned char kGuard = 0xC3;
  std::size_t element_size_ = 1, bytes_ = 0, begin_ = 0;
  std::vector<unsigned char> memory_;
};

// Rows, or positions of rows, in the library's layout.
struct Matrix {
  Array values, ids, counts;
  std::int64_t stride = 0, row_stride = 0;

  Matrix() = default;
  // `rows[i]` has num_positions entries.
  Matrix(const std::vector<const std::vector<Values> *> &rows, std::int64_t num_positions,
         const Problem &problem, sampler_dtype dtype, const Setting &setting) {
    stride = problem.num_cols + setting.padding;
    row_stride = stride * num_positions + setting.padding;
    const std::size_t num_elements = to_size(row_stride) * rows.size();
    const std::size_t num_lists = to_size(num_positions) * rows.size();
    values = Array(num_elements, element_size(dtype), setting);
    for (std::size_t i = 0; i < num_elements; ++i) {
      values.set(i, bits_of(std::numeric_limits<float>::quiet_NaN(), dtype));
    }
    if (problem.has_candidates) {
      ids = Array(num_elements, id_size(setting.candidate_id_type), setting);
      counts = Array(num_lists, sizeof(std::int32_t), setting);
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t i = 0; i < rows[row]->size(); ++i) {
        store((*rows[row])[i], to_size(row_stride) * row + to_size(stride) * i,
              to_size(num_positions) * row + i, dtype);
      }
    }
  }

 private:
  void store(const Values &row, std::size_t first, std::size_t list, sampler_dtype dtype) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      values.set(first + i, bits_of(row.values[i], dtype));
      if (!row.ids.empty()) ids.set(first + i, static_cast<std::uint64_t>(row.ids[i]));
    }
    if (counts.size() != 0) counts.set(list, row.values.size());
  }
};

// SETTER(x) defines set_x(args, value): sets args->x and returns true, where the struct has an x.
#define SETTER(member)                                                          \
  template <class Args, class T>                                                \
  auto set_##member(Args *args, T value, int)->decltype(args->member, bool()) { \
    args->member = static_cast<decltype(args->member)>(value);                  \
    return true;                                                                \
  }                                                                             \
  template <class Args, class T>                                                \
  bool set_##member(Args *, T, long) {                                          \
    return false;                                                               \
  }
SETTER(input)
SETTER(row_stride)
SETTER(input_dtype)
SETTER(input_kind)
SETTER(candidate_ids)
SETTER(candidate_counts)
SETTER(candidate_id_type)
SETTER(row_indices)
SETTER(num_input_rows)
SETTER(target)
SETTER(target_row_stride)
SETTER(target_position_stride)
SETTER(target_dtype)
SETTER(target_kind)
SETTER(target_candidate_ids)
SETTER(target_candidate_counts)
SETTER(draft)
SETTER(draft_row_stride)
SETTER(draft_position_stride)
SETTER(draft_dtype)
SETTER(draft_kind)
SETTER(draft_candidate_ids)
SETTER(draft_candidate_counts)
SETTER(draft_token_ids)
SETTER(draft_lengths)
SETTER(num_drafts)
SETTER(temperature)
SETTER(top_k)
SETTER(top_p)
SETTER(min_p)
SETTER(temperatures)
SETTER(top_ks)
SETTER(top_ps)
SETTER(min_ps)
SETTER(top_k_ties)
SETTER(top_p_ties)
SETTER(filter_order)
SETTER(temperature_order)
SETTER(draw_method)
SETTER(logprob_kind)
SETTER(seed)
SETTER(offset)
SETTER(seeds)
SETTER(offsets)
SETTER(num_seeds)
SETTER(num_offsets)
SETTER(num_selected)
SETTER(token_id_type)
SETTER(output_dtype)
SETTER(output_stride)
SETTER(output)
SETTER(out_token_ids)
SETTER(out_kept_counts)
SETTER(out_logprobs)
SETTER(out_values)
SETTER(out_counts)
SETTER(out_accepted_counts)
SETTER(out_emitted_counts)
SETTER(out_row_status)
#undef SETTER

// One call: its arrays, and the way from the problem to the argument struct and back.
class Call {
 public:
  Call(const Problem &problem, const Setting &setting)
      : problem_(problem), setting_(setting), num_rows_(problem.rows.size()) {
    store_rows();
    store_parameters();
    make_outputs();
  }

  template <class Args>
  Results run(sampler_t sampler, Args args, sampler_status (*operation)(sampler_t, const Args *)) {
    args.num_rows = static_cast<std::int64_t>(num_rows_);
    args.num_cols = problem_.num_cols;
    set_candidate_id_type(&args, setting_.candidate_id_type, 0);
    set_inputs(&args);
    set_chain_inputs(&args);
    set_parameters(&args);
    set_randomness(&args);
    set_outputs(&args);

    std::size_t bytes = 0;
    EXPECT_EQ(sampler_workspace_size(sampler, problem_.operation, &args, &bytes), SAMPLER_OK)
        << sampler_last_error();
    Array workspace(bytes, setting_.workspace_misalignment, setting_.fill, 1);
    args.workspace = workspace.data();
    args.workspace_bytes = workspace.bytes();
    invoke(sampler, args, operation);
    EXPECT_TRUE(workspace.are_guards_intact());
    return results();
  }

 private:
  void store_rows() {
    std::vector<const std::vector<Values> *> targets, drafts;
    for (const RowInput &row : problem_.rows) {
      targets.push_back(&row.target);
      drafts.push_back(&row.draft);
    }
    if (setting_.has_row_indices && problem_.operation != SAMPLER_OP_CHAIN_SPECULATIVE) {
      std::vector<const std::vector<Values> *> stored;
      std::vector<std::size_t> places;
      for (const auto *row : targets) {
        const auto same = [&](const auto *other) { return *other == *row; };
        places.push_back(
            to_size(std::find_if(stored.begin(), stored.end(), same) - stored.begin()));
        if (places.back() == stored.size()) stored.push_back(row);
      }
      std::reverse(stored.begin(), stored.end());
      row_indices_ = Array(num_rows_, sizeof(std::int32_t), setting_);
      for (std::size_t i = 0; i < num_rows_; ++i)
        row_indices_.set(i, stored.size() - 1 - places[i]);
      num_stored_rows_ = stored.size();
      shared_ = Matrix(stored, 1, problem_, problem_.dtype, setting_);
    }
    target_ = Matrix(targets, num_positions(problem_), problem_, problem_.dtype, setting_);
    has_draft_ = !problem_.rows.empty() && !problem_.rows[0].draft.empty();
    if (has_draft_) {
      draft_ = Matrix(drafts, problem_.num_drafts, problem_, problem_.draft_dtype, setting_);
    }
  }

  template <class T, class Get>
  Array per_row(const Get &get) const {
    Array array(num_rows_, sizeof(T), setting_);
    for (std::size_t i = 0; i < num_rows_; ++i) {
      const T value = get(problem_.rows[i]);
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      array.set(i, bits);
    }
    return array;
  }

  void store_parameters() {
    temperatures_ = per_row<float>([](const RowInput &row) { return row.temperature; });
    top_ks_ = per_row<std::int32_t>([](const RowInput &row) { return row.top_k; });
    top_ps_ = per_row<float>([](const RowInput &row) { return row.top_p; });
    min_ps_ = per_row<float>([](const RowInput &row) { return row.min_p; });
    seeds_ = per_row<std::uint64_t>([](const RowInput &row) { return row.seed; });
    offsets_ = per_row<std::uint64_t>([](const RowInput &row) { return row.offset; });
    draft_lengths_ = per_row<std::int32_t>([](const RowInput &row) { return row.draft_length; });
    draft_ids_ =
        Array(num_rows_ * to_size(problem_.num_drafts), id_size(setting_.token_id_type), setting_);
    for (std::size_t i = 0; i < draft_ids_.size(); ++i) {
      const std::size_t n = to_size(problem_.num_drafts);
      draft_ids_.set(i, static_cast<std::uint64_t>(problem_.rows[i / n].draft_ids[i % n]));
    }
  }

  std::size_t tokens_per_row() const {
    if (problem_.operation == SAMPLER_OP_TOP_K_SELECT) return to_size(problem_.num_selected);
    return to_size(num_positions(problem_));
  }

  void make_outputs() {
    const bool select = problem_.operation == SAMPLER_OP_TOP_K_SELECT;
    output_stride_ = problem_.num_cols + setting_.padding;
    tokens_ = Array(num_rows_ * tokens_per_row(), id_size(setting_.token_id_type), setting_);
    values_ = Array(num_rows_ * (select ? tokens_per_row() : 1),
                    select ? element_size(problem_.output_dtype) : sizeof(float), setting_);
    output_ =
        Array(num_rows_ * to_size(output_stride_), element_size(problem_.output_dtype), setting_);
    kept_counts_ = counts_ = accepted_ = emitted_ = logprobs_ = status_ =
        Array(num_rows_, 4, setting_);
  }

  template <class Args>
  void set_inputs(Args *args) {
    const bool shared = setting_.has_row_indices && set_row_indices(args, row_indices_.data(), 0);
    if (shared) set_num_input_rows(args, num_stored_rows_, 0);
    Matrix &rows = shared ? shared_ : target_;
    set_input(args, rows.values.data(), 0);
    set_row_stride(args, rows.row_stride, 0);
    set_input_dtype(args, problem_.dtype, 0);
    set_input_kind(args, problem_.kind, 0);
    set_candidate_ids(args, rows.ids.data(), 0);
    set_candidate_counts(args, rows.counts.data(), 0);
  }

  template <class Args>
  void set_chain_inputs(Args *args) {
    set_num_drafts(args, problem_.num_drafts, 0);
    set_target(args, target_.values.data(), 0);
    set_target_row_stride(args, target_.row_stride, 0);
    set_target_position_stride(args, target_.stride, 0);
    set_target_dtype(args, problem_.dtype, 0);
    set_target_kind(args, problem_.kind, 0);
    set_target_candidate_ids(args, target_.ids.data(), 0);
    set_target_candidate_counts(args, target_.counts.data(), 0);
    set_draft_lengths(args, draft_lengths_.data(), 0);
    // A residual takes either the drafter's tokens or its rows.
    const bool has_tokens = problem_.operation != SAMPLER_OP_RESIDUAL || !has_draft_;
    if (has_tokens) set_draft_token_ids(args, draft_ids_.data(), 0);
    if (!has_draft_) return;
    set_draft(args, draft_.values.data(), 0);
    set_draft_row_stride(args, draft_.row_stride, 0);
    set_draft_position_stride(args, draft_.stride, 0);
    set_draft_dtype(args, problem_.draft_dtype, 0);
    set_draft_kind(args, problem_.draft_kind, 0);
    set_draft_candidate_ids(args, draft_.ids.data(), 0);
    set_draft_candidate_counts(args, draft_.counts.data(), 0);
  }

  template <class Args>
  void set_parameters(Args *args) {
    const bool filters = takes_filters(problem_);
    if (setting_.has_scalar_parameters) {
      const RowInput &row = problem_.rows.at(0);
      set_temperature(args, row.temperature, 0);
      if (filters) {
        set_top_k(args, row.top_k, 0);
        set_top_p(args, row.top_p, 0);
        set_min_p(args, row.min_p, 0);
      }
      // top_k_select has no scalar: num_selected is one.
      if (problem_.operation == SAMPLER_OP_TOP_K_SELECT) set_top_ks(args, top_ks_.data(), 0);
    } else {
      set_temperatures(args, temperatures_.data(), 0);
      if (filters) {
        set_top_ks(args, top_ks_.data(), 0);
        set_top_ps(args, top_ps_.data(), 0);
        set_min_ps(args, min_ps_.data(), 0);
      }
    }
    set_top_k_ties(args, problem_.top_k_ties, 0);
    set_top_p_ties(args, problem_.top_p_ties, 0);
    set_filter_order(args, problem_.filter_order, 0);
    set_temperature_order(args, problem_.temperature_order, 0);
    set_draw_method(args, problem_.draw_method, 0);
    set_logprob_kind(args, problem_.logprob_kind, 0);
    set_num_selected(args, problem_.num_selected, 0);
  }

  template <class Args>
  void set_randomness(Args *args) {
    const auto count = [&](bool scalar) { return scalar ? std::size_t{1} : num_rows_; };
    if (setting_.has_scalar_seed && !setting_.has_arrays_of_one) {
      set_seed(args, problem_.rows.at(0).seed, 0);
    } else {
      set_seeds(args, seeds_.data(), 0);
      set_num_seeds(args, count(setting_.has_scalar_seed), 0);
    }
    if (setting_.has_scalar_offset && !setting_.has_arrays_of_one) {
      set_offset(args, problem_.rows.at(0).offset, 0);
    } else {
      set_offsets(args, offsets_.data(), 0);
      set_num_offsets(args, count(setting_.has_scalar_offset), 0);
    }
  }

  struct Written {
    const Array *array;
    std::size_t per_row;
  };

  template <class Args>
  void set_outputs(Args *args) {
    const bool all = setting_.has_optional_outputs;
    const bool select = problem_.operation == SAMPLER_OP_TOP_K_SELECT;
    set_token_id_type(args, setting_.token_id_type, 0);
    set_output_dtype(args, problem_.output_dtype, 0);
    set_output_stride(args, output_stride_, 0);
    const auto add = [&](bool written, const Array &array, std::size_t per_row) {
      if (written) written_.push_back({&array, per_row});
    };
    add(set_out_row_status(args, status_.data(), 0), status_, 1);
    add(set_out_token_ids(args, tokens_.data(), 0), tokens_, tokens_per_row());
    add(set_output(args, output_.data(), 0), output_, to_size(output_stride_));
    add(all && set_out_kept_counts(args, kept_counts_.data(), 0), kept_counts_, 1);
    add(all && set_out_logprobs(args, logprobs_.data(), 0), logprobs_, 1);
    add(all && set_out_values(args, values_.data(), 0), values_, select ? tokens_per_row() : 1);
    add(all && set_out_counts(args, counts_.data(), 0), counts_, 1);
    add(all && set_out_accepted_counts(args, accepted_.data(), 0), accepted_, 1);
    add(all && set_out_emitted_counts(args, emitted_.data(), 0), emitted_, 1);
  }

  template <class Args>
  void invoke(sampler_t sampler, const Args &args,
              sampler_status (*operation)(sampler_t, const Args *)) {
    const Matrix target = target_, draft = draft_, shared = shared_;
    const Array draft_ids = draft_ids_;
    const std::uint64_t control = fp_control_of(setting_.fp_mode);
    std::uint64_t control_behind;
    sampler_status status;
    {
      const ScopedFpMode mode(setting_.fp_mode);
      status = operation(sampler, &args);
      control_behind = fp_control();
    }
    EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(control_behind, control) << "the caller's floating-point environment was changed";
    EXPECT_TRUE(target.values == target_.values && draft.values == draft_.values &&
                shared.values == shared_.values && draft_ids == draft_ids_)
        << "an input was written";
  }

  Results results() const {
    Results results(num_rows_);
    for (const Written &written : written_) {
      EXPECT_TRUE(written.array->are_guards_intact());
      for (std::size_t row = 0; row < num_rows_; ++row) {
        if (written.array == &output_) {
          append_output_row(row, &results[row]);
        } else {
          append(written, row, &results[row]);
        }
      }
    }
    return results;
  }

  void append(const Written &written, std::size_t row, RowResult *result) const {
    const bool widen = written.array == &tokens_ && setting_.token_id_type == SAMPLER_ID_I32;
    for (std::size_t i = row * written.per_row; i < (row + 1) * written.per_row; ++i) {
      const std::uint64_t bits = written.array->get(i);
      result->push_back(
          widen ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bits)}) : bits);
    }
  }

  // The elements by token id. Those of no token must say "not kept".
  void append_output_row(std::size_t row, RowResult *result) const {
    const sampler_input_kind kind =
        problem_.operation == SAMPLER_OP_TOP_K_MASK ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES;
    const std::uint64_t nothing = bits_of(impossible(kind), problem_.output_dtype);
    RowResult by_id(to_size(problem_.vocabulary), nothing);
    const Values &input = problem_.rows[row].target[0];
    const std::size_t first = row * to_size(output_stride_);
    for (std::size_t i = 0; i < to_size(problem_.num_cols); ++i) {
      const std::uint64_t element = output_.get(first + i);
      const std::size_t id =
          problem_.has_candidates && i < input.ids.size() ? to_size(input.ids[i]) : i;
      const bool is_token = id < by_id.size() && i < input.values.size();
      if (is_token) {
        by_id[id] = element;
      } else {
        EXPECT_EQ(element, nothing) << "element " << i << " of row " << row;
      }
    }
    for (std::int64_t i = problem_.num_cols; i < output_stride_; ++i) {
      EXPECT_EQ(output_.get(first + to_size(i)), untouched()) << "padding of row " << row;
    }
    result->insert(result->end(), by_id.begin(), by_id.end());
  }

  std::uint64_t untouched() const {
    std::uint64_t bits = 0;
    std::memset(&bits, setting_.fill, element_size(problem_.output_dtype));
    return bits;
  }

  const Problem &problem_;
  const Setting &setting_;
  std::size_t num_rows_;
  std::size_t num_stored_rows_ = 0;
  bool has_draft_ = false;
  std::int64_t output_stride_ = 0;
  Matrix target_, draft_, shared_;
  Array row_indices_, temperatures_, top_ks_, top_ps_, min_ps_, seeds_, offsets_, draft_lengths_,
      draft_ids_;
  Array tokens_, values_, output_, kept_counts_, counts_, accepted_, emitted_, logprobs_, status_;
  std::vector<Written> written_;
};

}  // namespace

SamplerPtr make_sampler(std::int32_t num_threads, sampler_parallel_for_fn parallel_for,
                        void *user) {
  sampler_options options = SAMPLER_OPTIONS_INIT;
  options.num_threads = num_threads;
  options.parallel_for = parallel_for;
  options.parallel_for_user = user;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return SamplerPtr(sampler);
}

std::string describe(const Setting &setting) {
  std::ostringstream text;
  text << "padding=" << setting.padding << " misalignment=" << setting.misalignment
       << " workspace_misalignment=" << setting.workspace_misalignment
       << " fill=" << int{setting.fill} << " token_id_type=" << setting.token_id_type
       << " scalars=" << setting.has_scalar_parameters << setting.has_scalar_seed
       << setting.has_scalar_offset << setting.has_arrays_of_one
       << " row_indices=" << setting.has_row_indices
       << " optional_outputs=" << setting.has_optional_outputs
       << " fp_mode=" << static_cast<int>(setting.fp_mode);
  return text.str();
}

Results run(sampler_t sampler, const Problem &problem, const Setting &setting) {
  Call call(problem, setting);
  switch (problem.operation) {
#define RUN(OPERATION, name)   \
  case SAMPLER_OP_##OPERATION: \
    return call.run<name##_args>(sampler, SAMPLER_##OPERATION##_ARGS_INIT, &(name));
    RUN(SAMPLE, sampler_sample)
    RUN(TOP_K, sampler_top_k)
    RUN(TOP_P, sampler_top_p)
    RUN(MIN_P, sampler_min_p)
    RUN(TOP_K_TOP_P, sampler_top_k_top_p)
    RUN(ARGMAX, sampler_argmax)
    RUN(SOFTMAX, sampler_softmax)
    RUN(TOP_K_RENORM, sampler_top_k_renorm)
    RUN(TOP_P_RENORM, sampler_top_p_renorm)
    RUN(TOP_K_MASK, sampler_top_k_mask)
    RUN(TOP_K_SELECT, sampler_top_k_select)
    RUN(CHAIN_SPECULATIVE, sampler_chain_speculative)
    RUN(RESIDUAL, sampler_residual)
#undef RUN
    default:
      ADD_FAILURE() << "operation " << problem.operation;
      return {};
  }
}

Results run_alone(sampler_t sampler, const Problem &problem) {
  Results results;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    results.push_back(run(sampler, with_rows(problem, {i})).at(0));
  }
  return results;
}

sampler_row_status status_of(const RowResult &result) {
  return static_cast<sampler_row_status>(result.at(0));
}

}  // namespace invariance_test
