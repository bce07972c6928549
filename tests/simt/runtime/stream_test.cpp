// Streamed rows: launches laid out by hand, so that few small rows go through many slots,
// compared with a CPU handle.
#include "stream/stream.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../../sized.h"
#include "held/held.h"
#include "sampler/sampler.h"
#include "simt.h"
#include "stream/stream.h"

namespace {

using namespace sampler;
using kernels::Stream;
using kernels::StreamKind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A tile more than the least, which is not whole; and enough that 2, 4, 8 and 16 groups make a bin.
constexpr int kWidths[] = {8200, 40009, 70001, 140003, 262145};

enum class Content {
  kModel,
  kFlat,
  kEqual,
  kMasked,
  kTied,
  kHalves,
  kNaN,
  kInfinite,
  kEmpty,
  kNumContents
};

// What may be left to the general kernel: more ties than a list holds, and top-p of flat rows.
bool may_be_left(Content content) {
  return content == Content::kFlat || content == Content::kEqual || content == Content::kTied ||
         content == Content::kHalves;
}

void fill(Content content, int num_cols, std::mt19937_64 &random, float *row) {
  std::normal_distribution<float> normal(0.0f, 2.5f);
  std::uniform_int_distribution<int> place(0, num_cols - 1);
  for (int i = 0; i < num_cols; ++i) {
    switch (content) {
      case Content::kFlat:
        row[i] = 1.0f + 1e-4f * normal(random);
        break;
      case Content::kEqual:
        row[i] = 0.5f;
        break;
      case Content::kMasked:
      case Content::kEmpty:
        row[i] = -kInfinity;
        break;
      case Content::kHalves:  // sums of all but 64 tokens are exact: the others weigh nothing
        row[i] = -100.0f;
        break;
      case Content::kTied:
        row[i] = std::floor(normal(random) * 4) / 4;
        break;
      default:
        row[i] = normal(random);
    }
  }
  if (content == Content::kMasked) {
    for (int i = 0; i < 40; ++i) row[place(random)] = normal(random);
  }
  if (content == Content::kHalves) {
    for (int i = 0; i < 64; ++i) row[(i * 1237 + 11) % num_cols] = 0.0f;
  }
  if (content == Content::kNaN) row[place(random)] = std::nanf("");
  if (content == Content::kInfinite) row[place(random)] = kInfinity;
}

struct Batch {
  std::vector<std::uint16_t> halves;
  std::vector<float> floats;
  sampler_dtype dtype = SAMPLER_F32;
  int num_cols = 0;
  int lead = 0;  // elements before the first row
  std::vector<Content> contents;
  std::vector<float> temperature, top_p, min_p;
  std::vector<std::int32_t> top_k;
  std::vector<std::uint64_t> seeds;
  contract::FilterRules rules;
  sampler_logprob_kind logprobs = SAMPLER_LOGPROB_PROCESSED;

  int num_rows() const { return int(contents.size()); }
  std::int64_t stride() const { return num_cols + 13; }

  void set(std::int64_t element, float x) {
    floats[std::size_t(element)] = x;
    if (dtype == SAMPLER_F16) halves[std::size_t(element)] = contract::narrow_f16(x);
    if (dtype == SAMPLER_BF16) halves[std::size_t(element)] = contract::narrow_bf16(x);
  }

