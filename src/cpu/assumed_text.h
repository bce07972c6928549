// A sequence's history extended by drafts, with the adaptive values after them.
#pragma once

#include <cstdint>
#include <cstring>

#include "contract/adaptive_values.h"
#include "contract/elements.h"
#include "contract/pipeline.h"
#include "cpu/edits.h"
#include "cpu/stages.h"
#include "cpu/text.h"

namespace sampler::cpu {

class AssumedText {
 public:
  // `pipeline` null: never used. `memory.take<T>(count)` returns the arrays.
  template <class Memory>
  AssumedText(const contract::Pipeline *pipeline, int64_t max_drafts, Memory &memory)
      : pipeline_(pipeline) {
    if (!pipeline || !pipeline->has_edits() || !pipeline->has_text()) return;
    type_ = pipeline->state_slots ? SAMPLER_ID_I32 : pipeline->history.type;
    tokens_ = memory.template take<int64_t>(pipeline->max_history + max_drafts);
  }

  // Resets to the slot's own history; returns a row status.
  uint32_t begin(int64_t slot) {
    history_.values = pipeline_->values(slot);
    history_.text = Text();
    if (!tokens_) return SAMPLER_ROW_OK;
    Text text;
    const uint32_t status = RowEdits::read_text(*pipeline_, slot, &text);
    if (status != SAMPLER_ROW_OK) return status;
    const contract::TokenList &list = text.tokens();
    const size_t size = contract::size_of_id(type_);
    if (list.count > 0) {
      const char *const ids = static_cast<const char *>(list.ids) + size_t(list.begin) * size;
      std::memcpy(tokens_, ids, size_t(list.count) * size);
    }
    prompt_length_ = text.prompt_length();
    counts_ = text.counts();
    update(list.count);
    return SAMPLER_ROW_OK;
  }

  // Appends a token, with its observation; NaN: none.
  void append(int64_t slot, int64_t id, float observation) {
    history_.values = contract::adaptive_values_moved(history_.values, id, observation,
                                                      pipeline_->adaptive.of(slot));
    if (!tokens_) return;
    contract::store_id({tokens_, type_}, history_.text.length(), id);
    update(history_.text.length() + 1);
  }

  const History &history() const { return history_; }

 private:
  void update(int64_t count) {
    history_.text = Text({tokens_, type_, 0, count}, prompt_length_, counts_);
  }

  const contract::Pipeline *pipeline_;
  sampler_id_type type_ = SAMPLER_ID_I32;
  void *tokens_ = nullptr;  // null: no edit reads the history
  int64_t prompt_length_ = 0;
  TextCounts counts_;
  History history_ = {};
};

}  // namespace sampler::cpu
