// Verification of draft tokens, where its outcome is known without drawing.
#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "expect.h"

namespace capi_test::speculative_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Rows of probabilities, and no draft model: a draft is accepted with its own probability.
Spec certain_spec(std::int64_t num_rows) {
  Spec spec;
  spec.operation = Op::kVerify;
  spec.kind = SAMPLER_PROBABILITIES;
  spec.draft = false;
  spec.num_rows = num_rows;
  spec.num_drafts = 4;
  spec.num_cols = 10;
  return spec;
}

// A chain whose target is certain at each position, so that nothing is left to chance. The drafts
// are the target's tokens, 3, 4, 5, 6; after them stands 7.
class CertainChain {
 public:
  explicit CertainChain(Spec spec = certain_spec(1)) : call(spec) {
    for (std::int64_t row = 0; row < spec.num_rows; ++row) {
      for (std::int64_t i = 0; i <= spec.num_drafts; ++i) {
        const std::int64_t position = row * (spec.num_drafts + 1) + i;
        call.set_row("target.values", position, spec.kind == SAMPLER_LOGITS ? -kInf : 0.0f);
        call.set_value("target.values", position, 3 + i, 1.0f);
        if (i < spec.num_drafts) call.set_id("draft_token_ids", row, i, 3 + i);
      }
      call.at<std::int32_t>("draft_counts", row) = std::int32_t(spec.num_drafts);
    }
  }

  void expect(const std::vector<std::int64_t> &tokens, std::int32_t accepted, std::int32_t emitted,
              sampler_row_status status, std::int64_t row = 0) {
    std::vector<std::int64_t> actual;
    for (std::int64_t i = 0; i <= call.spec().num_drafts; ++i) actual.push_back(call.token(row, i));
    EXPECT_EQ(actual, tokens) << "row " << row;
    EXPECT_EQ(call.at<std::int32_t>("out_accepted_counts", row), accepted) << "row " << row;
    EXPECT_EQ(call.at<std::int32_t>("out_emitted_counts", row), emitted) << "row " << row;
    EXPECT_EQ(call.status(row), status) << "row " << row;
  }

  Call call;
};

TEST(Chain, ExampleOfFlashInfer) {
  const float draft[] = {0.1f, 0.2f, 0.3f, 0.4f, 0.2f, 0.3f, 0.4f, 0.1f};
  const float target[] = {0, 0.1f, 0.6f, 0.3f, 1, 0, 0, 0, 0.7f, 0.1f, 0.1f, 0.1f};
  const std::int32_t draft_token_ids[] = {2, 1};
  const Sampler sampler = roomy_sampler();
  auto args = sized<sampler_verify_args>();
  args.target.values = target;
  args.target.num_rows = 3;
  args.draft.values = draft;
  args.draft.num_rows = 2;
  args.target.kind = args.draft.kind = SAMPLER_PROBABILITIES;
  args.target.num_cols = args.draft.num_cols = 4;
  args.num_drafts = 2;
  args.draft_token_ids = draft_token_ids;
  for (args.random.seed = 0; args.random.seed < 100; ++args.random.seed) {
    std::int32_t tokens[3], accepted, emitted;
    sampler_row_status status;
    args.out_token_ids = tokens;
    args.out_accepted_counts = &accepted;
    args.out_emitted_counts = &emitted;
    args.out_row_status = &status;
    ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    // 2 is likelier to the target than to the draft; 1 is impossible, and only 0 is left.
    EXPECT_EQ(tokens[0], 2);
    EXPECT_EQ(tokens[1], 0);
    EXPECT_EQ(tokens[2], -1);
    EXPECT_EQ(accepted, 1);
    EXPECT_EQ(emitted, 1);
    EXPECT_EQ(status, SAMPLER_ROW_OK);
  }
}

TEST(Chain, AcceptsWhatIsCertain) {
  const Sampler sampler = roomy_sampler();
  CertainChain chain;
  expect_ok(&chain.call, sampler.get());
  chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK);
}