  const void *values() const {
    if (dtype == SAMPLER_F32) return floats.data() + lead;
    return halves.data() + lead;
  }
};

Batch make_batch(int num_rows, int num_cols, sampler_dtype dtype, int lead, std::uint64_t seed) {
  Batch batch;
  std::mt19937_64 random(seed);
  batch.dtype = dtype;
  batch.num_cols = num_cols;
  batch.lead = lead;
  batch.floats.resize(std::size_t(lead + num_rows * batch.stride()), kInfinity);
  const auto one_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % (sizeof all / sizeof *all)];
  };
  for (int i = 0; i < num_rows; ++i) {
    // Every other row is ordinary.
    const auto content =
        i % 2 == 0 ? Content::kModel : Content(random() % std::uint64_t(Content::kNumContents));
    batch.contents.push_back(content);
    fill(content, num_cols, random, &batch.floats[std::size_t(lead + i * batch.stride())]);
    batch.temperature.push_back(one_of(0.0f, 0.8f, 1.0f, 1.7f));
    batch.top_k.push_back(one_of(0, 0, 1, 50, 200, 1000));
    batch.top_p.push_back(one_of(1.0f, 1.0f, 0.9f, 0.5f, 0.0f));
    batch.min_p.push_back(one_of(0.0f, 0.0f, 0.05f, 1.0f));
    batch.seeds.push_back(random());
  }
  batch.rules.order =
      one_of(SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_FILTERS_JOINT, SAMPLER_FILTERS_MIN_P_FIRST);
  batch.rules.top_k_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
  batch.rules.top_p_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
  batch.rules.top_p_sum = one_of(SAMPLER_SUM_REACHES, SAMPLER_SUM_EXCEEDS);
  if (dtype != SAMPLER_F32) {
    for (const float x : batch.floats) {
      batch.halves.push_back(dtype == SAMPLER_F16 ? contract::narrow_f16(x)
                                                  : contract::narrow_bf16(x));
    }
  }
  return batch;
}

constexpr std::int32_t kUntouched = -77;

struct Result {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs, values;
  std::vector<std::uint32_t> statuses;

  explicit Result(int num_rows)
      : tokens(std::size_t(num_rows), kUntouched),
        logprobs(std::size_t(num_rows)),
        values(std::size_t(num_rows)),
        statuses(std::size_t(num_rows)) {}
};

Result on_cpu(const Batch &batch) {
  sampler_t handle = nullptr;
  sampler_options options = sampler_options_default();
  options.max_rows = batch.num_rows();
  options.max_cols = batch.num_cols;
  EXPECT_EQ(SAMPLER_OK, sampler_create(&options, &handle));
  Result result(batch.num_rows());
  sampler_params params = sampler_params_default();
  params.filter_order = batch.rules.order;
  params.top_k_ties = batch.rules.top_k_ties;
  params.top_p_ties = batch.rules.top_p_ties;
  params.top_p_sum = batch.rules.top_p_sum;
  params.temperature_order = batch.rules.temperature_order;
  sampler_row_params rows = {};
  rows.struct_size = sizeof rows;
  rows.temperature = batch.temperature.data();
  rows.top_k = batch.top_k.data();
  rows.top_p = batch.top_p.data();
  rows.min_p = batch.min_p.data();
  SampleArgs args;
  args.input.values = batch.values();
  args.input.num_rows = batch.num_rows();
  args.input.num_cols = batch.num_cols;
  args.input.row_stride = batch.stride();
  args.input.dtype = batch.dtype;
  args.params = &params;
  args.row_params = &rows;
  args.random.seeds = batch.seeds.data();
  args.random.num_seeds = batch.num_rows();
  args.report_args.logprob_kind = batch.logprobs;
  args.out_token_ids = result.tokens.data();
  args.report_args.out_logprobs = result.logprobs.data();
  args.report_args.out_values = result.values.data();
  args.out_row_status = result.statuses.data();
  EXPECT_EQ(SAMPLER_OK, sampler_sample(handle, &args)) << sampler_last_error();
  sampler_destroy(handle);
  return result;
}

contract::SampleRequest request_of(const Batch &batch, Result *result) {
  contract::SampleRequest request;
  request.input.values = batch.values();
  request.input.num_rows = batch.num_rows();
  request.input.num_cols = batch.num_cols;
  request.input.stride = batch.stride();
  request.input.dtype = batch.dtype;
  request.num_rows = batch.num_rows();
  request.parameters.temperature.array = batch.temperature.data();
  request.parameters.top_k.array = batch.top_k.data();
  request.parameters.top_p.array = batch.top_p.data();
  request.parameters.min_p.array = batch.min_p.data();
  request.parameters.rules = batch.rules;
  request.random.seed.array = batch.seeds.data();
  request.random.seed.per_slot = true;
  request.logprob_kind = batch.logprobs;
  request.out_token_ids.data = result->tokens.data();
  request.out_logprobs = result->logprobs.data();
  request.out_values = result->values.data();
  request.out_row_status = result->statuses.data();
  return request;
}

