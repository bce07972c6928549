// Every argument rule, with its text; what is refused changes nothing.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <functional>

#include "support.h"

namespace state_test::arguments_test {
namespace {

constexpr std::int64_t kTooMany = std::int64_t(1) << 31;
constexpr std::int64_t kHuge = INT64_MAX;

template <class Args>
struct Rule {
  std::function<void(Args *)> change;
  std::string message;
};

// The error for a struct of another size than this version's.
template <class Struct>
std::string wrong_size(const std::string &name, const std::string &type, std::size_t size) {
  return name + "->struct_size is " + std::to_string(size) + "; set it to sizeof(" + type + "), " +
         std::to_string(sizeof(Struct)) + " here or up to 65536 with newer headers";
}
#define WRONG_SIZE(name, type, size) wrong_size<type>(name, #type, size)

// Two states of one handle and one of another, some text, and good arguments of every call.
class Arguments : public testing::Test {
 protected:
  Arguments() {
    one_.append({0, 1, 2}, {{1, 2}, {3}, {4, 5, 6}}, true, SAMPLER_ID_I32);
    one_.accept({0}, {{{7, 8}, {}}}, SAMPLER_ID_I32, nullptr);
    std::memset(outputs_, 0x77, sizeof outputs_);
  }

  sampler_t sampler() const { return handle_.get(); }
  template <class T>
  T *output(int i) {
    return reinterpret_cast<T *>(outputs_[i]);
  }

  template <class Args>
  Args rows() {
    auto args = sized<Args>();
    args.state = one_.state();
    args.slots = slots_;
    args.num_rows = 2;
    args.out_row_status = output<sampler_row_status>(0);
    return args;
  }

  sampler_state_append_args append() {
    auto args = rows<sampler_state_append_args>();
    args.tokens.offsets = offsets_;
    args.tokens.token_ids = ids_;
    args.tokens.num_lists = 2;
    args.tokens.num_token_ids = 3;
    args.out_lengths = output<std::int32_t>(1);
    return args;
  }
  sampler_accept_args accept() {
    auto args = rows<sampler_accept_args>();
    args.token_ids = ids_;
    args.num_tokens = 2;
    args.observations = observations_;
    params_ = sampler_params_default();
    row_params_ = sized<sampler_row_params>();
    args.params = &params_;
    args.row_params = &row_params_;
    args.offsets = output<std::uint64_t>(2);
    args.out_lengths = output<std::int32_t>(1);
    return args;
  }
  sampler_state_truncate_args truncate() {
    auto args = rows<sampler_state_truncate_args>();
    args.lengths = lengths_;
    return args;
  }
  sampler_state_copy_args copy() {
    auto args = sized<sampler_state_copy_args>();
    args.source = one_.state();
    args.destination = two_.state();
    args.source_slots = slots_;
    args.destination_slots = slots_;
    args.num_rows = 2;
    args.out_row_status = output<sampler_row_status>(0);
    return args;
  }
  sampler_state_reset_args reset() {
    auto args = rows<sampler_state_reset_args>();
    args.adaptive_values = observations_;
    return args;
  }
  sampler_state_read_args read() {
    auto args = rows<sampler_state_read_args>();
    args.out_token_ids = output<std::int32_t>(1);
    args.num_tokens = 3;
    args.out_lengths = output<std::int32_t>(2);
    args.out_prompt_lengths = output<std::int32_t>(3);
    args.out_adaptive_values = output<float>(4);
    return args;
  }

