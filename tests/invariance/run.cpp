#include "run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <sstream>
#include <utility>

#include "../sized.h"
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

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// Bits of a value that the type holds exactly, or that is the bit pattern of a NaN in it.
std::uint32_t bits_of(float value, sampler_dtype dtype) {
  if (dtype == SAMPLER_F16) return oracle::f32_to_f16(value);
  if (dtype == SAMPLER_BF16) return oracle::f32_to_bf16(value);
  return static_cast<std::uint32_t>(bits_of(value));
}

// Elements of a run-time size in memory of any alignment, with guards before and after.
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

// One call: its arrays, and the way from the problem to the argument struct and back.
class Call {
 public:
  Call(const Problem &problem, const Setting &setting)
      : problem_(problem),
        setting_(setting),
        num_rows_(problem.rows.size()),
        num_slots_(setting.slots.empty() ? num_rows_ : to_size(setting.num_slots)) {}

  Results run(sampler_t sampler) {
    switch (problem_.operation) {
      case Operation::kSample:
        return sample(sampler);
      case Operation::kFilter:
        return filter(sampler);
      case Operation::kSelect:
        return select(sampler);
      case Operation::kVerify:
        return verify(sampler);
      case Operation::kResidual:
        return residual(sampler);
    }
    return {};
  }

 private:
  using Sequences = std::vector<const std::vector<Values> *>;

  // ---- The operations: outputs in the order of RowResult ----

  Results sample(sampler_t sampler) {
    SampleArgs args;
    if (setting_.has_row_indices) {
      args.row_indices = keep<std::int32_t>(share_rows(&args.input));
      args.num_row_indices = static_cast<std::int64_t>(num_rows_);
    } else {
      args.input = target_rows();
    }
    set_parameters(&args);
    set_random(&args.random);
    args.draw_method = problem_.draw_method;
    args.report_args.logprob_kind = problem_.logprob_kind;
    args.token_id_type = setting_.token_id_type;
    args.out_row_status = numbers<sampler_row_status>();
    args.out_token_ids = tokens(1);
    if (setting_.has_optional_outputs) {
      args.report_args.out_kept_counts = numbers<std::int32_t>();
      args.report_args.out_logprobs = numbers<float>();
      args.report_args.out_values = numbers<float>();
    }
    return finish(sampler, args, &sampler_sample_workspace_size, &sampler_sample);
  }

  Results filter(sampler_t sampler) {
    auto args = sized<sampler_filter_args>();
    args.input = target_rows();
    set_parameters(&args);
    args.output_kind = problem_.output_kind;
    args.out_row_status = numbers<sampler_row_status>();
    set_output_rows(&args);
    if (setting_.has_optional_outputs) args.out_kept_counts = numbers<std::int32_t>();
    return finish(sampler, args, &sampler_filter_workspace_size, &sampler_filter);
  }

  Results select(sampler_t sampler) {
    auto args = sized<sampler_select_args>();
    args.input = target_rows();
    args.num_selected = problem_.num_selected;
    args.selected_counts = per_row(&RowInput::top_k);
    args.output_dtype = problem_.output_dtype;
    args.token_id_type = setting_.token_id_type;
    args.out_row_status = numbers<sampler_row_status>();
    args.out_token_ids = tokens(problem_.num_selected);
    if (setting_.has_optional_outputs) {
      args.out_values = output(element_size(problem_.output_dtype), problem_.num_selected);
      args.out_counts = numbers<std::int32_t>();
    }
    return finish(sampler, args, &sampler_select_workspace_size, &sampler_select);
  }

  Results verify(sampler_t sampler) {
    VerifyArgs args;
    args.target = target_rows(&args.draft_layout.target_sequence_stride);
    args.draft = draft_rows(&args.draft_layout.draft_sequence_stride);
    args.draft_token_ids = keep<void>(draft_ids());
    args.num_drafts = problem_.num_drafts;
    args.draft_counts = per_row(&RowInput::draft_count);
    set_parameters(&args);
    set_random(&args.random);
    args.token_id_type = setting_.token_id_type;
    args.out_row_status = numbers<sampler_row_status>();
    args.out_token_ids = tokens(num_positions(problem_));
    if (setting_.has_optional_outputs) {
      args.out_accepted_counts = numbers<std::int32_t>();
      args.out_emitted_counts = numbers<std::int32_t>();
    }
    return finish(sampler, args, &sampler_verify_workspace_size, &sampler_verify);
  }

