// Bad rows between good ones: they yield what the headers say and leave their neighbours alone.
#include <climits>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "expect.h"

namespace capi_test::bad_rows_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A way to spoil one output row.
struct Defect {
  std::string name;
  sampler_row_status status;
  std::function<void(Call *, std::int64_t row)> apply;
  bool readable = true;  // the values can be copied: the row has a place and a number of elements
};

std::int64_t input_row(Call *call, std::int64_t row) {
  return call->spec().row_indices ? call->at<std::int32_t>("row_indices", row) : row;
}

void add_values(const Spec &spec, std::vector<Defect> *defects) {
  const auto value_at = [&](const std::string &name, std::int64_t col, float value) {
    defects->push_back({name, SAMPLER_ROW_INVALID_VALUE, [=](Call *call, std::int64_t row) {
                          call->set_value(call->spec().values(), input_row(call, row), col, value);
                        }});
  };
  const bool logits = spec.kind == SAMPLER_LOGITS;
  // With counts only the first three quarters are sure to count.
  const std::int64_t last = spec.has_counts() ? spec.num_cols / 2 : spec.num_cols - 1;
  for (const std::int64_t col : {std::int64_t(0), last / 2, last}) {
    const std::string at = " at " + std::to_string(col);
    value_at("NaN" + at, col, kNan);
    value_at("-NaN" + at, col, -kNan);
    // select takes +inf for a value like any other.
    if (spec.operation != Op::kSelect) value_at("+inf" + at, col, kInf);
    if (!logits) value_at("-inf" + at, col, -kInf);
    if (!logits) value_at("a negative probability" + at, col, -0.25f);
  }
  defects->push_back(
      {"nothing but -inf or 0", SAMPLER_ROW_EMPTY, [=](Call *call, std::int64_t row) {
         call->set_row(call->spec().values(), input_row(call, row), logits ? -kInf : 0.0f);
       }});
  if (!logits) {
    defects->push_back({"nothing but -0", SAMPLER_ROW_EMPTY, [](Call *call, std::int64_t row) {
                          call->set_row(call->spec().values(), input_row(call, row), -0.0f);
                        }});
  }
}

void add_parameters(const Spec &spec, std::vector<Defect> *defects) {
  const auto parameter = [&](const std::string &member, float value) {
    if (!spec.op().has(member)) return;
    defects->push_back(
        {member + " " + std::to_string(value), SAMPLER_ROW_INVALID_PARAMETER,
         [=](Call *call, std::int64_t row) { call->at<float>(member, call->slot(row)) = value; }});
  };
  for (const float nan : {kNan, -kNan}) {
    parameter("row_params.temperature", nan);
    parameter("row_params.top_p", nan);
    parameter("row_params.min_p", nan);
  }
  if (spec.kind == SAMPLER_PROBABILITIES) {
    for (const float temperature : {0.5f, 2.0f, 0x1p64f, 1.1e-5f})
      parameter("row_params.temperature", temperature);
  } else {
    for (const float temperature : {0x1.000002p64f, 0x1p127f, kInf})
      parameter("row_params.temperature", temperature);
  }
}

void add_indices(const Spec &spec, std::vector<Defect> *defects) {
  if (!spec.row_indices) return;
  for (const std::int64_t index :
       {std::int64_t(-1), spec.input_rows(), std::int64_t(INT32_MIN), std::int64_t(INT32_MAX)}) {
    defects->push_back({"row index " + std::to_string(index), SAMPLER_ROW_INVALID_INDEX,
                        [=](Call *call, std::int64_t row) {
                          call->at<std::int32_t>("row_indices", row) = std::int32_t(index);
                        }});
  }
}

void add_slots(const Spec &spec, std::vector<Defect> *defects) {
  if (!spec.slots) return;
  for (const std::int64_t slot :
       {std::int64_t(-1), spec.num_slots(), std::int64_t(INT32_MIN), std::int64_t(INT32_MAX)}) {
    defects->push_back(
        {"slot " + std::to_string(slot), SAMPLER_ROW_INVALID_SLOT,
         [=](Call *call, std::int64_t row) { call->set_id("slots", row, 0, slot); }});
  }
}