  // The good arguments are refused once each rule is broken, with its text.
  template <class Args, class Function>
  void refuse(Function *function, const std::function<Args()> &make,
              const std::vector<Rule<Args>> &rules) {
    const std::string before = one_.bytes() + two_.bytes();
    const std::string outputs(&outputs_[0][0], sizeof outputs_);
    const auto expect_refused = [&](const Args *args, const std::string &message) {
      EXPECT_EQ(function(sampler(), args), SAMPLER_ERROR_INVALID_ARGUMENT) << message;
      EXPECT_EQ(sampler_last_error(), message);
      EXPECT_EQ(one_.bytes() + two_.bytes(), before) << message;
      EXPECT_EQ(std::string(&outputs_[0][0], sizeof outputs_), outputs) << message;
    };
    for (const Rule<Args> &rule : rules) {
      Args args = make();
      rule.change(&args);
      expect_refused(&args, rule.message);
    }
    expect_refused(nullptr, "args is NULL; it must point to a struct");
    const Args args = make();
    EXPECT_EQ(function(nullptr, &args), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), "sampler is NULL; it must come from sampler_create");
    EXPECT_EQ(function(sampler(), &args), SAMPLER_OK) << sampler_last_error();
  }

  // What all calls of rows of slots share.
  template <class Args>
  std::vector<Rule<Args>> rules_of_rows(const std::string &type) {
    return {
        {[](Args *args) { args->struct_size = 8; }, wrong_size<Args>("args", type, 8)},
        {[](Args *args) { args->state = nullptr; }, "state is NULL; it is required"},
        {[&](Args *args) { args->state = foreign_.state(); },
         "state is of another sampler; it must be of the one that is called"},
        {[](Args *args) { args->num_rows = -1; }, "num_rows is -1; it must be at least 0"},
        {[](Args *args) { args->num_rows = kTooMany; },
         "num_rows is 2147483648; it must be below 2147483648"},
        {[](Args *args) { args->num_rows = 4, args->slots = nullptr; },
         "num_rows is 4; without slots it must be at most the state's slots, 3"},
        {[](Args *args) { args->exec.workspace_bytes = 8; },
         "exec.workspace is NULL and exec.workspace_bytes 8; it must be 0 then"},
        {[](Args *args) {
           args->out_row_status =
               reinterpret_cast<sampler_row_status *>(const_cast<std::int32_t *>(args->slots));
         },
         "out_row_status overlaps slots; outputs must overlap neither inputs nor each other"},
    };
  }

  template <class Rules>
  static Rules joined(Rules rules, const Rules &others) {
    rules.insert(rules.end(), others.begin(), others.end());
    return rules;
  }

  Handle handle_ = make_handle(), other_handle_ = make_handle();
  Pair one_ = Pair(handle_.get(), {3, 20, 0, false}), two_ = Pair(handle_.get(), {3, 20, 0, true});
  Pair foreign_ = Pair(other_handle_.get(), {3, 20, 0, false});

