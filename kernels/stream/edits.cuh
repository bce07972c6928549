// Edits of streamed rows. A block makes the list of the tokens that a row's edits may change, with
// their logits, and edits these: the row itself stays as it is.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/elements.h"
#include "contract/pipeline.h"
#include "machine/device.cuh"
#include "machine/team.cuh"
#include "operations/sample.cuh"
#include "stages/edited_row.cuh"
#include "stages/edits.cuh"
#include "stages/staged.h"
#include "stream/stream.cuh"

namespace sampler::kernels {

// The listed tokens of a row.
template <class Context>
class EditedTokens : public TeamEditedRow<Context, EditedTokens<Context>> {
 public:
  using TeamEditedRow<Context, EditedTokens>::team;

  SAMPLER_DEVICE EditedTokens(Team<Context> &owner, const EditsLists &lists,
                              const StreamedEdits &edits)
      : TeamEditedRow<Context, EditedTokens>(owner, lists.marks), lists_(lists), edits_(edits) {}

  // Begins with a given row, of which no tokens are listed. A barrier follows.
  SAMPLER_DEVICE void begin(const contract::RowView &given) {
    given_ = given;
    lead_ = elements_to_alignment(given.values, given.dtype);
    count_ = 0;
    this->for_each(0, num_words(), [&](int64_t i) { lists_.bits[i] = 0; });
    team.ctx.sync();
  }

  // Lists a token, if the row has it.
  SAMPLER_DEVICE void add(int64_t id) const {
    if (id < 0 || id >= given_.count) return;
    const uint32_t position = uint32_t(id) + uint32_t(lead_);
    team.ctx.atomic_or(&lists_.bits[position / 32], uint32_t(1) << (position % 32));
  }
  SAMPLER_DEVICE void add_all(const contract::TokenList &list) const {
    SAMPLER_KEEP_ROLLED
    for (int64_t i = team.ctx.thread(); i < list.count; i += Context::kThreads) add(list[i]);
  }

  // Called once all are listed. False: they are more than there is room for.
  SAMPLER_DEVICE bool load() {
    Context &ctx = team.ctx;
    ctx.sync();
    const int each = (num_words() + Context::kThreads - 1) / Context::kThreads;
    const int first = ctx.thread() * each;
    const int end = first + each < num_words() ? first + each : num_words();
    uint32_t own = 0;
    for (int i = first; i < end; ++i) own += Context::count_bits(lists_.bits[i]);
    uint64_t all;
    uint32_t place = uint32_t(ctx.block_exclusive_sum(own, &all));
    if (all > uint64_t(edits_.capacity)) return false;
    count_ = int(all);
    SAMPLER_KEEP_ROLLED
    for (int i = first; i < end; ++i) {
      lists_.before[i] = uint16_t(place);
      SAMPLER_KEEP_ROLLED
      for (uint32_t left = lists_.bits[i]; left != 0; left &= left - 1) {
        lists_.ids[place++] = i * 32 + Context::lowest_bit(left) - lead_;
      }
    }
    ctx.sync();
    this->for_each(0, count_, [&](int64_t i) { lists_.values[i] = given_.value(lists_.ids[i]); });
    ctx.sync();
    return true;
  }

  // Copies the list to where the rows' next kernel reads it.
  SAMPLER_DEVICE void publish(uint32_t output) const {
    uint32_t *const bits = edits_.bits(output);
    uint16_t *const before = edits_.before(output);
    float *const values = edits_.values(output);
    this->for_each(0, num_words(), [&](int64_t i) {
      bits[i] = lists_.bits[i];
      before[i] = lists_.before[i];
    });
    this->for_each(0, count_, [&](int64_t i) { values[i] = lists_.values[i]; });
  }

  SAMPLER_DEVICE int count() const { return count_; }

  // The place of a token; -1: it is not listed.
  SAMPLER_DEVICE int find(int64_t id) const {
    if (count_ == 0 || id < 0 || id >= given_.count) return -1;
    const uint32_t position = uint32_t(id) + uint32_t(lead_), bit = position % 32;
    const uint32_t word = lists_.bits[position / 32];
    if ((word >> bit & 1u) == 0) return -1;
    const uint32_t lower = word & ((uint32_t(1) << bit) - 1);
    return int(lists_.before[position / 32]) + Context::count_bits(lower);
  }
  SAMPLER_DEVICE int64_t id_of_element(int element) const { return lists_.ids[element]; }
  SAMPLER_DEVICE float &value(int element) const { return lists_.values[element]; }

  // Replaces each listed value by change(element, x). A barrier follows.
  template <class Change>
  SAMPLER_DEVICE void change_all(const Change &change) const {
    this->for_each(0, count_,
                   [&](int64_t i) { lists_.values[i] = change(int(i), lists_.values[i]); });
    team.ctx.sync();
  }

