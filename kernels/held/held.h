// Rows held in shared memory: the layout of a launch, and what its blocks share. held.cuh has the
// device code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chains/chains.h"
#include "contract/request.h"
#include "contract/verify_chain.h"
#include "machine/device_shape.h"
#include "machine/team.cuh"
#include "stages/staged.h"
#include "stream/stream.h"

namespace sampler::kernels {

constexpr int kMostHeldTeam = 8;     // blocks of a cluster that every device with clusters can run
constexpr int kMostHeldTiles = 104;  // of a block
constexpr int kLookedUp = 64;        // drafts whose probabilities are looked up at once
constexpr uint32_t kWeighedByTable = 512;  // lowest probabilities that adaptive-p weighs by a table

// What a launch computes.
enum class HeldKind : int {
  kNone,            // rows are not held
  kSoftmax,         // probabilities of all tokens
  kFilter,          // probabilities, or values, of the tokens that filters keep
  kChain,           // the tokens of chains of drafts, of given probabilities
  kVerify,          // the tokens of chains of drafts, of the target's logits
  kSelect,          // the first tokens
  kReport,          // draws from rows as given, and reports
  kEditedReport,    // draws from edited rows, and reports
  kStaged,          // the same with windows and adaptive stages
  kDraw,            // draws by the weights of all tokens, or of those that min-p keeps
  kReweighed,       // the same by weights that adaptive-p or smoothing gives
  kValues,          // draws from what windows keep that cut a row at a value
  kTypical,         // draws from what typical-p keeps
  kVerifyExtended,  // the tokens of chains and trees of drafts, by any rule
};
constexpr int kNumHeldKinds = 14;

SAMPLER_HD constexpr bool is_sample(HeldKind kind) {
  return kind == HeldKind::kReport || kind == HeldKind::kEditedReport || kind == HeldKind::kStaged;
}
// Draws by weights after stages. Only rows of too many edits are left, and some of typical-p.
SAMPLER_HD constexpr bool is_weighed(HeldKind kind) {
  return kind == HeldKind::kReweighed || kind == HeldKind::kValues || kind == HeldKind::kTypical;
}

// Verifies drafts by rows of which filters may keep a part.
SAMPLER_HD constexpr bool verifies_rows(HeldKind kind) {
  return kind == HeldKind::kVerify || kind == HeldKind::kVerifyExtended;
}

// Layout of a launch, chosen by plan_held, read by host and device. A row has a team, and each of
// its blocks tiles_of_block of the row's tiles.
struct Held {
  HeldKind kind = HeldKind::kNone;
  int team_size = 1;
  int tiles_of_block = 0;
  int64_t num_rows = 0;
  int64_t num_teams = 0;
  char *memory = nullptr;  // bytes(), aligned
  // What a launch before this one makes of num_edited rows: of weighed kinds and kVerifyExtended.
  StreamedEdits edits;
  int64_t num_edited = 0;
  int64_t tree_numbers = 0;  // of kVerifyExtended: of a row's contract::TreeMemory
  // The output rows of a sample, and their number, that a launch before this one has left. Null:
  // all rows.
  const uint32_t *rows_left = nullptr;
  const uint32_t *num_rows_left = nullptr;

  SAMPLER_HD bool is_on() const { return kind != HeldKind::kNone; }
  // Whether rows may be left to the general kernel.
  SAMPLER_HD bool leaves_rows() const {
    return is_on() && kind != HeldKind::kSoftmax && kind != HeldKind::kChain &&
           kind != HeldKind::kDraw &&
           (!is_weighed(kind) || kind == HeldKind::kTypical || edits.is_on());
  }
  SAMPLER_HD StreamHead *head() const { return reinterpret_cast<StreamHead *>(memory); }
  // Output rows left to the general kernel.
  SAMPLER_HD uint32_t *left() const {
    return reinterpret_cast<uint32_t *>(memory + sizeof(StreamHead));
  }
  SAMPLER_HD int32_t *tree(int64_t row) const {
    return reinterpret_cast<int32_t *>(memory + offset_of_trees()) + row * tree_numbers;
  }
  SAMPLER_HD size_t bytes() const {
    if (!leaves_rows()) return 0;
    return offset_of_edits() + (edits.is_on() ? size_t(num_edited) * edits.row_bytes() : 0);
  }
  void place(char *workspace) {
    if (!workspace) return;
    memory = workspace;
    edits.memory = workspace + offset_of_edits();
  }
  // Dynamic shared memory of a block.
  SAMPLER_HD size_t shared_bytes() const;