  std::int32_t slots_[4] = {0, 2, 0, 0};
  std::int64_t offsets_[3] = {0, 1, 3};
  std::int32_t ids_[4] = {1, 2, 3, 4};
  std::int32_t lengths_[2] = {1, 1};
  float observations_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::int64_t resets_[3] = {1, -1, 2};
  sampler_params params_;
  sampler_row_params row_params_;
  alignas(8) char outputs_[5][64];
};

TEST_F(Arguments, OfAppendAreChecked) {
  using Args = sampler_state_append_args;
  refuse<Args>(
      &sampler_state_append, [&] { return append(); },
      joined<std::vector<Rule<Args>>>(
          rules_of_rows<Args>("sampler_state_append_args"),
          {
              {[](Args *args) { args->token_id_type = 2; },
               "token_id_type is 2; it must be one of its constants, 0 to 1"},
              {[](Args *args) { args->token_kind = -1; },
               "token_kind is -1; it must be one of its constants, 0 to 1"},
              {[](Args *args) { args->tokens.num_lists = 1; },
               "tokens.num_lists is 1; it must be num_rows, 2"},
              {[](Args *args) { args->tokens.num_token_ids = -1; },
               "tokens.num_token_ids is -1; it must be at least 0"},
              {[](Args *args) { args->tokens.num_token_ids = kHuge - 1; },
               "tokens.token_ids has 9223372036854775806 rows, 1 elements apart; it must fit the "
               "address space"},
              {[](Args *args) { args->tokens.offsets = nullptr; },
               "tokens.offsets is NULL; it is required"},
              {[](Args *args) { args->tokens.token_ids = nullptr; },
               "tokens.token_ids is NULL; it is required"},
              {[](Args *args) { args->out_lengths = const_cast<std::int32_t *>(args->slots); },
               "out_lengths overlaps slots; outputs must overlap neither inputs nor each other"},
          }));
}

TEST_F(Arguments, OfAcceptAreChecked) {
  using Args = sampler_accept_args;
  const auto with_params = [&](const auto &change) {
    return [&, change](Args *) { change(&params_, &row_params_); };
  };
  using P = sampler_params;
  using R = sampler_row_params;
  refuse<Args>(
      &sampler_accept, [&] { return accept(); },
      joined<std::vector<Rule<Args>>>(
          rules_of_rows<Args>("sampler_accept_args"),
          {
              {[](Args *args) { args->num_tokens = -1; },
               "num_tokens is -1; it must be at least 1"},
              {[](Args *args) { args->num_tokens = 0; },
               "num_tokens is 0; it must be the number of ids that token_ids has for each row, 1 "
               "after sampler_sample"},
              {[](Args *args) { args->num_tokens = (1 << 20) + 1; },
               "num_tokens is 1048577; it must be below 1048577"},
              {[](Args *args) { args->token_id_type = -1; },
               "token_id_type is -1; it must be one of its constants, 0 to 1"},
              {[](Args *args) { args->reserved = 1; }, "reserved is 1; it must be 0"},
              {[](Args *args) { args->token_ids = nullptr; }, "token_ids is NULL; it is required"},
              {[](Args *args) {
                 args->observations = reinterpret_cast<const float *>(args->out_lengths);
               },
               "out_lengths overlaps observations; outputs must overlap neither inputs nor each "
               "other"},
              {[](Args *args) {
                 args->offsets = reinterpret_cast<std::uint64_t *>(args->out_lengths);
               },
               "offsets overlaps out_lengths; outputs must overlap neither inputs nor each other"},
              {with_params([](P *p, R *) { p->struct_size = 4; }),
               WRONG_SIZE("params", sampler_params, 4)},
              {with_params([](P *, R *r) { r->struct_size = 4; }),
               WRONG_SIZE("row_params", sampler_row_params, 4)},
              {with_params([](P *p, R *) { p->adaptive_kind = 5; }),
               "params->adaptive_kind is 5; it must be one of its constants, 0 to 4"},
              {with_params([](P *p, R *) { p->adaptive_kind = -1; }),
               "params->adaptive_kind is -1; it must be one of its constants, 0 to 4"},
              {with_params([](P *p, R *) { p->adaptive_target = NAN; }),
               "params->adaptive_target is NaN; it must be a number"},
              {with_params([](P *p, R *) { p->adaptive_target = INFINITY; }),
               "params->adaptive_target is inf; it must be finite"},
              {with_params([](P *p, R *) {
                 p->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
                 p->adaptive_target = -1;
               }),
               "params->adaptive_target is -1; mirostat's must not be negative"},
              {with_params([](P *p, R *) {
                 p->adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
                 p->adaptive_target = -1;
               }),
               "params->adaptive_target is -1; smoothing's must not be negative"},
              {with_params([](P *p, R *) {
                 p->adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
                 p->adaptive_rate = 0.5F;
               }),
               "params->adaptive_rate is 0.5; smoothing's must be 0, or from 1 to 3"},
              {with_params([](P *p, R *) { p->adaptive_rate = -INFINITY; }),
               "params->adaptive_rate is -inf; it must be finite"},
              {with_params([](P *p, R *) { p->adaptive_rate = NAN; }),
               "params->adaptive_rate is NaN; it must be a number"},
              {with_params([](P *p, R *) { p->top_p = NAN; }),
               "params->top_p is NaN; it must be a number"},
              {with_params([](P *p, R *) { p->top_p_decay = NAN; }),
               "params->top_p_decay is NaN; it must be a number"},
              {with_params([](P *p, R *) { p->top_p_least = INFINITY; }),
               "params->top_p_least is inf; it must be finite"},
              {with_params([&](P *, R *r) {
                 r->top_p_reset_token_id = reinterpret_cast<const std::int64_t *>(outputs_[2]);
               }),
               "offsets overlaps row_params->top_p_reset_token_id; outputs must overlap neither "
               "inputs nor each other"},
          }));
}

TEST_F(Arguments, OfTruncateAreChecked) {
  using Args = sampler_state_truncate_args;
  refuse<Args>(
      &sampler_state_truncate, [&] { return truncate(); },
      joined<std::vector<Rule<Args>>>(
          rules_of_rows<Args>("sampler_state_truncate_args"),
          {{[](Args *args) { args->lengths = nullptr; }, "lengths is NULL; it is required"}}));
}

TEST_F(Arguments, OfCopyAreChecked) {
  using Args = sampler_state_copy_args;
  refuse<Args>(
      &sampler_state_copy, [&] { return copy(); },
      {
          {[](Args *args) { args->struct_size = 1; },
           WRONG_SIZE("args", sampler_state_copy_args, 1)},
          {[](Args *args) { args->source = nullptr; }, "source is NULL; it is required"},
          {[](Args *args) { args->destination = nullptr; }, "destination is NULL; it is required"},
          {[&](Args *args) { args->source = foreign_.state(); },
           "source is of another sampler; it must be of the one that is called"},
          {[&](Args *args) { args->destination = foreign_.state(); },
           "destination is of another sampler; it must be of the one that is called"},
          {[](Args *args) { args->num_rows = -1; }, "num_rows is -1; it must be at least 0"},
          {[](Args *args) { args->num_rows = kTooMany; },
           "num_rows is 2147483648; it must be below 2147483648"},
          {[](Args *args) { args->source_slots = nullptr; },
           "source_slots is NULL; it is required"},
          {[](Args *args) { args->destination_slots = nullptr; },
           "destination_slots is NULL; it is required"},
          {[&](Args *args) {
             args->out_row_status = reinterpret_cast<sampler_row_status *>(slots_);
           },
           "out_row_status overlaps source_slots; outputs must overlap neither inputs nor each "
           "other"},
      });
}

TEST_F(Arguments, OfResetAreChecked) {
  using Args = sampler_state_reset_args;
  refuse<Args>(
      &sampler_state_reset, [&] { return reset(); },
      joined<std::vector<Rule<Args>>>(
          rules_of_rows<Args>("sampler_state_reset_args"),
          {{[](Args *args) {
              args->adaptive_values = reinterpret_cast<const float *>(args->out_row_status);
            },
            "out_row_status overlaps adaptive_values; outputs must overlap neither inputs nor each "
            "other"}}));
}

TEST_F(Arguments, OfReadAreChecked) {
  using Args = sampler_state_read_args;
  refuse<Args>(
      &sampler_state_read, [&] { return read(); },
      joined<std::vector<Rule<Args>>>(
          rules_of_rows<Args>("sampler_state_read_args"),
          {
              {[](Args *args) { args->num_tokens = -1; },
               "num_tokens is -1; it must be at least 0"},
              {[](Args *args) { args->num_tokens = kTooMany; },
               "num_tokens is 2147483648; it must be below 2147483648"},
              {[](Args *args) { args->token_id_type = 7; },
               "token_id_type is 7; it must be one of its constants, 0 to 1"},
              {[](Args *args) { args->reserved = -1; }, "reserved is -1; it must be 0"},
              {[](Args *args) { args->out_lengths = args->out_prompt_lengths; },
               "out_lengths overlaps out_prompt_lengths; outputs must overlap neither inputs nor "
               "each other"},
          }));
}

TEST_F(Arguments, OfOptionsAreChecked) {
  using Options = sampler_state_options;
  const auto good = [] {
    auto options = sized<Options>();
    options.num_slots = 3;
    options.max_tokens = 10;
    return options;
  };
  const std::vector<Rule<Options>> rules = {
      {[](Options *o) { o->struct_size = 65537; },
       WRONG_SIZE("options", sampler_state_options, 65537)},
      {[](Options *o) { o->num_slots = 0; }, "num_slots is 0; it must be at least 1"},
      {[](Options *o) { o->num_slots = -1; }, "num_slots is -1; it must be at least 1"},
      {[](Options *o) { o->num_slots = kTooMany; },
       "num_slots is 2147483648; it must be below 2147483648"},
      {[](Options *o) { o->max_tokens = 0; }, "max_tokens is 0; it must be at least 1"},
      {[](Options *o) { o->max_tokens = kTooMany; },
       "max_tokens is 2147483648; it must be below 2147483648"},
      {[](Options *o) { o->max_distinct_tokens = -1; },
       "max_distinct_tokens is -1; it must be at least 0"},
      {[](Options *o) { o->max_distinct_tokens = 11; },
       "max_distinct_tokens is 11; it must be below 11"},
      {[](Options *o) { o->keep_adaptive_values = 2; },
       "keep_adaptive_values is 2; it must be one of its constants, 0 to 1"},
      {[](Options *o) { o->reserved = 5; }, "reserved is 5; it must be 0"},
  };
  for (const Rule<Options> &rule : rules) {
    Options options = good();
    rule.change(&options);
    sampler_state_t state = reinterpret_cast<sampler_state_t>(&options);
    std::size_t bytes = 77;
    EXPECT_EQ(sampler_state_create(sampler(), &options, &state), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), rule.message);
    EXPECT_EQ(state, nullptr);
    EXPECT_EQ(sampler_state_size(sampler(), &options, &bytes), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), rule.message);
    EXPECT_EQ(bytes, 77u);
  }
  const Options options = good();
  sampler_state_t state = nullptr;
  std::size_t bytes = 0;
  const auto expect_invalid = [](sampler_status status, const char *message) {
    EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), message);
  };
  expect_invalid(sampler_state_create(sampler(), nullptr, &state),
                 "options is NULL; it must point to a struct");
  expect_invalid(sampler_state_size(sampler(), nullptr, &bytes),
                 "options is NULL; it must point to a struct");
  expect_invalid(sampler_state_create(sampler(), &options, nullptr),
                 "out_state is NULL; it is required");
  expect_invalid(sampler_state_size(sampler(), &options, nullptr),
                 "out_bytes is NULL; it is required");
  const char *const no_sampler = "sampler is NULL; it must come from sampler_create";
  expect_invalid(sampler_state_create(nullptr, &options, &state), no_sampler);
  expect_invalid(sampler_state_size(nullptr, &options, &bytes), no_sampler);
  sampler_state_destroy(nullptr);
}