TEST(Chain, RejectsWhatIsImpossible) {
  const Sampler sampler = roomy_sampler();
  for (std::int64_t rejected = 0; rejected < 4; ++rejected) {
    CertainChain chain;
    chain.call.set_id("draft_token_ids", 0, rejected, 9);
    expect_ok(&chain.call, sampler.get());
    std::vector<std::int64_t> tokens = {-1, -1, -1, -1, -1};
    for (std::int64_t i = 0; i <= rejected; ++i) tokens[std::size_t(i)] = 3 + i;
    // The drafts after it would pass on their own.
    chain.expect(tokens, 3, std::int32_t(rejected), SAMPLER_ROW_OK);
  }
}

TEST(Chain, CountsAreWantedOrNot) {
  const Sampler sampler = roomy_sampler();
  CertainChain chain;
  chain.call.set_id("draft_token_ids", 0, 1, 9);
  chain.call.args().set<void *>("out_accepted_counts", nullptr);
  chain.call.args().set<void *>("out_emitted_counts", nullptr);
  expect_ok(&chain.call, sampler.get());
  constexpr std::int32_t kUntouched = std::int32_t(0xA5A5A5A5);
  chain.expect({3, 4, -1, -1, -1}, kUntouched, kUntouched, SAMPLER_ROW_OK);
}

TEST(Chain, AccumulatesCounts) {
  const Sampler sampler = roomy_sampler();
  CertainChain chain(certain_spec(3));
  chain.call.set_id("draft_token_ids", 1, 1, 9);
  chain.call.set_value("target.values", 2 * 5, 0, kNan);
  chain.call.set_row("target.values", 2 * 5 + 4, kNan);
  chain.call.set_value("target.values", 2 * 5, 3, kNan);
  chain.call.args().set("accumulate_counts", std::int32_t(1));
  for (std::int64_t row = 0; row < 3; ++row) {
    chain.call.at<std::int32_t>("out_accepted_counts", row) = std::int32_t(100 + row);
    chain.call.at<std::int32_t>("out_emitted_counts", row) = std::int32_t(-50);
  }
  for (int repetition = 1; repetition <= 3; ++repetition) {
    ASSERT_EQ(chain.call.run(sampler.get()), SAMPLER_OK);
    chain.expect({3, 4, 5, 6, 7}, 100 + 4 * repetition, -50 + 4 * repetition, SAMPLER_ROW_OK, 0);
    chain.expect({3, 4, -1, -1, -1}, 101 + 3 * repetition, -50 + repetition, SAMPLER_ROW_OK, 1);
    chain.expect({-1, -1, -1, -1, -1}, 102, -50, SAMPLER_ROW_INVALID_VALUE, 2);
  }
  // A full counter wraps.
  chain.call.at<std::int32_t>("out_accepted_counts", 0) = INT32_MAX;
  ASSERT_EQ(chain.call.run(sampler.get()), SAMPLER_OK);
  EXPECT_EQ(chain.call.at<std::int32_t>("out_accepted_counts", 0), INT32_MIN + 3);
}

