// Calls in one line: each does what its full call does, and names its own arguments in errors.
#include <climits>
#include <cmath>
#include <functional>

#include "expect.h"

namespace capi_test::simple_test {
namespace {

constexpr std::uint64_t kSeed = 0x123456789ABCDEF0u, kOffset = 0xFEDCBA9876543210u;

sampler_params params_of(float temperature, std::int32_t top_k, float top_p, float min_p) {
  sampler_params params = sampler_params_default();
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  return params;
}

// A call in one line with some of its arguments set.
struct Simple {
  const char *name;
  sampler_params params;            // of the full call
  sampler_output_kind output_kind;  // of rows
  std::function<sampler_status(sampler_t, const sampler_rows *, void *output)> run;
};

// Those that draw, at a temperature that all rows may have, or one of logits.
std::vector<Simple> draws(float t) {
  const auto ids = [](void *output) { return static_cast<std::int32_t *>(output); };
  return {
      {"sampler_argmax", params_of(0, 0, 1, 0), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_argmax(sampler, input, ids(out), nullptr);
       }},
      {"sampler_categorical", params_of(t, 0, 1, 0), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_categorical(sampler, input, t, kSeed, kOffset, ids(out), nullptr);
       }},
      {"sampler_top_k", params_of(t, 7, 1, 0), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_k(sampler, input, 7, t, kSeed, kOffset, ids(out), nullptr);
       }},
      {"sampler_top_p", params_of(t, 0, 0.7f, 0), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_p(sampler, input, 0.7f, t, kSeed, kOffset, ids(out), nullptr);
       }},
      {"sampler_min_p", params_of(t, 0, 1, 0.2f), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_min_p(sampler, input, 0.2f, t, kSeed, kOffset, ids(out), nullptr);
       }},
      {"sampler_top_k_top_p", params_of(t, 9, 0.8f, 0), 0,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_k_top_p(sampler, input, 9, 0.8f, t, kSeed, kOffset, ids(out), nullptr);
       }},
  };
}

// Those that write rows.
std::vector<Simple> writes(float t) {
  const auto floats = [](void *output) { return static_cast<float *>(output); };
  return {
      {"sampler_softmax", params_of(t, 0, 1, 0), SAMPLER_OUTPUT_PROBABILITIES,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_softmax(sampler, input, t, floats(out), nullptr);
       }},
      {"sampler_top_k_renorm", params_of(1, 7, 1, 0), SAMPLER_OUTPUT_PROBABILITIES,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_k_renorm(sampler, input, 7, floats(out), nullptr);
       }},
      {"sampler_top_p_renorm", params_of(1, 0, 0.7f, 0), SAMPLER_OUTPUT_PROBABILITIES,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_p_renorm(sampler, input, 0.7f, floats(out), nullptr);
       }},
      {"sampler_top_k_mask", params_of(1, 7, 1, 0), SAMPLER_OUTPUT_VALUES,
       [=](sampler_t sampler, const sampler_rows *input, void *out) {
         return sampler_top_k_mask(sampler, input, 7, floats(out), nullptr);
       }},
  };
}

Simple select() {
  return {"sampler_top_k_select", params_of(1, 0, 1, 0), 0,
          [](sampler_t sampler, const sampler_rows *input, void *out) {
            return sampler_top_k_select(sampler, input, 5, nullptr,
                                        static_cast<std::int32_t *>(out), nullptr);
          }};
}

std::vector<Simple> on_one_view() {
  std::vector<Simple> calls = draws(1);
  for (Simple &call : writes(1)) calls.push_back(call);
  calls.push_back(select());
  return calls;
}

template <class Struct>
const Struct &args_of(const Call &call) {
  return *static_cast<const Struct *>(call.args().data());
}

// Rows of the call with what one line has: types, kinds, candidates and strides, one bad row.
std::vector<Spec> inputs_of(Op op) {
  std::vector<Spec> specs;
  for (Spec spec : all_specs()) {
    if (spec.operation != op || spec.row_indices || spec.draw_method != 0) continue;
    spec.num_rows = 23;
    spec.padding = 3;
    spec.per_slot = false;
    spec.output_dtype = SAMPLER_F32;
    spec.token_id_type = SAMPLER_ID_I32;
    specs.push_back(spec);
  }
  return specs;
}