// A launch of few slots, so that they are used again and again.
Stream laid_out(StreamKind kind, const Batch &batch, int num_chunks, int rows_ahead, int num_slots,
                int num_blocks) {
  const int num_rows = batch.num_rows();
  Stream stream = kernels::plan_stream(kind, true, num_rows, batch.num_cols, 100);
  constexpr int kMostTiles = kernels::kMostTilesOfChunk;
  stream.num_chunks = std::max(num_chunks, (stream.num_tiles + kMostTiles - 1) / kMostTiles);
  num_chunks = stream.num_chunks;
  stream.tiles_of_chunk = (stream.num_tiles + num_chunks - 1) / num_chunks;
  stream.num_chunks = (stream.num_tiles + stream.tiles_of_chunk - 1) / stream.tiles_of_chunk;
  stream.rows_ahead = rows_ahead;
  stream.num_slots = num_slots;
  if (rows_ahead < num_rows) stream.set_samplers(0);
  stream.num_items = std::uint32_t(stream.count_items());
  stream.has_tickets = true;
  stream.num_blocks = num_blocks;
  return stream;
}

template <int kThreads, StreamKind kKind>
void launch(const contract::SampleRequest &request, const Stream &stream, std::uint64_t seed) {
  const auto run = [&](auto dtype) {
    simt::launch_blocks<kThreads>(
        stream.num_blocks, stream.num_blocks, sizeof(kernels::StreamShared), seed, [&](auto &ctx) {
          kernels::run_stream<decltype(dtype)::value, kKind>(ctx, request, stream);
        });
  };
  simt::launch<kThreads>(1, 1, 0, seed, [&](auto &ctx) { kernels::run_clear(ctx, stream); });
  if (request.input.dtype == SAMPLER_F32) {
    run(std::integral_constant<sampler_dtype, SAMPLER_F32>());
  } else if (request.input.dtype == SAMPLER_F16) {
    run(std::integral_constant<sampler_dtype, SAMPLER_F16>());
  } else {
    run(std::integral_constant<sampler_dtype, SAMPLER_BF16>());
  }
}

// Memory of which every byte may be anything.
class Workspace {
 public:
  Workspace(Stream *stream, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    words_.resize(stream->bytes() / 8 + 16);
    for (std::uint64_t &word : words_) word = random();
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
    stream->memory = reinterpret_cast<char *>((address + 127) / 128 * 128);
  }

 private:
  std::vector<std::uint64_t> words_;
};

bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

void compare(const Batch &batch, const Stream &stream, const Result &expected,
             const Result &actual) {
  std::vector<bool> is_left(std::size_t(batch.num_rows()));
  for (std::uint32_t i = 0; i < stream.head()->num_left; ++i) {
    ASSERT_LT(stream.left()[i], std::uint32_t(batch.num_rows()));
    is_left[stream.left()[i]] = true;
  }
  for (std::size_t i = 0; i < is_left.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i) + " content " + std::to_string(int(batch.contents[i])) +
                 " T " + std::to_string(batch.temperature[i]) + " k " +
                 std::to_string(batch.top_k[i]) + " p " + std::to_string(batch.top_p[i]) +
                 " min-p " + std::to_string(batch.min_p[i]) + " order " +
                 std::to_string(batch.rules.order));
    if (is_left[i]) {
      const contract::RowParameters row = {batch.temperature[i], batch.top_k[i], batch.top_p[i],
                                           batch.min_p[i]};
      const auto need = kernels::stream_need(row, batch.rules, batch.num_cols,
                                             {false, batch.logprobs == SAMPLER_LOGPROB_RAW});
      // 1,000 tokens may need nearly all of the bins. Top-p of what is nearly flat may keep more
      // than a list holds.
      EXPECT_TRUE(may_be_left(batch.contents[i]) || row.top_k > 500 ||
                  (need == kernels::StreamNeed::kTotal &&
                   (row.temperature >= 1.0f || batch.num_cols > 100000)) ||
                  need == kernels::StreamNeed::kOther);
      EXPECT_EQ(kUntouched, actual.tokens[i]);
      continue;
    }
    EXPECT_EQ(expected.tokens[i], actual.tokens[i]);
    EXPECT_EQ(expected.statuses[i], actual.statuses[i]);
    EXPECT_TRUE(same(expected.logprobs[i], actual.logprobs[i]));
    EXPECT_TRUE(same(expected.values[i], actual.values[i]));
  }
}