TEST(Chain, LengthsOfDraftsDiffer) {
  const Sampler sampler = roomy_sampler();
  CertainChain chain(certain_spec(8));
  const std::int32_t lengths[] = {0, 1, 2, 3, 4, 5, -1, INT32_MIN};
  for (std::int64_t row = 0; row < 8; ++row) {
    chain.call.at<std::int32_t>("draft_counts", row) = lengths[row];
    // After the length nothing is read: not drafts, not their rows, nor rows after the last used.
    for (std::int64_t i = std::max(lengths[row], 0); i < 4; ++i) {
      chain.call.set_id("draft_token_ids", row, i, -1);
      chain.call.set_row("target.values", row * 5 + i + 1, kNan);
    }
  }
  expect_ok(&chain.call, sampler.get());
  chain.expect({3, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_OK, 0);
  chain.expect({3, 4, -1, -1, -1}, 1, 1, SAMPLER_ROW_OK, 1);
  chain.expect({3, 4, 5, -1, -1}, 2, 2, SAMPLER_ROW_OK, 2);
  chain.expect({3, 4, 5, 6, -1}, 3, 3, SAMPLER_ROW_OK, 3);
  chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, 4);
  chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_INVALID_DRAFT, 5);
  chain.expect({3, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_DRAFT, 6);
  chain.expect({3, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_DRAFT, 7);
}

TEST(Chain, WithoutDraftsIsADraw) {
  const Sampler sampler = roomy_sampler();
  Spec spec = certain_spec(2);
  spec.num_drafts = 0;
  spec.draft_kind = SAMPLER_PROBABILITIES;
  for (const bool draft : {false, true}) {  // a model's rows, of which there are none, or no model
    spec.draft = draft;
    CertainChain chain(spec);
    chain.call.args().set<void *>("draft_token_ids", nullptr);
    chain.call.args().set<void *>("draft.values", nullptr);
    expect_ok(&chain.call, sampler.get());
    chain.expect({3}, 0, 0, SAMPLER_ROW_OK, 0);
    chain.expect({3}, 0, 0, SAMPLER_ROW_OK, 1);
  }
}

// Between rows, and between sequences, there may be anything.
TEST(Chain, SequencesLieApart) {
  const Sampler sampler = roomy_sampler(2);
  for (Spec spec : all_specs()) {
    if (!spec.is_verify()) continue;
    SCOPED_TRACE(describe(spec));
    Call plain(spec);
    const std::string expected = output_of(&plain, sampler.get());
    for (const std::int64_t sequence_padding : {1, 37, 1000}) {
      spec.sequence_padding = sequence_padding;
      for (const std::int64_t padding : {0, 3}) {
        spec.padding = padding;
        Call apart(spec);
        EXPECT_TRUE(same_bytes(output_of(&apart, sampler.get()), expected))
            << padding << ", " << sequence_padding;
      }
    }
  }
}

TEST(Chain, InvalidDraftIdsAreRejected) {
  const Sampler sampler = roomy_sampler();
  for (const sampler_id_type type : {SAMPLER_ID_I32, SAMPLER_ID_I64}) {
    for (const bool draft : {false, true}) {
      Spec spec = certain_spec(1);
      spec.token_id_type = type;
      spec.draft = draft;
      spec.draft_kind = SAMPLER_PROBABILITIES;
      std::vector<std::int64_t> ids = {-1, 10, 1 << 20, INT32_MIN, INT32_MAX};
      if (type == SAMPLER_ID_I64) {
        // The low half of the first is a draft that would be accepted.
        ids.insert(ids.end(), {(std::int64_t(1) << 32) + 5, INT64_MIN, INT64_MAX});
      }
      for (const std::int64_t id : ids) {
        SCOPED_TRACE(id);
        CertainChain chain(spec);
        if (draft) {
          for (std::int64_t i = 0; i < 4; ++i) {
            chain.call.set_row("draft.values", i, 0);
            chain.call.set_value("draft.values", i, 3 + i, 1);
          }
        }
        chain.call.set_id("draft_token_ids", 0, 2, id);
        expect_ok(&chain.call, sampler.get());
        // The residual is the target: 5, though the draft had it for certain.
        chain.expect({3, 4, 5, -1, -1}, 3, 2, SAMPLER_ROW_INVALID_DRAFT);
        // After the first rejection it counts as well.
        chain.call.set_id("draft_token_ids", 0, 0, 9);
        expect_ok(&chain.call, sampler.get());
        chain.expect({3, -1, -1, -1, -1}, 2, 0, SAMPLER_ROW_INVALID_DRAFT);
      }
    }
  }
}

// Without a draft model the residual is the target without the draft; where nothing is left by
// rounding, it is the target.
TEST(Chain, ResidualOfADeterministicDraft) {
  const Sampler sampler = roomy_sampler();
  Spec spec = certain_spec(64);
  spec.num_drafts = 1;
  Call call(spec);
  for (std::int64_t row = 0; row < 64; ++row) {
    call.set_row("target.values", 2 * row, 0);
    call.set_value("target.values", 2 * row, 1, 0.5f);
    call.set_value("target.values", 2 * row, 8, 0.5f);
    call.set_id("draft_token_ids", row, 0, 1);
    call.at<std::int32_t>("draft_counts", row) = 1;
  }
  expect_ok(&call, sampler.get());
  int num_rejected = 0;
  for (std::int64_t row = 0; row < 64; ++row) {
    const bool rejected = call.at<std::int32_t>("out_emitted_counts", row) == 0;
    EXPECT_EQ(call.token(row, 0), rejected ? 8 : 1);
    num_rejected += rejected;
  }
  EXPECT_GT(num_rejected, 16);
  EXPECT_LT(num_rejected, 48);

  for (std::int64_t row = 0; row < 64; ++row) call.set_value("target.values", 2 * row, 8, 0);
  expect_ok(&call, sampler.get());
  for (std::int64_t row = 0; row < 64; ++row) {
    EXPECT_EQ(call.token(row, 0), 1);
    EXPECT_EQ(call.status(row), SAMPLER_ROW_OK);
  }
}

// Bad contents make a row bad where they are read to find the tokens, and only there.
TEST(Chain, BadRowsBeforeAndAfterTheRejection) {
  const Sampler sampler = roomy_sampler();
  sampler_options options = roomy_options();
  options.use_fallback_token = 1;
  options.fallback_token_id = 2;
  const Sampler fallback = make_sampler(options);
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    Spec spec = certain_spec(3);
    spec.dtype = spec.draft_dtype = dtype;
    spec.draft = true;
    spec.draft_kind = SAMPLER_PROBABILITIES;
    // Row 1 rejects its second draft of four.
    const auto make = [&] {
      CertainChain chain(spec);
      for (std::int64_t i = 0; i < 12; ++i) {
        chain.call.set_row("draft.values", i, 0.125f);
      }
      chain.call.set_id("draft_token_ids", 1, 1, 9);
      return chain;
    };
    const auto expect_neighbours = [](CertainChain *chain) {
      chain->expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, 0);
      chain->expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, 2);
    };
    for (const float value : {kNan, kInf, -kInf, -0.5f}) {
      // The element of an accepted draft, and any element where the residual is made.
      for (const auto &[model, positions, position, col] :
           {std::tuple("target.values", 5, 0, 3), std::tuple("draft.values", 4, 0, 3),
            std::tuple("target.values", 5, 1, 0), std::tuple("draft.values", 4, 1, 0),
            std::tuple("target.values", 5, 1, 9)}) {
        SCOPED_TRACE(std::string(model) + " position " + std::to_string(position));
        CertainChain chain = make();
        chain.call.set_value(model, positions + position, col, value);
        expect_ok(&chain.call, sampler.get());
        chain.expect({-1, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_VALUE, 1);
        expect_neighbours(&chain);
        expect_ok(&chain.call, fallback.get());
        chain.expect({2, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_VALUE, 1);
      }
      // After the rejection such a draft is not accepted, that is all.
      for (const auto &[model, positions] :
           {std::pair("target.values", 5), std::pair("draft.values", 4)}) {
        CertainChain chain = make();
        chain.call.set_row(model, positions + 2, value);
        expect_ok(&chain.call, sampler.get());
        chain.expect({3, 4, -1, -1, -1}, 2, 1, SAMPLER_ROW_OK, 1);
        expect_neighbours(&chain);
      }
      // Nor are elements read, before it, that are not the draft's.
      CertainChain chain = make();
      chain.call.set_value("target.values", 5, 0, value);
      chain.call.set_value("draft.values", 4, 0, value);
      expect_ok(&chain.call, sampler.get());
      chain.expect({3, 4, -1, -1, -1}, 3, 1, SAMPLER_ROW_OK, 1);
    }
    // Nothing to draw from.
    CertainChain chain = make();
    chain.call.set_row("target.values", 6, 0);
    expect_ok(&chain.call, sampler.get());
    chain.expect({-1, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_EMPTY, 1);
    expect_neighbours(&chain);
  }
}

TEST(Chain, BadParametersOfARow) {
  const Sampler sampler = roomy_sampler();
  Spec spec = certain_spec(3);
  spec.kind = SAMPLER_LOGITS;
  spec.per_slot = true;
  for (const char *member : {"row_params.temperature", "row_params.top_p", "row_params.min_p"}) {
    CertainChain chain(spec);
    chain.call.at<float>(member, 1) = kNan;
    expect_ok(&chain.call, sampler.get());
    chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, 0);
    chain.expect({-1, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_PARAMETER, 1);
    chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, 2);
    // With a status of its own for the drafts.
    chain.call.set_id("draft_token_ids", 1, 3, -4);
    expect_ok(&chain.call, sampler.get());
    EXPECT_EQ(chain.call.status(1), SAMPLER_ROW_INVALID_PARAMETER | SAMPLER_ROW_INVALID_DRAFT);
    // A slot that is not there has no parameters to be bad.
    const std::int32_t slots[] = {0, 3, 2};
    chain.call.args().set("slots", slots);
    chain.call.args().set("num_slots", std::int64_t(3));
    expect_ok(&chain.call, sampler.get());
    EXPECT_EQ(chain.call.status(1), SAMPLER_ROW_INVALID_SLOT | SAMPLER_ROW_INVALID_DRAFT);
  }
}

