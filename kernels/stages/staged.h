// Requests with stages on a device: the pipeline by value, and the layout of a team's memory for
// the row that it edits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/kept_lists.h"
#include "contract/pipeline.h"
#include "contract/ranked_windows.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "contract/verification.h"
#include "machine/team.cuh"

namespace sampler::kernels {

// Words of a bitmap of all token ids.
constexpr int64_t kIdWords = contract::kMaxVocabulary / 32;

// Ranks that windows sort at once where single tokens are queried.
constexpr int kHead = 128;

// What each active stage keeps of the places in rank order.
struct StageNotes {
  struct Note {
    int32_t stage;
    int32_t seen_begin, kept_begin, kept_end, seen_end;
  };

  SAMPLER_HD void add(sampler_stage stage, contract::Window seen, contract::Window kept) {
    notes[count++] = {stage, int32_t(seen.begin), int32_t(kept.begin), int32_t(kept.end),
                      int32_t(seen.end)};
  }

  // For joint filters, the first one in the order of their constants counts.
  SAMPLER_HD uint8_t remover_of(int64_t place) const {
    uint8_t by = contract::kNotRemoved;
    for (int i = 0; i < count; ++i) {
      const Note &note = notes[i];
      const bool is_removed = (note.seen_begin <= place && place < note.kept_begin) ||
                              (note.kept_end <= place && place < note.seen_end);
      if (is_removed && (by == contract::kNotRemoved || by > note.stage)) by = uint8_t(note.stage);
    }
    return by;
  }

  int32_t count;
  Note notes[SAMPLER_MAX_STAGES];
};

// Layout of a team's memory in the workspace; its contents are undefined at first.
struct StageMemory {
  static constexpr size_t kAlignment = 128;

  char *memory = nullptr;
  size_t values = 0;  // offset of each part: the row, f32, from the aligned place before it on
  size_t marks = 0;   // one word per element; both only if stages change rows
  size_t ranks = 0;   // in rank order: all tokens for reports of removals, kHead for windows
  size_t index = 0;   // elements by id; candidates only
  size_t edited =
      0;  // the row as the edits leave it; only if that is reported and windows change it
  size_t notes = 0;  // StageNotes; only for reports of removals
  size_t bytes_of_team = 0;

  static StageMemory of(const contract::Rows &input, const contract::Pipeline &pipeline,
                        bool keeps_edited, bool traces_removals) {
    StageMemory result;
    const size_t num_cols = size_t(input.num_cols);
    size_t used = 0;
    const auto take = [&](size_t bytes) {
      const size_t begin = used;
      used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      return begin;
    };
    const bool is_copied = pipeline.changes_rows();
    result.values = take(is_copied ? (num_cols + 2 * kMaxLead) * sizeof(float) : 0);
    result.marks = take(is_copied ? num_cols * sizeof(uint32_t) : 0);
    const bool has_ranks = pipeline.has_windows || traces_removals;
    const size_t num_ranks = traces_removals && num_cols > kHead ? num_cols : kHead;
    result.ranks = take(has_ranks ? num_ranks * sizeof(uint64_t) : 0);
    result.index = take(input.ids ? (2 * size_t(kIdWords) + num_cols) * sizeof(uint32_t) : 0);
    result.edited = take(keeps_edited ? num_cols * sizeof(float) : 0);
    result.notes = take(traces_removals ? sizeof(StageNotes) : 0);
    result.bytes_of_team = used;
    return result;
  }

  template <class T>
  SAMPLER_HD T *part(int64_t team, size_t begin) const {
    return reinterpret_cast<T *>(memory + size_t(team) * bytes_of_team + begin);
  }
};

// A request with its pipeline, which may be empty.
template <class Request>
struct Staged : Request {
  contract::Pipeline stages;
  StageMemory memory;

  Staged() = default;
  explicit Staged(const Request &request)
      : Request(request), stages(request.pipeline ? *request.pipeline : contract::Pipeline()) {
    memory = StageMemory::of(request.input, stages, false, false);
    this->pipeline = nullptr;  // the host's
  }
};

// With the reports wanted, too.
template <>
struct Staged<contract::SampleRequest> : contract::SampleRequest {
  contract::Pipeline stages;
  contract::Reports wanted;
  contract::KeptLists kept_lists;  // if `wanted` packs them
  StageMemory memory;