class Streams : public testing::TestWithParam<int> {};

int width_of(std::uint64_t seed) {
  return seed < 16 ? kWidths[0] : kWidths[seed % 5];
}

TEST_P(Streams, EqualTheCpuInAnyOrderAndSlots) {
  const auto seed = std::uint64_t(GetParam());
  constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};
  const int num_rows = 11;
  Batch batch = make_batch(num_rows, width_of(seed), kTypes[seed % 3], int(seed % 5), seed);
  if (seed % 2 != 0) batch.logprobs = SAMPLER_LOGPROB_RAW;
  if (seed / 2 % 4 == 1) batch.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  const Result expected = on_cpu(batch);
  const int rows_ahead = 1 + int(seed % 3);
  Stream stream = laid_out(StreamKind::kAny, batch, 1 + int(seed % 4), rows_ahead,
                           rows_ahead + 1 + int(seed % 2), 1 + int(seed % 3));
  const Workspace workspace(&stream, seed);
  for (int replay = 0; replay < 2; ++replay) {
    Result actual(num_rows);
    const contract::SampleRequest request = request_of(batch, &actual);
    launch<64, StreamKind::kAny>(request, stream, seed + std::uint64_t(replay));
    compare(batch, stream, expected, actual);
  }
}

// Few rows, which several blocks sample. Which parts of them these take does not matter.
TEST_P(Streams, OfSampledRowsEqualTheCpu) {
  const auto seed = std::uint64_t(GetParam());
  constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};
  const int num_rows = 5;
  Batch batch = make_batch(num_rows, width_of(seed), kTypes[seed % 3], int(seed % 5), seed + 2000);
  for (std::size_t i = 0; i < num_rows; i += 2) {  // ordinary rows
    batch.temperature[i] = i == 2 ? 1.0f : 0.8f;
    batch.top_k[i] = 0;
    batch.top_p[i] = i == 0 ? 0.9f : i == 2 ? 0.5f : 0.3f;
    batch.min_p[i] = 0.0f;
  }
  if (seed % 4 == 1) batch.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  const Result expected = on_cpu(batch);
  Stream stream = laid_out(StreamKind::kAny, batch, 1 + int(seed % 4), num_rows,
                           num_rows + int(seed % 2), 1 + int(seed % 3));
  int num_banded = -1;
  for (const int num_samplers : {0, 2, 3 + int(seed % 22)}) {
    stream.set_samplers(num_samplers);
    stream.num_items = std::uint32_t(stream.count_items());
    const Workspace workspace(&stream, seed);
    Result actual(num_rows);
    const contract::SampleRequest request = request_of(batch, &actual);
    launch<64, StreamKind::kAny>(request, stream, seed + std::uint64_t(num_samplers));
    compare(batch, stream, expected, actual);
    int num_banded_now = 0;
    for (int i = 0; i < num_rows; ++i) {
      const auto band = contract::float_of(std::uint32_t(stream.slot(i)->band >> 32));
      if (stream.slot(i)->band != 0 && band < kInfinity) ++num_banded_now;
    }
    // Where the block that has the list samples, it may find that the list is enough.
    EXPECT_LE(num_banded, num_banded_now);
    num_banded = num_banded_now;
  }
  if (batch.num_cols >= 20000) {
    EXPECT_GT(num_banded, 0);
  }
}