// Where no row is of logits a filter must be off, in each row by itself.
TEST(Chain, FiltersOfGivenProbabilities) {
  const Sampler sampler = roomy_sampler();
  Spec spec = certain_spec(3);
  spec.per_slot = spec.filters_off = true;
  const auto check = [&](const char *member, auto value, bool is_good) {
    SCOPED_TRACE(testing::Message() << member << " " << value);
    CertainChain chain(spec);
    chain.call.at<decltype(value)>(member, 1) = value;
    // Beside arrays, values say nothing.
    chain.call.args().set("params.top_k", std::int32_t(1));
    chain.call.args().set("params.top_p", 0.5f);
    chain.call.args().set("params.min_p", kNan);
    expect_ok(&chain.call, sampler.get());
    for (const std::int64_t row : {0, 1, 2}) {
      if (is_good || row != 1) {
        chain.expect({3, 4, 5, 6, 7}, 4, 4, SAMPLER_ROW_OK, row);
      } else {
        chain.expect({-1, -1, -1, -1, -1}, 0, 0, SAMPLER_ROW_INVALID_PARAMETER, row);
      }
    }
  };
  for (const std::int32_t top_k : {0, -1, INT32_MIN}) check("row_params.top_k", top_k, true);
  for (const std::int32_t top_k : {1, 10, INT32_MAX}) check("row_params.top_k", top_k, false);
  for (const float top_p : {1.0f, 1.5f, kInf}) check("row_params.top_p", top_p, true);
  for (const float top_p : {0.99999994f, 0.0f, -1.0f, -kInf})
    check("row_params.top_p", top_p, false);
  for (const float min_p : {0.0f, -0.0f, -1.0f, -kInf}) check("row_params.min_p", min_p, true);
  for (const float min_p : {1e-45f, 0.5f, 1.0f, kInf}) check("row_params.min_p", min_p, false);
  // Rows of logits on one side are filtered.
  spec.draft = true;
  spec.draft_kind = SAMPLER_LOGITS;
  CertainChain chain(spec);
  chain.call.at<std::int32_t>("row_params.top_k", 1) = 5;
  expect_ok(&chain.call, sampler.get());
  EXPECT_EQ(chain.call.status(1), SAMPLER_ROW_OK);
}