 private:
  SAMPLER_HD static size_t lines(size_t bytes) {
    constexpr size_t kLine = kStreamAlignment;
    return (bytes + kLine - 1) / kLine * kLine;
  }
  SAMPLER_HD size_t offset_of_trees() const {
    return sizeof(StreamHead) + lines(size_t(num_rows) * sizeof(uint32_t));
  }
  SAMPLER_HD size_t offset_of_edits() const {
    return offset_of_trees() + lines(size_t(num_rows * tree_numbers) * sizeof(int32_t));
  }
};

// What the blocks of a team exchange; all have it at the same address.
struct HeldExchange {
  uint64_t values[2][4][kMostHeldTeam];
  uint64_t partial[2][32];  // by warp
};

// A block's shared memory before its part of the row, by kind.
struct alignas(16) HeldSoftmax : HeldExchange {
  contract::RowParameters parameters;
  uint32_t status;
};

struct alignas(16) HeldDraw : HeldExchange {
  contract::RowParameters parameters;
  uint32_t status;
  uint64_t word;  // random
  uint64_t tile_weights[kMostHeldTiles];
};

struct alignas(16) HeldWeighed : HeldDraw {
  contract::AdaptiveRules adaptive;
};

struct alignas(16) HeldValues : HeldWeighed {
  struct Numbers {
    float dynamic_range, dynamic_exponent;
    float top_n_sigma, epsilon, eta, top_a;
    sampler_p_less_kind p_less;
    sampler_adaptive_kind mirostat;
    float mu;

    SAMPLER_HD bool are_valid() const {
      return !contract::is_nan(dynamic_range) && !contract::is_nan(dynamic_exponent) &&
             !contract::is_nan(top_n_sigma) && !contract::is_nan(epsilon) &&
             !contract::is_nan(eta) && !contract::is_nan(top_a) && p_less >= SAMPLER_P_LESS_NONE &&
             p_less <= SAMPLER_P_LESS_NORM;
    }
    SAMPLER_HD bool is_mirostat() const { return mirostat != SAMPLER_ADAPTIVE_NONE; }
  } numbers;
};

struct alignas(16) HeldReweighed : HeldWeighed {
  contract::AdaptiveValues adaptive_values;
  uint64_t table[kWeighedByTable + 1];  // the last is 0
};

// A drawn token.
struct HeldDrawn {
  int64_t id;
  float value;
};

struct alignas(16) HeldFilter : HeldExchange {
  StreamedRowState state;
  uint32_t num_listed;
  uint64_t cut;  // rank
  uint64_t kept_weight;
  int kept_count;
  alignas(16) StreamedList row;  // before that, TeamShared of edits
};

struct alignas(16) HeldTypical : HeldFilter {
  contract::RowParameters parameters;
  contract::AdaptiveRules adaptive;
  float typical_p;
  uint32_t status;
  uint64_t word;  // random
  uint64_t tile_weights[kMostHeldTiles];
};

struct alignas(16) HeldSample : HeldFilter {
  HeldDrawn drawn;
  uint64_t tile_weights[kMostHeldTiles];
};

// The tokens that filters keep.
struct HeldKept {
  float low;  // lowest value
  int last;   // last index with that value

  SAMPLER_HD bool has(float x, int index) const { return x > low || (x == low && index <= last); }
};

// The distribution of a row of logits.
struct HeldDistribution {
  contract::RowScale scale;
  HeldKept kept;
  float normalizer;
  bool greedy;

