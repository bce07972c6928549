// Candidate lists against rows, and outputs that share rows against rows of their own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expect.h"

namespace capi_test::candidates_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::string> views_of(const Spec &spec) {
  if (!spec.has_two_models()) return {"input"};
  return spec.draft ? std::vector<std::string>{"target", "draft"}
                    : std::vector<std::string>{"target"};
}

// What the row of a list means: the value of each id, or that of a token that cannot be chosen.
std::vector<float> as_row(const Call &list, const std::string &view, std::int64_t row,
                          std::int64_t num_cols) {
  const Spec &spec = list.spec();
  const bool logits = (view == "draft" ? spec.draft_kind : spec.kind) == SAMPLER_LOGITS;
  std::vector<float> values(std::size_t(num_cols), logits ? -kInf : 0.0f);
  for (std::int64_t i = 0; i < list.count(view, row); ++i) {
    const std::int64_t id = spec.candidates ? list.id(view + ".candidate_ids", row, i) : i;
    values[std::size_t(id)] = list.value(view + ".values", row, i);
  }
  return values;
}

// The call on whole rows that means the same as a call on lists or ragged rows.
Call as_rows(const Call &list) {
  Spec spec = list.spec();
  if (spec.candidates) spec.num_cols *= 2;
  spec.candidates = spec.ragged = false;
  Call rows(spec);
  for (const auto &[member, layout] : spec.op().members) {  // parameters, drafts and the like
    if (!rows.has_array(member) || member.rfind("out", 0) == 0) continue;
    if (rows.buffer(member).size() != list.array(member).buffer.size()) continue;
    std::memcpy(rows.buffer(member).data(), list.array(member).buffer.data(),
                rows.buffer(member).size());
  }
  for (const std::string &view : views_of(spec)) {
    const std::string member = view + ".values";
    for (std::int64_t row = 0; row < list.array(member).rows; ++row) {
      const std::vector<float> values = as_row(list, view, row, spec.num_cols);
      for (std::int64_t col = 0; col < spec.num_cols; ++col) {
        rows.set_value(member, row, col, values[std::size_t(col)]);
      }
    }
  }
  return rows;
}

// Outputs of an element in a list stand at its place, those after the list as if not kept.
void expect_permuted(const Call &list, const Call &rows) {
  const Spec &spec = list.spec();
  const float nothing = spec.output_kind == SAMPLER_OUTPUT_VALUES ? -kInf : 0.0f;
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    for (std::int64_t i = 0; i < spec.num_cols; ++i) {
      const std::int64_t id = spec.candidates ? list.id("input.candidate_ids", row, i) : i;
      const float expected = i < list.count("input", row) ? rows.value("output", row, id) : nothing;
      EXPECT_EQ(list.value("output", row, i), expected) << "row " << row << ", element " << i;
    }
  }
}

void expect_same_outputs(Call *list, Call *rows, sampler_t sampler) {
  expect_ok(list, sampler);
  expect_ok(rows, sampler);
  for (const std::string &output : list->outputs()) {
    if (output == "output") continue;
    EXPECT_TRUE(same_bytes(list->buffer(output).bytes(), rows->buffer(output).bytes())) << output;
  }
  if (list->has_array("output")) expect_permuted(*list, *rows);
}

TEST(Candidates, EqualRowsOfTheOtherTokensMasked) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.has_counts()) continue;
    for (const bool slots : {false, true}) {
      spec.slots = slots && spec.op().has("slots");
      SCOPED_TRACE(describe(spec));
      spec.num_rows = 35;
      spec.output_dtype = SAMPLER_F32;
      Call list(spec);
      Call rows = as_rows(list);
      expect_same_outputs(&list, &rows, sampler.get());
    }
  }
}

