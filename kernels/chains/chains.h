// Chains and trees of drafts whose positions are read at once, as rows of one sampling. A launch
// before it finds their rows, and one after it decides which drafts are kept; another may then find
// the rows of the tokens, for their reports. chains.cuh and decided.cuh have the device code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/elements.h"
#include "contract/request.h"
#include "contract/verification.h"
#include "stages/staged.h"

namespace sampler::kernels {

enum class ChainsKind : int {
  kNone,     // positions are not read at once
  kMatched,  // each draft is compared with the token that its position draws
  kDecided,  // decided by any rule from lists of the positions' first tokens, or from held rows
};

// Layout of a call's memory, chosen by plan_chains, read by host and device: arrays by output,
// [num_sequences, num_positions], and sequences that are left to the general kernel.
struct Chains {
  static constexpr size_t kAlignment = StageMemory::kAlignment;

  ChainsKind kind = ChainsKind::kNone;
  int64_t num_sequences = 0;
  int32_t num_positions = 0;     // of a sequence
  int64_t rows_of_sequence = 0;  // of dense ones, from a sequence's first row to the next's
  size_t id_size = 0;
  size_t text_id_size = 0;    // of drafts in texts; 0: no edit reads a text
  int32_t path_stride = 0;    // of a tree's node: places for the drafts before it, for its text
  int64_t tree_numbers = 0;   // of a sequence's contract::TreeMemory; 0: chains
  bool are_reported = false;  // tokens' rows are read again for reports
  char *memory = nullptr;     // bytes(), aligned to kAlignment

  SAMPLER_HD bool is_on() const { return kind != ChainsKind::kNone; }
  SAMPLER_HD int64_t num_outputs() const { return num_sequences * num_positions; }

  SAMPLER_HD void *drafts() const { return memory; }  // as texts have them
  SAMPLER_HD void *tokens() const { return memory + offset_of_tokens(); }
  SAMPLER_HD int32_t *slots() const { return numbers(); }
  SAMPLER_HD int32_t *rows() const { return numbers() + num_outputs(); }
  SAMPLER_HD int32_t *depths() const { return numbers() + 2 * num_outputs(); }
  SAMPLER_HD uint32_t *statuses() const {
    return reinterpret_cast<uint32_t *>(numbers() + 3 * num_outputs());
  }
  SAMPLER_HD uint32_t *num_left() const { return statuses() + num_outputs(); }
  SAMPLER_HD uint32_t *left() const { return num_left() + 1; }
  SAMPLER_HD int32_t *tree(int64_t sequence) const {
    return reinterpret_cast<int32_t *>(left() + num_sequences) + sequence * tree_numbers;
  }
  // By token: the position that it was decided at, and that position's row; -1: no token.
  SAMPLER_HD int32_t *positions() const { return tree(num_sequences); }
  SAMPLER_HD int32_t *reported_rows() const { return positions() + num_outputs(); }
  SAMPLER_HD size_t bytes() const {
    const size_t num_numbers = size_t(are_reported ? 6 : 4) * size_t(num_outputs()) + 1 +
                               size_t(num_sequences) * size_t(1 + tree_numbers);
    const size_t used = offset_of_numbers() + num_numbers * sizeof(int32_t);
    return is_on() ? (used + kAlignment - 1) / kAlignment * kAlignment : 0;
  }

 private:
  // Aligned to an id of either type.
  SAMPLER_HD size_t offset_of_tokens() const {
    const size_t num_drafts = size_t(num_outputs()) * size_t(path_stride > 0 ? path_stride : 1);
    return (num_drafts * text_id_size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
  }
  SAMPLER_HD size_t offset_of_numbers() const {
    return offset_of_tokens() + size_t(num_outputs()) * id_size;
  }
  SAMPLER_HD int32_t *numbers() const {
    return reinterpret_cast<int32_t *>(memory + offset_of_numbers());
  }
};

// Whether lists show all that rules need to know: they have no more of a greedy row than its first
// token, and the random numbers of all rules but SAMPLE_MATCH for XTC.
bool may_be_listed(const ExtendedVerifyRequest &request);

// Whether the reports of tokens may be streamed after these are verified; and the request without
// these reports, whose tokens' positions `chains` takes.
bool may_report_apart(const ExtendedVerifyRequest &request);
ExtendedVerifyRequest verified_of(const ExtendedVerifyRequest &request, const Chains &chains);

// The reports of verified tokens, as a request for streams; and for what these leave.
StagedSampleRequest reports_of(const ExtendedVerifyRequest &request, const Chains &chains);
StagedSampleRequest left_of(const StagedSampleRequest &reports);

// What a request of dense chains by the standard rule is as one of any chains.
contract::Verification rules_of_chains(const contract::VerifyRequest &request);

Chains plan_chains(const ExtendedVerifyRequest &request);

// The sampling of all positions.
StagedSampleRequest positions_of(const ExtendedVerifyRequest &request, const Chains &chains);

}  // namespace sampler::kernels