  Results residual(sampler_t sampler) {
    auto args = sized<sampler_residual_args>();
    args.target = target_rows();
    args.draft = draft_rows();
    if (!args.draft.values) args.draft_token_ids = keep<void>(draft_ids());
    args.token_id_type = setting_.token_id_type;
    args.out_row_status = numbers<sampler_row_status>();
    set_output_rows(&args);
    return finish(sampler, args, &sampler_residual_workspace_size, &sampler_residual);
  }

  // ---- Inputs ----

  template <class T>
  const T *keep(Array array) {
    inputs_.push_back(std::move(array));
    return static_cast<const T *>(inputs_.back().data());
  }

  // The values of all rows that belong to an output row, in the library's layout. NaN stands
  // between them and after the last value of each.
  sampler_rows rows(const Sequences &sequences, sampler_dtype dtype, sampler_input_kind kind,
                    std::int64_t *sequence_stride) {
    sampler_rows view = {};
    if (sequences.empty() || sequences[0]->empty()) return view;
    const std::size_t num_positions = sequences[0]->size();
    view.num_rows = static_cast<std::int64_t>(sequences.size() * num_positions);
    view.num_cols = problem_.num_cols;
    view.row_stride = problem_.num_cols + setting_.padding;
    view.dtype = dtype;
    view.kind = kind;
    view.candidate_id_type = setting_.candidate_id_type;
    const std::size_t row_stride = to_size(view.row_stride);
    std::size_t stride = row_stride * num_positions;
    if (sequence_stride) {
      stride += to_size(setting_.padding);
      *sequence_stride = static_cast<std::int64_t>(stride);
    }
    const std::size_t num_elements = stride * sequences.size();
    Array values(num_elements, element_size(dtype), setting_);
    for (std::size_t i = 0; i < num_elements; ++i) {
      values.set(i, bits_of(std::numeric_limits<float>::quiet_NaN(), dtype));
    }
    Array ids(num_elements, id_size(view.candidate_id_type), setting_);
    Array counts(to_size(view.num_rows), sizeof(std::int32_t), setting_);
    bool has_counts = problem_.has_candidates;
    for (std::size_t i = 0; i < to_size(view.num_rows); ++i) {
      const Values &row = (*sequences[i / num_positions])[i % num_positions];
      const std::size_t first = i / num_positions * stride + i % num_positions * row_stride;
      for (std::size_t j = 0; j < row.values.size(); ++j) {
        values.set(first + j, bits_of(row.values[j], dtype));
        if (!row.ids.empty()) ids.set(first + j, static_cast<std::uint64_t>(row.ids[j]));
      }
      counts.set(i, row.values.size());
      has_counts = has_counts || row.values.size() < to_size(view.num_cols);
    }
    view.values = keep<void>(std::move(values));
    if (problem_.has_candidates) view.candidate_ids = keep<void>(std::move(ids));
    if (has_counts) view.candidate_counts = keep<std::int32_t>(std::move(counts));
    return view;
  }

  Sequences sequences(std::vector<Values> RowInput::*member) const {
    Sequences result;
    for (const RowInput &row : problem_.rows) result.push_back(&(row.*member));
    return result;
  }

  sampler_rows target_rows(std::int64_t *sequence_stride = nullptr) {
    return rows(sequences(&RowInput::target), problem_.dtype, problem_.kind, sequence_stride);
  }

  sampler_rows draft_rows(std::int64_t *sequence_stride = nullptr) {
    return rows(sequences(&RowInput::draft), problem_.draft_dtype, problem_.draft_kind,
                sequence_stride);
  }

  // Each different row once, in reverse order. Returns the place of each output row's.
  Array share_rows(sampler_rows *input) {
    Sequences stored;
    std::vector<std::size_t> places;
    for (const auto *row : sequences(&RowInput::target)) {
      const auto same = [&](const auto *other) { return *other == *row; };
      places.push_back(to_size(std::find_if(stored.begin(), stored.end(), same) - stored.begin()));
      if (places.back() == stored.size()) stored.push_back(row);
    }
    std::reverse(stored.begin(), stored.end());
    *input = rows(stored, problem_.dtype, problem_.kind, nullptr);
    Array indices(num_rows_, sizeof(std::int32_t), setting_);
    for (std::size_t i = 0; i < num_rows_; ++i) indices.set(i, stored.size() - 1 - places[i]);
    return indices;
  }