  Staged() = default;
  explicit Staged(const contract::SampleRequest &request)
      : contract::SampleRequest(request),
        stages(request.pipeline ? *request.pipeline : contract::Pipeline()),
        wanted(request.reports ? *request.reports : contract::Reports()) {
    memory = StageMemory::of(request.input, stages, keeps_edited(), wanted.out_removed_by);
    pipeline = nullptr;  // the host's
    reports = nullptr;
  }

  // Whether the edited row is reported, and another one is drawn from.
  SAMPLER_HD bool keeps_edited() const {
    return logprob_kind == SAMPLER_LOGPROB_EDITED && stages.has_windows;
  }

  // Whether there are reports of the distribution that the kind of log-probabilities names.
  SAMPLER_HD bool reports_distribution() const {
    return wanted.wants_top() || wanted.out_ranks || wanted.out_entropies || reports_logprobs();
  }
  // Whether these need the distribution's weight.
  SAMPLER_HD bool reports_logprobs() const {
    return (wanted.wants_top() && wanted.out_top_logprobs) || wanted.wants_chosen() ||
           (out_logprobs && logprob_kind == SAMPLER_LOGPROB_EDITED);
  }
  SAMPLER_HD bool reports_kept() const {
    return wanted.out_kept_bitmask || wanted.wants_kept_list();
  }
};

template <class Request>
constexpr bool kHasStages = false;
template <class Request>
constexpr bool kHasStages<Staged<Request>> = true;

using StagedSampleRequest = Staged<contract::SampleRequest>;
using StagedFilterRequest = Staged<contract::FilterRequest>;

// Also two f32 rows and a tree, for verification.
struct VerifyMemory : StageMemory {
  size_t changed = 0;   // the target's row, from the aligned place before it on
  size_t excluded = 0;  // the drafter's row; only without siblings
  size_t tree = 0;      // contract::TreeMemory
  size_t text = 0;      // assumed history; only if edits read it

  SAMPLER_HD static bool assumes_text(const contract::Pipeline &stages) {
    return stages.has_edits() && stages.has_text();
  }
  SAMPLER_HD static sampler_id_type text_type(const contract::Pipeline &stages) {
    return stages.state_slots ? sampler_id_type(SAMPLER_ID_I32) : stages.history.type;
  }

  static VerifyMemory of(const contract::VerifyRequest &request,
                         const contract::Verification &rules, const contract::Pipeline &stages,
                         bool keeps_edited) {
    VerifyMemory result;
    static_cast<StageMemory &>(result) =
        StageMemory::of(rules.positions.input, stages, keeps_edited, false);
    const auto take = [&](size_t bytes) {
      const size_t begin = result.bytes_of_team;
      result.bytes_of_team += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      return begin;
    };
    const size_t row_bytes = (size_t(request.target.num_cols) + 2 * kMaxLead) * sizeof(float);
    result.changed = take(row_bytes);
    result.excluded = take(request.draft.values && rules.excludes_siblings() ? row_bytes : 0);
    result.tree = take(size_t(contract::TreeMemory::num_numbers(rules, request.num_drafts + 1)) *
                       sizeof(int32_t));
    const int64_t num_tokens =
        assumes_text(stages) ? stages.max_history + request.num_drafts : int64_t(0);
    result.text = take(size_t(num_tokens) * contract::size_of_id(text_type(stages)));
    return result;
  }
};

// Verification beyond dense standard chains: its rules, and its positions as rows that are sampled
// and reported.
template <>
struct Staged<contract::VerifyRequest> : contract::VerifyRequest {
  contract::Verification rules;
  StagedSampleRequest positions;
  VerifyMemory memory;
  // Whether the positions have stages, outputs, and either one or reports that the kernels of rows
  // without stages do not write.
  bool has_pipeline = false, has_outputs = false, are_staged = false;

  Staged() = default;
  // For a request with `verification`.
  explicit Staged(const contract::VerifyRequest &request)
      : contract::VerifyRequest(request),
        rules(*request.verification),
        positions(rules.positions),
        has_pipeline(rules.positions.pipeline),
        has_outputs(rules.positions.reports_anything()),
        are_staged(has_pipeline || rules.positions.reports || rules.positions.out_observations) {
    memory = VerifyMemory::of(request, rules, positions.stages, positions.keeps_edited());
    verification = nullptr;  // the host's
    rules.positions.pipeline = nullptr;
    rules.positions.reports = nullptr;
  }
};

using ExtendedVerifyRequest = Staged<contract::VerifyRequest>;

}  // namespace sampler::kernels
