// One full call, with memory for each of its arrays.
//
// Arrays are heap blocks of exactly the bytes that the headers say are touched, so that sanitizers
// see an access outside. Outputs start as sentinels. Values lie on grids that f32, f16 and bf16 all
// hold exactly: the same call in another type has the same tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operations.h"

namespace capi_test {

// What to call. The members that a call does not have are ignored.
struct Spec {
  Op operation = Op::kSample;
  std::int64_t num_rows = 4;  // of output; of verify: sequences
  std::int64_t num_cols = 37;
  std::int64_t num_input_rows = 0;  // with row_indices; 0: num_rows
  std::int64_t num_drafts = 3;
  std::int64_t num_selected = 5;
  std::int64_t padding = 0;  // elements from the end of a row to the next, NaN or sentinels
  std::int64_t sequence_padding = 0;  // of verify: the same between sequences
  std::int64_t misalignment = 0;  // elements that each array starts after a boundary of 16 bytes

  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  sampler_dtype output_dtype = SAMPLER_F32;
  sampler_output_kind output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  sampler_dtype draft_dtype = SAMPLER_F32;
  sampler_input_kind draft_kind = SAMPLER_LOGITS;
  sampler_id_type token_id_type = SAMPLER_ID_I32;
  sampler_id_type candidate_id_type = SAMPLER_ID_I32;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;

  bool candidates = false;     // ids in random order, out of a vocabulary of twice the columns
  bool ragged = false;         // rows of different lengths: counts without ids
  bool row_indices = false;    // random, so that outputs share rows
  bool per_slot = false;       // parameters, seeds and offsets are arrays
  bool slots = false;          // of twice as many slots as rows, which the rows have in any order
  bool streams = false;        // random
  bool filters_off = false;    // with per_slot: arrays of filters that are off in every slot
  bool pipeline = false;       // every list of a pipeline, and numbers that edit; of logits
  bool reports = false;        // all of them; of sample and score
  bool kept = false;           // lists of what was kept; of score
  bool packs_lists = false;    // of these reports
  bool draft = true;           // false: the drafter was deterministic
  std::uint64_t contents = 1;  // seed of the arrays' contents

  const Operation &op() const { return capi_test::operation(operation); }
  bool is_verify() const { return operation == Op::kVerify; }
  bool is_residual() const { return operation == Op::kResidual; }
  bool may_report() const { return operation == Op::kSample || operation == Op::kScore; }
  bool draws() const { return op().has("random.seed") && operation != Op::kScore; }
  bool has_two_models() const { return is_verify() || is_residual(); }
  // The rows that output rows are made of, and how many of them each has.
  const char *view() const { return has_two_models() ? "target" : "input"; }
  const char *values() const { return has_two_models() ? "target.values" : "input.values"; }
  bool has_counts() const { return candidates || ragged; }
  std::int64_t num_positions() const { return is_verify() ? num_drafts + 1 : 1; }
  std::int64_t num_draft_positions() const { return is_verify() ? num_drafts : 1; }
  std::int64_t num_slots() const { return slots ? 2 * num_rows : num_rows; }
  std::int64_t input_rows() const {
    return row_indices && num_input_rows > 0 ? num_input_rows : num_rows * num_positions();
  }
};

std::string describe(const Spec &spec);

// Every call, with each type and kind of input, rows, candidate lists and ragged rows, with and
// without row_indices. All with parameters per slot.
std::vector<Spec> all_specs();

// Calls that between them take every path, but not in every combination.
std::vector<Spec> few_specs();

// Those of them that report, with every report. On a device they take more workspace than a handle
// brings.
std::vector<Spec> report_specs();

std::size_t size_of_dtype(sampler_dtype dtype);
std::size_t size_of_id(sampler_id_type type);

// Numbers that are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);

 private:
  std::uint64_t state_;
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, std::size_t misalignment, unsigned char fill);
  unsigned char *data() const { return memory_.get() + misalignment_; }
  std::size_t size() const { return size_; }
  std::string bytes() const { return {reinterpret_cast<const char *>(data()), size_}; }

 private:
  std::unique_ptr<unsigned char[]> memory_;
  std::size_t misalignment_ = 0;
  std::size_t size_ = 0;
};

class Call {
 public:
  static constexpr unsigned char kSentinel = 0xA5;

  enum class Direction { kIn, kOut };

  // [rows, cols] elements, row by row `stride` elements apart, in groups of rows that begin
  // `group_stride` elements apart.
  struct Array {
    std::string member;
    Direction direction;
    std::size_t element_size;
    std::int64_t rows, cols, stride, rows_per_group, group_stride;
    Buffer buffer;
    sampler_dtype dtype;  // of arrays of values
  };

  explicit Call(const Spec &spec);

  const Spec &spec() const { return spec_; }
  Args &args() { return args_; }
  const Args &args() const { return args_; }