  template <class T>
  const T *per_row(T RowInput::*member) {
    Array array(num_rows_, sizeof(T), setting_);
    for (std::size_t i = 0; i < num_rows_; ++i) array.set(i, bits_of(problem_.rows[i].*member));
    return keep<T>(std::move(array));
  }

  template <class T>
  const T *per_slot(T RowInput::*member) {
    if (setting_.slots.empty()) return per_row(member);
    Array array(num_slots_, sizeof(T), setting_);
    for (std::size_t i = 0; i < num_slots_; ++i) array.set(i, ~std::uint64_t{0});
    for (std::size_t i = 0; i < num_rows_; ++i) {
      const std::int64_t slot = setting_.slots[i];
      const bool is_good = slot >= 0 && slot < setting_.num_slots;
      if (is_good) array.set(to_size(slot), bits_of(problem_.rows[i].*member));
    }
    return keep<T>(std::move(array));
  }

  Array draft_ids() const {
    const std::size_t n = to_size(problem_.num_drafts);
    Array ids(num_rows_ * n, id_size(setting_.token_id_type), setting_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids.set(i, static_cast<std::uint64_t>(problem_.rows[i / n].draft_ids[i % n]));
    }
    return ids;
  }

  template <class Args>
  void set_parameters(Args *args) {
    params_ = sampler_params_default();
    row_params_.struct_size = sizeof row_params_;
    const RowInput &first = problem_.rows.at(0);
    const bool has_scalars = setting_.has_scalar_parameters;
    if (has_scalars) {
      params_.temperature = first.temperature;
    } else {
      row_params_.temperature = per_slot(&RowInput::temperature);
    }
    if (has_scalars && takes_filters(problem_)) {
      params_.top_k = first.top_k;
      params_.top_p = first.top_p;
      params_.min_p = first.min_p;
    } else if (takes_filters(problem_)) {
      row_params_.top_k = per_slot(&RowInput::top_k);
      row_params_.top_p = per_slot(&RowInput::top_p);
      row_params_.min_p = per_slot(&RowInput::min_p);
    }
    params_.top_k_ties = problem_.top_k_ties;
    params_.top_p_ties = problem_.top_p_ties;
    params_.filter_order = problem_.filter_order;
    params_.temperature_order = problem_.temperature_order;
    params_.top_p_sum = problem_.top_p_sum;
    args->params = &params_;
    args->row_params = has_scalars ? nullptr : &row_params_;
    if (setting_.slots.empty()) return;
    Array slots(num_rows_, sizeof(std::int32_t), setting_);
    for (std::size_t i = 0; i < num_rows_; ++i) slots.set(i, bits_of(setting_.slots[i]));
    args->slots = keep<std::int32_t>(std::move(slots));
    args->num_slots = setting_.num_slots;
  }

  void set_random(sampler_random *random) {
    const auto set = [&](std::uint64_t RowInput::*member, bool is_scalar, std::uint64_t *scalar,
                         const std::uint64_t **array, std::int64_t *count) {
      const std::uint64_t first = problem_.rows.at(0).*member;
      if (is_scalar && setting_.has_arrays_of_one) {
        Array one(1, sizeof first, setting_);
        one.set(0, first);
        *array = keep<std::uint64_t>(std::move(one));
        *count = 1;
      } else if (is_scalar) {
        *scalar = first;
      } else {
        *array = per_slot(member);
        *count = static_cast<std::int64_t>(num_slots_);
      }
    };
    set(&RowInput::seed, setting_.has_scalar_seed, &random->seed, &random->seeds,
        &random->num_seeds);
    set(&RowInput::offset, setting_.has_scalar_offset, &random->offset, &random->offsets,
        &random->num_offsets);
    if (setting_.has_streams) random->streams = per_slot(&RowInput::stream);
  }

  // ---- Outputs ----

  enum class Shape { kNumbers, kTokens, kRow };
  struct Output {
    Array array;
    std::size_t per_row;
    Shape shape;
  };

  void *output(std::size_t element_size, std::int64_t per_row, Shape shape = Shape::kNumbers) {
    Array array(num_rows_ * to_size(per_row), element_size, setting_);
    outputs_.push_back({std::move(array), to_size(per_row), shape});
    return outputs_.back().array.data();
  }

  template <class T>
  T *numbers() {
    return static_cast<T *>(output(sizeof(T), 1));
  }

  void *tokens(std::int64_t per_row) {
    return output(id_size(setting_.token_id_type), per_row, Shape::kTokens);
  }

