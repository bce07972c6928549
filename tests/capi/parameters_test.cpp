// Parameters per row, seeds and offsets, id types, strides and alignments: what may change a token
// and what may not.
#include <climits>
#include <cmath>
#include <limits>
#include <set>

#include "expect.h"

namespace capi_test::parameters_test {
namespace {

template <class T>
void fill(Call *call, const std::string &member, const std::vector<T> &values) {
  if (!call->has_array(member)) return;
  const Call::Array &array = call->array(member);
  for (std::int64_t i = 0; i < array.rows; ++i) {
    call->at<T>(member, i) = values[std::size_t(i) % values.size()];
  }
}

// Every value in an array of numbers per row means something, or makes its row bad: in each
// operation, alone and with all others, and whatever stands in the value beside the array.
TEST(Arrays, NeverMakeACallFail) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> floats = {kNan,  -kNan, kInf, -kInf, 0.0f, -0.0f, 1e-45f, -1e-45f, 1e-5f,
                                     1e-4f, 0.5f,  1.0f, -1.0f, 2.0f, 1e38f, -1e38f, 1.0f};
  const std::vector<std::int32_t> integers = {0, 1, -1, 2, INT32_MAX, INT32_MIN, 1 << 20, 7, 255};
  const std::vector<std::uint64_t> words = {0, 1, UINT64_MAX, std::uint64_t(1) << 63};
  const std::vector<std::string> float_members = {"row_params.temperature", "row_params.top_p",
                                                  "row_params.min_p"};
  const std::vector<std::string> integer_members = {"row_params.top_k", "row_indices",
                                                    "input.candidate_counts", "draft_counts"};
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    spec.num_rows = 17;
    for (const sampler_input_kind draft_kind :
         std::vector<sampler_input_kind>{spec.kind, SAMPLER_LOGITS}) {
      spec.draft_kind = draft_kind;
      spec.filters_off = spec.streams = true;
      spec.slots = spec.op().has("slots");
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
        for (const char *name : {"random.seeds", "random.offsets"}) {
          if (all || name == member) fill(&call, name, words);
        }
        for (const char *name : {"random.streams"}) {
          if (all || name == member) fill(&call, name, std::vector<std::uint32_t>{0, UINT32_MAX});
        }
        for (const std::string name : {"temperature", "top_p", "min_p"}) {
          if (call.has_array("row_params." + name)) call.args().set("params." + name, kNan);
        }
        call.args().set_if_any<std::int32_t>("params.top_k", 3);
        call.reset_outputs();
        EXPECT_EQ(call.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
        constexpr sampler_row_status kAllBits = 127;
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          EXPECT_EQ(call.status(row) & ~kAllBits, 0u);
        }
      };
      for (const std::string &member : float_members) expect_served(member);
      for (const std::string &member : integer_members) expect_served(member);
      expect_served("random.seeds");
      expect_served("random.offsets");
      expect_served("random.streams");
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
      one.copy_output_row(all, row, 0);
      const std::string with_arrays = output_of(&one, sampler.get());
      EXPECT_TRUE(same_bytes(with_arrays, all.output_row(row))) << "row " << row;
      if (spec.op().has("params")) {
        for (const std::string name : {"temperature", "top_p", "min_p"}) {
          if (!one.has_array("row_params." + name)) continue;
          one.args().set("params." + name, one.at<float>("row_params." + name, 0));
        }
        if (one.has_array("row_params.top_k")) {
          one.args().set("params.top_k", one.at<std::int32_t>("row_params.top_k", 0));
        }
        one.args().set<void *>("row_params", nullptr);
      }
      EXPECT_TRUE(same_bytes(output_of(&one, sampler.get()), with_arrays)) << "row " << row;
      if (!one.has_array("random.seeds")) continue;
      for (const std::string name : {"seed", "offset"}) {
        one.args().set("random." + name, one.at<std::uint64_t>("random." + name + "s", 0));
        one.args().set<void *>("random." + name + "s", nullptr);
        one.args().set<std::int64_t>("random.num_" + name + "s", 0);
      }
      EXPECT_TRUE(same_bytes(output_of(&one, sampler.get()), with_arrays)) << "row " << row;
    }
  }
}

