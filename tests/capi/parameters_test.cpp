// Parameters per row, seeds and offsets, id types, strides and alignments: what may change a token
// and what may not.
#include <climits>
#include <cmath>
#include <limits>
#include <set>

#include "expect.h"

namespace capi_test {
namespace {

// Copies a row of an array that has one row per output or input row.
void copy_row(const Call &from, const std::string &member, std::int64_t row, Call *to,
              std::int64_t to_row) {
  const Call::Array &source = from.array(member);
  Call::Array &target = to->array(member);
  const std::size_t bytes = std::size_t(source.cols) * source.element_size;
  std::memcpy(target.buffer.data() + std::size_t(to_row * target.stride) * target.element_size,
              source.buffer.data() + std::size_t(row * source.stride) * source.element_size, bytes);
}

// How many rows of an array belong to an output row.
std::int64_t rows_per_output(const Call &call, const std::string &member) {
  const Spec &spec = call.spec();
  const std::int64_t rows = call.array(member).rows;
  return spec.num_rows == 0 ? 0 : rows / spec.num_rows;
}

// Copies all that belongs to an output row of one call to an output row of another.
void copy_output_row(const Call &from, std::int64_t row, Call *to, std::int64_t to_row) {
  for (const auto &[member, layout] : from.spec().op().members) {
    if (!from.has_array(member) || !to->has_array(member)) continue;
    const std::int64_t count = rows_per_output(from, member);
    for (std::int64_t i = 0; i < count; ++i) {
      copy_row(from, member, row * count + i, to, to_row * count + i);
    }
  }
}

template <class T>
void fill(Call *call, const std::string &member, const std::vector<T> &values) {
  if (!call->has_array(member)) return;
  const Call::Array &array = call->array(member);
  for (std::int64_t i = 0; i < array.rows; ++i) {
    call->at<T>(member, i) = values[std::size_t(i) % values.size()];
  }
}

// Of arrays of numbers per row every value means something, or makes its row bad: in each
// operation, alone and with all others, and whatever stands in the value beside the array.
TEST(Arrays, NeverMakeACallFail) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> floats = {kNan,  -kNan, kInf, -kInf, 0.0f, -0.0f, 1e-45f, -1e-45f, 1e-5f,
                                     1e-4f, 0.5f,  1.0f, -1.0f, 2.0f, 1e38f, -1e38f, 1.0f};
  const std::vector<std::int32_t> integers = {0, 1, -1, 2, INT32_MAX, INT32_MIN, 1 << 20, 7, 255};
  const std::vector<std::uint64_t> words = {0, 1, UINT64_MAX, std::uint64_t(1) << 63};
  const std::vector<std::string> float_members = {"temperatures", "top_ps", "min_ps"};
  const std::vector<std::string> integer_members = {"top_ks", "row_indices", "candidate_counts",
                                                    "draft_lengths"};
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    spec.num_rows = 17;
    for (const sampler_input_kind draft_kind :
         std::vector<sampler_input_kind>{spec.kind, SAMPLER_LOGITS}) {
      spec.draft_kind = draft_kind;
      spec.filters_off = true;
      SCOPED_TRACE(describe(spec));
      const auto expect_served = [&](const std::string &member) {
        SCOPED_TRACE(member);
        const bool all = member == "all";
        Call call(spec);
        for (const std::string &name : float_members) {
          if (all || name == member) fill(&call, name, floats);
        }
        for (const std::string &name : integer_members) {
          if (all || name == member) fill(&call, name, integers);
        }
        for (const char *name : {"seeds", "offsets"}) {
          if (all || name == member) fill(&call, name, words);
        }
        for (const char *value : {"temperature", "top_p", "min_p"}) {
          if (call.has_array(std::string(value) + "s")) call.args().set(value, kNan);
        }
        call.args().set_if_any<std::int32_t>("top_k", 3);
        call.reset_outputs();
        EXPECT_EQ(call.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
        constexpr sampler_row_status kAllBits = 63;
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          EXPECT_EQ(call.status(row) & ~kAllBits, 0u);
        }
      };
      for (const std::string &member : float_members) expect_served(member);
      for (const std::string &member : integer_members) expect_served(member);
      expect_served("seeds");
      expect_served("offsets");
      expect_served("all");
    }
  }
}

