// Candidate lists against rows, and outputs that share rows against rows of their own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expect.h"

namespace capi_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Names of the arrays of values of an operation, with their ids and counts.
struct Source {
  std::string values, ids, counts;
};

std::vector<Source> sources_of(const Spec &spec) {
  if (!spec.is_chain()) return {{"input", "candidate_ids", "candidate_counts"}};
  std::vector<Source> sources = {{"target", "target_candidate_ids", "target_candidate_counts"}};
  if (spec.draft) {
    sources.push_back({"draft", "draft_candidate_ids", "draft_candidate_counts"});
  }
  return sources;
}

// What the row of a list means: the value of each id, or that of a token that cannot be chosen.
std::vector<float> as_row(const Call &list, const Source &source, std::int64_t row,
                          std::int64_t num_cols) {
  const bool logits =
      (source.values == "draft" ? list.spec().draft_kind : list.spec().kind) == SAMPLER_LOGITS;
  std::vector<float> values(std::size_t(num_cols), logits ? -kInf : 0.0f);
  const std::int64_t count = list.id(source.counts, row, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    values[std::size_t(list.id(source.ids, row, i))] = list.value(source.values, row, i);
  }
  return values;
}

// The call on whole rows that means the same as a call on lists.
Call as_rows(const Call &list) {
  Spec spec = list.spec();
  spec.candidates = false;
  spec.num_cols *= 2;
  Call rows(spec);
  for (const auto &[member, layout] : spec.op().members) {  // parameters, drafts and the like
    if (!rows.has_array(member) || member.rfind("out", 0) == 0) continue;
    if (rows.buffer(member).size() != list.array(member).buffer.size()) continue;
    std::memcpy(rows.buffer(member).data(), list.array(member).buffer.data(),
                rows.buffer(member).size());
  }
  for (const Source &source : sources_of(spec)) {
    for (std::int64_t row = 0; row < list.array(source.values).rows; ++row) {
      const std::vector<float> values = as_row(list, source, row, spec.num_cols);
      for (std::int64_t col = 0; col < spec.num_cols; ++col) {
        rows.set_value(source.values, row, col, values[std::size_t(col)]);
      }
    }
  }
  return rows;
}

// Outputs of an element in a list stand at its place, those behind the list as if not kept.
void expect_permuted(const Call &list, const Call &rows) {
  const Spec &spec = list.spec();
  const float nothing = spec.operation == SAMPLER_OP_TOP_K_MASK ? -kInf : 0.0f;
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    const std::int64_t count = list.id("candidate_counts", row, 0);
    for (std::int64_t i = 0; i < spec.num_cols; ++i) {
      const float expected =
          i < count ? rows.value("output", row, list.id("candidate_ids", row, i)) : nothing;
      EXPECT_EQ(list.value("output", row, i), expected) << "row " << row << ", element " << i;
    }
  }
}

TEST(Candidates, EqualRowsOfTheOtherTokensMasked) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.candidates) continue;
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 35;
    spec.output_dtype = SAMPLER_F32;
    Call list(spec);
    Call rows = as_rows(list);
    expect_ok(&list, sampler.get());
    expect_ok(&rows, sampler.get());
    for (const std::string &output : list.outputs()) {
      if (output == "output") continue;
      EXPECT_TRUE(same_bytes(list.buffer(output).bytes(), rows.buffer(output).bytes())) << output;
    }
    if (list.has_array("output")) expect_permuted(list, rows);
  }
}

// A list of all ids in any order is the row, whose columns are the ids.
TEST(Candidates, OfAllIdsEqualTheRow) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (spec.candidates || !spec.op().has("candidate_id_type")) continue;
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
    for (const Source &source : sources_of(spec)) {
      for (std::int64_t row = 0; row < rows.array(source.values).rows; ++row) {
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < order.size(); ++i) {
          std::swap(order[i],
                    order[std::size_t(random.between(std::int64_t(i), spec.num_cols - 1))]);
          list.set_id(source.ids, row, std::int64_t(i), order[i]);
          list.set_value(source.values, row, std::int64_t(i),
                         rows.value(source.values, row, order[i]));
        }
        list.at<std::int32_t>(source.counts, row) = std::int32_t(spec.num_cols);
      }
    }
    expect_ok(&list, sampler.get());
    expect_ok(&rows, sampler.get());
    for (const std::string &output : list.outputs()) {
      if (output == "output") continue;
      EXPECT_TRUE(same_bytes(list.buffer(output).bytes(), rows.buffer(output).bytes())) << output;
    }
    if (list.has_array("output")) expect_permuted(list, rows);
    // Without counts all elements count.
    const std::string expected = list.output();
    for (const Source &source : sources_of(spec)) list.args().set<void *>(source.counts, nullptr);
    EXPECT_TRUE(same_bytes(output_of(&list, sampler.get()), expected));
  }
}

// Behind a row's last candidate may stand anything.
TEST(Candidates, BehindTheLastAreNotRead) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : all_specs()) {
    if (!spec.candidates) continue;
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    const std::string expected = output_of(&call, sampler.get());
    bool some = false;
    for (const Source &source : sources_of(spec)) {
      for (std::int64_t row = 0; row < call.array(source.values).rows; ++row) {
        const std::int64_t count = call.at<std::int32_t>(source.counts, row);
        for (std::int64_t i = count; i < spec.num_cols; ++i) {
          some = true;
          call.set_value(source.values, row, i, kNan);
          call.set_id(source.ids, row, i, i % 2 ? -1 : call.id(source.ids, row, 0));
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
    if (!spec.candidates || !spec.op().has("out_token_ids") || spec.is_chain()) continue;
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      call.at<std::int32_t>("candidate_counts", row) = 1;
      call.set_value("input", row, 0, 0.5f);
      call.set_id("candidate_ids", row, 0, kLastId);
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
        for (const bool per_row : {true, false}) {
          spec.num_rows = 24;
          spec.num_input_rows = num_input_rows;
          spec.per_row = per_row;
          SCOPED_TRACE(describe(spec));
          Call shared(spec);
          Spec own_spec = spec;
          own_spec.row_indices = false;
          Call own(own_spec);
          for (const auto &[member, layout] : spec.op().members) {
            if (!own.has_array(member)) continue;
            const bool of_input = member == "input" || member.rfind("candidate", 0) == 0;
            for (std::int64_t row = 0; row < spec.num_rows; ++row) {
              const Call::Array &from = shared.array(member);
              const std::int64_t from_row =
                  of_input ? shared.at<std::int32_t>("row_indices", row) : row;
              const Call::Array &to = own.array(member);
              std::memcpy(
                  to.buffer.data() + std::size_t(row * to.stride) * to.element_size,
                  from.buffer.data() + std::size_t(from_row * from.stride) * from.element_size,
                  std::size_t(from.cols) * from.element_size);
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
}  // namespace capi_test
