// No row that somebody may think of costs the device code much more than an ordinary one: counted,
// not timed (counting.h).
//
// Every operation runs on a row as of a language model and on rows made to be hard, and each cost
// of a hard row is at most twice the ordinary one's of the same operation, type, width and team; of
// a row of which a filter keeps most, or of which most ties at its cut, so that nothing can be
// passed over, at most twice what the ordinary row costs without filters, if that is more. What is
// allowed beyond that stands with its reason at the cost. Kernels that hold or stream rows are
// counted, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "chains/chains.cuh"
#include "chains/decided.cuh"
#include "contract/float_bits.h"
#include "contract/state_requests.h"
#include "counting.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "held/held.cuh"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "state/rows.h"
#include "stream/edits.cuh"
#include "stream/listed.cuh"
#include "stream/stream.cuh"

namespace simt_test {
namespace {

namespace kernels = sampler::kernels;
namespace cpu = sampler::cpu;
using namespace sampler::contract;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kThreads = kernels::kBlockThreads;

// The kernels that are counted.
enum class By { kGeneral, kHeld, kStreamed };

// Width, type and team of a launch.
struct Case {
  int64_t num_cols;
  sampler_dtype dtype;
  int team_size;
  bool stays;  // in shared memory, if it fits
  By by = By::kGeneral;