// Each row of a call with parameters per row equals a call of one row with scalar parameters, and
// its seed in an array of one.
TEST(PerRow, EqualsScalarCallsRowByRow) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (spec.row_indices) continue;
    spec.num_rows = 56;  // every combination of temperature and top-k
    SCOPED_TRACE(describe(spec));
    Call all(spec);
    expect_ok(&all, sampler.get());
    spec.num_rows = 1;
    for (std::int64_t row = 0; row < 56; ++row) {
      Call one(spec);
      copy_output_row(all, row, &one, 0);
      const std::string with_arrays = output_of(&one, sampler.get());
      EXPECT_TRUE(same_bytes(with_arrays, all.output_row(row))) << "row " << row;
      for (const char *name : {"temperature", "top_p", "min_p"}) {
        const std::string array = std::string(name) + "s";
        if (!one.has_array(array)) continue;
        one.args().set(name, one.at<float>(array, 0));
        one.args().set<void *>(array, nullptr);
      }
      if (one.has_array("top_ks") && one.args().operation().has("top_k")) {
        one.args().set("top_k", one.at<std::int32_t>("top_ks", 0));
        one.args().set<void *>("top_ks", nullptr);
      }
      EXPECT_TRUE(same_bytes(output_of(&one, sampler.get()), with_arrays)) << "row " << row;
      if (!one.has_array("seeds")) continue;
      for (const std::string name : {"seed", "offset"}) {
        one.args().set(name, one.at<std::uint64_t>(name + "s", 0));
        one.args().set<void *>(name + "s", nullptr);
        one.args().set<std::int64_t>("num_" + name + "s", 0);
      }
      EXPECT_TRUE(same_bytes(output_of(&one, sampler.get()), with_arrays)) << "row " << row;
    }
  }
}

// With a seed per row, rows in another order give the same tokens in that order.
TEST(PerRow, SlotInTheBatchDoesNotMatter) {
  const Sampler sampler = roomy_sampler(2);
  for (Spec spec : all_specs()) {
    if (spec.row_indices) continue;
    spec.num_rows = 13;
    SCOPED_TRACE(describe(spec));
    Call call(spec), permuted(spec);
    for (std::int64_t row = 0; row < 13; ++row) copy_output_row(call, row, &permuted, row * 5 % 13);
    expect_ok(&call, sampler.get());
    expect_ok(&permuted, sampler.get());
    for (std::int64_t row = 0; row < 13; ++row) {
      EXPECT_TRUE(same_bytes(permuted.output_row(row * 5 % 13), call.output_row(row)))
          << "row " << row;
    }
  }
}

// At most 1e-5 is greedy: the argmax, whatever the filters and the randomness.
TEST(Greedy, IsTheArgmax) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.op().has("temperature") || spec.is_chain() || spec.row_indices) continue;
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 30;
    spec.token_id_type = SAMPLER_ID_I32;
    Spec argmax_spec = spec;
    argmax_spec.operation = SAMPLER_OP_ARGMAX;
    Call argmax(argmax_spec), call(spec);
    expect_ok(&argmax, sampler.get());
    for (const float temperature : {0.0f, -3.0f, 1e-5f, -std::numeric_limits<float>::infinity()}) {
      for (std::int64_t row = 0; row < 30; ++row) {
        call.at<float>("temperatures", row) = temperature;
      }
      expect_ok(&call, sampler.get());
      for (std::int64_t row = 0; row < 30; ++row) {
        if (call.has_array("out_kept_counts")) {
          EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", row), 1);
        }
        if (call.has_array("out_token_ids")) {
          EXPECT_EQ(call.token(row), argmax.token(row)) << "row " << row;
        } else {
          float sum = 0;  // one-hot
          for (std::int64_t i = 0; i < spec.num_cols; ++i) {
            const float p = call.value("output", row, i);
            const std::int64_t id = spec.candidates ? call.id("candidate_ids", row, i) : i;
            EXPECT_TRUE(p == 0 || id == argmax.token(row));
            sum += p;
          }
          EXPECT_EQ(sum, 1.0f);
        }
      }
    }
  }
}

// Operations that draw, with equal rows and parameters, so that only randomness tells rows apart.
std::vector<Spec> drawing_specs() {
  std::vector<Spec> specs;
  for (const Spec &spec : all_specs()) {
    if (!spec.op().has("seed") || spec.dtype != SAMPLER_F32 || spec.row_indices) continue;
    if (spec.candidates || !spec.draft) continue;
    specs.push_back(spec);
    specs.back().num_rows = 24;
    specs.back().per_row = false;
  }
  return specs;
}

Call equal_rows(const Spec &spec) {
  Call call(spec);
  const Call source(spec);
  for (std::int64_t row = 1; row < spec.num_rows; ++row) copy_output_row(source, 0, &call, row);
  call.args().set_if_any("top_p", 1.0f);
  call.args().set_if_any("min_p", 0.0f);
  if (spec.is_chain()) {
    call.args().set("top_k", std::int32_t(0));
    call.args().set<void *>("draft_lengths", nullptr);
  }
  return call;
}

std::size_t num_distinct_rows(const Call &call) {
  std::set<std::string> rows;
  for (std::int64_t row = 0; row < call.spec().num_rows; ++row) rows.insert(call.output_row(row));
  return rows.size();
}