TEST_F(Arguments, OfBytesAreChecked) {
  const auto expect_invalid = [](sampler_status status, const std::string &message) {
    EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), message);
  };
  const sampler_state_t state = one_.state();
  std::string data = one_.bytes();
  const std::string before = data;
  std::size_t bytes = 77;
  const auto serialize = [&](sampler_state_t which, std::int64_t first, std::int64_t count,
                             std::size_t buffer_bytes, std::size_t *out_bytes) {
    return sampler_state_serialize(sampler(), which, first, count, data.data(), buffer_bytes,
                                   out_bytes);
  };
  expect_invalid(serialize(nullptr, 0, 3, data.size(), &bytes), "state is NULL; it is required");
  expect_invalid(serialize(foreign_.state(), 0, 3, data.size(), &bytes),
                 "state is of another sampler; it must be of the one that is called");
  expect_invalid(serialize(state, -1, 3, data.size(), &bytes),
                 "first_slot is -1; it must be at least 0");
  expect_invalid(serialize(state, 4, 0, data.size(), &bytes),
                 "first_slot is 4; it must be below 4");
  expect_invalid(serialize(state, 1, 3, data.size(), &bytes), "num_slots is 3; it must be below 3");
  expect_invalid(serialize(state, 0, -1, data.size(), &bytes),
                 "num_slots is -1; it must be at least 0");
  expect_invalid(serialize(state, 0, 3, data.size(), nullptr), "out_bytes is NULL; it is required");
  expect_invalid(sampler_state_serialize(sampler(), state, 0, 3, nullptr, 5, &bytes),
                 "buffer is NULL and buffer_bytes 5; it must be 0 then");
  EXPECT_EQ(bytes, 77u);
  expect_invalid(serialize(state, 0, 3, data.size() - 1, &bytes),
                 "buffer_bytes is " + std::to_string(data.size() - 1) + "; these sequences need " +
                     std::to_string(data.size()));
  EXPECT_EQ(bytes, data.size());
  EXPECT_EQ(data, before);

  std::int64_t num_slots = 77;
  const auto deserialize = [&](sampler_state_t which, std::int64_t first, const void *from) {
    return sampler_state_deserialize(sampler(), which, first, from, data.size(), &num_slots);
  };
  expect_invalid(deserialize(nullptr, 0, data.data()), "state is NULL; it is required");
  expect_invalid(deserialize(foreign_.state(), 0, data.data()),
                 "state is of another sampler; it must be of the one that is called");
  expect_invalid(deserialize(state, -1, data.data()), "first_slot is -1; it must be at least 0");
  expect_invalid(deserialize(state, 4, data.data()), "first_slot is 4; it must be below 4");
  expect_invalid(deserialize(state, 0, nullptr), "data is NULL; it is required");
  expect_invalid(deserialize(state, 1, data.data()),
                 "data have 3 sequences; the state has 2 slots from first_slot");
  const State small = make_state(sampler(), {3, 2, 0, false});
  expect_invalid(deserialize(small.get(), 0, data.data()),
                 "data have a sequence of 4 tokens; max_tokens of the state is 2");
  EXPECT_EQ(num_slots, 77);
  EXPECT_EQ(one_.bytes(), before);
  EXPECT_EQ(sampler_state_deserialize(sampler(), state, 0, data.data(), data.size(), nullptr),
            SAMPLER_OK);
  EXPECT_EQ(one_.bytes(), before);
}