  std::string description() const {
    const char *types[] = {"f32", "f16", "bf16"};
    return "V " + std::to_string(num_cols) + " " + types[int(dtype)] + " team of " +
           std::to_string(team_size) +
           (by == By::kHeld               ? " held"
            : by == By::kGeneral && stays ? ""
                                          : " streamed");
  }
};

// ---- Rows of logits -----------------------------------------------------------------------------

using Values = std::vector<float>;

Values ordinary(const Case &setup) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  Values x(size_t(setup.num_cols));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = -1.1f * std::log(float(i + 1)) + 0.3f * normal(random);
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

Values sorted(const Case &setup) {
  Values x = ordinary(setup);
  std::sort(x.begin(), x.end(), std::greater<>());
  return x;
}

Values reversed(const Case &setup) {
  Values x = sorted(setup);
  std::reverse(x.begin(), x.end());
  return x;
}

// The thread that reads an element first: its place in the team.
int thread_of(const Case &setup, int64_t index) {
  const kernels::Part row = {0, int((setup.num_cols + kernels::kTile - 1) / kernels::kTile)};
  const int tile = int(index / kernels::kTile);
  for (int rank = 0; rank < setup.team_size; ++rank) {
    const kernels::Part block = row.of(rank, setup.team_size);
    if (tile >= block.end) continue;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      if (tile >= block.of(warp, kThreads / 32).end) continue;
      const int vector = setup.dtype == SAMPLER_F32 ? 4 : 8;
      return rank * kThreads + warp * 32 + int(index / vector) % 32;
    }
  }
  return 0;
}

// One thread reads all of the largest, the next all of the next: no thread's largest says anything.
Values by_thread(const Case &setup) {
  const Values descending = sorted(setup);
  std::vector<size_t> order(descending.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> threads(order.size());
  for (size_t i = 0; i < order.size(); ++i) threads[i] = thread_of(setup, int64_t(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return threads[a] < threads[b]; });
  Values x(order.size());
  for (size_t i = 0; i < order.size(); ++i) x[order[i]] = descending[i];
  return x;
}

template <class F>
Values made(const Case &setup, const F &value) {
  Values x(size_t(setup.num_cols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = value(i);
  return x;
}

Values periodic(const Case &setup, size_t period) {
  return made(setup, [&](size_t i) { return -0.01f * float(i % period); });
}

struct NamedRow {
  const char *name;
  std::function<Values(const Case &)> make;
};

uint64_t hash(size_t i) {
  return simt::Random(i).next();
}

// As many histograms as there can be, for few of the largest: 46 tokens lie above the ties, two at
// each distance. Only the first num_lanes threads of each warp see any of it.
Values nested_at_the_top(const Case &setup, int num_lanes) {
  int num_above = 0;
  return made(setup, [&](size_t i) {
    if (thread_of(setup, int64_t(i)) % 32 >= num_lanes) return -1.0f;
    const uint32_t centre = 0x3D9C3A57u;
    if (hash(i) % 8 != 0) return float_of(centre);
    if (hash(i) % 128 != 0 || num_above == 46) {
      return float_of(centre - (uint32_t(1) << (hash(i) / 8 % 26)));
    }
    return float_of(centre + (uint32_t(1) << (num_above++ % 23)));
  });
}

const std::vector<NamedRow> kHardRows = {
    {"sorted", sorted},
    {"reversed", reversed},
    {"largest by thread", by_thread},
    {"all equal", [](const Case &s) { return made(s, [](size_t) { return 1.5f; }); }},
    {"two values",
     [](const Case &s) { return made(s, [](size_t i) { return hash(i) % 2 ? 1.0f : -1.0f; }); }},
    {"three values",
     [](const Case &s) { return made(s, [](size_t i) { return float(hash(i) % 3); }); }},
    {"geometric",
     [](const Case &s) {
       return made(s, [](size_t i) { return std::ldexp(1.0f, -int(hash(i) % 140)); });
     }},
    {"geometric of both signs",
     [](const Case &s) {
       return made(s, [](size_t i) {
         return (hash(i) % 2 ? -1.0f : 1.0f) * std::ldexp(1.0f, -int(hash(i) / 2 % 140));
       });
     }},
    // Nearly all in one bin, whatever the width of the bins.
    {"one bin at every level",
     [](const Case &s) {
       return made(s, [](size_t i) {
         const uint32_t far = i % 100 < 25 ? uint32_t(hash(i)) >> (9 + 3 * (i % 100 % 8)) : 0;
         return float_of(0x40400000u - 1 - far % 0x3F000000u);
       });
     }},
    // As many histograms as there can be: the value of nearly all has neighbours at every distance.
    {"nested",
     [](const Case &s) {
       return made(s, [](size_t i) {
         const uint32_t centre = 0x0D9C3A57u;
         if (i % 50 != 0) return float_of(centre);
         if (i % 100 != 0) return hash(i) % 2 ? 1.0f : -1.0f;
         const uint32_t far = uint32_t(1) << (hash(i) % 23);
         return float_of(hash(i) % 64 < 32 ? centre + far : centre - far);
       });
     }},
    {"nested at the top", [](const Case &s) { return nested_at_the_top(s, 32); }},
    {"nested at the top of few threads", [](const Case &s) { return nested_at_the_top(s, 6); }},
    {"near ties",
     [](const Case &s) {
       return made(s, [](size_t i) { return float_of(0x3F800000u + uint32_t(hash(i) % 16)); });
     }},
    {"neighbours",
     [](const Case &s) {
       return made(s, [](size_t i) { return float_of(0x3F800000u + uint32_t(hash(i) % 65536)); });
     }},
    {"around zero",
     [](const Case &s) {
       return made(s, [](size_t i) {
         return float_of((hash(i) % 2 ? 0x80000000u : 0u) + uint32_t(hash(i) >> 32) % 0x3C000000u);
       });
     }},
    {"flat",
     [](const Case &s) {
       return made(s, [](size_t i) { return 1e-3f * float(hash(i) >> 40) / float(1 << 24); });
     }},
    {"steep",
     [](const Case &s) {
       return made(s, [](size_t i) { return -40.0f * float(hash(i) >> 40) / float(1 << 24); });
     }},
    {"period of 4", [](const Case &s) { return periodic(s, 4); }},
    {"period of 32", [](const Case &s) { return periodic(s, 32); }},
    {"period of a tile", [](const Case &s) { return periodic(s, kernels::kTile); }},
    {"period of a block", [](const Case &s) { return periodic(s, 8 * kernels::kTile); }},
    {"one finite",
     [](const Case &s) {
       return made(s, [&](size_t i) { return i == size_t(s.num_cols / 2) ? 5.0f : -kInfinity; });
     }},
    {"masked",
     [](const Case &s) {
       Values x = ordinary(s);
       for (size_t i = 0; i < x.size(); ++i) x[i] = hash(i) % 3 ? -kInfinity : x[i];
       return x;
     }},
    {"huge",
     [](const Case &s) {
       const float huge = s.dtype == SAMPLER_F16 ? 6e4f : 1e30f;
       return made(s, [&](size_t i) { return hash(i) % 2 ? huge : -huge; });
     }},
    {"ties beside ordinary ones",
     [](const Case &s) {
       Values x = ordinary(s);
       for (size_t i = 0; i < x.size(); ++i) x[i] = hash(i) % 2 ? -8.0f : x[i];
       return x;
     }},
};

// ---- Storage ------------------------------------------------------------------------------------

// A row in memory, in its type; `num_rows` times.
struct Stored {
  std::vector<uint32_t> bytes;  // aligned for vectors as CUDA's allocations are
  std::vector<int32_t> ids;
  Rows rows;

  Stored(const Case &setup, const Values &values, sampler_input_kind kind, int64_t num_rows,
         bool candidates = false) {
    const size_t count = values.size();
    const size_t stride = (count + 7) / 8 * 8;
    bytes.assign(stride * size_t(num_rows) + 8, 0);
    char *begin = reinterpret_cast<char *>(bytes.data());
    begin += -reinterpret_cast<uintptr_t>(begin) % 16;
    const float max = *std::max_element(values.begin(), values.end());
    for (size_t i = 0; i < stride * size_t(num_rows); ++i) {
      float x = i % stride < count ? values[i % stride] : 0.0f;
      if (kind == SAMPLER_PROBABILITIES) x = std::exp(x - max);
      if (setup.dtype == SAMPLER_F32) {
        std::memcpy(begin + 4 * i, &x, 4);
      } else {
        const uint16_t half = setup.dtype == SAMPLER_F16 ? narrow_f16(x) : narrow_bf16(x);
        std::memcpy(begin + 2 * i, &half, 2);
      }
    }
    rows.values = begin;
    rows.num_rows = num_rows;
    rows.num_cols = int64_t(count);
    rows.stride = int64_t(stride);
    rows.dtype = setup.dtype;
    rows.kind = kind;
    if (!candidates) return;
    ids.assign(stride * size_t(num_rows), 0);
    for (int64_t row = 0; row < num_rows; ++row) {
      int32_t *first = ids.data() + size_t(row) * stride;
      std::iota(first, first + count, 0);
      std::shuffle(first, first + count, std::mt19937_64(3));
    }
    rows.ids = ids.data();
  }
};

// ---- The counting -------------------------------------------------------------------------------

template <class Kernel>
Costs costs_of_kernel(int team_size, const Kernel &kernel) {
  Books books;
  const size_t shared_bytes = 4096;
  simt::launch<64>(1, team_size, shared_bytes, 1, [&](auto &ctx) {
    CountingContext<64> counting(ctx, shared_bytes, &books);
    kernel(counting);
  });
  return books.close(int(sizeof(float)));
}

TEST(Counting, LanesThatAddToOnePlaceTakeTurns) {
  const auto steps = [](int num_places) {
    const Costs costs = costs_of_kernel(1, [&](auto &ctx) {
      uint32_t *places = &ctx.template shared<uint32_t>();
      for (int i = 0; i < 3; ++i) {
        ctx.ballot(true);
        ctx.atomic_add(&places[ctx.lane() % num_places], 1u);
      }
    });
    EXPECT_EQ(costs.atomics, 3u * 64);
    EXPECT_EQ(costs.warp_steps, 3u * 2);
    EXPECT_EQ(costs.most_turns * 3 * 2, costs.atomic_steps);
    return costs.most_turns;
  };
  EXPECT_EQ(steps(1), 32u);
  EXPECT_EQ(steps(5), 7u);
  EXPECT_EQ(steps(32), 1u);
}

TEST(Counting, OfOneLaneTheAddsFollowEachOther) {
  const Costs costs = costs_of_kernel(1, [](auto &ctx) {
    uint32_t *places = &ctx.template shared<uint32_t>();
    for (int i = 0; i < 4; ++i) ctx.atomic_add(&places[i + 4 * ctx.lane()], 1u);
    uint32_t elsewhere = 0;
    ctx.atomic_add(&elsewhere, 1u);
  });
  EXPECT_EQ(costs.atomic_steps, 4u * 2);
  EXPECT_EQ(costs.most_turns, 1u);
}

TEST(Counting, WarpsReadAsTheLaneThatReadsMost) {
  const kernels::Vector vectors[2] = {};
  const Costs costs = costs_of_kernel(2, [&](auto &ctx) {
    for (int interval = 0; interval < 2; ++interval) {
      for (int i = 0; i < (ctx.lane() == 7 + interval ? 3 : 1); ++i) ctx.load_vector(&vectors[0]);
      ctx.team_sync();
    }
    auto *shared = &ctx.template shared<kernels::Vector>() + ctx.thread();
    ctx.copy_async(shared, &vectors[1]);
    ctx.commit_copies();
    ctx.template wait_for_copies<0>();
    ctx.load_shared(shared);
  });
  constexpr uint64_t kNumWarps = 4, kNumThreads = 128;
  EXPECT_EQ(costs.visited, (3 + 3 + 1) * kNumWarps * 32 * 4);
  EXPECT_EQ(costs.copied, (2 * (kNumThreads + 2 * kNumWarps) + kNumThreads) * 4);
  EXPECT_EQ(costs.barriers, 2u);
}

TEST(Counting, BarriersOfTheTeamApartFromThoseOfItsBlocks) {
  const Costs costs = costs_of_kernel(2, [](auto &ctx) {
    ctx.team_sync();
    ctx.sync();
    ctx.block_count(true);
    ctx.block_sum(1);
    ctx.block_max(1);
    uint64_t total;
    ctx.block_exclusive_sum(1, &total);
  });
  EXPECT_EQ(costs.team_barriers, 1u);
  EXPECT_EQ(costs.block_barriers, 1u + 1 + 3 + 3 + 2);
  EXPECT_EQ(costs.barriers, 6u);
}

TEST(Counting, SortsCompareByTheNextPowerOfTwo) {
  const auto compared = [](int count) {
    return costs_of_kernel(1,
                           [&](auto &ctx) {
                             auto *list = &ctx.template shared<uint64_t>();
                             for (int i = ctx.thread(); i < count; i += 64) list[i] = uint64_t(i);
                             sort_list(ctx, list, count);
                           })
        .compared;
  };
  EXPECT_EQ(compared(2), 1u);
  EXPECT_EQ(compared(4), 6u);
  EXPECT_EQ(compared(200), 128u * 36);
  EXPECT_EQ(compared(256), 128u * 36);
}

// ---- Operations ---------------------------------------------------------------------------------

struct HeldKindOf {
  template <class Request>
  auto operator()(const Request &request) const -> decltype(kernels::held_kind(request));
};

kernels::Plan plan_of(const Case &setup, const kernels::Extent &extent) {
  kernels::Plan plan;
  plan.team_size = setup.team_size;
  const int64_t limit = int64_t(simt::kMaxSharedBytes - sizeof(kernels::TeamShared));
  const int64_t row_bytes = kernels::row_bytes_per_block(extent, plan.team_size);
  const int64_t maxima_bytes = kernels::maxima_bytes_per_block(extent, plan.team_size);
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  if (setup.stays && row_bytes + maxima_bytes <= limit) {
    plan.row_cache_bytes = std::max(plan.row_cache_bytes, int(row_bytes));
  }
  plan.row_cache_bytes += int(maxima_bytes);
  return plan;
}

// Adds the costs of a launch of blocks that run(counting context); `num_at_once`: 0: each is a
// team.
template <class Run>
void add_blocks(const Case &setup, int64_t num_blocks, int num_at_once, size_t shared_bytes,
                Costs *costs, const Run &run) {
  std::vector<Books> books(static_cast<size_t>(num_blocks));
  const auto count = [&](auto &ctx) {
    CountingContext<kThreads> counting(ctx, shared_bytes, &books[size_t(ctx.team())]);
    run(counting);
  };
  if (num_at_once > 0) {
    simt::launch_blocks<kThreads>(num_blocks, num_at_once, shared_bytes, 1, count);
  } else {
    simt::launch<kThreads>(num_blocks, 1, shared_bytes, 1, count);
  }
  for (Books &of_block : books) costs->add(of_block.close(setup.dtype == SAMPLER_F32 ? 4 : 2));
}

std::vector<char> stream_memory(kernels::Stream *stream) {
  std::vector<char> memory(stream->bytes() + kernels::kStreamAlignment);
  stream->place(memory.data() + -uintptr_t(memory.data()) % kernels::kStreamAlignment);
  return memory;
}

// The launches of a stream and, with stages, those before and after it.
template <class Request>
void add_stream(const Case &setup, const Request &request, const kernels::Stream &stream,
                Costs *costs) {
  constexpr bool kIsStaged = std::is_same_v<Request, kernels::StagedSampleRequest>;
  if constexpr (kIsStaged) {
    if (stream.has_edits()) {
      add_blocks(setup, request.num_rows, 0, kernels::EditsLists::bytes(stream.edits), costs,
                 [&](auto &ctx) { kernels::run_edits(ctx, request, stream); });
    }
  }
  kernels::for_each_stream_kernel([&](auto dtype, auto kind) {
    if (dtype != setup.dtype || kind != stream.kind) return;
    add_blocks(setup, stream.num_blocks, 3, sizeof(kernels::StreamShared), costs,
               [&](auto &ctx) { kernels::run_stream<dtype(), kind()>(ctx, request, stream); });
  });
  if constexpr (kIsStaged) {
    if (!stream.lists.is_on()) return;
    add_blocks(setup, request.num_rows, 0, sizeof(kernels::ListedShared), costs,
               [&](auto &ctx) { kernels::run_listed(ctx, request, stream); });
  }
}

// Costs of kernels that are not the general ones: nothing for requests that they do not take, and
// without what the general kernel takes for rows that they leave.
template <class Request>
Costs costs_of_streamed(const Case &setup, const Request &request) {
  Costs costs;
  constexpr bool kIsStaged = std::is_same_v<Request, kernels::StagedSampleRequest>;
  if constexpr (kIsStaged || std::is_same_v<Request, SampleRequest>) {
    kernels::Stream stream =
        kernels::plan_stream(kernels::stream_kind(request), true, 1, setup.num_cols, 132,
                             kernels::need_lists_alone(request));
    if (!stream.is_on()) return costs;
    if constexpr (kIsStaged) {
      stream.lists = kernels::plan_lists(request);
      if (!stream.lists.is_on()) stream.reports = request.wanted;
      if (stream.has_edits()) {
        stream.edits = kernels::plan_edits(request, int(simt::kMaxSharedBytes));
      }
    }
    const std::vector<char> memory = stream_memory(&stream);
    add_stream(setup, request, stream, &costs);
    costs.num_left = stream.head()->num_left;
  }
  return costs;
}

template <class Request>
Costs costs_of_held(const Case &setup, const Request &request) {
  kernels::HeldKind kind = kernels::HeldKind::kNone;
  if constexpr (std::is_invocable_v<HeldKindOf, Request>) kind = kernels::held_kind(request);
  kernels::DeviceShape device;
  device.num_multiprocessors = 132;
  device.held_bytes = int(simt::kMaxSharedBytes);
  device.held_team = setup.team_size;
  kernels::KernelShape &shape = device.of(kernels::KernelSet::kHeldSample);
  for (kernels::Share &share : shape.shares) {
    share.dynamic_bytes = device.held_bytes;
    for (int &teams : share.teams_at_once) teams = 1;
  }
  kernels::Held held = kernels::plan_held(kind, num_output_rows(request), setup.num_cols, device);
  std::vector<char> memory(held.bytes() + kernels::kStreamAlignment);
  held.memory = memory.data() + -uintptr_t(memory.data()) % kernels::kStreamAlignment;
  Books books;
  simt::Options options;
  options.yield_interval = 0;
  kernels::for_each_held_kernel([&](auto of_dtype, auto of_kind) {
    constexpr sampler_dtype kDtype = decltype(of_dtype)::value;
    constexpr kernels::HeldKind kKind = decltype(of_kind)::value;
    if (held.kind != kKind || (kDtype != setup.dtype && !kernels::takes_all_types(kKind))) return;
    if constexpr (std::is_same_v<kernels::HeldRequest<kKind>, Request>) {
      simt::launch<kThreads>(
          held.num_teams, held.team_size, held.shared_bytes(), 1,
          [&](auto &ctx) {
            CountingContext<kThreads> counting(ctx, held.shared_bytes(), &books);
            kernels::run_held<kDtype, kKind>(counting, request, held);
          },
          options);
    }
  });
  Costs costs = books.close(setup.dtype == SAMPLER_F32 ? 4 : 2);
  if (held.leaves_rows()) costs.num_left = held.head()->num_left;
  return costs;
}

template <class Request>
Costs costs_of(const Case &setup, const Request &request) {
  if (setup.by == By::kHeld) return costs_of_held(setup, request);
  if (setup.by == By::kStreamed) return costs_of_streamed(setup, request);
  kernels::Plan plan = plan_of(setup, kernels::extent_of(request));
  std::vector<uint32_t> bitmap;
  if (kernels::needs_bitmaps(kernels::extent_of(request))) {
    bitmap.resize(size_t(kernels::kIdWords));
    plan.bitmaps = bitmap.data();
  }
  Books books;
  simt::Options options;
  options.yield_interval = 0;
  simt::launch<kThreads>(
      1, plan.team_size, plan.shared_bytes(), 1,
      [&](auto &ctx) {
        CountingContext<kThreads> counting(ctx, plan.shared_bytes(), &books);
        kernels::run_operation(counting, request, plan);
      },
      options);
  return books.close(setup.dtype == SAMPLER_F32 ? 4 : 2);
}

void set_parameters(Parameters *parameters, int32_t top_k, float top_p, float min_p) {
  parameters->temperature.value = 1.0f;
  parameters->top_k.value = top_k;
  parameters->top_p.value = top_p;
  parameters->min_p.value = min_p;
}

struct SampleOptions {
  sampler_input_kind kind = SAMPLER_LOGITS;
  bool candidates = false;
  float temperature = 1.0f;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  FilterRules rules = {};
};

Costs sample(const Case &setup, const Values &values, int32_t top_k, float top_p, float min_p,
             const SampleOptions &options = {}) {
  const Stored stored(setup, values, options.kind, 1, options.candidates);
  SampleRequest request;
  request.input = stored.rows;
  request.num_rows = 1;
  set_parameters(&request.parameters, top_k, top_p, min_p);
  request.parameters.temperature.value = options.temperature;
  request.parameters.rules = options.rules;
  request.draw_method = options.draw_method;
  request.random.seed.value = 11;
  int32_t token = 0;
  uint32_t status = 0;
  request.out_token_ids.data = &token;
  request.out_row_status = &status;
  const Costs costs = costs_of(setup, request);
  EXPECT_EQ(SAMPLER_ROW_OK, status);
  return costs;
}

Costs write_rows(const Case &setup, const Values &values, int32_t top_k, float top_p,
                 sampler_output_kind output_kind) {
  const Stored stored(setup, values, SAMPLER_LOGITS, 1);
  FilterRequest request;
  request.input = stored.rows;
  request.output_kind = output_kind;
  set_parameters(&request.parameters, top_k, top_p, 0.0f);
  std::vector<float> output(values.size() + 4);
  request.output = output.data();
  request.output_stride = int64_t(values.size());
  return costs_of(setup, request);
}

Costs select(const Case &setup, const Values &values, int64_t count, bool candidates = false) {
  const Stored stored(setup, values, SAMPLER_LOGITS, 1, candidates);
  SelectRequest request;
  request.input = stored.rows;
  request.num_selected = count;
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  request.out_token_ids.data = tokens.data();
  return costs_of(setup, request);
}

size_t lowest_of(const Values &values) {
  return size_t(std::min_element(values.begin(), values.end()) - values.begin());
}

// Rows of the draft: the target's but for its likeliest token, which is the target's lowest; or
// everywhere another.
Values nearly(Values values) {
  const auto largest = std::max_element(values.begin(), values.end());
  std::swap(values[lowest_of(values)], *largest);
  return values;
}
Values backwards(const Values &values) {
  return Values(values.rbegin(), values.rend());
}

// The drafts are the target's lowest token: they are rejected where the rows are not flat. All
// positions are judged.
Costs chain(const Case &setup, const Values &values, const Values &of_draft,
            sampler_input_kind kind, int64_t num_drafts, int32_t top_k, float top_p) {
  const size_t lowest = lowest_of(values);
  const Stored target(setup, values, kind, num_drafts + 1);
  const Stored draft(setup, of_draft, kind, num_drafts);
  VerifyRequest request;
  request.target = target.rows;
  request.draft = draft.rows;
  request.target_row_stride = (num_drafts + 1) * target.rows.stride;
  request.draft_row_stride = num_drafts * draft.rows.stride;
  request.num_rows = 1;
  request.num_drafts = num_drafts;
  const std::vector<int32_t> drafts = std::vector<int32_t>(size_t(num_drafts), int32_t(lowest));
  request.draft_token_ids = drafts.data();
  set_parameters(&request.parameters, top_k, top_p, 0.0f);
  std::vector<int32_t> tokens(size_t(num_drafts) + 1);
  int32_t accepted = 0;
  request.out_token_ids.data = tokens.data();
  request.out_accepted_counts = &accepted;
  return costs_of(setup, request);
}

// Positions that are listed, and decided from their lists.
Costs costs_of_listed(const Case &setup, const kernels::ExtendedVerifyRequest &request) {
  kernels::Chains chains = kernels::plan_chains(request);
  Costs costs;
  if (chains.kind != kernels::ChainsKind::kDecided) return costs;
  std::vector<char> of_chains(chains.bytes() + kernels::Chains::kAlignment);
  chains.memory = of_chains.data() + -uintptr_t(of_chains.data()) % kernels::Chains::kAlignment;
  const kernels::StagedSampleRequest positions = kernels::positions_of(request, chains);
  kernels::Stream stream = kernels::plan_stream(kernels::StreamKind::kList, false,
                                                positions.num_rows, setup.num_cols, 132, true);
  stream.lists = kernels::plan_lists_alone(positions);
  stream.lists.num_positions = chains.num_positions;
  const std::vector<char> memory = stream_memory(&stream);
  add_blocks(setup, 1, 0, 0, &costs, [&](auto &ctx) { kernels::run_place(ctx, request, chains); });
  add_stream(setup, positions, stream, &costs);
  add_blocks(setup, chains.num_sequences, 0, sizeof(kernels::ListedShared), &costs,
             [&](auto &ctx) { kernels::run_decide(ctx, request, stream, chains); });
  costs.num_left = *chains.num_left();
  return costs;
}

// A chain of a draft by a rule that keeps the row's likeliest token, or by STANDARD, which rejects
// the least likely.
Costs verified(const Case &setup, const Values &values, sampler_input_kind kind,
               sampler_acceptance rule, int32_t top_k, float top_p) {
  const Stored target(setup, values, kind, 2);
  const auto likeliest = int32_t(std::max_element(values.begin(), values.end()) - values.begin());
  const int32_t draft = rule == SAMPLER_ACCEPT_STANDARD ? int32_t(lowest_of(values)) : likeliest;
  int32_t tokens[2] = {};
  uint32_t status = 0;
  Verification rules;
  rules.acceptance.value = rule;
  rules.numbers = {1e-9f, 0.3f, 10, 0.6f, 1e-9f, 1e-9f, 8, 8, 1.0f, nullptr};
  rules.draft_token_stride = 1;
  rules.positions.input = target.rows;
  VerifyRequest request;
  request.target = target.rows;
  request.target_row_stride = 2 * target.rows.stride;
  request.num_rows = 1;
  request.num_drafts = 1;
  request.draft_token_ids = &draft;
  request.random.seed.value = 11;
  request.verification = &rules;
  set_parameters(&request.parameters, top_k, top_p, 0.0f);
  request.out_token_ids.data = tokens;
  request.out_row_status = &status;
  const kernels::ExtendedVerifyRequest extended(request);
  const bool is_listed = setup.by == By::kStreamed;
  const Costs costs = is_listed ? costs_of_listed(setup, extended) : costs_of_held(setup, extended);
  EXPECT_EQ(SAMPLER_ROW_OK, status);
  return costs;
}

Costs residual(const Case &setup, const Values &values) {
  const Stored target(setup, values, SAMPLER_PROBABILITIES, 1);
  const Stored draft(setup, backwards(values), SAMPLER_PROBABILITIES, 1);
  ResidualRequest request;
  request.num_rows = 1;
  request.target = target.rows;
  request.draft = draft.rows;
  std::vector<float> output(values.size() + 4);
  request.output = output.data();
  request.output_stride = int64_t(values.size());
  return costs_of(setup, request);
}

SampleOptions drawn_by(sampler_draw_method method) {
  SampleOptions options;
  options.draw_method = method;
  return options;
}
SampleOptions in_order(sampler_filter_order order) {
  SampleOptions options;
  options.rules.order = order;
  return options;
}
SampleOptions of_kind(sampler_input_kind kind) {
  SampleOptions options;
  options.kind = kind;
  return options;
}
SampleOptions ties_kept() {
  SampleOptions options;
  options.rules.top_k_ties = options.rules.top_p_ties = SAMPLER_TIES_KEEP;
  return options;
}
SampleOptions temperature_last() {
  SampleOptions options;
  options.rules.temperature_order = SAMPLER_TEMPERATURE_LAST;
  options.temperature = 0.8f;
  return options;
}
SampleOptions greedy() {
  SampleOptions options;
  options.temperature = 0.0f;
  return options;
}
SampleOptions of_candidates() {
  SampleOptions options;
  options.candidates = true;
  return options;
}

// Costs of a request that has stages or reports.
Costs costs_of_staged(const Case &setup, const SampleRequest &request) {
  kernels::StagedSampleRequest staged(request);
  std::vector<char> memory(staged.memory.bytes_of_team + kernels::StageMemory::kAlignment);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory.data());
  staged.memory.memory = memory.data() + -begin % kernels::StageMemory::kAlignment;
  return costs_of(setup, staged);
}

Costs sample_with(const Case &setup, const Values &values, const Pipeline &pipeline) {
  const Stored stored(setup, values, SAMPLER_LOGITS, 1);
  SampleRequest request;
  request.input = stored.rows;
  request.num_rows = 1;
  set_parameters(&request.parameters, 0, 1, 0);
  request.pipeline = &pipeline;
  int32_t token = 0;
  request.out_token_ids.data = &token;
  return costs_of_staged(setup, request);
}

// A call with stages and reports, and what it points to. The slot of its state holds 512 tokens, as
// a text that repeats itself here and there.
class StagedCall {
 public:
  StagedCall(const Case &setup, const Values &values)
      : setup_(setup), stored_(setup, values, SAMPLER_LOGITS, 1) {
    request_.input = stored_.rows;
    request_.num_rows = 1;
    request_.parameters.temperature.value = 0.8f;
    request_.random.seed.value = 11;
    request_.out_token_ids.data = &token_;
    request_.out_row_status = &status_;
  }
  StagedCall(const StagedCall &) = delete;
  StagedCall &operator=(const StagedCall &) = delete;

  StagedCall &filters(int32_t top_k, float top_p, float min_p) {
    set_parameters(&request_.parameters, top_k, top_p, min_p);
    request_.parameters.temperature.value = 0.8f;
    return *this;
  }
  StagedCall &penalties() {
    say();
    pipeline_.edits.add(SAMPLER_STAGE_PENALTIES);
    pipeline_.repetition_penalty.value = 1.1f;
    pipeline_.frequency_penalty.value = pipeline_.presence_penalty.value = 0.1f;
    return *this;
  }
  StagedCall &dry() {
    say();
    pipeline_.edits.add(SAMPLER_STAGE_DRY);
    pipeline_.dry_multiplier.value = 0.8f;
    pipeline_.dry_base.value = 1.75f;
    pipeline_.dry_allowed_length.value = 2;
    return *this;
  }
  // A token in eight is allowed.
  StagedCall &bitmask() {
    mask_.assign(size_t(setup_.num_cols + 31) / 32, 0x11000011u);
    pipeline_.edits.add(SAMPLER_STAGE_MASK);
    pipeline_.bitmasks = mask_.data();
    pipeline_.num_bitmasks = 1;
    pipeline_.bitmask_stride = int64_t(mask_.size());
    return *this;
  }
  StagedCall &windows(std::initializer_list<sampler_stage> order) {
    pipeline_.has_windows = true;
    for (const sampler_stage stage : order) pipeline_.windows.add(stage);
    pipeline_.typical_p.value = 0.9f;
    pipeline_.xtc_threshold.value = 0.1f;
    pipeline_.top_n_sigma.value = 1.0f;
    pipeline_.epsilon.value = pipeline_.eta.value = 3e-4f;
    pipeline_.p_less.value = SAMPLER_P_LESS_NORM;
    pipeline_.top_a.value = 0.2f;
    return *this;
  }
  StagedCall &adaptive_p(float target) {
    pipeline_.adaptive.kind.value = SAMPLER_ADAPTIVE_P;
    pipeline_.adaptive.target.value = target;
    return windows({SAMPLER_STAGE_ADAPTIVE});
  }
  StagedCall &mirostat(float target) {
    pipeline_.adaptive.kind.value = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    pipeline_.adaptive.target.value = target;
    return windows({SAMPLER_STAGE_ADAPTIVE});
  }
  // The first tokens of the given row and the rank of the one that is drawn.
  StagedCall &top_and_rank(int64_t num_top) {
    top_ids_.resize(size_t(num_top)), top_logprobs_.resize(size_t(num_top));
    reports_.num_top = num_top;
    reports_.out_top_token_ids.data = top_ids_.data();
    reports_.out_top_logprobs = top_logprobs_.data();
    reports_.out_ranks = &rank_;
    request_.out_logprobs = &logprob_;
    request_.reports = &reports_;
    return *this;
  }

  Costs costs() {
    if (pipeline_.has_edits() || pipeline_.has_windows) request_.pipeline = &pipeline_;
    const Costs costs = costs_of_staged(setup_, request_);
    EXPECT_EQ(SAMPLER_ROW_OK, status_);
    return costs;
  }

 private:
  void say() {
    if (pipeline_.state_slots) return;
    constexpr int kLength = 512;
    std::vector<int32_t> text;
    for (size_t i = 0; i < kLength; ++i) text.push_back(int32_t(hash(i % 200) % 120000));
    StateSlots &state_slots = pipeline_.state_slots;
    state_slots.layout.max_tokens = state_slots.layout.max_distinct = kLength;
    state_slots.num_slots = 1;
    state_.resize(state_slots.layout.slot_bytes() + StateSlotLayout::kAlignment);
    const auto begin = reinterpret_cast<uintptr_t>(state_.data());
    state_slots.slots = state_.data() + -begin % StateSlotLayout::kAlignment;
    ResetRequest reset;
    reset.state_slots = state_slots;
    reset.slots.count = reset.num_rows = 1;
    reset.is_new = true;
    sampler::state::run(reset);
    const int64_t offsets[] = {0, kLength};
    AppendRequest append;
    append.state_slots = state_slots;
    append.slots.count = append.num_rows = 1;
    append.tokens = {offsets, text.data(), SAMPLER_ID_I32, 1, kLength};
    sampler::state::run(append);
    pipeline_.max_history = kLength;
  }

  Case setup_;
  Stored stored_;
  SampleRequest request_;
  Pipeline pipeline_;
  Reports reports_;
  std::vector<char> state_;
  std::vector<uint32_t> mask_;
  std::vector<int32_t> top_ids_;
  std::vector<float> top_logprobs_;
  int32_t token_ = 0, rank_ = 0;
  float logprob_ = 0;
  uint32_t status_ = 0;
};

// llama.cpp's default order, of which without further numbers top-k, top-p, min-p and the
// temperature are on.
Costs llama_chain(const Case &setup, const Values &values) {
  return StagedCall(setup, values)
      .penalties()
      .dry()
      .filters(40, 0.95f, 0.05f)
      .windows({SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_MIN_P,
                SAMPLER_STAGE_TEMPERATURE})
      .costs();
}

struct Filters {
  int top_k;
  double top_p;
  double min_p;
};

// Whether one of the filters alone keeps most of a row, as it is stored, those that tie at its cut
// counted.
bool keeps_most(const Case &setup, Values x, const Filters &filters) {
  for (float &value : x) {
    if (setup.dtype == SAMPLER_F16) value = widen_f16(narrow_f16(value));
    if (setup.dtype == SAMPLER_BF16) value = widen_bf16(narrow_bf16(value));
  }
  std::sort(x.begin(), x.end(), std::greater<>());
  std::vector<double> running;
  for (const float value : x) {
    running.push_back((running.empty() ? 0 : running.back()) + std::exp(double(value) - x[0]));
  }
  float cut = kInfinity;
  if (filters.top_k > 0) cut = std::min(cut, x[size_t(filters.top_k) - 1]);
  if (filters.top_p < 1) {
    const double target = filters.top_p * running.back();
    const auto last = std::lower_bound(running.begin(), running.end(), target) - running.begin();
    cut = std::min(cut, x[std::min(size_t(last), x.size() - 1)]);
  }
  if (filters.min_p > 0) cut = std::min(cut, x[0] + float(std::log(filters.min_p)));
  const auto is_kept = [cut](float value) { return !(value < cut); };
  return 2 * std::count_if(x.begin(), x.end(), is_kept) > int64_t(x.size());
}

struct Operation {
  const char *name;
  std::function<Costs(const Case &, const Values &)> run;
  const char *without_filters = nullptr;  // the same operation
  Filters filters = {0, 1, 0};
};

#define OPERATION(name, call)                                 \
  {                                                           \
    name, [](const Case &s, const Values &x) { return call; } \
  }
#define FILTERED(name, without_filters, k, p, min_p, call)                        \
  {                                                                               \
    name, [](const Case &s, const Values &x) { return call; }, without_filters, { \
      k, p, min_p                                                                 \
    }                                                                             \
  }

const std::vector<Operation> kOperations = {
    OPERATION("argmax", sample(s, x, 0, 1, 0, greedy())),
    OPERATION("sample", sample(s, x, 0, 1, 0)),
    OPERATION("sample by Gumbel", sample(s, x, 0, 1, 0, drawn_by(SAMPLER_DRAW_GUMBEL))),
    FILTERED("top-k 50", "sample", 50, 1, 0, sample(s, x, 50, 1, 0)),
    FILTERED("top-k 1024", "sample", 1024, 1, 0, sample(s, x, 1024, 1, 0)),
    FILTERED("top-k 5000", "sample", 5000, 1, 0, sample(s, x, 5000, 1, 0)),
    FILTERED("top-k 16000", "sample", 16000, 1, 0, sample(s, x, 16000, 1, 0)),
    FILTERED("top-p 0.9999", "sample", 0, 0.9999, 0, sample(s, x, 0, 0.9999f, 0)),
    FILTERED("top-p 0.95", "sample", 0, 0.95, 0, sample(s, x, 0, 0.95f, 0)),
    FILTERED("top-p 0.5", "sample", 0, 0.5, 0, sample(s, x, 0, 0.5f, 0)),
    FILTERED("top-p 0.1", "sample", 0, 0.1, 0, sample(s, x, 0, 0.1f, 0)),
    FILTERED("top-p 0.95, ties kept", "sample", 0, 0.95, 0, sample(s, x, 0, 0.95f, 0, ties_kept())),
    FILTERED("top-p 0.95 of probabilities", "sample", 0, 0.95, 0,
             sample(s, x, 0, 0.95f, 0, of_kind(SAMPLER_PROBABILITIES))),
    FILTERED("top-p 0.95 by Gumbel", "sample by Gumbel", 0, 0.95, 0,
             sample(s, x, 0, 0.95f, 0, drawn_by(SAMPLER_DRAW_GUMBEL))),
    FILTERED("min-p 0.05", "sample", 0, 1, 0.05, sample(s, x, 0, 1, 0.05f)),
    FILTERED("min-p 0.05, then the temperature", "sample", 0, 1, 0.05,
             sample(s, x, 0, 1, 0.05f, temperature_last())),
    FILTERED("top-k 50, top-p 0.95", "sample", 50, 0.95, 0, sample(s, x, 50, 0.95f, 0)),
    FILTERED("top-k 5000, top-p 0.95", "sample", 5000, 0.95, 0, sample(s, x, 5000, 0.95f, 0)),
    FILTERED("top-k 50, top-p 0.95 by Gumbel", "sample by Gumbel", 50, 0.95, 0,
             sample(s, x, 50, 0.95f, 0, drawn_by(SAMPLER_DRAW_GUMBEL))),
    FILTERED("joint", "sample", 50, 0.95, 0.05,
             sample(s, x, 50, 0.95f, 0.05f, in_order(SAMPLER_FILTERS_JOINT))),
    FILTERED("min-p first", "sample", 50, 0.95, 0.05,
             sample(s, x, 50, 0.95f, 0.05f, in_order(SAMPLER_FILTERS_MIN_P_FIRST))),
    OPERATION("softmax", write_rows(s, x, 0, 1, SAMPLER_OUTPUT_PROBABILITIES)),
    FILTERED("top-k 50 renorm", "softmax", 50, 1, 0,
             write_rows(s, x, 50, 1, SAMPLER_OUTPUT_PROBABILITIES)),
    FILTERED("top-p 0.95 renorm", "softmax", 0, 0.95, 0,
             write_rows(s, x, 0, 0.95f, SAMPLER_OUTPUT_PROBABILITIES)),
    FILTERED("top-k 50 mask", "softmax", 50, 1, 0, write_rows(s, x, 50, 1, SAMPLER_OUTPUT_VALUES)),
    FILTERED("select 50", "sample", 50, 1, 0, select(s, x, 50)),
    FILTERED("select 2048", "sample", 2048, 1, 0, select(s, x, 2048)),
    FILTERED("select 10000", "sample", 10000, 1, 0, select(s, x, 10000)),
    OPERATION("chain of 1, probabilities", chain(s, x, nearly(x), SAMPLER_PROBABILITIES, 1, 0, 1)),
    OPERATION("chain of 3, probabilities", chain(s, x, nearly(x), SAMPLER_PROBABILITIES, 3, 0, 1)),
    OPERATION("chain of 3, unlike probabilities",
              chain(s, x, backwards(x), SAMPLER_PROBABILITIES, 3, 0, 1)),
    OPERATION("chain of 1, logits", chain(s, x, nearly(x), SAMPLER_LOGITS, 1, 0, 1)),
    OPERATION("chain of 2, top-k 50, top-p 0.95",
              chain(s, x, nearly(x), SAMPLER_LOGITS, 2, 50, 0.95f)),
    OPERATION("residual", residual(s, x)),
    OPERATION("candidates", sample(s, x, 0, 1, 0, of_candidates())),
    FILTERED("candidates, top-k 50, top-p 0.95", "candidates", 50, 0.95, 0,
             sample(s, x, 50, 0.95f, 0, of_candidates())),
    FILTERED("candidates, top-p 0.95", "candidates", 0, 0.95, 0,
             sample(s, x, 0, 0.95f, 0, of_candidates())),
    FILTERED("candidates, select 50", "candidates", 50, 1, 0, select(s, x, 50, true)),
};

// With stages and reports, in one launch. complexity_test.cpp's Windows and tests/pipeline have
// hard rows of them.
const std::vector<Operation> kStagedOperations = {
    OPERATION("penalties, top-k 50, top-p 0.95",
              StagedCall(s, x).penalties().filters(50, 0.95f, 0).costs()),
    OPERATION("penalties, DRY, llama.cpp's chain", llama_chain(s, x)),
    OPERATION("bitmask, top-k 50, top-p 0.95",
              StagedCall(s, x).bitmask().filters(50, 0.95f, 0).costs()),
    OPERATION("typical-p 0.9", StagedCall(s, x).windows({SAMPLER_STAGE_TYPICAL_P}).costs()),
    OPERATION("top-n-sigma 1", StagedCall(s, x).windows({SAMPLER_STAGE_TOP_N_SIGMA}).costs()),
    OPERATION("eta 0.0003", StagedCall(s, x).windows({SAMPLER_STAGE_ETA}).costs()),
    OPERATION("p-less", StagedCall(s, x).windows({SAMPLER_STAGE_P_LESS}).costs()),
    OPERATION("epsilon 0.0003, top-a 0.2",
              StagedCall(s, x).windows({SAMPLER_STAGE_EPSILON, SAMPLER_STAGE_TOP_A}).costs()),
    OPERATION("mirostat v2", StagedCall(s, x).mirostat(5.0f).costs()),
    OPERATION("adaptive-p 0.5", StagedCall(s, x).adaptive_p(0.5f).costs()),
    OPERATION("adaptive-p 0.0003", StagedCall(s, x).adaptive_p(0.0003f).costs()),
    OPERATION("top-k 50, top-p 0.95, 20 log-probabilities and the rank",
              StagedCall(s, x).filters(50, 0.95f, 0).top_and_rank(20).costs()),
    OPERATION("top-p 0.95, 20 log-probabilities and the rank",
              StagedCall(s, x).filters(0, 0.95f, 0).top_and_rank(20).costs()),
};

// On the list of a stream.
const std::vector<Operation> kListedOperations = {
    OPERATION("min-p 0.05, typical-p 0.9",
              StagedCall(s, x)
                  .filters(0, 1, 0.05f)
                  .windows({SAMPLER_STAGE_MIN_P, SAMPLER_STAGE_TYPICAL_P})
                  .costs()),
    OPERATION("a draft by TYPICAL",
              verified(s, x, SAMPLER_LOGITS, SAMPLER_ACCEPT_TYPICAL, 50, 0.95f)),
    OPERATION("a draft by BLOCK", verified(s, x, SAMPLER_LOGITS, SAMPLER_ACCEPT_BLOCK, 50, 0.95f)),
};

// By rows that are held.
const std::vector<Operation> kHeldOperations = {
    OPERATION("a rejected draft, probabilities",
              verified(s, x, SAMPLER_PROBABILITIES, SAMPLER_ACCEPT_STANDARD, 0, 1)),
    OPERATION("a draft by TYPICAL, probabilities",
              verified(s, x, SAMPLER_PROBABILITIES, SAMPLER_ACCEPT_TYPICAL, 0, 1)),
    OPERATION("a draft by THRESHOLD, top-p 0.95",
              verified(s, x, SAMPLER_LOGITS, SAMPLER_ACCEPT_THRESHOLD, 0, 0.95f)),
};

// Instructions of a warp, by the disassembly's measure and no finer than what is to be told apart.
uint64_t work_of(const Costs &costs) {
  return (30 * costs.visited + 12 * costs.compared + 8 * costs.marked) / 32 +
         8 * costs.atomic_steps + 6 * costs.warp_steps + 200 * costs.scored;
}

struct Cost {
  const char *name;
  uint64_t (*of)(const Costs &);
  // A hard row costs at most twice the usual and this.
  uint64_t (*allowance)(const Case &, const Costs &usual);
};

// Held or streamed: a warp's tokens of a list may crowd into one bin. The adds and the work hold
// what that costs.
uint64_t a_crowded_warp(const Case &setup, const Costs &) {
  return setup.by == By::kGeneral ? 0 : 32;
}
// To find the last of tokens of one value, and to draw, one warp looks through its part.
uint64_t part_of_a_warp(const Case &setup, const Costs &) {
  const uint64_t num_warps = uint64_t(setup.team_size * kThreads / 32);
  return 2 * (uint64_t(setup.num_cols) / num_warps + kernels::kTile);
}
// The search among the group maxima. Held or streamed: lists whose values crowd into few bins are
// sorted by pairs, in 66 barriers of 2,048 tokens; a list takes at most 64 barriers of an ordinary
// call.
uint64_t a_search(const Case &setup, const Costs &usual) {
  return setup.by == By::kGeneral ? 8 : 66 * (1 + usual.barriers / 64);
}
uint64_t streamed_part(const Case &setup, const Costs &usual) {
  return setup.stays ? 0 : part_of_a_warp(setup, usual);
}
// A sort of 1,024 tokens, 55 times half as many pairs: the last bin of a histogram is listed where
// an ordinary row has few tokens to sort. It is a tenth of the smallest such row's work.
uint64_t a_sort(const Case &, const Costs &) {
  return 55 * 512;
}
// Streamed: the elements that are sampled where top-p keeps more than a list. All may fall into few
// bins, and an ordinary row's list may be enough.
uint64_t a_sample(const Case &setup) {
  const int64_t elements = kernels::kSampledVectors * (setup.dtype == SAMPLER_F32 ? 4 : 8);
  return setup.by == By::kStreamed ? uint64_t(std::min(setup.num_cols, elements)) : 0;
}
// A warp's part, the sort and the sample.
uint64_t work_of_a_part(const Case &setup, const Costs &usual) {
  Costs part;
  part.visited = part_of_a_warp(setup, usual) + a_sample(setup);
  part.compared = a_sort(setup, usual);
  part.atomic_steps = a_sample(setup);
  return work_of(part);
}
// A warp whose tokens become better and better scores some again and again. The work holds what
// that costs.
uint64_t run_a_warp(const Case &setup, const Costs &) {
  return uint64_t(4 * setup.team_size * kThreads / 32);
}
// One for each 32 elements that the usual row visits. With top-k an ordinary row adds next to
// nothing, since its threads' largest leave few tokens in question, and any histogram of all is a
// hundred times as much. It is a quarter of what a pass costs without it; the work holds both.
uint64_t one_a_warp(const Case &setup, const Costs &usual) {
  return usual.visited / 32 + a_sample(setup);
}

const Cost kCosts[] = {
    {"visited", [](const Costs &c) { return c.visited; }, part_of_a_warp},
    {"copied", [](const Costs &c) { return c.copied; }, streamed_part},
    {"compared", [](const Costs &c) { return c.compared; }, a_sort},
    {"barriers", [](const Costs &c) { return c.barriers; }, a_search},
    {"adds", [](const Costs &c) { return c.atomic_steps; }, one_a_warp},
    {"turns", [](const Costs &c) { return std::max<uint64_t>(c.most_turns, 2); }, a_crowded_warp},
    {"scores", [](const Costs &c) { return c.scored; }, run_a_warp},
    {"work", work_of, work_of_a_part},
};

const Operation &operation_of(const std::string &name) {
  for (const auto *operations :
       {&kOperations, &kStagedOperations, &kListedOperations, &kHeldOperations}) {
    for (const Operation &operation : *operations) {
      if (name == operation.name) return operation;
    }
  }
  ADD_FAILURE() << name;
  return kOperations[0];
}

class Complexity : public testing::TestWithParam<Case> {};

// A part of the rows each, so that those of a day take little time.
constexpr int kNumParts = 4;
class HardRows : public testing::TestWithParam<std::tuple<Case, int>> {};

// `num_expected` operations are those of the kernels that are counted.
void expect_at_most_twice(const Case &setup, int part, const std::vector<Operation> &operations,
                          int num_expected) {
  const Values ordinary_row = ordinary(setup);
  std::vector<const NamedRow *> rows;
  std::vector<Values> hard;
  for (size_t i = size_t(part); i < std::size(kHardRows); i += kNumParts) {
    rows.push_back(&kHardRows[i]);
    hard.push_back(kHardRows[i].make(setup));
  }
  std::printf("%s\n", setup.description().c_str());
  int num_counted = 0;
  for (const Operation &operation : operations) {
    const Costs usual = operation.run(setup, ordinary_row);
    if (usual.visited == 0) continue;  // of other kernels
    ++num_counted;
    EXPECT_EQ(usual.num_left, 0u) << operation.name;
    Costs without_filters = usual;
    if (operation.without_filters) {
      without_filters = operation_of(operation.without_filters).run(setup, ordinary_row);
    }
    uint64_t most[std::size(kCosts)] = {};
    const char *worst[std::size(kCosts)] = {};
    for (size_t i = 0; i < hard.size(); ++i) {
      const NamedRow &row = *rows[i];
      const Costs costs = operation.run(setup, hard[i]);
      EXPECT_GT(costs.visited, 0u) << operation.name << ", " << row.name;
      const bool is_most = keeps_most(setup, hard[i], operation.filters);
      for (size_t j = 0; j < std::size(kCosts); ++j) {
        const uint64_t count = kCosts[j].of(costs);
        uint64_t base = kCosts[j].of(usual);
        if (is_most) base = std::max(base, kCosts[j].of(without_filters));
        EXPECT_LE(count, 2 * base + kCosts[j].allowance(setup, usual))
            << kCosts[j].name << " of " << operation.name << ", " << row.name << ", "
            << setup.description() << ": an ordinary row's are " << kCosts[j].of(usual)
            << ", and without filters " << kCosts[j].of(without_filters);
        if (worst[j] && count <= most[j]) continue;
        most[j] = count;
        worst[j] = row.name;
      }
    }
    std::printf("  %-32s passes %5.2f", operation.name,
                double(usual.visited) / double(setup.num_cols));
    for (size_t j = 0; j < std::size(kCosts); ++j) {
      const uint64_t count = kCosts[j].of(usual);
      std::printf(" | %s %llu: %.2f (%s)", kCosts[j].name, static_cast<unsigned long long>(count),
                  double(most[j]) / double(std::max<uint64_t>(count, 1)), worst[j]);
    }
    std::printf("\n");
  }
  EXPECT_EQ(num_counted, num_expected);
}

TEST_P(HardRows, CostAtMostTwiceAnOrdinaryOne) {
  const auto [setup, part] = GetParam();
  const int num_streamed = setup.dtype == SAMPLER_F32 ? 15 : 14;  // of f32 also probabilities
  const int num_counted[] = {int(kOperations.size()), 12, num_streamed};
  expect_at_most_twice(setup, part, kOperations, num_counted[int(setup.by)]);
  if (setup.by == By::kHeld) {
    expect_at_most_twice(setup, part, kStagedOperations, 13);
    expect_at_most_twice(setup, part, kHeldOperations, int(kHeldOperations.size()));
  }
  if (setup.by != By::kStreamed) return;
  expect_at_most_twice(setup, part, kStagedOperations, 5);
  expect_at_most_twice(setup, part, kListedOperations, int(kListedOperations.size()));
}

// Windows take a number of passes that is bounded by construction: one to copy the row, to count
// and to drop; a few sums; and three histograms at most wherever a token is selected or a distance
// is.
struct WindowStage {
  const char *name;
  sampler_stage stage;
  PerSlot<float> Pipeline::*parameter;  // null: p_less
  float value;
  double most_passes;
};

const WindowStage kWindows[] = {
    {"typical-p 0.9", SAMPLER_STAGE_TYPICAL_P, &Pipeline::typical_p, 0.9f, 21},
    {"typical-p 0.2", SAMPLER_STAGE_TYPICAL_P, &Pipeline::typical_p, 0.2f, 21},
    {"epsilon", SAMPLER_STAGE_EPSILON, &Pipeline::epsilon, 3e-4f, 9.5},
    {"eta", SAMPLER_STAGE_ETA, &Pipeline::eta, 3e-4f, 9.5},
    {"top-n-sigma", SAMPLER_STAGE_TOP_N_SIGMA, &Pipeline::top_n_sigma, 1.0f, 9.5},
    {"top-h", SAMPLER_STAGE_TOP_H, &Pipeline::top_h, 0.4f, 19},
    {"p-less", SAMPLER_STAGE_P_LESS, nullptr, SAMPLER_P_LESS_PLAIN, 9.5},
    {"p-less norm", SAMPLER_STAGE_P_LESS, nullptr, SAMPLER_P_LESS_NORM, 9.5},
    {"min-k", SAMPLER_STAGE_MIN_K, &Pipeline::min_k, 3.0f, 19},
    {"top-a", SAMPLER_STAGE_TOP_A, &Pipeline::top_a, 0.2f, 9.5},
    {"XTC", SAMPLER_STAGE_XTC, &Pipeline::xtc_probability, 1.0f, 13},
};

void expect_few_passes(const Case &setup, const WindowStage &window) {
  // They pass over a copy in f32, of whose vectors the books take each for as many elements as one
  // of the row's type has.
  const double counted_cols = double(setup.num_cols) * (setup.dtype == SAMPLER_F32 ? 1 : 2);
  Pipeline pipeline;
  pipeline.has_windows = true;
  pipeline.windows.add(window.stage);
  if (window.parameter) {
    (pipeline.*window.parameter).value = window.value;
  } else {
    pipeline.p_less.value = sampler_p_less_kind(window.value);
  }
  pipeline.xtc_threshold.value = 1e-5f;
  std::vector<NamedRow> rows = kHardRows;
  rows.push_back({"ordinary", ordinary});
  double most = 0.0;
  const char *worst = "";
  for (const NamedRow &row : rows) {
    const Costs costs = sample_with(setup, row.make(setup), pipeline);
    const double passes = double(costs.visited) / counted_cols;
    EXPECT_LE(passes, window.most_passes)
        << window.name << ", " << row.name << ", " << setup.description();
    if (passes > most) most = passes, worst = row.name;
  }
  std::printf("  %-32s passes %5.2f (%s)\n", window.name, most, worst);
}

TEST(Windows, TakeFewPasses) {
  for (const Case &setup :
       {Case{32000, SAMPLER_F32, 4, true}, Case{32000, SAMPLER_BF16, 1, false}}) {
    std::printf("%s\n", setup.description().c_str());
    for (const WindowStage &window : kWindows) expect_few_passes(setup, window);
  }
}

// Those that the row's numbers turn off cost no pass: the row is read and copied, read again and
// drawn from.
TEST(Windows, ThatAreOffCostNothing) {
  const Case setup = {32000, SAMPLER_F32, 4, true};
  Pipeline pipeline;
  pipeline.has_windows = true;
  for (const WindowStage &window : kWindows) pipeline.windows.add(window.stage);
  pipeline.adaptive.kind.value = SAMPLER_ADAPTIVE_P;
  pipeline.adaptive.target.value = -1.0f;
  pipeline.windows.add(SAMPLER_STAGE_ADAPTIVE);
  const Costs costs = sample_with(setup, ordinary(setup), pipeline);
  const double passes = double(costs.visited) / double(setup.num_cols);
  EXPECT_LE(passes, 4.5);
  std::printf("  passes %5.2f\n", passes);
}

// Nothing is: a search whose bound is NaN would read the whole row in vain.
TEST_P(Complexity, NothingIsLookedForAboveInfinity) {
  const auto costs_with = [](float largest) {
    const Case &setup = GetParam();
    const Values row =
        made(setup, [&](size_t i) { return hash(i) % 2 ? largest : float(hash(i) % 3); });
    return select(setup, row, 50);
  };
  EXPECT_EQ(costs_with(kInfinity).visited, costs_with(4.0f).visited);
}

const Case kRecorded = {128256, SAMPLER_F32, 8, true};

// Calls f(fields) for the fields of each line of a table, which '|' separates.
template <class F>
void for_each_line(const char *path, const F &f) {
  std::ifstream file(path);
  int num_lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++num_lines;
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, '|');) {
      const size_t begin = field.find_first_not_of(' '), end = field.find_last_not_of(' ');
      fields.push_back(begin == std::string::npos ? "" : field.substr(begin, end - begin + 1));
    }
    f(fields);
  }
  EXPECT_GT(num_lines, 0) << path;
}