  SAMPLER_HD float probability(float x, int index) const {
    if (!kept.has(x, index)) return 0.0f;
    return greedy ? 1.0f : contract::relative_probability(scale, x) * normalizer;
  }
};

struct alignas(16) HeldVerify : HeldSample {
  contract::Chain chain;
  HeldDistribution distributions[2];  // of the target's row, and the drafter's
  bool is_left;
};

struct alignas(16) HeldChain : HeldExchange {
  contract::Chain chain;
  uint32_t status;
  HeldDrawn drawn;
  uint64_t tile_weights[kMostHeldTiles];
  float target[kLookedUp];  // probabilities of the drafts
  float draft[kLookedUp];
};

SAMPLER_HD inline size_t Held::shared_bytes() const {
  const size_t before = kind == HeldKind::kSoftmax     ? sizeof(HeldSoftmax)
                        : kind == HeldKind::kFilter    ? sizeof(HeldFilter)
                        : kind == HeldKind::kSelect    ? sizeof(HeldFilter)
                        : kind == HeldKind::kChain     ? sizeof(HeldChain)
                        : kind == HeldKind::kDraw      ? sizeof(HeldDraw)
                        : kind == HeldKind::kReweighed ? sizeof(HeldReweighed)
                        : kind == HeldKind::kValues    ? sizeof(HeldValues)
                        : kind == HeldKind::kTypical   ? sizeof(HeldTypical)
                        : kind == HeldKind::kVerify    ? sizeof(HeldVerify)
                                                       : sizeof(HeldSample);
  return before + size_t(tiles_of_block) * kTile * sizeof(float);
}

// Whether one kernel takes rows of all types: that of f32.
constexpr bool takes_all_types(HeldKind kind) {
  return kind != HeldKind::kSoftmax && kind != HeldKind::kChain && kind != HeldKind::kDraw;
}

// Calls f(dtype, kind), integral constants, for each kernel of held rows.
template <class F>
void for_each_held_kernel(const F &f) {
  using F32 = std::integral_constant<sampler_dtype, SAMPLER_F32>;
  const auto of_type = [&](auto dtype) {
    f(dtype, std::integral_constant<HeldKind, HeldKind::kSoftmax>());
    f(dtype, std::integral_constant<HeldKind, HeldKind::kChain>());
    f(dtype, std::integral_constant<HeldKind, HeldKind::kDraw>());
  };
  of_type(F32());
  of_type(std::integral_constant<sampler_dtype, SAMPLER_F16>());
  of_type(std::integral_constant<sampler_dtype, SAMPLER_BF16>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kFilter>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kVerify>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kSelect>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kReport>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kEditedReport>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kStaged>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kReweighed>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kValues>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kTypical>());
  f(F32(), std::integral_constant<HeldKind, HeldKind::kVerifyExtended>());
}

// The request of a kind's kernels.
template <HeldKind kKind>
struct HeldRequestOf {
  static constexpr bool kHasStages = is_sample(kKind) || is_weighed(kKind);
  using Type = std::conditional_t<kHasStages, StagedSampleRequest, contract::FilterRequest>;
};
template <>
struct HeldRequestOf<HeldKind::kChain> {
  using Type = contract::VerifyRequest;
};
template <>
struct HeldRequestOf<HeldKind::kVerify> {
  using Type = contract::VerifyRequest;
};
template <>
struct HeldRequestOf<HeldKind::kVerifyExtended> {
  using Type = ExtendedVerifyRequest;
};
template <>
struct HeldRequestOf<HeldKind::kSelect> {
  using Type = contract::SelectRequest;
};
template <>
struct HeldRequestOf<HeldKind::kDraw> {
  using Type = contract::SampleRequest;
};
template <HeldKind kKind>
using HeldRequest = typename HeldRequestOf<kKind>::Type;

// Whether enough groups have maxima for the bound of top-k's list.
SAMPLER_HD inline bool has_bound(int32_t top_k, int64_t num_cols) {
  return keeps_all(top_k, num_cols) || top_k <= num_cols / kGroup * 3 / 4;
}

// The kind of launch for all rows of a request; kNone: not held.
HeldKind held_kind(const contract::FilterRequest &request);
HeldKind held_kind(const contract::VerifyRequest &request);
HeldKind held_kind(const ExtendedVerifyRequest &request);
HeldKind held_kind(const StagedSampleRequest &request);
HeldKind held_kind(const contract::SelectRequest &request);
HeldKind held_kind(const contract::SampleRequest &request);

// kNone without rows, or if a team's shared memory does not hold them.
Held plan_held(HeldKind kind, int64_t num_rows, int64_t num_cols, const DeviceShape &device);
// With the room that edits take, or trees.
Held plan_held(const StagedSampleRequest &request, const DeviceShape &device);
Held plan_held(const ExtendedVerifyRequest &request, const DeviceShape &device);
// With few edits, of positions that a launch finds.
Held plan_held(const ExtendedVerifyRequest &request, const Chains &chains,
               const DeviceShape &device);

}  // namespace sampler::kernels
