// The history that a sequence would have if drafts were accepted. CPU twin: src/cpu/assumed_text.h.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/elements.h"
#include "contract/pipeline.h"
#include "machine/team.cuh"
#include "stages/stages.cuh"
#include "stages/text_edits.cuh"

namespace sampler::kernels {

template <class Context>
class TeamAssumedText {
 public:
  // `tokens` has room for the longest text and all drafts; null: no edit needs a text. The team's
  // writes there are visible after its next barrier.
  SAMPLER_DEVICE TeamAssumedText(Team<Context> &team, const contract::Pipeline &pipeline,
                                 sampler_id_type type, void *tokens)
      : team_(team), pipeline_(pipeline), type_(type), tokens_(tokens) {}

  // Starts from the slot's history. Returns a status.
  SAMPLER_DEVICE_CALL uint32_t begin(int64_t slot) {
    history_.values = pipeline_.values(slot);
    history_.text = StagedText();
    if (!tokens_) return SAMPLER_ROW_OK;
    StagedText text;
    const uint32_t status = read_staged_text(pipeline_, slot, 0, &text);
    if (status != SAMPLER_ROW_OK) return status;
    const int num_threads = team_.ctx.team_size() * Context::kThreads;
    for (int64_t i = team_.ctx.cluster_rank() * Context::kThreads + team_.ctx.thread();
         i < text.length(); i += num_threads) {
      contract::store_id({tokens_, type_}, i, text.at(i));
    }
    prompt_length_ = text.prompt_length();
    update(text.length());
    return SAMPLER_ROW_OK;
  }

  // Appends a token; `observation` moves the adaptive stages, NaN does not.
  SAMPLER_DEVICE void append(int64_t slot, int64_t id, float observation) {
    history_.values = contract::adaptive_values_moved(history_.values, id, observation,
                                                      pipeline_.adaptive.of(slot));
    if (!tokens_) return;
    const int64_t length = history_.text.length();
    if (team_.is_first_thread()) contract::store_id({tokens_, type_}, length, id);
    update(length + 1);
  }

  SAMPLER_DEVICE const TeamHistory &history() const { return history_; }

 private:
  SAMPLER_DEVICE void update(int64_t count) {
    history_.text = StagedText({tokens_, type_, 0, count}, prompt_length_);
  }

  Team<Context> &team_;
  const contract::Pipeline &pipeline_;
  sampler_id_type type_;
  void *tokens_;
  int64_t prompt_length_ = 0;
  TeamHistory history_ = {};
};

}  // namespace sampler::kernels