TEST(Chain, BadCandidateLists) {
  const Sampler sampler = roomy_sampler();
  Spec spec;
  spec.operation = Op::kVerify;
  spec.candidates = true;
  spec.num_rows = 3;
  Call good(spec);
  expect_ok(&good, sampler.get());
  for (const char *model : {"target", "draft"}) {
    const std::int64_t first = std::string(model) == "target" ? 4 : 3;  // of output row 1
    const std::string ids = std::string(model) + ".candidate_ids";
    const std::string counts = std::string(model) + ".candidate_counts";
    for (int defect = 0; defect < 5; ++defect) {
      SCOPED_TRACE(std::string(model) + " defect " + std::to_string(defect));
      Call call(spec);
      if (defect == 0) call.at<std::int32_t>(counts, first) = -1;
      if (defect == 1) call.at<std::int32_t>(counts, first) = 38;
      if (defect == 2) call.set_id(ids, first, 5, -1);
      if (defect == 3) call.set_id(ids, first, 5, 1 << 20);
      if (defect == 4) call.set_id(ids, first, 5, call.id(ids, first, 1));
      expect_ok(&call, sampler.get());
      EXPECT_EQ(call.status(1), SAMPLER_ROW_INVALID_CANDIDATE);
      for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(call.token(1, i), -1);
      EXPECT_TRUE(same_bytes(call.output_row(0), good.output_row(0)));
      EXPECT_TRUE(same_bytes(call.output_row(2), good.output_row(2)));
    }
  }
}