// A list of all ids in any order is the row, whose columns are the ids.
TEST(Candidates, OfAllIdsEqualTheRow) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (spec.has_counts() || spec.is_residual()) continue;
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 35;
    spec.output_dtype = SAMPLER_F32;
    Call rows(spec);
    spec.candidates = true;
    Call list(spec);
    for (const auto &[member, layout] : spec.op().members) {
      if (!rows.has_array(member) || member.rfind("out", 0) == 0) continue;
      std::memcpy(list.buffer(member).data(), rows.buffer(member).data(),
                  rows.buffer(member).size());
    }
    Random random(77);
    std::vector<std::int64_t> order(std::size_t(spec.num_cols));
    for (const std::string &view : views_of(spec)) {
      for (std::int64_t row = 0; row < rows.array(view + ".values").rows; ++row) {
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < order.size(); ++i) {
          std::swap(order[i],
                    order[std::size_t(random.between(std::int64_t(i), spec.num_cols - 1))]);
          list.set_id(view + ".candidate_ids", row, std::int64_t(i), order[i]);
          list.set_value(view + ".values", row, std::int64_t(i),
                         rows.value(view + ".values", row, order[i]));
        }
        list.at<std::int32_t>(view + ".candidate_counts", row) = std::int32_t(spec.num_cols);
      }
    }
    expect_same_outputs(&list, &rows, sampler.get());
    // Without counts all elements count.
    const std::string expected = list.output();
    for (const std::string &view : views_of(spec)) {
      list.args().set<void *>(view + ".candidate_counts", nullptr);
    }
    EXPECT_TRUE(same_bytes(output_of(&list, sampler.get()), expected));
  }
}

// After a row's last element may stand anything.
TEST(Candidates, AfterTheLastAreNotRead) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : all_specs()) {
    if (!spec.has_counts()) continue;
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    const std::string expected = output_of(&call, sampler.get());
    bool some = false;
    for (const std::string &view : views_of(spec)) {
      const std::string ids = view + ".candidate_ids";
      for (std::int64_t row = 0; row < call.array(view + ".values").rows; ++row) {
        for (std::int64_t i = call.count(view, row); i < spec.num_cols; ++i) {
          some = true;
          call.set_value(view + ".values", row, i, kNan);
          if (spec.candidates) call.set_id(ids, row, i, i % 2 ? -1 : call.id(ids, row, 0));
        }
      }
    }
    EXPECT_TRUE(some);
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
  }
}

// The largest id there is, and one candidate alone.
TEST(Candidates, OfTheLastIdAlone) {
  const Sampler sampler = roomy_sampler();
  constexpr std::int64_t kLastId = (1 << 20) - 1;
  for (Spec spec : all_specs()) {
    if (!spec.candidates || !spec.op().has("out_token_ids") || spec.is_verify()) continue;
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      call.at<std::int32_t>("input.candidate_counts", row) = 1;
      call.set_value("input.values", row, 0, 0.5f);
      call.set_id("input.candidate_ids", row, 0, kLastId);
    }
    expect_ok(&call, sampler.get());
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      EXPECT_EQ(call.token(row), kLastId);
      EXPECT_EQ(call.status(row), SAMPLER_ROW_OK);
    }
  }
}

TEST(RowIndices, EqualRowsOfTheirOwn) {
  for (const std::int32_t num_threads : {1, 3}) {
    const Sampler sampler = roomy_sampler(num_threads);
    for (Spec spec : all_specs()) {
      if (!spec.row_indices) continue;
      for (const std::int64_t num_input_rows : {1, 3, 40}) {
        for (const bool per_slot : {true, false}) {
          spec.num_rows = 24;
          spec.num_input_rows = num_input_rows;
          spec.per_slot = per_slot;
          SCOPED_TRACE(describe(spec));
          Call shared(spec);
          Spec own_spec = spec;
          own_spec.row_indices = false;
          Call own(own_spec);
          for (const auto &[member, layout] : spec.op().members) {
            if (!own.has_array(member)) continue;
            const bool of_input = member.rfind("input.", 0) == 0;
            for (std::int64_t row = 0; row < spec.num_rows; ++row) {
              own.copy_row(shared, member,
                           of_input ? shared.at<std::int32_t>("row_indices", row) : row, row);
            }
          }
          EXPECT_TRUE(
              same_bytes(output_of(&shared, sampler.get()), output_of(&own, sampler.get())));
        }
      }
    }
  }
}

}  // namespace
}  // namespace capi_test::candidates_test