void add_counts(const Spec &spec, std::vector<Defect> *defects) {
  if (!spec.has_counts()) return;
  for (const std::int64_t count :
       {std::int64_t(-1), spec.num_cols + 1, std::int64_t(INT32_MIN), std::int64_t(INT32_MAX)}) {
    Defect defect = {"candidate count " + std::to_string(count), SAMPLER_ROW_INVALID_CANDIDATE,
                     [=](Call *call, std::int64_t row) {
                       call->at<std::int32_t>("input.candidate_counts", input_row(call, row)) =
                           std::int32_t(count);
                     }};
    defect.readable = false;
    defects->push_back(defect);
  }
  defects->push_back({"no candidate", SAMPLER_ROW_EMPTY, [](Call *call, std::int64_t row) {
                        call->at<std::int32_t>("input.candidate_counts", input_row(call, row)) = 0;
                      }});
}

void add_candidates(const Spec &spec, std::vector<Defect> *defects) {
  if (!spec.candidates) return;
  std::vector<std::int64_t> ids = {-1, 1 << 20, INT32_MIN, INT32_MAX};
  if (spec.candidate_id_type == SAMPLER_ID_I64) {
    for (const std::int64_t id : {std::int64_t(1) << 32, INT64_MIN, INT64_MAX}) ids.push_back(id);
  }
  for (const std::int64_t id : ids) {
    defects->push_back({"candidate id " + std::to_string(id), SAMPLER_ROW_INVALID_CANDIDATE,
                        [=](Call *call, std::int64_t row) {
                          call->set_id("input.candidate_ids", input_row(call, row), 3, id);
                        }});
  }
  defects->push_back(
      {"an id twice", SAMPLER_ROW_INVALID_CANDIDATE, [](Call *call, std::int64_t row) {
         const std::int64_t input = input_row(call, row);
         call->set_id("input.candidate_ids", input, 0,
                      call->id("input.candidate_ids", input, call->spec().num_cols / 2));
       }});
}

std::vector<Defect> defects_of(const Spec &spec) {
  std::vector<Defect> defects;
  add_values(spec, &defects);
  add_parameters(spec, &defects);
  add_indices(spec, &defects);
  add_slots(spec, &defects);
  add_counts(spec, &defects);
  add_candidates(spec, &defects);
  return defects;
}

// Outputs of the bad row.
void expect_bad(Call *call, std::int64_t row, const Defect &defect, std::int64_t bad_token) {
  const Spec &spec = call->spec();
  EXPECT_EQ(call->status(row), defect.status);
  for (const std::string &output : call->outputs()) {
    SCOPED_TRACE(output);
    const std::string name = output.substr(output.rfind('.') + 1);
    if (output == "out_token_ids") {
      const std::int64_t token = spec.op().has("num_selected") ? -1 : bad_token;
      for (std::int64_t i = 0; i < call->array(output).cols; ++i) {
        EXPECT_EQ(call->token(row, i), token);
      }
    } else if (name == "out_kept_counts" || name == "out_counts") {
      EXPECT_EQ(call->at<std::int32_t>(output, row), 0);
    } else if (name == "out_logprobs" || (name == "out_values" && spec.operation == Op::kSample)) {
      EXPECT_TRUE(std::isnan(call->at<float>(output, row)));
    } else if (name == "out_values") {
      for (std::int64_t i = 0; i < spec.num_selected; ++i) {
        EXPECT_EQ(call->value(output, row, i), spec.kind == SAMPLER_LOGITS ? -kInf : 0.0f);
      }
    } else if (output == "output" && spec.output_kind == SAMPLER_OUTPUT_PROBABILITIES) {
      const std::string zeros(std::size_t(spec.num_cols) * call->array(output).element_size, 0);
      EXPECT_TRUE(same_bytes(std::string(&call->at<char>(output, row), zeros.size()), zeros));
    }
  }
}

// A bad row of values is the input, as far as it has elements, bit for bit.
void expect_copied(Call *call, std::int64_t row, const Defect &defect) {
  const Spec &spec = call->spec();
  if (spec.output_dtype != spec.dtype) return;
  const std::int64_t count = defect.readable ? call->count("input", row) : 0;
  const std::size_t size = call->array("output").element_size;
  EXPECT_TRUE(
      same_bytes(std::string(&call->at<char>("output", row), std::size_t(count) * size),
                 std::string(&call->at<char>("input.values", row), std::size_t(count) * size)));
  for (std::int64_t i = count; i < spec.num_cols; ++i) {
    EXPECT_EQ(call->value("output", row, i), -kInf);
  }
}