  sampler_status run(sampler_t sampler) { return spec_.op().run(sampler, args_.data()); }

  // Puts the sentinels back.
  void reset_outputs();
  bool outputs_are_untouched() const;

  // The bytes of all outputs, and those of one output row without what lies between rows.
  std::string output() const;
  std::string output_row(std::int64_t row) const;
  bool output_padding_is_untouched() const;

  // The bytes of all that the call may only read, the argument structs among it.
  std::string inputs() const;

  // Values of "input.values", "target.values", "draft.values" and outputs, rounded to their type. A
  // row of a verify's is that of a position: sequence * positions + position.
  void set_value(const std::string &member, std::int64_t row, std::int64_t col, float value);
  float value(const std::string &member, std::int64_t row, std::int64_t col) const;
  // All columns.
  void set_row(const std::string &member, std::int64_t row, float value);

  // Ids, in or out, of either type.
  void set_id(const std::string &member, std::int64_t row, std::int64_t col, std::int64_t id);
  std::int64_t id(const std::string &member, std::int64_t row, std::int64_t col) const;

  // A number of an array whose elements are of type T.
  template <class T>
  T &at(const std::string &member, std::int64_t row, std::int64_t col = 0) {
    return *reinterpret_cast<T *>(element(find(member), row, col));
  }

  // Whose parameters, seed and offset an output row has.
  std::int64_t slot(std::int64_t row) const {
    return has_array("slots") ? id("slots", row, 0) : row;
  }
  // How many elements a row of "input", "target" or "draft" has.
  std::int64_t count(const std::string &view, std::int64_t row) const {
    const std::string counts = view + ".candidate_counts";
    return has_array(counts) ? id(counts, row, 0) : spec_.num_cols;
  }

  std::int64_t token(std::int64_t row, std::int64_t col = 0) const {
    return id("out_token_ids", row, col);
  }
  sampler_row_status status(std::int64_t row) {
    return at<sampler_row_status>("out_row_status", row);
  }

  // Copies a row of an array, and all that belongs to an output row, of another call.
  void copy_row(const Call &from, const std::string &member, std::int64_t from_row,
                std::int64_t row);
  void copy_output_row(const Call &from, std::int64_t from_row, std::int64_t row);

  bool has_array(const std::string &member) const;
  const Array &array(const std::string &member) const { return find(member); }
  Array &array(const std::string &member) { return find(member); }
  // The names of arrays that are only read, and of outputs.
  std::vector<std::string> inputs_by_name() const { return names(Direction::kIn); }
  std::vector<std::string> outputs() const { return names(Direction::kOut); }
  Buffer &buffer(const std::string &member) { return find(member).buffer; }

 private:
  std::vector<std::string> names(Direction direction) const;
  Array &add(const std::string &member, Direction direction, std::size_t element_size,
             std::int64_t rows, std::int64_t cols, std::int64_t stride);
  void add_rows(const std::string &view, sampler_dtype dtype, sampler_input_kind kind,
                std::int64_t num_rows, std::int64_t num_positions);
  Array &add_elements(const std::string &member, std::size_t element_size, std::int64_t num_rows,
                      std::int64_t num_positions);
  void add_candidate_ids(const std::string &view, std::int64_t num_rows,
                         std::int64_t num_positions);
  void add_candidate_counts(const std::string &view, std::int64_t num_rows);
  void add_row_indices();
  void add_slots();
  void add_parameters();
  void add_random();
  void add_pipeline();
  void add_guidance();
  void add_edit_numbers();
  void add_lists(const std::string &lists, std::int64_t num_lists, std::int64_t ids_each,
                 std::int64_t first_id);
  void add_scored();
  void add_drafts();
  void add_draft_counts();
  void add_outputs();
  void add_reports();
  void add_kept_lists(std::int64_t capacity);
  bool is_packed(const std::string &member) const;
  template <class T, class Make>
  void add_per_slot(const std::string &member, const Make &make);

  const Array &find(const std::string &member) const;
  Array &find(const std::string &member) {
    return const_cast<Array &>(static_cast<const Call *>(this)->find(member));
  }
  static unsigned char *element(const Array &array, std::int64_t row, std::int64_t col);

  Spec spec_;
  Args args_;
  Random random_;
  std::vector<Array> arrays_;
};

// How a sampler is created for tests, and destroyed with its scope.
struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Sampler = std::unique_ptr<struct sampler_handle, DestroySampler>;

// Aborts when it cannot be created.
Sampler make_sampler(const sampler_options &options);

// With room for the calls of all_specs(); on devices, which have none for stages, because lists of
// more than 2048 candidates would take as much.
sampler_options roomy_options(std::int32_t num_threads = 1);
inline Sampler roomy_sampler(std::int32_t num_threads = 1) {
  return make_sampler(roomy_options(num_threads));
}

}  // namespace capi_test