TEST_P(Streams, OfListsEqualTheCpuInAnySlots) {
  const auto seed = std::uint64_t(GetParam());
  constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};
  const int num_rows = 9;
  Batch batch = make_batch(num_rows, width_of(seed), kTypes[seed % 3], int(seed % 8), seed + 1000);
  for (std::int32_t &k : batch.top_k) k = k == 0 ? 20 : k;
  if (batch.rules.order == SAMPLER_FILTERS_JOINT) batch.rules.order = SAMPLER_FILTERS_SEQUENTIAL;
  if (seed / 2 % 2 != 0) batch.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  const Result expected = on_cpu(batch);
  Stream stream = laid_out(StreamKind::kList, batch, 1 + int(seed % 4), 1, 1 + int(seed % 3),
                           1 + int(seed % 3));
  const Workspace workspace(&stream, seed);
  Result actual(num_rows);
  const contract::SampleRequest request = request_of(batch, &actual);
  launch<64, StreamKind::kList>(request, stream, seed);
  compare(batch, stream, expected, actual);
}

TEST_P(Streams, OfFirstTokensEqualTheCpuInAnySlots) {
  const auto seed = std::uint64_t(GetParam());
  constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};
  const int num_rows = 12;
  Batch batch = make_batch(num_rows, width_of(seed), kTypes[seed % 3], int(seed % 8), seed + 2000);
  for (float &temperature : batch.temperature) temperature = 0.0f;
  const Result expected = on_cpu(batch);
  Stream stream = laid_out(StreamKind::kGreedy, batch, 1 + int(seed % 4), 1, 1 + int(seed % 3),
                           1 + int(seed % 3));
  const Workspace workspace(&stream, seed);
  Result actual(num_rows);
  const contract::SampleRequest request = request_of(batch, &actual);
  launch<64, StreamKind::kGreedy>(request, stream, seed);
  EXPECT_EQ(0u, stream.head()->num_left);
  compare(batch, stream, expected, actual);
}

// Top-p that keeps far more tokens than a list holds: of ranks with weights as of words, of nearly
// flat rows, of few values.
TEST_P(Streams, OfManyTokensAreCutInABand) {
  const auto seed = std::uint64_t(GetParam());
  constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};
  const int num_rows = 4;
  Batch batch = make_batch(num_rows, kWidths[1 + seed % 2], kTypes[seed / 3 % 3], int(seed % 5), 0);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform;
  batch.rules.order = SAMPLER_FILTERS_SEQUENTIAL;
  const bool is_last = seed / 2 % 2 == 1;
  if (is_last) batch.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  // What filters keep weighs nothing where the draw is at such a temperature.
  const float temperatures[] = {1.0f, 1.2f, is_last ? 0.02f : 1.2f, is_last ? 0.005f : 1.0f};
  for (std::size_t row = 0; row < std::size_t(num_rows); ++row) {
    for (int i = 0; i < batch.num_cols; ++i) {
      const float x = row % 2 == 0 ? -1.1f * std::log(1 + uniform(random) * float(batch.num_cols)) +
                                         0.3f * normal(random)
                                   : 0.3f * normal(random);
      batch.set(batch.lead + std::int64_t(row) * batch.stride() + i, x);
    }
    batch.temperature[row] = temperatures[row];
    batch.top_k[row] = 0;
    const bool is_by_min_p = is_last && row == 3;
    batch.min_p[row] = is_by_min_p ? 1e-4f : 0.0f;
    batch.top_p[row] = is_by_min_p ? 1.0f : seed % 2 == 0 ? 0.9f : 0.6f;
  }
  const Result expected = on_cpu(batch);
  Stream stream = laid_out(StreamKind::kAny, batch, 1 + int(seed % 4), 2, 4, 2);
  const Workspace workspace(&stream, seed);
  for (int replay = 0; replay < 2; ++replay) {
    Result actual(num_rows);
    const contract::SampleRequest request = request_of(batch, &actual);
    launch<64, StreamKind::kAny>(request, stream, seed + std::uint64_t(replay));
    EXPECT_EQ(0u, stream.head()->num_left);
    compare(batch, stream, expected, actual);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Streams, testing::Range(0, 32));