// Outputs that read the same input row are bad with it.
std::set<std::int64_t> rows_that_share(Call *call, std::int64_t row) {
  std::set<std::int64_t> rows = {row};
  const std::int64_t input = input_row(call, row);
  for (std::int64_t i = 0; i < call->spec().num_rows; ++i) {
    if (input_row(call, i) == input) rows.insert(i);
  }
  return rows;
}

void check_defects(const Spec &spec, sampler_t sampler, std::int64_t bad_token) {
  SCOPED_TRACE(describe(spec));
  Call good(spec);
  expect_ok(&good, sampler);
  for (std::int64_t i = 0; i < spec.num_rows; ++i) ASSERT_EQ(good.status(i), SAMPLER_ROW_OK);
  for (const Defect &defect : defects_of(spec)) {
    for (const std::int64_t row : {std::int64_t(0), spec.num_rows / 2, spec.num_rows - 1}) {
      SCOPED_TRACE(defect.name + " in row " + std::to_string(row));
      Call call(spec);
      const std::set<std::int64_t> sharing = rows_that_share(&call, row);
      defect.apply(&call, row);
      expect_ok(&call, sampler);
      expect_bad(&call, row, defect, bad_token);
      if (spec.output_kind == SAMPLER_OUTPUT_VALUES) expect_copied(&call, row, defect);
      for (std::int64_t i = 0; i < spec.num_rows; ++i) {
        if (sharing.count(i)) continue;
        EXPECT_TRUE(same_bytes(call.output_row(i), good.output_row(i))) << "row " << i;
      }
    }
  }
}

class BadRows : public testing::TestWithParam<Op> {};

TEST_P(BadRows, LeaveTheirNeighboursAlone) {
  const Sampler sampler = roomy_sampler();
  sampler_options options = roomy_options(3);
  options.use_fallback_token = 1;
  options.fallback_token_id = 11;
  const Sampler fallback = make_sampler(options);
  for (Spec spec : all_specs()) {
    if (spec.operation != GetParam()) continue;
    spec.num_rows = 7;
    spec.output_dtype = spec.dtype;
    check_defects(spec, sampler.get(), -1);
    check_defects(spec, fallback.get(), 11);
    if (!spec.op().has("slots") || spec.dtype != SAMPLER_F32) continue;
    spec.slots = true;
    check_defects(spec, sampler.get(), -1);
    spec.reports = spec.operation == Op::kSample;
    if (spec.reports) check_defects(spec, sampler.get(), -1);
  }
}

// A row index can be bad without any output sharing its row: checked apart from the above, where
// outputs that share a row are left out.
TEST_P(BadRows, AmongOutputsOfOneRow) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : few_specs()) {
    if (spec.operation != GetParam() || !spec.op().has("row_indices")) continue;
    spec.row_indices = true;
    spec.num_rows = 9;
    spec.num_input_rows = 1;
    Call good(spec);
    expect_ok(&good, sampler.get());
    Call call(spec);
    call.at<std::int32_t>("row_indices", 4) = 1;
    call.at<float>("row_params.temperature", call.slot(7)) = kNan;
    expect_ok(&call, sampler.get());
    for (std::int64_t i = 0; i < spec.num_rows; ++i) {
      if (i == 4 || i == 7) {
        EXPECT_EQ(call.status(i),
                  i == 4 ? SAMPLER_ROW_INVALID_INDEX : SAMPLER_ROW_INVALID_PARAMETER);
        EXPECT_EQ(call.token(i), -1);
      } else {
        EXPECT_TRUE(same_bytes(call.output_row(i), good.output_row(i))) << "row " << i;
      }
    }
  }
}

// NaNs keep their payload, signalling ones too.
TEST(ValuesOfABadRow, KeepEveryBit) {
  const Sampler sampler = roomy_sampler();
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    Spec spec;
    spec.operation = Op::kFilter;
    spec.output_kind = SAMPLER_OUTPUT_VALUES;
    spec.dtype = spec.output_dtype = dtype;
    spec.num_rows = 1;
    Call call(spec);
    Random random(5);
    if (dtype == SAMPLER_F32) {
      for (const std::uint32_t nan : {0x7F800001u, 0xFF800001u, 0x7FC12345u, 0xFFFFFFFFu}) {
        call.at<std::uint32_t>("input.values", 0, random.between(0, 36)) = nan;
      }
    } else {
      const bool f16 = dtype == SAMPLER_F16;
      for (const std::uint16_t payload : {0x01, 0x15, 0x40, 0x7F}) {
        call.at<std::uint16_t>("input.values", 0, random.between(0, 36)) =
            std::uint16_t((f16 ? 0x7C00 : 0x7F80) | payload);
        call.at<std::uint16_t>("input.values", 0, random.between(0, 36)) =
            std::uint16_t((f16 ? 0xFC00 : 0xFF80) | payload);
      }
    }
    expect_ok(&call, sampler.get());
    EXPECT_EQ(call.status(0), SAMPLER_ROW_INVALID_VALUE);
    EXPECT_TRUE(same_bytes(call.buffer("output").bytes(), call.buffer("input.values").bytes()));
  }
}

