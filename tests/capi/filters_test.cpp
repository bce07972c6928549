// What filters keep and what is selected, where it is known without arithmetic, and what a call's
// outputs say of each other.
#include <cmath>
#include <functional>
#include <limits>

#include "expect.h"

namespace capi_test::filters_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Row = std::vector<float>;

// One row of four tokens.
Call call_on(Op op, sampler_input_kind kind, const Row &row,
             sampler_output_kind output_kind = SAMPLER_OUTPUT_PROBABILITIES) {
  Spec spec;
  spec.operation = op;
  spec.kind = kind;
  spec.output_kind = output_kind;
  spec.num_rows = 1;
  spec.num_cols = std::int64_t(row.size());
  spec.num_selected = spec.num_cols;
  Call call(spec);
  for (std::size_t i = 0; i < row.size(); ++i) {
    call.set_value("input.values", 0, std::int64_t(i), row[i]);
  }
  if (!spec.op().has("params")) return call;
  for (const char *filter : {"params.temperature", "params.top_p"}) call.args().set(filter, 1.0f);
  call.args().set("params.min_p", 0.0f);
  call.args().set("params.top_k", std::int32_t(0));
  return call;
}

Row output_row(const Call &call) {
  Row row;
  for (std::int64_t i = 0; i < call.spec().num_cols; ++i) row.push_back(call.value("output", 0, i));
  return row;
}

// Powers of two, so that sums and quotients are exact: the logits' weights too, at the distance of
// ln 2 within what no filter below asks.
const Row kProbabilities = {0.125f, 0.5f, 0.125f, 0.25f};
const Row kLogits = {-1.386f, 0, -1.386f, -0.693f};

struct Filter {
  const char *name;
  std::function<void(Args *)> set;
  Row renorm;  // of kProbabilities; what is not 0 is kept
};

Filter filter(const char *name, std::function<void(Args *)> set, Row renorm) {
  return {name, std::move(set), std::move(renorm)};
}

std::vector<Filter> filters() {
  const auto top_k = [](std::int32_t k, sampler_tie_rule ties) {
    return [=](Args *args) {
      args->set("params.top_k", k);
      args->set("params.top_k_ties", ties);
    };
  };
  const auto top_p = [](float p, sampler_tie_rule ties) {
    return [=](Args *args) {
      args->set("params.top_p", p);
      args->set("params.top_p_ties", ties);
    };
  };
  const auto min_p = [](float p) { return [=](Args *args) { args->set("params.min_p", p); }; };
  const auto all = [](std::int32_t k, float p, float m, sampler_filter_order order) {
    return [=](Args *args) {
      args->set("params.top_k", k);
      args->set("params.top_p", p);
      args->set("params.min_p", m);
      args->set("params.filter_order", order);
    };
  };
  const float third = 1.0f / 3, fifth = 1.0f / 5;
  return {
      filter(
          "nothing", [](Args *) {}, kProbabilities),
      filter("top-k 1", top_k(1, SAMPLER_TIES_EXACT), {0, 1, 0, 0}),
      filter("top-k 2", top_k(2, SAMPLER_TIES_EXACT), {0, 2 * third, 0, third}),
      filter("top-k 3", top_k(3, SAMPLER_TIES_EXACT), {1.0f / 7, 4.0f / 7, 0, 2.0f / 7}),
      filter("top-k 3 and ties", top_k(3, SAMPLER_TIES_KEEP), kProbabilities),
      filter("top-p 0.4", top_p(0.4f, SAMPLER_TIES_EXACT), {0, 1, 0, 0}),
      filter("top-p 0.6", top_p(0.6f, SAMPLER_TIES_EXACT), {0, 2 * third, 0, third}),
      filter("top-p 0.8", top_p(0.8f, SAMPLER_TIES_EXACT), {1.0f / 7, 4.0f / 7, 0, 2.0f / 7}),
      filter("top-p 0.8 and ties", top_p(0.8f, SAMPLER_TIES_KEEP), kProbabilities),
      filter("min-p 0.6", min_p(0.6f), {0, 1, 0, 0}),
      filter("min-p 0.4", min_p(0.4f), {0, 2 * third, 0, third}),
      filter("min-p 0.2", min_p(0.2f), kProbabilities),
      // 0.5 is two thirds of what top-k 2 left, 4/7 of what it left of three, half of all.
      filter("sequential", all(2, 0.6f, 0, SAMPLER_FILTERS_SEQUENTIAL), {0, 1, 0, 0}),
      filter("joint", all(2, 0.6f, 0, SAMPLER_FILTERS_JOINT), {0, 2 * third, 0, third}),
      // min-p leaves two, of which the first is two thirds; after top-p of all there are two.
      filter("min-p first", all(0, 0.6f, 0.4f, SAMPLER_FILTERS_MIN_P_FIRST), {0, 1, 0, 0}),
      filter("min-p last", all(0, 0.6f, 0.4f, SAMPLER_FILTERS_SEQUENTIAL),
             {0, 2 * third, 0, third}),
      filter("greedy", [](Args *args) { args->set("params.temperature", 0.0f); }, {0, 1, 0, 0}),
      filter("all at once", all(3, 0.9f, 0.3f * fifth, SAMPLER_FILTERS_JOINT),
             {1.0f / 7, 4.0f / 7, 0, 2.0f / 7}),
  };
}