// Their blocks take no item before the launch that clears the tickets has ended.
TEST(StreamPlans, OfKernelsThatMayWeighHaveTickets) {
  for (const StreamKind kind : {StreamKind::kAny, StreamKind::kEdited, StreamKind::kGiven}) {
    for (const bool has_lists_alone : {false, true}) {
      const Stream stream = kernels::plan_stream(kind, false, 8, 128256, 528, has_lists_alone);
      ASSERT_TRUE(stream.is_on());
      EXPECT_TRUE(stream.has_tickets);
    }
  }
}

TEST(StreamWaits, ForWhatNobodyPublishesAreFound) {
  const Batch batch = make_batch(4, 8200, SAMPLER_F32, 0, 1);
  Stream stream = laid_out(StreamKind::kAny, batch, 2, 1, 2, 2);
  const Workspace workspace(&stream, 1);
  Result result(4);
  const contract::SampleRequest request = request_of(batch, &result);
  const auto run = [&](auto &ctx) {
    // The first item, which others wait for, is taken and given up.
    if (ctx.team() == 0 && ctx.thread() == 0) {
      ctx.atomic_add(&stream.head()->ticket, std::uint32_t(1));
    }
    if (ctx.team() == 0) return;
    kernels::run_stream<SAMPLER_F32, StreamKind::kAny>(ctx, request, stream);
  };
  simt::launch<64>(1, 1, 0, 1, [&](auto &ctx) { kernels::run_clear(ctx, stream); });
  try {
    simt::launch_blocks<64>(2, 1, sizeof(kernels::StreamShared), 3, run);
    simt::launch_blocks<64>(2, 2, sizeof(kernels::StreamShared), 3, run);
    FAIL() << "nobody noticed";
  } catch (const simt::Error &error) {
    EXPECT_EQ(simt::ErrorKind::kEndlessWait, error.kind()) << error.what();
  }
}

// Where filters and draws weigh a row at two temperatures.
TEST(StreamKinds, OfTemperatureLast) {
  contract::SampleRequest request;
  request.input.num_cols = 20000;
  contract::Parameters &all = request.parameters;
  all.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  all.temperature.value = 0.5f;
  EXPECT_EQ(StreamKind::kAny, kernels::stream_kind(request));
  EXPECT_EQ(kernels::HeldKind::kDraw, kernels::held_kind(request));
  all.min_p.value = 0.1f;  // held rows have one scale
  EXPECT_EQ(StreamKind::kAny, kernels::stream_kind(request));
  EXPECT_EQ(kernels::HeldKind::kNone, kernels::held_kind(request));
  all.min_p.value = 0.0f;
  all.top_p.value = 0.9f;
  EXPECT_EQ(StreamKind::kAny, kernels::stream_kind(request));
  EXPECT_EQ(kernels::HeldKind::kNone, kernels::held_kind(request));
  all.top_k.value = 50;
  EXPECT_EQ(StreamKind::kList, kernels::stream_kind(request));
  all.rules.order = SAMPLER_FILTERS_JOINT;
  EXPECT_EQ(StreamKind::kAny, kernels::stream_kind(request));
  const float some = 1.0f;
  all.temperature.array = &some;
  EXPECT_EQ(StreamKind::kAny, kernels::stream_kind(request));
  all.temperature.array = nullptr;
  all.temperature.value = 0.0f;
  EXPECT_EQ(StreamKind::kGreedy, kernels::stream_kind(request));
}