// With a seed per row, rows in another order give the same tokens in that order.
TEST(PerRow, PlaceInTheBatchDoesNotMatter) {
  const Sampler sampler = roomy_sampler(2);
  for (Spec spec : all_specs()) {
    if (spec.row_indices) continue;
    spec.num_rows = 13;
    SCOPED_TRACE(describe(spec));
    Call call(spec), permuted(spec);
    for (std::int64_t row = 0; row < 13; ++row) permuted.copy_output_row(call, row, row * 5 % 13);
    expect_ok(&call, sampler.get());
    expect_ok(&permuted, sampler.get());
    for (std::int64_t row = 0; row < 13; ++row) {
      EXPECT_TRUE(same_bytes(permuted.output_row(row * 5 % 13), call.output_row(row)))
          << "row " << row;
    }
  }
}

// At most 1e-5 is greedy: the first token in rank order, whatever the filters and the randomness.
TEST(Greedy, IsTheFirstInRankOrder) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    const bool has_filters = spec.operation == Op::kSample || spec.operation == Op::kFilter;
    if (!has_filters || spec.row_indices) continue;
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 30;
    spec.token_id_type = SAMPLER_ID_I32;
    Spec first_spec = spec;
    first_spec.operation = Op::kSelect;
    first_spec.output_kind = SAMPLER_OUTPUT_PROBABILITIES;
    first_spec.output_dtype = SAMPLER_F32;
    first_spec.num_selected = 1;
    Call first(first_spec), call(spec);
    expect_ok(&first, sampler.get());
    for (const float temperature : {0.0f, -3.0f, 1e-5f, -std::numeric_limits<float>::infinity()}) {
      for (std::int64_t row = 0; row < 30; ++row) {
        call.at<float>("row_params.temperature", row) = temperature;
      }
      expect_ok(&call, sampler.get());
      for (std::int64_t row = 0; row < 30; ++row) {
        EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", row), 1);
        if (call.has_array("out_token_ids")) {
          EXPECT_EQ(call.token(row), first.token(row)) << "row " << row;
          EXPECT_EQ(call.at<float>("out_values", row), first.at<float>("out_values", row));
          EXPECT_EQ(call.at<float>("out_logprobs", row), 0.0f);
          continue;
        }
        const bool is_mask = spec.output_kind == SAMPLER_OUTPUT_VALUES;
        for (std::int64_t i = 0; i < spec.num_cols; ++i) {
          const std::int64_t id = spec.candidates ? call.id("input.candidate_ids", row, i) : i;
          float expected = is_mask ? -std::numeric_limits<float>::infinity() : 0.0f;
          if (id == first.token(row))
            expected = is_mask ? call.value("input.values", row, i) : 1.0f;
          EXPECT_EQ(call.value("output", row, i), expected) << "row " << row << " element " << i;
        }
      }
    }
  }
}

// Operations that draw, with equal rows and parameters, so that only randomness tells rows apart.
std::vector<Spec> drawing_specs() {
  std::vector<Spec> specs;
  for (const Spec &spec : all_specs()) {
    if (!spec.draws() || spec.dtype != SAMPLER_F32 || spec.row_indices) continue;
    if (spec.has_counts() || !spec.draft) continue;
    specs.push_back(spec);
    specs.back().num_rows = 24;
    specs.back().per_slot = false;
  }
  return specs;
}