TEST(Seeds, OneForAllRowsDrawsThemIndependently) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : drawing_specs()) {
    SCOPED_TRACE(describe(spec));
    Call call = equal_rows(spec);
    const std::string expected = output_of(&call, sampler.get());
    EXPECT_GT(num_distinct_rows(call), 3u);
    // The same from arrays of one.
    std::uint64_t seed = 12345, offset = 7;
    call.args().set("seed", std::uint64_t(1));
    call.args().set("offset", std::uint64_t(1));
    call.args().set("seeds", &seed);
    call.args().set("offsets", &offset);
    call.args().set("num_seeds", std::int64_t(1));
    call.args().set("num_offsets", std::int64_t(1));
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
    // Either one changes the tokens, its high half too.
    for (std::uint64_t *value : {&seed, &offset}) {
      for (const std::uint64_t bit : {std::uint64_t(1), std::uint64_t(1) << 63}) {
        *value ^= bit;
        EXPECT_NE(output_of(&call, sampler.get()), expected);
        *value ^= bit;
      }
    }
  }
}

TEST(Seeds, OneForAllRowsDependsOnTheRowNotTheBatch) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : drawing_specs()) {
    SCOPED_TRACE(describe(spec));
    Call all = equal_rows(spec);
    expect_ok(&all, sampler.get());
    spec.num_rows = 9;
    Call few = equal_rows(spec);
    expect_ok(&few, sampler.get());
    for (std::int64_t row = 0; row < 9; ++row)
      EXPECT_TRUE(same_bytes(few.output_row(row), all.output_row(row)));
  }
}

TEST(Seeds, OnePerRowDrawsEqualRowsEqually) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : drawing_specs()) {
    SCOPED_TRACE(describe(spec));
    Call scalar = equal_rows(spec);
    expect_ok(&scalar, sampler.get());
    std::vector<std::uint64_t> seeds(std::size_t(spec.num_rows), 12345);
    Call call = equal_rows(spec);
    call.args().set("seeds", seeds.data());
    call.args().set("num_seeds", spec.num_rows);
    expect_ok(&call, sampler.get());
    EXPECT_EQ(num_distinct_rows(call), 1u);
    // The stream is 0, as it is for the first row with one seed for all.
    EXPECT_TRUE(same_bytes(call.output_row(0), scalar.output_row(0)));
    seeds[5] += 1;
    Call other = equal_rows(spec);
    other.args().set("seeds", seeds.data());
    other.args().set("num_seeds", spec.num_rows);
    std::size_t num_changed = 0;
    for (std::uint64_t offset = 7; offset < 17; ++offset) {
      call.args().set("offset", offset);
      other.args().set("offset", offset);
      seeds[5] = 12345;
      expect_ok(&call, sampler.get());
      seeds[5] = 12346;
      expect_ok(&other, sampler.get());
      for (std::int64_t row = 0; row < spec.num_rows; ++row) {
        const bool same = call.output_row(row) == other.output_row(row);
        EXPECT_TRUE(same || row == 5);
        num_changed += same ? 0 : 1;
      }
    }
    EXPECT_GT(num_changed, 0u);
  }
}

// An offset per row beside one seed leaves each row its stream.
TEST(Seeds, OffsetPerRowKeepsTheStream) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : drawing_specs()) {
    SCOPED_TRACE(describe(spec));
    Call scalar = equal_rows(spec);
    const std::string expected = output_of(&scalar, sampler.get());
    const std::vector<std::uint64_t> offsets(std::size_t(spec.num_rows), 7);
    scalar.args().set("offset", std::uint64_t(99));
    scalar.args().set("offsets", offsets.data());
    scalar.args().set("num_offsets", spec.num_rows);
    EXPECT_TRUE(same_bytes(output_of(&scalar, sampler.get()), expected));
  }
}

TEST(IdTypes, GiveTheSameIds) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.op().has("out_token_ids")) continue;
    spec.num_rows = 12;
    SCOPED_TRACE(describe(spec));
    spec.token_id_type = SAMPLER_ID_I32;
    spec.candidate_id_type = SAMPLER_ID_I64;
    Call narrow(spec);
    spec.token_id_type = SAMPLER_ID_I64;
    spec.candidate_id_type = SAMPLER_ID_I32;
    Call wide(spec);
    for (Call *call : {&narrow, &wide}) {
      call->set_row(spec.is_chain() ? "target" : "input", 1, std::nanf(""));  // a token of -1
      expect_ok(call, sampler.get());
    }
    bool some_bad = false;
    for (std::int64_t row = 0; row < 12; ++row) {
      for (std::int64_t i = 0; i < narrow.array("out_token_ids").cols; ++i) {
        EXPECT_EQ(narrow.token(row, i), wide.token(row, i));
        some_bad = some_bad || narrow.token(row, i) == -1;
      }
    }
    EXPECT_TRUE(some_bad);
  }
}