// Lists of more tokens than three quarters of a row's bins would hold too many, and be left: just
// above a power of two there are few bins.
TEST(StreamKinds, OfLongLists) {
  contract::SampleRequest request;
  contract::Reports reports;
  float logprob = 0;
  reports.out_top_logprobs = &logprob;
  const auto kind_of = [&](std::int64_t num_cols, int top_k, std::int64_t num_top) {
    request.input.num_cols = num_cols;
    request.parameters.top_k.value = top_k;
    reports.num_top = num_top;
    request.reports = num_top > 0 ? &reports : nullptr;
    return num_top > 0 ? kernels::stream_kind(kernels::StagedSampleRequest(request))
                       : kernels::stream_kind(request);
  };
  EXPECT_EQ(StreamKind::kList, kind_of(128256, 1024, 0));
  EXPECT_EQ(StreamKind::kNone, kind_of(128256, 1025, 0));
  EXPECT_EQ(StreamKind::kList, kind_of(131072, 768, 0));
  EXPECT_EQ(StreamKind::kNone, kind_of(131072, 1000, 0));
  EXPECT_EQ(StreamKind::kAny, kind_of(128256, 0, 1024));
  EXPECT_EQ(StreamKind::kAny, kind_of(131072, 0, 768));
  EXPECT_EQ(StreamKind::kNone, kind_of(131072, 0, 1000));
}

// Each chunk is read, and weighed when its row has been read and sampled; a slot's next row is read
// when the one before it has been weighed. So no item waits for a later one.
TEST(StreamPlans, ItemsWaitForEarlierOnes) {
  for (const bool may_have_bands : {false, true}) {
    for (const int rows : {1, 7, 64, 300, 2000}) {
      const Stream stream =
          kernels::plan_stream(StreamKind::kAny, may_have_bands, rows, 128256, 528);
      std::vector<int> num_read(static_cast<std::size_t>(rows)), num_weighed(num_read.size());
      std::vector<int> num_sampled(num_read.size());
      EXPECT_EQ(may_have_bands && rows <= 264, stream.num_samplers > 0);
      for (std::uint32_t number = 0; number < stream.num_items; ++number) {
        kernels::StreamItem item;
        kernels::decode_item(stream, number, &item);
        ASSERT_LT(item.row, num_read.size());
        if (item.step == kernels::StreamStep::kWeigh) {
          ASSERT_EQ(stream.num_chunks, num_read[item.row]);
          ASSERT_EQ(stream.num_samplers, num_sampled[item.row]);
          ASSERT_EQ(item.chunk, num_weighed[item.row]++);
        } else if (item.step == kernels::StreamStep::kSample) {
          ASSERT_EQ(stream.num_chunks, num_read[item.row]);
          ASSERT_EQ(item.chunk, num_sampled[item.row]++);
        } else {
          ASSERT_EQ(item.chunk, num_read[item.row]++);
          const std::int64_t before = std::int64_t(item.row) - stream.num_slots;
          ASSERT_TRUE(before < 0 || num_weighed[std::size_t(before)] == stream.num_chunks);
        }
      }
      for (const int chunks : num_weighed) EXPECT_EQ(stream.num_chunks, chunks);
    }
  }
}

// Whatever the shape of a call, there is room for all that is kept.
TEST(StreamPlans, HaveRoom) {
  for (const std::int64_t cols : {8192, 20000, 50257, 128256, 262144, (1 << 20) - 1}) {
    const std::size_t most = kernels::largest_stream_bytes(4096, cols, 528);
    for (const bool may_have_bands : {false, true}) {
      for (const std::int64_t rows : {1, 2, 7, 64, 65, 255, 256, 512, 513, 1024, 4096}) {
        for (const StreamKind kind : {StreamKind::kGreedy, StreamKind::kList, StreamKind::kAny}) {
          const Stream stream = kernels::plan_stream(kind, may_have_bands, rows, cols, 528);
          ASSERT_TRUE(stream.is_on());
          EXPECT_LE(stream.bytes(), most);
          EXPECT_LE(stream.num_chunks, kernels::kMostChunks);
          EXPECT_GE(stream.num_chunks * stream.tiles_of_chunk, stream.num_tiles);
          EXPECT_TRUE(stream.has_tickets || stream.num_items == std::uint32_t(stream.num_blocks));
        }
      }
    }
  }
  EXPECT_FALSE(kernels::plan_stream(StreamKind::kAny, true, 0, 20000, 528).is_on());
  EXPECT_FALSE(kernels::plan_stream(StreamKind::kAny, true, 4, 20000, 0).is_on());
}

}  // namespace
