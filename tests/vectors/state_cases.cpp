// Calls of states: text that comes from outside, draws, what was drawn, and copies.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "builder.h"
#include "cases.h"

namespace vectors_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kCols = 20;

class Maker {
 public:
  Maker(const std::string &name, const sampler_state_options &options) {
    case_.name = name;
    case_.options = options;
  }

  Builder call(const std::string &name) {
    for (const capi_test::Operation &operation : capi_test::state_operations()) {
      if (operation.name == name) return Builder(operation, name, case_.calls.size());
    }
    give_up(name, "is no call of a state");
  }
  // Draws for slots 2, 0 and 1, with penalties and adaptive stages.
  Builder draw(bool uses_i64) {
    Builder b(capi_test::operation(capi_test::Op::kSample), "sample", 50 + case_.calls.size());
    if (uses_i64) b.use_i64();
    Rows rows;
    for (int i = 0; i < 3; ++i) rows.push_back(random_logits(kCols, b.random()));
    b.get().brings_workspace = true;
    b.rows("input", rows, SAMPLER_LOGITS).in("slots", Ints{2, 0, 1}).set("num_slots", 4);
    add_numbers(&b);
    b.set_float("params.presence_penalty", 0.75f).set_float("params.dry_multiplier", 0.5f);
    b.set("random.seed", 9).set("random.offset", std::int64_t(case_.calls.size()));
    b.out("out_token_ids", 3).out("out_observations", 3).out("out_kept_counts", 3);
    return b.out("out_logprobs", 3).out("out_row_status", 3);
  }
  // What was drawn, by the last call.
  Builder accept(bool uses_i64) {
    const Case &drawn = case_.calls.back();
    Builder b = call("accept");
    if (uses_i64) b.use_i64();
    b.in("slots", Ints{2, 0, 1}).set("num_rows", 3).set("num_tokens", 1);
    b.get().inputs["token_ids"] = drawn.outputs.at("out_token_ids");
    b.get().inputs["observations"] = drawn.outputs.at("reports.out_observations");
    add_numbers(&b);
    return b.out("out_lengths", 3).out("out_row_status", 3);
  }
  Builder read(std::int64_t num_rows, std::int64_t num_tokens) {
    Builder b = call("read");
    b.set("num_rows", num_rows).set("num_tokens", num_tokens);
    return b.out("out_lengths", num_rows)
        .out("out_prompt_lengths", num_rows)
        .out("out_adaptive_values", num_rows * SAMPLER_NUM_ADAPTIVE_VALUES)
        .out("out_row_status", num_rows);
  }
  void add_read(std::int64_t num_tokens) {
    add(read(4, num_tokens).out("out_token_ids", 4 * num_tokens));
  }

  const Case &add(const Builder &b, sampler_status status = SAMPLER_OK) {
    Builder copy = b;
    case_.calls.push_back(copy.get());
    case_ = replayed(case_, WorkspaceOf::kCall);
    const Case &made = case_.calls.back();
    if (made.status != status) give_up(case_.name + ", " + made.name, made.error);
    return made;
  }
  StateCase &get() { return case_; }

 private:
  static void add_numbers(Builder *b) {
    b->set("params.adaptive_kind", SAMPLER_ADAPTIVE_MIROSTAT_V2);
    b->set_float("params.adaptive_target", 2.5f).set_float("params.adaptive_rate", 0.5f);
    b->set_float("params.top_p_decay", 0.75f).set_float("params.top_p_least", 0.25f);
    b->in("row_params.top_p", Floats{0.95f, 0.9f, 0.85f, 0.8f});
  }

  StateCase case_;
};

// In and out: it holds `values` before.
void add_offsets(Builder *b, const std::vector<std::uint64_t> &values) {
  b->in("offsets", values).out("offsets", std::int64_t(values.size()));
}