std::string decimal(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", x);
  return text;
}

// Each operation named in passes.txt: elements read and elements that came from device memory, both
// as multiples of the row, and barriers of the team and of its blocks. None may change unseen.
TEST(Recorded, OrdinaryRows) {
  const Values row = ordinary(kRecorded);
  for_each_line(PASSES_FILE, [&](const std::vector<std::string> &fields) {
    ASSERT_EQ(fields.size(), 5u);
    const Costs costs = operation_of(fields[0]).run(kRecorded, row);
    const double count = double(kRecorded.num_cols);
    EXPECT_EQ(fields[1], decimal(double(costs.visited) / count)) << fields[0];
    EXPECT_EQ(fields[2], decimal(double(costs.copied) / count)) << fields[0];
    EXPECT_EQ(fields[3], std::to_string(costs.team_barriers)) << fields[0];
    EXPECT_EQ(fields[4], std::to_string(costs.block_barriers)) << fields[0];
  });
}

// What some of the hardest rows cost, as multiples of the ordinary row's elements and work: within
// their bounds they should not rise unseen.
TEST(Recorded, HardRows) {
  const Values ordinary_row = ordinary(kRecorded);
  for_each_line(HARD_ROWS_FILE, [&](const std::vector<std::string> &fields) {
    ASSERT_EQ(fields.size(), 4u);
    const auto is_named = [&](const NamedRow &row) { return row.name == fields[1]; };
    const auto row = std::find_if(kHardRows.begin(), kHardRows.end(), is_named);
    ASSERT_NE(row, kHardRows.end()) << fields[1];
    const Operation &operation = operation_of(fields[0]);
    const Costs usual = operation.run(kRecorded, ordinary_row);
    const Costs costs = operation.run(kRecorded, row->make(kRecorded));
    EXPECT_EQ(fields[2] + " | " + fields[3],
              decimal(double(costs.visited) / double(usual.visited)) + " | " +
                  decimal(double(work_of(costs)) / double(work_of(usual))))
        << fields[0] << " | " << fields[1];
  });
}