 private:
  // None if no stage names tokens.
  SAMPLER_DEVICE int num_words() const { return edits_.capacity > 0 ? edits_.num_words : 0; }

  const EditsLists lists_;
  const StreamedEdits &edits_;
  contract::RowView given_ = {};
  int lead_ = 0;
  int count_ = 0;
};

// The index of a row's bitmask; negative: none.
SAMPLER_DEVICE inline int32_t mask_of(const contract::Pipeline &stages, uint32_t output) {
  bool is_on = false;
  for (const sampler_stage stage : stages.edits) is_on = is_on || stage == SAMPLER_STAGE_MASK;
  if (!is_on || !stages.bitmasks) return -1;
  return stages.bitmask_indices ? stages.bitmask_indices[output] : int32_t(output);
}

// Lists the tokens that edits may change. Lists that are invalid are for the edits to find.
template <class Row>
SAMPLER_DEVICE void list_edited(const contract::Pipeline &stages, int64_t slot, int64_t output,
                                const Row &row) {
  const contract::EditNumbers numbers = stages.numbers(slot);
  StagedText text;
  if (read_staged_text(stages, slot, output, &text) != SAMPLER_ROW_OK) return;
  int64_t begin = text.length();
  const auto begin_at = [&](int32_t window) {
    const int64_t first = contract::first_counted(text.length(), 0, window);
    if (first < begin) begin = first;
  };
  if (numbers.penalties_are_on()) begin_at(numbers.penalty_window);
  if (contract::dry_is_on(numbers.dry)) begin_at(numbers.dry_window);
  if (numbers.no_repeat_ngram_size > 0) begin_at(0);
  row.for_each(begin, text.length(), [&](int64_t place) { row.add(text.at(place)); });

  contract::TokenList tokens;
  if (stages.biased && stages.biased.find_by_slot(slot, &tokens)) row.add_all(tokens);
  if (stages.banned && stages.banned.find_by_slot(slot, &tokens)) row.add_all(tokens);
  const bool changes_stops =
      numbers.decay.is_on() ||
      contract::bans_stop_tokens(text.output_length(), numbers.min_new_tokens);
  if (changes_stops && stages.stop && stages.stop.find_by_slot(slot, &tokens)) {
    row.add_all(tokens);
  }
  const contract::TokenLists &words = stages.bad_words;
  if (!words) return;
  const int64_t *const offsets = stages.bad_word_offsets;
  const int64_t first = offsets ? offsets[slot] : 0;
  const int64_t end = offsets ? offsets[slot + 1] : words.num_lists;
  if (first < 0 || first > end || end > words.num_lists) return;
  row.for_each(first, end, [&](int64_t i) {
    contract::TokenList word;
    if (words.find(i, &word) && word.count > 0) row.add(word[word.count - 1]);
  });
}

// Edits the rows of a launch, and clears what the next one must find 0.
template <class Context>
SAMPLER_DEVICE void run_edits(const Context &ctx, const StagedSampleRequest &request,
                              const Stream &stream) {
  run_clear(ctx, stream);
  const contract::Pipeline &stages = request.stages;
  EditsShared &shared = ctx.template shared<EditsShared>();
  Team<const Context> team(ctx, shared.team);
  EditedTokens<const Context> row(team, EditsLists::of(&shared, stream.edits), stream.edits);
  TeamEdits<const Context, EditedTokens<const Context>> edits(row, stages);
  SAMPLER_KEEP_ROLLED
  for (int64_t output = ctx.team(); output < request.num_rows; output += ctx.num_teams()) {
    const int64_t index = input_row(request, output), slot = request.slots[output];
    EditsHead head = {SAMPLER_ROW_OK, SAMPLER_ROW_OK, -1, 0};
    contract::RowParameters parameters;
    if (index < 0 || index >= request.input.num_rows ||
        contract::read_parameters(request, slot, &parameters) != SAMPLER_ROW_OK) {
      // The row's kernel finds that, too.
    } else if (!stages.has_valid_numbers(slot, SAMPLER_LOGITS)) {
      head.number_status = SAMPLER_ROW_INVALID_PARAMETER;
    } else {
      row.begin(contract::row_view(request.input, index));
      list_edited(stages, slot, output, row);
      if (!row.load()) {
        head.num_edited = EditsHead::kLeft;
      } else {
        head.status = edits.edit(slot, output);
        if (head.status == SAMPLER_ROW_OK) {
          head.num_edited = uint32_t(row.count());
          head.mask = mask_of(stages, uint32_t(output));
          if (row.count() > 0) row.publish(uint32_t(output));
        }
      }
    }
    if (ctx.thread() == 0) *stream.edits.head(uint32_t(output)) = head;
    ctx.sync();
  }
}

}  // namespace sampler::kernels