// What a row's temperature and filters make of its logits.
struct Softening {
  float temperature;
  std::int32_t top_k;
  float top_p, min_p;

  void set(Args *args) const {
    args->set("params.temperature", temperature);
    args->set("params.top_k", top_k);
    args->set("params.top_p", top_p);
    args->set("params.min_p", min_p);
  }
};

// Fills a model's rows of one chain with the probabilities of its logits in another.
void fill_probabilities(Call *logits, const std::string &view, const Softening &softening,
                        sampler_t sampler, Call *chain) {
  Spec spec;
  spec.operation = Op::kFilter;
  spec.num_rows = logits->array(view + ".values").rows;
  spec.dtype = logits->spec().dtype;
  spec.candidates = logits->spec().candidates;
  spec.ragged = logits->spec().ragged;
  spec.candidate_id_type = logits->spec().candidate_id_type;
  Call rows(spec);
  softening.set(&rows.args());
  for (const std::string member : {".values", ".candidate_ids", ".candidate_counts"}) {
    if (!logits->has_array(view + member)) continue;
    rows.args().set("input" + member, logits->buffer(view + member).data());
  }
  rows.args().set("output", chain->buffer(view + ".values").data());
  ASSERT_EQ(rows.run(sampler), SAMPLER_OK) << sampler_last_error();
}

void check_softening(const Spec &logits_spec, const Softening &softening, sampler_t sampler) {
  SCOPED_TRACE(describe(logits_spec) + ", temperature " + std::to_string(softening.temperature));
  Call logits(logits_spec);
  softening.set(&logits.args());
  expect_ok(&logits, sampler);
  // Bit 0: the target as probabilities, bit 1: the draft.
  for (int models = 1; models < (logits_spec.draft ? 4 : 2); ++models) {
    const bool target = models & 1, draft = models & 2, all = models == 3 || !logits_spec.draft;
    // The temperature is of both models, and a target of probabilities has none.
    if (target && !all && softening.temperature != 1) continue;
    Spec spec = logits_spec;
    if (target) spec.kind = SAMPLER_PROBABILITIES, spec.dtype = SAMPLER_F32;
    if (draft) spec.draft_kind = SAMPLER_PROBABILITIES, spec.draft_dtype = SAMPLER_F32;
    Call call(spec);
    for (const auto &[member, layout] : spec.op().members) {  // drafts, candidates, other models
      if (!call.has_array(member) || member.rfind("out", 0) == 0) continue;
      if (member == "target.values" ? target : member == "draft.values" && draft) continue;
      std::memcpy(call.buffer(member).data(), logits.buffer(member).data(),
                  logits.buffer(member).size());
    }
    softening.set(&call.args());
    if (all) call.args().set<void *>("params", nullptr);
    if (target) fill_probabilities(&logits, "target", softening, sampler, &call);
    if (draft) fill_probabilities(&logits, "draft", softening, sampler, &call);
    expect_ok(&call, sampler);
    EXPECT_TRUE(same_bytes(call.output(), logits.output())) << models;
  }
}

// Logits become what sampler_filter writes.
TEST(Chain, LogitsEqualTheirProbabilities) {
  sampler_options options = roomy_options();
  options.max_rows = 1000;
  const Sampler sampler = make_sampler(options);
  for (const Spec &base : all_specs()) {
    if (!base.is_verify() || base.kind != SAMPLER_LOGITS) continue;
    Spec spec = base;
    spec.num_rows = 40;
    spec.per_slot = false;
    spec.draft_dtype = spec.dtype;
    check_softening(spec, {0.3f, 0, 1, 0}, sampler.get());
    check_softening(spec, {1.0f, 6, 1, 0}, sampler.get());
    check_softening(spec, {4.0f, 0, 0.8f, 0}, sampler.get());
    check_softening(spec, {1.0f, 0, 1, 0.1f}, sampler.get());
    check_softening(spec, {0.3f, 9, 0.9f, 0.05f}, sampler.get());
    check_softening(spec, {1.0f, 9, 0.9f, 0.05f}, sampler.get());
  }
}