StateCase sequences(bool uses_i64) {
  sampler_state_options options = {};
  options.num_slots = 4;
  options.max_tokens = 12;
  options.keep_adaptive_values = !uses_i64;
  options.max_distinct_tokens = uses_i64 ? 3 : 0;
  Maker maker(uses_i64 ? "a state of few distinct tokens, ids of type i64"
                       : "a state that keeps "
                         "adaptive values",
              options);
  const auto append = [&] {
    Builder b = maker.call("append");
    if (uses_i64) b.use_i64();
    return b;
  };
  maker.add(append()
                .in("slots", Ints{2, 0})
                .set("num_rows", 2)
                .set("token_kind", SAMPLER_TOKENS_PROMPT)
                .lists_at("tokens", {{3, 1, 4, 1, 5}, {9, 2, 6}})
                .out("out_lengths", 2)
                .out("out_row_status", 2));
  // A slot that there is not, and more tokens than there is room for.
  maker.add(append()
                .in("slots", Ints{7, 1, 2})
                .set("num_rows", 3)
                .lists_at("tokens", {{1}, {5, 3, 5}, Ids(8, 1)})
                .out("out_lengths", 3)
                .out("out_row_status", 3));
  for (int step = 0; step < 2; ++step) {
    maker.add(maker.draw(uses_i64));
    Builder b = maker.accept(uses_i64);
    add_offsets(&b, {10, 11, 12, 13});
    maker.add(b);
  }
  // Several tokens of each of the first two slots; the second row has none.
  Builder several = maker.call("accept");
  if (uses_i64) several.use_i64();
  several.set("num_rows", 2).set("num_tokens", 3).ids("token_ids", {4, 17, -1, -1, 3, 3});
  maker.add(several.in("observations", Floats{1.5f, kNan, 2, 1, 1, 1})
                .out("out_lengths", 2)
                .out("out_row_status", 2));
  maker.add_read(9);
  maker.add(maker.call("truncate")
                .in("slots", Ints{2, 0, -1})
                .set("num_rows", 3)
                .in("lengths", Ints{6, 3, 1})
                .out("out_row_status", 3));
  Builder some = maker.read(3, 7);
  if (uses_i64) some.use_i64();
  maker.add(some.in("slots", Ints{2, 1, 4}).out("out_token_ids", 21));
  maker.add(maker.call("copy")
                .in("source_slots", Ints{2, 2, 9})
                .in("destination_slots", Ints{3, 1, 0})
                .set("num_rows", 3)
                .out("out_row_status", 3));
  maker.add(maker.call("reset")
                .in("slots", Ints{2, 0})
                .set("num_rows", 2)
                .in("adaptive_values", Floats{2, 0.5f, 3, 0.75f, kInf, kNan, kNan, kNan})
                .out("out_row_status", 2));
  maker.add(maker.draw(uses_i64));
  maker.add_read(8);

  std::size_t bytes = 1 << 16;
  Builder probe = maker.call("serialize");
  probe.set("first_slot", 1).set("num_slots", 3).set("out_data_bytes", std::int64_t(bytes));
  const Case probed = maker.add(probe.out("out_data", std::int64_t(bytes)));
  maker.get().calls.pop_back();
  // The rest is as it was.
  const std::string &written = probed.outputs.at("out_data").bytes;
  bytes = written.find_last_not_of('\xCD') + 1;
  Builder serialize = maker.call("serialize");
  serialize.set("first_slot", 1).set("num_slots", 3).set("out_data_bytes", std::int64_t(bytes));
  const Case serialized = maker.add(serialize.out("out_data", std::int64_t(bytes)));

  maker.add(maker.call("reset"));
  maker.add_read(2);
  const auto deserialize = [&](std::int64_t first_slot, const std::string &data) {
    Builder b = maker.call("deserialize");
    b.set("data_bytes", std::int64_t(data.size()));
    if (first_slot) b.set("first_slot", first_slot);
    return b.in("data", std::vector<std::uint8_t>(data.begin(), data.end()));
  };
  const std::string data = serialized.outputs.at("out_data").bytes;
  maker.add(deserialize(1, data).out("out_num_slots", 1));
  maker.add_read(8);
  maker.add(deserialize(0, data).out("out_num_slots", 1));
  std::string damaged = data;
  damaged[damaged.size() / 2] = char(damaged[damaged.size() / 2] ^ 4);
  maker.add(deserialize(0, damaged), SAMPLER_ERROR_CORRUPT_DATA);
  maker.add(deserialize(2, data), SAMPLER_ERROR_INVALID_ARGUMENT);
  maker.add(maker.call("truncate").set("num_rows", 1), SAMPLER_ERROR_INVALID_ARGUMENT);
  maker.add_read(8);
  return maker.get();
}

}  // namespace

std::vector<StateCase> make_state_cases() {
  return {sequences(false), sequences(true)};
}

}  // namespace vectors_test