TEST(Simple, DrawsAsSample) {
  for (const std::int32_t num_threads : {1, 3}) {
    const Sampler sampler = roomy_sampler(num_threads);
    for (const Spec &spec : inputs_of(Op::kSample)) {
      for (const Simple &simple : draws(spec.kind == SAMPLER_LOGITS ? 0.8f : 1.0f)) {
        SCOPED_TRACE(simple.name + (" " + describe(spec)));
        Call full(spec);
        full.set_row("input.values", 4, std::nanf(""));
        full.args().set("params", &simple.params);
        full.args().set("random.seed", kSeed);
        full.args().set("random.offset", kOffset);
        expect_ok(&full, sampler.get());
        std::vector<std::int32_t> token_ids(std::size_t(spec.num_rows), -7);
        EXPECT_EQ(
            simple.run(sampler.get(), &args_of<sampler_sample_args>(full).input, token_ids.data()),
            SAMPLER_OK)
            << sampler_last_error();
        for (std::int64_t row = 0; row < spec.num_rows; ++row) {
          EXPECT_EQ(token_ids[std::size_t(row)], full.token(row)) << row;
        }
        EXPECT_EQ(token_ids[4], -1);
      }
    }
  }
}

TEST(Simple, WritesAsFilter) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : inputs_of(Op::kFilter)) {
    if (spec.output_kind == SAMPLER_OUTPUT_VALUES) continue;
    for (const Simple &simple : writes(spec.kind == SAMPLER_LOGITS ? 0.8f : 1.0f)) {
      if (simple.output_kind == SAMPLER_OUTPUT_VALUES && spec.kind != SAMPLER_LOGITS) continue;
      spec.output_kind = simple.output_kind;
      SCOPED_TRACE(simple.name + (" " + describe(spec)));
      Call full(spec);
      full.set_row("input.values", 4, std::nanf(""));
      full.args().set("params", &simple.params);
      full.args().set("output_stride", spec.num_cols);
      expect_ok(&full, sampler.get());
      std::vector<float> output(std::size_t(spec.num_rows * spec.num_cols), -7.0f);
      EXPECT_EQ(simple.run(sampler.get(), &args_of<sampler_filter_args>(full).input, output.data()),
                SAMPLER_OK)
          << sampler_last_error();
      EXPECT_EQ(
          std::memcmp(output.data(), full.buffer("output").data(), output.size() * sizeof(float)),
          0);
    }
    spec.output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  }
}

TEST(Simple, SelectsAsSelect) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : inputs_of(Op::kSelect)) {
    SCOPED_TRACE(describe(spec));
    Call full(spec);
    full.set_row("input.values", 4, std::nanf(""));
    expect_ok(&full, sampler.get());
    const sampler_rows &input = args_of<sampler_select_args>(full).input;
    for (int outputs = 1; outputs < 4; ++outputs) {  // values, ids or both
      std::string values(full.buffer("out_values").size(), '?');
      std::string token_ids(full.buffer("out_token_ids").size(), '?');
      EXPECT_EQ(
          sampler_top_k_select(
              sampler.get(), &input, spec.num_selected,
              outputs & 1 ? reinterpret_cast<float *>(values.data()) : nullptr,
              outputs & 2 ? reinterpret_cast<std::int32_t *>(token_ids.data()) : nullptr, nullptr),
          SAMPLER_OK)
          << sampler_last_error();
      const std::string nothing(values.size(), '?');
      EXPECT_TRUE(same_bytes(values, outputs & 1 ? full.buffer("out_values").bytes() : nothing));
      EXPECT_TRUE(
          same_bytes(token_ids, outputs & 2 ? full.buffer("out_token_ids").bytes() : nothing));
    }
  }
}

TEST(Simple, VerifiesAsVerify) {
  const Sampler sampler = roomy_sampler();
  for (const Spec &spec : inputs_of(Op::kVerify)) {
    SCOPED_TRACE(describe(spec));
    Call full(spec);
    full.set_row("target.values", 4, std::nanf(""));
    full.args().set<void *>("params", nullptr);
    full.args().set<void *>("draft_counts", nullptr);
    full.args().set("random.seed", kSeed);
    full.args().set("random.offset", kOffset);
    expect_ok(&full, sampler.get());
    const auto &args = args_of<sampler_verify_args>(full);
    for (const bool counts : {true, false}) {
      std::vector<std::int32_t> token_ids(std::size_t(spec.num_rows * 4), -7);
      std::vector<std::int32_t> accepted(std::size_t(spec.num_rows), -7), emitted = accepted;
      EXPECT_EQ(sampler_chain_speculative(
                    sampler.get(), &args.target, spec.draft ? &args.draft : nullptr,
                    static_cast<const std::int32_t *>(args.draft_token_ids), spec.num_drafts, kSeed,
                    kOffset, token_ids.data(), counts ? accepted.data() : nullptr,
                    counts ? emitted.data() : nullptr, nullptr),
                SAMPLER_OK)
          << sampler_last_error();
      for (std::int64_t row = 0; row < spec.num_rows; ++row) {
        const std::size_t i = std::size_t(row);
        for (std::int64_t position = 0; position < 4; ++position) {
          EXPECT_EQ(token_ids[4 * i + std::size_t(position)], full.token(row, position));
        }
        if (!counts) continue;
        EXPECT_EQ(accepted[i], full.at<std::int32_t>("out_accepted_counts", row));
        EXPECT_EQ(emitted[i], full.at<std::int32_t>("out_emitted_counts", row));
      }
    }
  }
}