// A state in the place of what callers without one give.
TEST_F(Arguments, OfPipelinesAreChecked) {
  using Args = sampler_pipeline;
  const float logits[8] = {};
  const std::vector<Rule<Args>> rules = {
      {[&](Args *args) { args->state = foreign_.state(); },
       "pipeline->state is of another sampler; it must be of the one that is called"},
      {[&](Args *args) { args->history.offsets = offsets_; },
       "pipeline->history.offsets is set; it must be NULL with pipeline->state"},
      {[](Args *args) { args->history.num_lists = 3; },
       "pipeline->history.num_lists is 3; it must be 0"},
      {[](Args *args) { args->history.num_token_ids = 3; },
       "pipeline->history.num_token_ids is 3; it must be 0"},
      {[&](Args *args) { args->prompt_lengths = slots_; },
       "pipeline->prompt_lengths is set; it must be NULL with pipeline->state"},
      {[&](Args *args) { args->adaptive_values = observations_; },
       "pipeline->adaptive_values is set; it must be NULL with pipeline->state"},
      {[](Args *args) { args->max_history_tokens = -1; },
       "pipeline->max_history_tokens is -1; it must be at least 0"},
  };
  auto args = sized<sampler_sample_args>();
  auto filter_args = sized<sampler_filter_args>();
  std::int32_t ids[4] = {77, 77, 77, 77};
  float output[8];
  params_ = sampler_params_default();
  params_.presence_penalty = 0.5F;
  args.input.values = filter_args.input.values = logits;
  args.input.num_rows = filter_args.input.num_rows = 2;
  args.input.num_cols = filter_args.input.num_cols = 4;
  args.params = filter_args.params = &params_;
  args.out_token_ids = ids;
  filter_args.output = output;
  const auto expect_refused = [&](const sampler_pipeline &pipeline, const std::string &message) {
    args.pipeline = filter_args.pipeline = &pipeline;
    std::size_t bytes = 0;
    for (const sampler_status status : {sampler_filter(sampler(), &filter_args),
                                        sampler_sample_workspace_size(sampler(), &args, &bytes),
                                        sampler_sample(sampler(), &args)}) {
      EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), message);
    }
    EXPECT_EQ(ids[0], 77);
  };
  for (const Rule<Args> &rule : rules) {
    auto pipeline = sized<sampler_pipeline>();
    pipeline.state = one_.state();
    rule.change(&pipeline);
    expect_refused(pipeline, rule.message);
  }
  auto pipeline = sized<sampler_pipeline>();
  pipeline.state = one_.state();
  args.input.num_rows = filter_args.input.num_rows = 4;
  args.input.num_cols = filter_args.input.num_cols = 2;
  expect_refused(pipeline,
                 "pipeline->state has 3 slots; the call has 4, and it must have as many or more");
  args.input.num_rows = 3;
  std::vector<unsigned char> workspace(1 << 16);
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = workspace.size();
  EXPECT_EQ(sampler_sample(sampler(), &args), SAMPLER_OK) << sampler_last_error();
}

