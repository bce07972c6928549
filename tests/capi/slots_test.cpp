// Slots: parameters, seeds, offsets and streams that a batch has by number.

#include <climits>

#include "expect.h"

namespace capi_test::slots_test {
namespace {

std::vector<Spec> specs_with_slots() {
  std::vector<Spec> specs;
  for (Spec spec : all_specs()) {
    if (!spec.op().has("slots")) continue;
    spec.num_rows = 14;
    for (const bool streams : {false, true}) {
      spec.streams = streams && spec.op().has("random.streams");
      if (spec.streams == streams) specs.push_back(spec);
    }
  }
  return specs;
}

Spec with_slots(Spec spec) {
  spec.slots = true;
  return spec;
}

// The arrays that are indexed by slot.
std::vector<std::string> slot_arrays(const Call &call) {
  std::vector<std::string> members;
  for (const auto &[member, layout] : call.spec().op().members) {
    const bool is_of_slots = member.rfind("row_params.", 0) == 0 || member.rfind("random.", 0) == 0;
    if (is_of_slots && call.has_array(member)) members.push_back(member);
  }
  return members;
}

// What the rows' slots say is what arrays by row would.
TEST(Slots, EqualArraysByRow) {
  for (const std::int32_t num_threads : {1, 3}) {
    const Sampler sampler = roomy_sampler(num_threads);
    for (const Spec &spec : specs_with_slots()) {
      SCOPED_TRACE(describe(spec));
      Call plain(spec), slots(with_slots(spec));
      EXPECT_TRUE(same_bytes(output_of(&slots, sampler.get()), output_of(&plain, sampler.get())));
    }
  }
}

// Entries of slots that no row has may hold anything: a NaN would make a row bad.
TEST(Slots, ThatNoRowHasAreOfNoMatter) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : specs_with_slots()) {
    SCOPED_TRACE(describe(spec));
    Call call(with_slots(spec));
    const std::string expected = output_of(&call, sampler.get());
    std::vector<bool> is_named(std::size_t(call.spec().num_slots()));
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      is_named[std::size_t(call.slot(row))] = true;
    }
    for (const std::string &member : slot_arrays(call)) {
      for (std::int64_t slot = 0; slot < call.spec().num_slots(); ++slot) {
        const std::size_t size = call.array(member).element_size;
        if (!is_named[std::size_t(slot)]) std::memset(&call.at<char>(member, slot), 0xFF, size);
      }
    }
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
  }
}

// Rows of one slot have its parameters and its randomness, all of them.
TEST(Slots, MayServeManyRows) {
  const Sampler sampler = roomy_sampler(2);
  for (const Spec &spec : specs_with_slots()) {
    SCOPED_TRACE(describe(spec));
    Call shared(with_slots(spec)), plain(spec);
    // Rows 0, 3, 6, ... have the slot of row 0, and so on.
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      shared.set_id("slots", row, 0, shared.slot(row % 3));
      for (const std::string &member : slot_arrays(plain)) {
        plain.copy_row(shared, member, shared.slot(row), row);
      }
    }
    EXPECT_TRUE(same_bytes(output_of(&shared, sampler.get()), output_of(&plain, sampler.get())));
  }
}

// One seed and one offset for all: the stream is the slot's number.
TEST(Slots, AreStreamsOfOneSeed) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : specs_with_slots()) {
    if (!spec.draws() || spec.streams) continue;
    SCOPED_TRACE(describe(spec));
    Call slots(with_slots(spec));
    spec.streams = true;
    Call streams(spec);
    for (Call *call : {&slots, &streams}) {
      call->args().set("random.num_seeds", std::int64_t(1));
      call->args().set("random.num_offsets", std::int64_t(1));
      call->at<std::uint64_t>("random.seeds", 0) = 99;
      call->at<std::uint64_t>("random.offsets", 0) = 3;
    }
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      streams.at<std::uint32_t>("random.streams", row) = std::uint32_t(slots.slot(row));
    }
    EXPECT_TRUE(same_bytes(output_of(&slots, sampler.get()), output_of(&streams, sampler.get())));
  }
}

// A bad slot makes its rows bad, and no other, also where nothing is by slot.
TEST(Slots, OutsideAreOfBadRows) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : few_specs()) {
    if (!spec.slots) continue;
    for (const bool per_slot : {true, false}) {
      spec.per_slot = per_slot;
      SCOPED_TRACE(describe(spec));
      Call good(spec);
      expect_ok(&good, sampler.get());
      for (const std::int64_t slot :
           {std::int64_t(-1), spec.num_slots(), std::int64_t(INT32_MIN), std::int64_t(INT32_MAX)}) {
        Call call(spec);
        call.set_id("slots", 2, 0, slot);
        expect_ok(&call, sampler.get());
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          if (row != 2) {
            EXPECT_TRUE(same_bytes(call.output_row(row), good.output_row(row))) << row;
            continue;
          }
          EXPECT_EQ(call.status(row), SAMPLER_ROW_INVALID_SLOT);
          for (std::int64_t i = 0; spec.is_verify() && i < 4; ++i) {
            EXPECT_EQ(call.token(row, i), -1);
          }
        }
      }
    }
  }
}

// host_parameters says where arrays by slot lie. On a CPU, and where a device reaches host memory,
// tokens are the same.
TEST(Slots, InHostMemory) {
  sampler_options options = roomy_options();
  options.host_parameters = 1;
  const Sampler plain = roomy_sampler(), host = make_sampler(options);
  for (const Spec &spec : specs_with_slots()) {
    SCOPED_TRACE(describe(spec));
    Call call(with_slots(spec));
    EXPECT_TRUE(same_bytes(output_of(&call, host.get()), output_of(&call, plain.get())));
  }
}

}  // namespace
}  // namespace capi_test::slots_test