// Greedy speculation emits what greedy decoding would: each position's argmax, as long as the draft
// is the argmax before it.
TEST(Chain, GreedyEqualsArgmaxDecoding) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (!spec.is_verify()) continue;
    SCOPED_TRACE(describe(spec));
    spec.per_slot = false;
    spec.num_rows = 12;
    Call chain(spec);
    chain.args().set("params.temperature", 0.0f);
    chain.args().set("params.top_k", std::int32_t(0));
    chain.args().set("params.top_p", 1.0f);
    chain.args().set("params.min_p", 0.0f);

    Spec argmax_spec = spec;
    argmax_spec.operation = Op::kSample;
    argmax_spec.num_rows = 12 * 4;
    argmax_spec.token_id_type = SAMPLER_ID_I32;
    Call argmax(argmax_spec);
    argmax.args().set("params.temperature", 0.0f);
    for (const std::string member : {".values", ".candidate_ids", ".candidate_counts"}) {
      if (!chain.has_array("target" + member)) continue;
      argmax.args().set("input" + member, chain.buffer("target" + member).data());
    }
    expect_ok(&argmax, sampler.get());
    for (std::int64_t row = 0; row < 12; ++row) {
      for (std::int64_t i = 0; i < 3; ++i) {
        // Every pattern of right and wrong drafts.
        const std::int64_t best = argmax.token(4 * row + i);
        chain.set_id("draft_token_ids", row, i, (row >> i) & 1 ? best : best ^ 1);
      }
    }
    expect_ok(&chain, sampler.get());
    for (std::int64_t row = 0; row < 12; ++row) {
      const std::int64_t length = chain.at<std::int32_t>("draft_counts", row);
      std::int64_t emitted = 0, accepted = 0;
      while (emitted < length && (row >> emitted) & 1) ++emitted;
      for (std::int64_t i = 0; i < length; ++i) accepted += (row >> i) & 1;
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(chain.token(row, i), i <= emitted ? argmax.token(4 * row + i) : -1);
      }
      EXPECT_EQ(chain.at<std::int32_t>("out_emitted_counts", row), emitted);
      EXPECT_EQ(chain.at<std::int32_t>("out_accepted_counts", row), accepted);
      EXPECT_EQ(chain.status(row) & ~std::uint32_t(SAMPLER_ROW_INVALID_DRAFT), SAMPLER_ROW_OK);
    }
  }
}

// What holds for every chain.
TEST(Chain, Invariants) {
  const Sampler sampler = roomy_sampler();
  int num_rejections = 0, num_complete = 0;
  for (Spec spec : all_specs()) {
    if (!spec.is_verify()) continue;
    SCOPED_TRACE(describe(spec));
    for (std::uint64_t contents = 1; contents < 20; ++contents) {
      spec.num_rows = 20;
      spec.contents = contents;
      Call call(spec);
      expect_ok(&call, sampler.get());
      for (std::int64_t row = 0; row < 20; ++row) {
        const std::int64_t length = call.at<std::int32_t>("draft_counts", row);
        const std::int64_t emitted = call.at<std::int32_t>("out_emitted_counts", row);
        const std::int64_t accepted = call.at<std::int32_t>("out_accepted_counts", row);
        ASSERT_GE(emitted, 0);
        ASSERT_LE(emitted, accepted);
        ASSERT_LE(accepted, length);
        EXPECT_EQ(call.status(row), SAMPLER_ROW_OK);
        for (std::int64_t i = 0; i < emitted; ++i) {
          EXPECT_EQ(call.token(row, i), call.id("draft_token_ids", row, i));
        }
        const std::int64_t last = call.token(row, emitted);
        EXPECT_GE(last, 0);
        EXPECT_LT(last, spec.candidates ? 2 * spec.num_cols : spec.num_cols);
        // A draft that was rejected is not drawn in its place when nothing else proposed it.
        if (emitted < length && !spec.draft) {
          EXPECT_NE(last, call.id("draft_token_ids", row, emitted));
        }
        for (std::int64_t i = emitted + 1; i <= spec.num_drafts; ++i) {
          EXPECT_EQ(call.token(row, i), -1);
        }
        (emitted < length ? num_rejections : num_complete) += 1;
      }
    }
  }
  EXPECT_GT(num_rejections, 1000);
  EXPECT_GT(num_complete, 1000);
}

}  // namespace
}  // namespace capi_test::speculative_test