// Rows apart, with NaN between them, and arrays that start at odd elements.
TEST(Layout, StridesAndAlignmentsChangeNothing) {
  const Sampler sampler = roomy_sampler(2);
  for (Spec spec : all_specs()) {
    SCOPED_TRACE(describe(spec));
    Call plain(spec);
    expect_ok(&plain, sampler.get());
    for (const std::int64_t padding : {0, 1, 6, 91}) {
      for (const std::int64_t misalignment : {0, 1, 3, 5}) {
        spec.padding = padding;
        spec.misalignment = misalignment;
        Call call(spec);
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          copy_output_row(plain, row, &call, row);
        }
        const std::string inputs = call.inputs();
        expect_ok(&call, sampler.get());
        EXPECT_TRUE(same_bytes(call.inputs(), inputs));
        EXPECT_TRUE(call.output_padding_is_untouched());
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          EXPECT_TRUE(same_bytes(call.output_row(row), plain.output_row(row)))
              << "row " << row << ", padding " << padding << ", misalignment " << misalignment;
        }
      }
    }
  }
}

// Strides that are given in full mean what 0 means, and a stream nothing at all.
TEST(Layout, ExplicitStridesOfContiguousRows) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : few_specs()) {
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    const std::string expected = output_of(&call, sampler.get());
    for (const char *stride :
         {"row_stride", "output_stride", "target_position_stride", "draft_position_stride"}) {
      call.args().set_if_any(stride, spec.num_cols);
    }
    call.args().set_if_any("target_row_stride", spec.num_cols * spec.num_positions());
    call.args().set_if_any("draft_row_stride", spec.num_cols * spec.num_draft_positions());
    if (!spec.row_indices) call.args().set_if_any("num_input_rows", spec.num_rows);
    call.args().set("stream", std::uintptr_t(0x1234));
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
  }
}

// Fractions of a weight far below its last bit round up, exactly.
TEST(Filters, OfTinyFractions) {
  const float p = 0x1p-42f;
  const float probabilities[] = {0.75f * p, 2 * p, 1, 0, 0.5f * p, p};
  const Sampler sampler = roomy_sampler();
  const auto kept_count = [&](float top_p, float min_p) {
    sampler_sample_args args = SAMPLER_SAMPLE_ARGS_INIT;
    std::int32_t token_id, count = -1;
    args.input = probabilities;
    args.input_kind = SAMPLER_PROBABILITIES;
    args.num_rows = 1;
    args.num_cols = 6;
    args.top_p = top_p;
    args.min_p = min_p;
    args.out_token_ids = &token_id;
    args.out_kept_counts = &count;
    EXPECT_EQ(sampler_sample(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    return count;
  };
  // The weights are 3, 8, 2^44, 0, 2 and 4.
  EXPECT_EQ(kept_count(1, p), 3);
  EXPECT_EQ(kept_count(1, 0.75f * p), 4);
  EXPECT_EQ(kept_count(1, 0x1.000002p-42f), 2);  // a little more than 4
  EXPECT_EQ(kept_count(p, 0), 1);
}

// The values stand on grids that all types hold: the type must not change a token.
TEST(Dtypes, HoldTheSameRows) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (spec.dtype != SAMPLER_F32) continue;
    spec.output_dtype = SAMPLER_F32;
    SCOPED_TRACE(describe(spec));
    spec.draft_dtype = SAMPLER_F32;
    Call wide(spec);
    expect_ok(&wide, sampler.get());
    for (const sampler_dtype dtype : {SAMPLER_F16, SAMPLER_BF16}) {
      spec.dtype = spec.draft_dtype = dtype;
      Call narrow(spec);
      expect_ok(&narrow, sampler.get());
      EXPECT_TRUE(same_bytes(narrow.output(), wide.output()));
    }
  }
}

// A call reads its inputs and nothing of what the last call left behind.
TEST(Calls, AreRepeatable) {
  const Sampler sampler = roomy_sampler(2);
  std::vector<std::string> first;
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::size_t i = 0;
    for (const Spec &spec : all_specs()) {
      Call call(spec);
      const std::string inputs = call.inputs();
      const std::string output = output_of(&call, sampler.get());
      EXPECT_TRUE(same_bytes(call.inputs(), inputs));
      if (repetition == 0) {
        first.push_back(output);
      } else {
        EXPECT_TRUE(same_bytes(output, first[i])) << describe(spec);
      }
      ++i;
    }
  }
}

}  // namespace
}  // namespace capi_test
