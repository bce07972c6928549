// What a sequence would have said if drafts were accepted: its text with the drafts after it, and
// what adaptive stages would remember.
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
  // `pipeline` null: nothing is ever asked. `memory.take<T>(count)` gives the arrays.
  template <class Memory>
  AssumedText(const contract::Pipeline *pipeline, int64_t max_drafts, Memory &memory)
      : pipeline_(pipeline) {
    if (!pipeline || !pipeline->has_edits() || !pipeline->has_text()) return;
    type_ = pipeline->sequences ? SAMPLER_ID_I32 : pipeline->history.type;
    tokens_ = memory.template take<int64_t>(pipeline->max_history + max_drafts);
  }

  // What the slot has said. The result is a status.
  uint32_t begin(int64_t slot) {
    said_.values = pipeline_->values(slot);
    said_.text = Text();
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

  // A token, and what moves the adaptive stages on; NaN: nothing does.
  void append(int64_t slot, int64_t id, float observation) {
    said_.values = contract::adaptive_values_moved(said_.values, id, observation,
                                                   pipeline_->adaptive.of(slot));
    if (!tokens_) return;
    contract::store_id({tokens_, type_}, said_.text.length(), id);
    update(said_.text.length() + 1);
  }

  const Said &said() const { return said_; }

 private:
  void update(int64_t count) {
    said_.text = Text({tokens_, type_, 0, count}, prompt_length_, counts_);
  }

  const contract::Pipeline *pipeline_;
  sampler_id_type type_ = SAMPLER_ID_I32;
  void *tokens_ = nullptr;  // null: no edit asks for a text
  int64_t prompt_length_ = 0;
  TextCounts counts_;
  Said said_ = {};
};

}  // namespace sampler::cpu