// What is no defect: -inf logits, zero probabilities of either sign, the largest finite values.
TEST_P(BadRows, AreNotTheseOnes) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : all_specs()) {
    if (spec.operation != GetParam() || spec.is_verify() || spec.has_counts()) continue;
    SCOPED_TRACE(describe(spec));
    const bool logits = spec.kind == SAMPLER_LOGITS;
    const float huge = spec.dtype == SAMPLER_F16 ? 65504.0f : 0x1.FEp127f;
    Call call(spec);
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      call.set_row(spec.values(), row, logits ? -kInf : 0.0f);
      if (!logits) call.set_value(spec.values(), row, 1, -0.0f);
      if (logits) call.set_value(spec.values(), row, 2, -huge);
      call.set_value(spec.values(), row, 9, huge);
    }
    expect_ok(&call, sampler.get());
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      EXPECT_EQ(call.status(row), SAMPLER_ROW_OK);
      if (call.has_array("out_token_ids")) {
        EXPECT_EQ(call.token(row), 9);
      }
    }
  }
}

// The first of a row's defects in this order is reported, where there are several: the index, the
// slot, the parameter, the candidates, the values, nothing to choose.
TEST(BadRow, TellsTheFirstOfItsDefects) {
  const Sampler sampler = roomy_sampler();
  Spec spec;
  spec.row_indices = spec.per_slot = spec.slots = spec.candidates = true;
  Call call(spec);
  const std::int64_t row = 2;
  call.at<std::int32_t>("row_indices", row) = 1;
  const auto expect_status = [&](sampler_row_status status) {
    expect_ok(&call, sampler.get());
    EXPECT_EQ(call.status(row), status);
  };
  call.set_row("input.values", 1, -kInf);
  expect_status(SAMPLER_ROW_EMPTY);
  call.set_value("input.values", 1, 0, kNan);
  expect_status(SAMPLER_ROW_INVALID_VALUE);
  call.set_id("input.candidate_ids", 1, 1, -1);
  expect_status(SAMPLER_ROW_INVALID_CANDIDATE);
  call.at<float>("row_params.top_p", call.slot(row)) = kNan;
  expect_status(SAMPLER_ROW_INVALID_PARAMETER);
  call.set_id("slots", row, 0, -1);
  expect_status(SAMPLER_ROW_INVALID_SLOT);
  call.at<std::int32_t>("row_indices", row) = -1;
  expect_status(SAMPLER_ROW_INVALID_INDEX);
}

// Each output row is bad where there is no row or no slot to have.
TEST(BadRow, OfNothing) {
  const Sampler sampler = roomy_sampler();
  Spec spec;
  spec.row_indices = true;
  Call of_no_rows(spec);
  of_no_rows.args().set("input.num_rows", std::int64_t(0));
  of_no_rows.args().set<void *>("input.values", nullptr);
  spec.row_indices = false;
  spec.per_slot = spec.slots = true;
  Call of_no_slots(spec);
  for (const char *number : {"num_slots", "random.num_seeds", "random.num_offsets"}) {
    of_no_slots.args().set(number, std::int64_t(0));
  }
  expect_ok(&of_no_rows, sampler.get());
  expect_ok(&of_no_slots, sampler.get());
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    EXPECT_EQ(of_no_rows.status(row), SAMPLER_ROW_INVALID_INDEX);
    EXPECT_EQ(of_no_slots.status(row), SAMPLER_ROW_INVALID_SLOT);
    EXPECT_EQ(of_no_slots.token(row), -1);
  }
}

// Those of verify are in speculative_test.cpp.
INSTANTIATE_TEST_SUITE_P(Of, BadRows,
                         testing::Values(Op::kSample, Op::kFilter, Op::kSelect, Op::kResidual),
                         operation_name);

}  // namespace
}  // namespace capi_test::bad_rows_test