  template <class Args>
  void set_output_rows(Args *args) {
    args->output_dtype = problem_.output_dtype;
    args->output_stride = problem_.num_cols + setting_.padding;
    args->output = output(element_size(problem_.output_dtype), args->output_stride, Shape::kRow);
  }

  template <class Args, class WorkspaceSize, class Operation>
  Results finish(sampler_t sampler, Args args, WorkspaceSize workspace_size, Operation operation) {
    std::size_t bytes = 0;
    EXPECT_EQ(workspace_size(sampler, &args, &bytes), SAMPLER_OK) << sampler_last_error();
    Array workspace(bytes, setting_.workspace_misalignment, setting_.fill, 1);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = workspace.bytes();

    const std::deque<Array> inputs = inputs_;
    const std::uint64_t control = fp_control_of(setting_.fp_mode);
    std::uint64_t control_after;
    sampler_status status;
    {
      const ScopedFpMode mode(setting_.fp_mode);
      status = operation(sampler, &args);
      control_after = fp_control();
    }
    EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(control_after, control) << "the caller's floating-point environment was changed";
    EXPECT_TRUE(inputs == inputs_) << "an input was written";
    EXPECT_TRUE(workspace.are_guards_intact());
    return results();
  }

  Results results() const {
    Results results(num_rows_);
    for (const Output &output : outputs_) {
      EXPECT_TRUE(output.array.are_guards_intact());
      for (std::size_t row = 0; row < num_rows_; ++row) {
        if (output.shape == Shape::kRow) {
          append_row(output, row, &results[row]);
        } else {
          append_numbers(output, row, &results[row]);
        }
      }
    }
    return results;
  }

  void append_numbers(const Output &output, std::size_t row, RowResult *result) const {
    const bool widen = output.shape == Shape::kTokens && setting_.token_id_type == SAMPLER_ID_I32;
    for (std::size_t i = row * output.per_row; i < (row + 1) * output.per_row; ++i) {
      const std::uint64_t bits = output.array.get(i);
      result->push_back(
          widen ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bits)}) : bits);
    }
  }

  // The elements by token id. Those of no token must say "not kept".
  void append_row(const Output &output, std::size_t row, RowResult *result) const {
    const sampler_input_kind kind =
        problem_.output_kind == SAMPLER_OUTPUT_VALUES ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES;
    const std::uint64_t nothing = bits_of(impossible(kind), problem_.output_dtype);
    RowResult by_id(to_size(problem_.vocabulary), nothing);
    const Values &input = problem_.rows[row].target[0];
    const std::size_t first = row * output.per_row;
    for (std::size_t i = 0; i < to_size(problem_.num_cols); ++i) {
      const std::uint64_t element = output.array.get(first + i);
      const std::size_t id =
          problem_.has_candidates && i < input.ids.size() ? to_size(input.ids[i]) : i;
      const bool is_token = id < by_id.size() && i < input.values.size();
      if (is_token) {
        by_id[id] = element;
      } else {
        EXPECT_EQ(element, nothing) << "element " << i << " of row " << row;
      }
    }
    for (std::size_t i = to_size(problem_.num_cols); i < output.per_row; ++i) {
      EXPECT_EQ(output.array.get(first + i), untouched()) << "padding of row " << row;
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
  std::size_t num_rows_, num_slots_;
  sampler_params params_ = {};
  sampler_row_params row_params_ = {};
  // Arrays stay where they are when further ones are added.
  std::deque<Array> inputs_;
  std::deque<Output> outputs_;
};

}  // namespace

SamplerPtr make_sampler(std::int32_t num_threads, sampler_parallel_for_fn parallel_for,
                        void *user) {
  sampler_options options = sampler_options_default();
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
       << " streams=" << setting.has_streams << " slots=" << setting.slots.size() << " of "
       << setting.num_slots << " row_indices=" << setting.has_row_indices
       << " optional_outputs=" << setting.has_optional_outputs
       << " fp_mode=" << static_cast<int>(setting.fp_mode);
  return text.str();
}

Results run(sampler_t sampler, const Problem &problem, const Setting &setting) {
  return Call(problem, setting).run(sampler);
}

Results run_alone(sampler_t sampler, const Problem &problem, const Setting &setting) {
  Results results;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    results.push_back(run(sampler, with_rows(problem, {i}), setting).at(0));
  }
  return results;
}

sampler_row_status status_of(const RowResult &result) {
  return static_cast<sampler_row_status>(result.at(0));
}

}  // namespace invariance_test