constexpr Case kCases[] = {{32000, SAMPLER_F32, 1, true},
                           {32000, SAMPLER_BF16, 1, true},
                           {32000, SAMPLER_F16, 1, false},
                           {128256, SAMPLER_F32, 8, true},
                           {128256, SAMPLER_BF16, 2, true}};
constexpr Case kOtherCases[] = {{128256, SAMPLER_F32, 8, true, By::kHeld},
                                {32000, SAMPLER_BF16, 2, true, By::kHeld},
                                {128256, SAMPLER_F32, 1, false, By::kStreamed},
                                {32000, SAMPLER_BF16, 1, false, By::kStreamed}};
INSTANTIATE_TEST_SUITE_P(Cases, Complexity, testing::ValuesIn(kCases),
                         [](const auto &one) { return std::to_string(one.index); });
INSTANTIATE_TEST_SUITE_P(Cases, HardRows,
                         testing::Combine(testing::ValuesIn(kCases), testing::Range(0, kNumParts)),
                         [](const auto &one) { return std::to_string(one.index); });
INSTANTIATE_TEST_SUITE_P(HeldOrStreamed, HardRows,
                         testing::Combine(testing::ValuesIn(kOtherCases),
                                          testing::Range(0, kNumParts)),
                         [](const auto &one) { return std::to_string(one.index); });

}  // namespace
}  // namespace simt_test