Call equal_rows(const Spec &spec) {
  Call call(spec);
  const Call source(spec);
  for (std::int64_t row = 1; row < spec.num_rows; ++row) call.copy_output_row(source, 0, row);
  call.args().set_if_any("params.top_p", 1.0f);
  call.args().set_if_any("params.min_p", 0.0f);
  if (spec.is_verify()) {
    call.args().set("params.top_k", std::int32_t(0));
    call.args().set<void *>("draft_counts", nullptr);
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
    call.args().set("random.seed", std::uint64_t(1));
    call.args().set("random.offset", std::uint64_t(1));
    call.args().set("random.seeds", &seed);
    call.args().set("random.offsets", &offset);
    call.args().set("random.num_seeds", std::int64_t(1));
    call.args().set("random.num_offsets", std::int64_t(1));
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
    call.args().set("random.seeds", seeds.data());
    call.args().set("random.num_seeds", spec.num_rows);
    expect_ok(&call, sampler.get());
    EXPECT_EQ(num_distinct_rows(call), 1u);
    // The stream is 0, as it is for the first row with one seed for all.
    EXPECT_TRUE(same_bytes(call.output_row(0), scalar.output_row(0)));
    seeds[5] += 1;
    Call other = equal_rows(spec);
    other.args().set("random.seeds", seeds.data());
    other.args().set("random.num_seeds", spec.num_rows);
    std::size_t num_changed = 0;
    for (std::uint64_t offset = 7; offset < 17; ++offset) {
      call.args().set("random.offset", offset);
      other.args().set("random.offset", offset);
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
    scalar.args().set("random.offset", std::uint64_t(99));
    scalar.args().set("random.offsets", offsets.data());
    scalar.args().set("random.num_offsets", spec.num_rows);
    EXPECT_TRUE(same_bytes(output_of(&scalar, sampler.get()), expected));
  }
}

// The stream of a slot is its number where one seed serves all, 0 where each has its own, and what
// `streams` says in either case.
TEST(Streams, AreTheSlotsOrGiven) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : drawing_specs()) {
    SCOPED_TRACE(describe(spec));
    Call call = equal_rows(spec);
    const std::string numbers = output_of(&call, sampler.get());
    EXPECT_GT(num_distinct_rows(call), 5u);
    std::vector<std::uint32_t> streams(std::size_t(spec.num_rows));
    const std::vector<std::uint64_t> seeds(std::size_t(spec.num_rows), 12345);
    const auto with_streams = [&] {
      call.args().set("random.streams", streams.data());
      return output_of(&call, sampler.get());
    };
    const auto with_seeds = [&] {
      call.args().set("random.seeds", seeds.data());
      call.args().set("random.num_seeds", spec.num_rows);
      const std::string output = output_of(&call, sampler.get());
      call.args().set<void *>("random.seeds", nullptr);
      call.args().set("random.num_seeds", std::int64_t(0));
      return output;
    };
    const std::string zeros = with_streams();
    EXPECT_EQ(num_distinct_rows(call), 1u);
    call.args().set<void *>("random.streams", nullptr);
    EXPECT_TRUE(same_bytes(with_seeds(), zeros));
    for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = std::uint32_t(i);
    EXPECT_TRUE(same_bytes(with_streams(), numbers));
    EXPECT_TRUE(same_bytes(with_seeds(), numbers));
    // All 32 bits count.
    const std::vector<std::uint32_t> first = streams;
    for (int bit = 0; bit < 32; ++bit) {
      streams = first;
      for (std::uint32_t &stream : streams) stream ^= std::uint32_t(1) << bit;
      EXPECT_NE(with_streams(), numbers) << bit;
    }
  }
}

// With one seed, and request ids as streams, a token depends on its request and not on its row.
TEST(Streams, OfRequestsDoNotDependOnTheRow) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.draws() || spec.row_indices) continue;
    spec.num_rows = 13;
    spec.streams = true;
    SCOPED_TRACE(describe(spec));
    Call call(spec), permuted(spec);
    for (std::int64_t row = 0; row < 13; ++row) permuted.copy_output_row(call, row, row * 5 % 13);
    for (Call *each : {&call, &permuted}) {
      for (const char *array : {"random.seeds", "random.offsets"}) {
        each->args().set<void *>(array, nullptr);
      }
      each->args().set("random.num_seeds", std::int64_t(0));
      each->args().set("random.num_offsets", std::int64_t(0));
      expect_ok(each, sampler.get());
    }
    for (std::int64_t row = 0; row < 13; ++row) {
      EXPECT_TRUE(same_bytes(permuted.output_row(row * 5 % 13), call.output_row(row)))
          << "row " << row;
    }
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
      // A token of -1.
      const std::int64_t bad_row = spec.row_indices ? call->id("row_indices", 1, 0) : 1;
      call->set_row(spec.values(), bad_row, std::nanf(""));
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
        spec.sequence_padding = spec.is_verify() ? (padding + misalignment) % 5 : 0;
        spec.misalignment = misalignment;
        Call call(spec);
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          call.copy_output_row(plain, row, row);
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
         {"input.row_stride", "target.row_stride", "draft.row_stride", "output_stride"}) {
      call.args().set_if_any(stride, spec.num_cols);
    }
    call.args().set_if_any("target_sequence_stride", spec.num_cols * spec.num_positions());
    call.args().set_if_any("draft_sequence_stride", spec.num_cols * spec.num_draft_positions());
    call.args().set("exec.stream", std::uintptr_t(0x1234));
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
  }
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

// A call reads its inputs and nothing of what the last call left.
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
}  // namespace capi_test::parameters_test