// A handle serves one call at a time, and its states do with it.
TEST_F(Arguments, AreNotLookedAtWhileTheHandleIsBusy) {
  struct Host {
    std::vector<std::string> errors;
    sampler_t sampler = nullptr;
    sampler_state_t state = nullptr;
  } host;
  sampler_options options = sampler_options_default();
  options.num_threads = 2;
  options.max_rows = options.max_cols = 8;
  options.parallel_for_user = &host;
  options.parallel_for = [](void *user, std::int64_t num_tasks, sampler_task_fn task,
                            void *task_user) {
    for (std::int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
    Host *const self = static_cast<Host *>(user);
    auto truncate = sized<sampler_state_truncate_args>();
    auto read = sized<sampler_state_read_args>();
    truncate.state = read.state = self->state;
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_state_truncate(self->sampler, &truncate), SAMPLER_ERROR_INVALID_ARGUMENT);
    self->errors.push_back(sampler_last_error());
    EXPECT_EQ(sampler_state_read(self->sampler, &read), SAMPLER_ERROR_INVALID_ARGUMENT);
    self->errors.push_back(sampler_last_error());
    EXPECT_EQ(sampler_state_serialize(self->sampler, self->state, 0, 1, nullptr, 0, &bytes),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    self->errors.push_back(sampler_last_error());
    EXPECT_EQ(sampler_state_deserialize(self->sampler, self->state, 0, "", 0, nullptr),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    self->errors.push_back(sampler_last_error());
  };
  ASSERT_EQ(sampler_create(&options, &host.sampler), SAMPLER_OK);
  const Handle handle(host.sampler);
  const State state = make_state(host.sampler, {1, 4, 0, false});
  host.state = state.get();
  const float logits[8] = {};
  std::int32_t ids[2];
  auto args = sized<sampler_sample_args>();
  args.input.values = logits;
  args.input.num_rows = 2;
  args.input.num_cols = 4;
  args.out_token_ids = ids;
  ASSERT_EQ(sampler_sample(host.sampler, &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(host.errors, std::vector<std::string>(
                             4, "sampler is serving another call; it serves one at a time"));
}

// A slot's bad number makes its row bad.
TEST_F(Arguments, OfRowsMakeThemBad) {
  const float nan = NAN, infinity = INFINITY;
  const float floats[] = {nan, 0, 0};
  const float infinite[] = {infinity, 0, 0};
  const float negative[] = {-1, 0, 0};
  const sampler_adaptive_kind kinds[] = {5, 0, 0}, mirostat[] = {2, 0, 0};
  const std::vector<std::function<void(sampler_row_params *)>> bad = {
      [&](auto *r) { r->adaptive_kind = kinds; },
      [&](auto *r) { r->adaptive_target = floats; },
      [&](auto *r) { r->adaptive_target = infinite; },
      [&](auto *r) { r->adaptive_kind = mirostat, r->adaptive_target = negative; },
      [&](auto *r) { r->adaptive_rate = infinite; },
      [&](auto *r) { r->top_p = floats; },
      [&](auto *r) { r->top_p_decay = floats; },
      [&](auto *r) { r->top_p_least = infinite; },
  };
  for (const auto &change : bad) {
    const std::string before = serialize(sampler(), one_.state(), 0, 1);
    const std::size_t length = one_.bytes().size();
    sampler_accept_args args = accept();
    std::uint64_t offsets[3] = {5, 5, 5};
    args.offsets = offsets;
    change(&row_params_);
    ASSERT_EQ(sampler_accept(sampler(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(args.out_row_status[0], std::uint32_t(SAMPLER_ROW_INVALID_PARAMETER));
    EXPECT_EQ(args.out_row_status[1], std::uint32_t(SAMPLER_ROW_OK));
    EXPECT_EQ(args.out_lengths[0], 4);
    EXPECT_EQ(offsets[0], 5u);
    EXPECT_EQ(offsets[2], 7u);
    EXPECT_EQ(serialize(sampler(), one_.state(), 0, 1), before);
    EXPECT_EQ(one_.bytes().size(), length + 2 * sizeof(std::int32_t));
  }
}

// The token after which the running top_p begins again is one of its slot.
TEST_F(Arguments, OfSlotsAreThoseOfTheSlot) {
  const float decays[] = {0.5F, 0.0F, 0.5F};
  const std::int64_t resets[] = {2, 9, -1};
  sampler_accept_args args = accept();  // tokens 1, 2 of slot 0 and 3, 4 of slot 2
  std::uint64_t offsets[3] = {};
  args.offsets = offsets;
  params_.top_p = 0.75F;
  row_params_.top_p_decay = decays;
  row_params_.top_p_reset_token_id = resets;
  ASSERT_EQ(sampler_accept(sampler(), &args), SAMPLER_OK) << sampler_last_error();
  auto values = read();
  ASSERT_EQ(sampler_state_read(sampler(), &values), SAMPLER_OK);
  EXPECT_EQ(values.out_adaptive_values[3], 0.75F);
  EXPECT_EQ(values.out_adaptive_values[7], 0.1875F);
}

// Offsets that are none, of each kind, make their rows bad, and no other.
TEST_F(Arguments, OfListsMakeTheirRowsBad) {
  const std::int64_t offsets[][3] = {{0, -1, 3}, {2, 1, 3}, {-1, 1, 3}, {0, 4, 3}};
  for (const auto &bad : offsets) {
    sampler_state_append_args args = append();
    args.tokens.offsets = bad;
    const std::string before = serialize(sampler(), one_.state(), 0, 1);
    ASSERT_EQ(sampler_state_append(sampler(), &args), SAMPLER_OK);
    EXPECT_EQ(args.out_row_status[0], std::uint32_t(SAMPLER_ROW_INVALID_LIST));
    EXPECT_EQ(serialize(sampler(), one_.state(), 0, 1), before);
  }
}

}  // namespace
}  // namespace state_test::arguments_test