// ---- Errors -------------------------------------------------------------------------------------

// Rows of five tokens, and outputs.
struct Rows {
  float values[60] = {};
  float output[60] = {};
  std::int32_t token_ids[60] = {};
  sampler_rows view = {};

  Rows() {
    view.values = values;
    view.num_rows = 4;
    view.num_cols = 5;
  }
  Rows(const Rows &) = delete;
  Rows &operator=(const Rows &) = delete;
};

void expect_error(sampler_status status, const std::string &message,
                  sampler_status expected = SAMPLER_ERROR_INVALID_ARGUMENT) {
  EXPECT_EQ(status, expected);
  EXPECT_EQ(sampler_last_error(), message);
}

TEST(SimpleErrors, NameTheRows) {
  const Sampler sampler = roomy_sampler();
  for (const Simple &simple : on_one_view()) {
    SCOPED_TRACE(simple.name);
    Rows rows;
    const auto refuse = [&](const std::string &message) {
      expect_error(simple.run(sampler.get(), &rows.view, rows.output), message);
      rows.view = Rows().view;
      rows.view.values = rows.values;
    };
    const std::string output = simple.name == std::string("sampler_softmax") ||
                                       std::strstr(simple.name, "norm") ||
                                       std::strstr(simple.name, "mask")
                                   ? "output"
                                   : "out_token_ids";
    expect_error(simple.run(nullptr, &rows.view, rows.output),
                 "sampler is NULL; it must come from sampler_create");
    expect_error(simple.run(nullptr, nullptr, rows.output),
                 "sampler is NULL; it must come from sampler_create");
    expect_error(simple.run(sampler.get(), nullptr, rows.output), "input is NULL; it is required");
    expect_error(simple.run(sampler.get(), &rows.view, nullptr),
                 output + " is NULL; it is required");
    expect_error(
        simple.run(sampler.get(), &rows.view, rows.values),
        output + " overlaps input->values; outputs must overlap neither inputs nor each other");
    rows.view.values = nullptr;
    refuse("input->values is NULL; it is required");
    rows.view.num_rows = -1;
    refuse("input->num_rows is -1; it must be at least 0");
    rows.view.num_cols = 0;
    refuse("input->num_cols is 0; it must be at least 1");
    rows.view.row_stride = 4;
    refuse("input->row_stride is 4; it must be 0 or at least input->num_cols, 5");
    rows.view.dtype = 3;
    refuse("input->dtype is 3; it must be one of its constants, 0 to 2");
    rows.view.kind = -1;
    refuse("input->kind is -1; it must be one of its constants, 0 to 1");
    rows.view.candidate_id_type = 2;
    refuse("input->candidate_id_type is 2; it must be one of its constants, 0 to 1");
    rows.view.reserved = 1;
    refuse("input->reserved is 1; it must be 0");
    rows.view.num_rows = 0;
    EXPECT_EQ(simple.run(sampler.get(), &rows.view, nullptr), SAMPLER_OK) << sampler_last_error();
  }
}