std::int32_t num_kept(const Row &renorm) {
  std::int32_t count = 0;
  for (const float p : renorm) count += p != 0;
  return count;
}

TEST(Filters, Renormalise) {
  const Sampler sampler = roomy_sampler();
  for (const Filter &tested : filters()) {
    SCOPED_TRACE(tested.name);
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      Call call = call_on(Op::kFilter, kind, kind == SAMPLER_LOGITS ? kLogits : kProbabilities);
      tested.set(&call.args());
      expect_ok(&call, sampler.get());
      const Row output = output_row(call);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(output[i], tested.renorm[i], kind == SAMPLER_LOGITS ? 1e-3f : 1e-7f) << i;
        EXPECT_EQ(output[i] == 0, tested.renorm[i] == 0) << i;
      }
      EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", 0), num_kept(tested.renorm));
    }
  }
}

TEST(Filters, Mask) {
  const Sampler sampler = roomy_sampler();
  for (const Filter &tested : filters()) {
    SCOPED_TRACE(tested.name);
    Call call = call_on(Op::kFilter, SAMPLER_LOGITS, kLogits, SAMPLER_OUTPUT_VALUES);
    tested.set(&call.args());
    expect_ok(&call, sampler.get());
    const Row output = output_row(call);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(output[i], tested.renorm[i] == 0 ? -kInf : kLogits[i]) << i;
    }
    EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", 0), num_kept(tested.renorm));
  }
}

// Tokens come from what is kept, all of it, and are counted alike.
TEST(Filters, LimitDraws) {
  const Sampler sampler = roomy_sampler();
  for (const Filter &tested : filters()) {
    SCOPED_TRACE(tested.name);
    for (const sampler_draw_method method : {SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_GUMBEL}) {
      Call call = call_on(Op::kSample, SAMPLER_PROBABILITIES, kProbabilities);
      tested.set(&call.args());
      call.args().set("draw_method", method);
      call.args().set("logprob_kind", SAMPLER_LOGPROB_PROCESSED);
      Row is_drawn(4);
      for (std::uint64_t offset = 0; offset < 200; ++offset) {
        call.args().set("random.offset", offset);
        expect_ok(&call, sampler.get());
        const auto token = std::size_t(call.token(0));
        ASSERT_LT(token, 4u);
        is_drawn[token] = 1;
        EXPECT_EQ(call.at<float>("out_values", 0), kProbabilities[token]);
        EXPECT_NEAR(call.at<float>("out_logprobs", 0), std::log(tested.renorm[token]), 1e-6);
        EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", 0), num_kept(tested.renorm));
      }
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(is_drawn[i] != 0, tested.renorm[i] != 0) << i;
    }
  }
}

// A mask is what renormalises to what the renormalisation writes, whatever the filters are.
TEST(Filters, MaskedRowsHaveTheSameSoftmax) {
  const Sampler sampler = roomy_sampler();
  for (Spec spec : all_specs()) {
    if (spec.operation != Op::kFilter || spec.output_kind != SAMPLER_OUTPUT_VALUES) continue;
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 56;
    spec.output_dtype = spec.dtype;
    Call mask(spec);
    expect_ok(&mask, sampler.get());
    spec.output_kind = SAMPLER_OUTPUT_PROBABILITIES;
    spec.output_dtype = SAMPLER_F32;
    Call renorm(spec), softmax(spec);
    softmax.args().set("input.values", mask.buffer("output").data());
    for (const char *filter : {"row_params.top_k", "row_params.top_p", "row_params.min_p"}) {
      softmax.args().set<void *>(filter, nullptr);
    }
    EXPECT_TRUE(same_bytes(output_of(&softmax, sampler.get()), output_of(&renorm, sampler.get())));
  }
}

// A hot row keeps what a cool one does if filters see the row before the temperature.
TEST(Filters, SeeTheTemperatureOrNot) {
  const Sampler sampler = roomy_sampler();
  Call call = call_on(Op::kFilter, SAMPLER_LOGITS, kLogits);
  call.args().set("params.temperature", 100.0f);
  call.args().set("params.min_p", 0.4f);
  expect_ok(&call, sampler.get());
  EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", 0), 4);
  call.args().set("params.temperature_order", SAMPLER_TEMPERATURE_LAST);
  expect_ok(&call, sampler.get());
  EXPECT_EQ(call.at<std::int32_t>("out_kept_counts", 0), 2);
  // Kept tokens have the probabilities of the temperature all the same.
  EXPECT_NEAR(call.at<float>("output", 0, 1), 0.5f, 0.01f);
}

// Fractions of a weight far below its last bit round up, exactly.
TEST(Filters, OfTinyFractions) {
  const float p = 0x1p-42f;
  const Sampler sampler = roomy_sampler();
  Call call = call_on(Op::kSample, SAMPLER_PROBABILITIES, {0.75f * p, 2 * p, 1, 0, 0.5f * p, p});
  const auto kept_count = [&](float top_p, float min_p) {
    call.args().set("params.top_p", top_p);
    call.args().set("params.min_p", min_p);
    expect_ok(&call, sampler.get());
    return call.at<std::int32_t>("out_kept_counts", 0);
  };
  // The weights are 3, 8, 2^44, 0, 2 and 4.
  EXPECT_EQ(kept_count(1, p), 3);
  EXPECT_EQ(kept_count(1, 0.75f * p), 4);
  EXPECT_EQ(kept_count(1, 0x1.000002p-42f), 2);  // a little more than 4
  EXPECT_EQ(kept_count(p, 0), 1);
}

// ---- Lists --------------------------------------------------------------------------------------

void expect_selected(Call *call, sampler_t sampler, const Row &values,
                     const std::vector<std::int64_t> &ids) {
  expect_ok(call, sampler);
  EXPECT_EQ(call->status(0), SAMPLER_ROW_OK);
  std::int32_t count = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(call->value("out_values", 0, std::int64_t(i)), values[i]) << i;
    EXPECT_EQ(call->token(0, std::int64_t(i)), ids[i]) << i;
    count += ids[i] >= 0;
  }
  EXPECT_EQ(call->at<std::int32_t>("out_counts", 0), count);
}

TEST(Select, IsInRankOrder) {
  const Sampler sampler = roomy_sampler();
  Call call = call_on(Op::kSelect, SAMPLER_LOGITS, {1, -3, 1, 7, -kInf, 0.0f, -0.0f});
  expect_selected(&call, sampler.get(), {7, 1, 1, 0, 0, -3, -kInf}, {3, 0, 2, 5, 6, 1, -1});
  Call probabilities = call_on(Op::kSelect, SAMPLER_PROBABILITIES, {0.25f, 0, 0.5f, 0.25f});
  expect_selected(&probabilities, sampler.get(), {0.5f, 0.25f, 0.25f, 0}, {2, 0, 3, -1});
}

TEST(Select, OrdersInfinityAsAnyValue) {
  const Sampler sampler = roomy_sampler();
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      Spec spec;
      spec.operation = Op::kSelect;
      spec.dtype = dtype;
      spec.kind = kind;
      spec.num_rows = 1;
      spec.num_selected = 3;
      Call call(spec);
      call.set_value("input.values", 0, 30, kInf);
      call.set_value("input.values", 0, 11, kInf);
      expect_ok(&call, sampler.get());
      EXPECT_EQ(call.status(0), SAMPLER_ROW_OK);
      EXPECT_EQ(call.token(0, 0), 11);
      EXPECT_EQ(call.token(0, 1), 30);
      EXPECT_EQ(call.value("out_values", 0, 1), kInf);
      EXPECT_LT(call.value("out_values", 0, 2), kInf);
      call.set_value("input.values", 0, 3, kNan);
      expect_ok(&call, sampler.get());
      EXPECT_EQ(call.status(0), SAMPLER_ROW_INVALID_VALUE);
    }
  }
}

// Each row gets the tokens that it asks for, and no more than there are columns for.
TEST(Select, CountsOfRows) {
  const Sampler sampler = roomy_sampler();
  const std::vector<std::int32_t> wanted = {0, 1, 2, 4, 5, 6, -1, 1 << 30};
  Spec spec;
  spec.operation = Op::kSelect;
  spec.num_rows = std::int64_t(wanted.size());
  Call all(spec), some(spec);
  some.args().set("selected_counts", wanted.data());
  expect_ok(&all, sampler.get());
  expect_ok(&some, sampler.get());
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    const std::int32_t asked = wanted[std::size_t(row)];
    const std::int32_t count = asked <= 0 || asked > 5 ? 5 : asked;
    EXPECT_EQ(some.at<std::int32_t>("out_counts", row), count);
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(some.token(row, i), i < count ? all.token(row, i) : -1);
      EXPECT_EQ(some.value("out_values", row, i),
                i < count ? all.value("out_values", row, i) : -kInf);
    }
  }
}

}  // namespace
}  // namespace capi_test::filters_test