TEST(SimpleErrors, NameTheArguments) {
  const Sampler sampler = roomy_sampler();
  const sampler_t handle = sampler.get();
  Rows rows;
  const sampler_rows *const input = &rows.view;
  std::int32_t *const ids = rows.token_ids;
  const float nan = std::nanf("");
  const std::string temperature = "temperature is NaN; it must be a number";
  expect_error(sampler_categorical(handle, input, nan, 1, 2, ids, nullptr), temperature);
  expect_error(sampler_top_k(handle, input, 3, nan, 1, 2, ids, nullptr), temperature);
  expect_error(sampler_top_p(handle, input, 0.5f, nan, 1, 2, ids, nullptr), temperature);
  expect_error(sampler_min_p(handle, input, 0.5f, nan, 1, 2, ids, nullptr), temperature);
  expect_error(sampler_top_k_top_p(handle, input, 3, 0.5f, nan, 1, 2, ids, nullptr), temperature);
  expect_error(sampler_softmax(handle, input, nan, rows.output, nullptr), temperature);
  const std::string top_p = "top_p is NaN; it must be a number";
  expect_error(sampler_top_p(handle, input, nan, 1, 1, 2, ids, nullptr), top_p);
  expect_error(sampler_top_k_top_p(handle, input, 3, nan, 1, 1, 2, ids, nullptr), top_p);
  expect_error(sampler_top_p_renorm(handle, input, nan, rows.output, nullptr), top_p);
  expect_error(sampler_min_p(handle, input, nan, 1, 1, 2, ids, nullptr),
               "min_p is NaN; it must be a number");
  for (const std::int64_t num_selected : {std::int64_t(0), std::int64_t(INT64_MIN)}) {
    expect_error(sampler_top_k_select(handle, input, num_selected, nullptr, ids, nullptr),
                 "num_selected is " + std::to_string(num_selected) + "; it must be at least 1");
  }
  expect_error(sampler_top_k_select(handle, input, 6, nullptr, ids, nullptr),
               "num_selected is 6; it must be below 6");
  rows.view.kind = SAMPLER_PROBABILITIES;
  expect_error(sampler_softmax(handle, input, 0.5f, rows.output, nullptr),
               "temperature is 0.5; it must be 1, or at most 1e-5, with SAMPLER_PROBABILITIES");
  expect_error(
      sampler_top_k_mask(handle, input, 3, rows.output, nullptr),
      "input->kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS where values are written");
}

TEST(SimpleErrors, OfAHandleWithoutRoom) {
  const Sampler sampler = make_sampler(sampler_options_default());
  for (const Simple &simple : on_one_view()) {
    SCOPED_TRACE(simple.name);
    const Rows rows;
    Rows output;
    EXPECT_EQ(simple.run(sampler.get(), &rows.view, output.output),
              SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
    const std::string message = sampler_last_error(), begin = "the sampler's workspace has 0 bytes",
                      end = ": create it with larger max_rows and max_cols";
    EXPECT_EQ(message.compare(0, begin.size(), begin), 0) << message;
    EXPECT_EQ(message.substr(message.size() - end.size()), end) << message;
  }
}

TEST(SimpleErrors, OfTwoModels) {
  const Sampler sampler = roomy_sampler();
  Rows target, draft;
  target.view.num_rows = 8;  // two sequences of three drafts
  draft.view.num_rows = 6;
  target.view.kind = draft.view.kind = SAMPLER_PROBABILITIES;
  std::int32_t drafts[6] = {}, token_ids[8], counts[2];
  std::int64_t num_drafts = 3;
  const auto run = [&](const sampler_rows *p, const sampler_rows *q) {
    return sampler_chain_speculative(sampler.get(), p, q, drafts, num_drafts, 1, 2, token_ids,
                                     counts, nullptr, nullptr);
  };
  EXPECT_EQ(run(&target.view, &draft.view), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(run(&target.view, nullptr), SAMPLER_OK) << sampler_last_error();
  expect_error(run(nullptr, &draft.view), "target is NULL; it is required");
  const auto refuse = [&](const std::string &message) {
    expect_error(run(&target.view, &draft.view), message);
    num_drafts = 3;
    target.view.num_rows = 8;
    target.view.num_cols = draft.view.num_cols = 5;
    draft.view.num_rows = 6;
    target.view.row_stride = 0;
    draft.view.values = draft.values;
  };
  num_drafts = -1;
  refuse("num_drafts is -1; it must be at least 0");
  target.view.num_rows = 9;
  refuse("target->num_rows is 9; it must be a multiple of num_drafts + 1, 4");
  target.view.num_cols = 1 << 20;
  refuse("target->num_cols is 1048576; it must be below 1048576");
  draft.view.num_rows = 5;
  refuse("draft->num_rows is 5; it must be num_sequences * num_drafts, 6");
  draft.view.num_cols = 4;
  refuse("draft->num_cols is 4; it must be target->num_cols, 5");
  draft.view.values = nullptr;
  refuse("draft->values is NULL; it is required");
  target.view.row_stride = INT64_MAX;
  refuse("target->row_stride is 9223372036854775807; a sequence must fit the address space");
  expect_error(sampler_chain_speculative(sampler.get(), &target.view, nullptr, nullptr, 3, 1, 2,
                                         token_ids, nullptr, nullptr, nullptr),
               "draft_token_ids is NULL; it is required");
  expect_error(sampler_chain_speculative(sampler.get(), &target.view, nullptr, drafts, 3, 1, 2,
                                         nullptr, nullptr, nullptr, nullptr),
               "out_token_ids is NULL; it is required");
}

}  // namespace
}  // namespace capi_test::simple_test
