#include "problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>

#include "../sized.h"
#include "oracle.h"

namespace verification_test {
namespace {

// Lists of slots, in the order of Call::one_list.
enum { kBiased, kBanned, kStop };

constexpr std::int64_t kFarFromAll = 1 << 30;

std::vector<std::int64_t> bits_of(const std::vector<float> &values, std::int64_t first,
                                  std::int64_t count) {
  std::vector<std::int64_t> result(at(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &values[at(first + i)], sizeof bits);
    result[at(i)] = bits;
  }
  return result;
}

template <class T>
std::vector<std::int64_t> part(const std::vector<T> &values, std::int64_t first,
                               std::int64_t count) {
  return {values.begin() + first, values.begin() + first + count};
}

sampler_token_lists one_list_for_all(const std::vector<std::int32_t> &ids,
                                     std::vector<std::int64_t> *offsets) {
  *offsets = {0, static_cast<std::int64_t>(ids.size())};
  sampler_token_lists view = {};
  if (ids.empty()) return view;
  view.offsets = offsets->data();
  view.token_ids = ids.data();
  view.num_lists = 1;
  view.num_token_ids = static_cast<std::int64_t>(ids.size());
  return view;
}

sampler_token_lists lists_of(const std::vector<std::vector<std::int32_t>> &lists,
                             std::vector<std::int64_t> *offsets, std::vector<std::int32_t> *ids) {
  *offsets = {0};
  for (const auto &list : lists) {
    ids->insert(ids->end(), list.begin(), list.end());
    offsets->push_back(static_cast<std::int64_t>(ids->size()));
  }
  sampler_token_lists view = {};
  if (lists.empty()) return view;
  view.offsets = offsets->data();
  view.token_ids = ids->data();
  view.num_lists = static_cast<std::int64_t>(lists.size());
  view.num_token_ids = static_cast<std::int64_t>(ids->size());
  return view;
}

}  // namespace

std::vector<std::int32_t> Sequence::children(std::int32_t node) const {
  std::vector<std::int32_t> result;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] == node) result.push_back(static_cast<std::int32_t>(i));
  }
  return result;
}

bool is_token(const Problem &problem, std::int64_t id) {
  return id >= 0 && id < problem.num_cols;
}

std::string difference(const Outcome &expected, const Outcome &actual) {
  std::ostringstream text;
  for (const auto &[name, values] : expected) {
    const auto other = actual.find(name);
    if (other == actual.end()) {
      if (name == "tokens") text << "no tokens; ";
      continue;
    }
    if (values == other->second) continue;
    const auto write = [&](const std::vector<std::int64_t> &numbers) {
      for (std::size_t i = 0; i < numbers.size() && i < 24; ++i) text << ' ' << numbers[i];
    };
    text << name << ": expected";
    write(values);
    text << ", is";
    write(other->second);
    text << "; ";
  }
  return text.str();
}

std::vector<Outcome> verify(sampler_t sampler, const Problem &problem, const Layout &layout,
                            sampler_status *status) {
  Call call(sampler, problem, layout);
  const std::string before = call.state_bytes();
  const sampler_status result = call.run();
  if (status) {
    *status = result;
  } else {
    EXPECT_EQ(result, SAMPLER_OK) << sampler_last_error();
  }
  EXPECT_EQ(call.state_bytes(), before) << "verification changes no state";
  return call.outcomes();
}

Call::Call(sampler_t sampler, const Problem &problem, const Layout &layout)
    : params(problem.params),
      draft_params(problem.draft_params),
      sampler_(sampler),
      problem_(problem),
      layout_(layout) {
  args.num_drafts = problem.num_drafts;
  args.params = &params;
  if (problem.has_draft_params) args.draft_params = &draft_params;
  args.acceptance_params.rule = problem.sequences.empty() ? 0 : problem.sequences[0].rule;
  args.acceptance_params.sibling_rule = problem.sibling_rule;
  args.acceptance_params.typical_threshold = problem.typical_threshold;
  args.acceptance_params.typical_scale = problem.typical_scale;
  args.acceptance_params.relaxed_top_k = problem.relaxed_top_k;
  args.acceptance_params.relaxed_delta = problem.relaxed_delta;
  args.acceptance_params.threshold_single = problem.threshold_single;
  args.acceptance_params.threshold_total = problem.threshold_total;
  args.acceptance_params.deferred_window = problem.deferred_window;
  args.acceptance_params.deferred_top_k = problem.deferred_top_k;
  args.acceptance_params.deferred_entropy = problem.deferred_entropy;
  args.acceptance_params.draw_method = problem.draw_method;
  if (!problem.synthetic_rates.empty())
    args.acceptance_params.synthetic_rates = problem.synthetic_rates.data();
  if (layout.has_one_temperature) params.temperature = problem.sequences[0].temperature;
  lay_slots();
  lay_drafts();
  lay_target();
  lay_draft_rows();
  if (problem.has_pipeline) lay_pipeline();
  lay_outputs();
}

Call::~Call() {
  sampler_state_destroy(state_);
}

std::int64_t Call::num_position_places() const {
  const std::int64_t all = problem_.num_sequences() * (problem_.num_drafts + 1);
  return layout_.packing == SAMPLER_PACKING_DENSE ? all
                                                  : position_place(problem_.num_sequences(), 0);
}

std::int64_t Call::num_draft_places() const {
  return layout_.packing == SAMPLER_PACKING_DENSE ? problem_.num_sequences() * problem_.num_drafts
                                                  : draft_place(problem_.num_sequences(), 0);
}

std::int64_t Call::position_place(std::int64_t s, std::int64_t i) const {
  if (layout_.packing == SAMPLER_PACKING_DENSE) return s * (problem_.num_drafts + 1) + i;
  return draft_place(s, 0) + s + i;
}

std::int64_t Call::draft_place(std::int64_t s, std::int64_t i) const {
  if (layout_.packing == SAMPLER_PACKING_DENSE) return s * problem_.num_drafts + i;
  std::int64_t place = i;
  for (std::int64_t before = 0; before < s; ++before) {
    place += problem_.sequences[at(before)].num_drafts();
  }
  return place;
}

// The place of entry i in arrays that are laid out like draft ids.
std::int64_t Call::entry_place(std::int64_t s, std::int64_t i) const {
  return layout_.packing == SAMPLER_PACKING_POSITIONS ? position_place(s, i + 1)
                                                      : draft_place(s, i);
}

std::int64_t Call::num_entry_places() const {
  return layout_.packing == SAMPLER_PACKING_POSITIONS ? num_position_places() : num_draft_places();
}

void Call::lay_slots() {
  const std::int64_t count = problem_.num_sequences();
  num_slots = layout_.has_slots ? 2 * count + 1 : count;
  for (std::int64_t s = 0; s < count; ++s) {
    slot_of.push_back(static_cast<std::int32_t>(layout_.has_slots ? 2 * (count - 1 - s) + 1 : s));
  }
  if (layout_.has_slots) {
    slots = slot_of;
    args.slots = slots.data();
    args.num_slots = num_slots;
  }
  seeds.assign(at(num_slots), 0xDEAD);
  offsets.assign(at(num_slots), 0xBEEF);
  temperatures.assign(at(num_slots), kNan);
  top_ps.assign(at(num_slots), kNan);
  top_ks.assign(at(num_slots), -1);
  rules.assign(at(num_slots), 99);
  draft_temperatures.assign(at(num_slots), kNan);
  frequency_penalties.assign(at(num_slots), kNan);
  adaptive_targets.assign(at(num_slots), kNan);
  reset_token_ids.assign(at(num_slots), -1);
  for (std::int64_t s = 0; s < count; ++s) {
    const Sequence &sequence = problem_.sequences[at(s)];
    const std::size_t slot = at(slot_of[at(s)]);
    seeds[slot] = sequence.seed;
    offsets[slot] = sequence.offset;
    temperatures[slot] = sequence.temperature;
    top_ps[slot] = sequence.top_p;
    top_ks[slot] = sequence.top_k;
    rules[slot] = sequence.rule;
    draft_temperatures[slot] = sequence.draft_temperature;
    frequency_penalties[slot] = sequence.frequency_penalty;
    adaptive_targets[slot] = sequence.adaptive_target;
    reset_token_ids[slot] = sequence.top_p_reset_token_id;
  }
  args.random.seeds = seeds.data();
  args.random.num_seeds = num_slots;
  args.random.offsets = offsets.data();
  args.random.num_offsets = num_slots;
  row_params.struct_size = sizeof row_params;
  if (!layout_.has_one_temperature) row_params.temperature = temperatures.data();
  row_params.top_p = top_ps.data();
  if (problem_.has_top_k_by_slot) row_params.top_k = top_ks.data();
  args.row_params = &row_params;
  if (problem_.has_numbers_by_slot) {
    row_params.frequency_penalty = frequency_penalties.data();
    row_params.adaptive_target = adaptive_targets.data();
    row_params.top_p_reset_token_id = reset_token_ids.data();
  }
  if (problem_.has_draft_numbers_by_slot) {
    draft_row_params.struct_size = sizeof draft_row_params;
    draft_row_params.temperature = draft_temperatures.data();
    args.draft_row_params = &draft_row_params;
  }
  if (problem_.has_rules_by_slot) args.acceptances = rules.data();
}

void Call::lay_drafts() {
  const std::int64_t count = problem_.num_sequences(), most = problem_.num_drafts;
  const bool is_dense = layout_.packing == SAMPLER_PACKING_DENSE;
  const std::int64_t stride = is_dense && layout_.has_wide_strides ? most + 3 : most;
  if (is_dense && layout_.has_wide_strides) args.draft_layout.draft_token_stride = stride;
  if (is_dense) {
    drafts.assign(at(count * stride), 0);
    for (const Sequence &sequence : problem_.sequences) {
      draft_counts.push_back(static_cast<std::int32_t>(sequence.num_drafts()));
    }
    args.draft_counts = draft_counts.data();
  } else {
    args.draft_layout.packing = layout_.packing;
    args.draft_layout.num_sequences = count;
    const bool has_positions = layout_.packing == SAMPLER_PACKING_POSITIONS;
    args.draft_layout.num_packed_drafts = has_positions ? 0 : num_draft_places();
    args.draft_layout.num_packed_positions = num_position_places();
    drafts.assign(at(num_entry_places()), -1234567);
    for (std::int64_t s = 0; s <= count; ++s) {
      const std::int64_t place = has_positions ? position_place(s, 0) : draft_place(s, 0);
      if (s > 0 || layout_.packing != SAMPLER_PACKING_DRAFT_ENDS) {
        packing_offsets.push_back(static_cast<std::int32_t>(place));
      }
    }
    args.draft_layout.packing_offsets = packing_offsets.data();
  }
  for (std::int64_t s = 0; s < count; ++s) {
    const Sequence &sequence = problem_.sequences[at(s)];
    for (std::int64_t i = 0; i < sequence.num_drafts(); ++i) {
      const std::int64_t place = is_dense ? s * stride + i : entry_place(s, i);
      drafts[at(place)] = sequence.drafts[at(i)];
    }
  }
  drafts32.assign(drafts.begin(), drafts.end());
  args.token_id_type = layout_.has_i64_ids ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  args.draft_token_ids = layout_.has_i64_ids ? static_cast<const void *>(drafts.data())
                                             : static_cast<const void *>(drafts32.data());
  const bool has_tables =
      layout_.tree == Layout::Tree::kTables || layout_.tree == Layout::Tree::kTablesWithZeros;
  const bool has_tree = problem_.is_tree || layout_.tree != Layout::Tree::kAsItIs;
  if (!has_tree) return;
  const std::int64_t num_trees = layout_.has_one_tree ? 1 : count;
  if (layout_.has_one_tree) args.draft_layout.tree_rows = 1;
  const std::int32_t none = layout_.tree == Layout::Tree::kTablesWithZeros ? 0 : -1;
  parents.assign(at(num_trees * most + 1), 12345);  // where there is no draft
  first_children.assign(at(num_trees * (most + 1)), none);
  next_siblings.assign(at(num_trees * (most + 1)), none);
  for (std::int64_t s = 0; s < num_trees; ++s) {
    const Sequence &sequence = problem_.sequences[at(s)];
    std::copy(sequence.parents.begin(), sequence.parents.end(), &parents[at(s * most)]);
    for (std::int64_t node = -1; node < sequence.num_drafts(); ++node) {
      std::int32_t *next = &first_children[at(s * (most + 1) + node + 1)];
      for (const std::int32_t child : sequence.children(static_cast<std::int32_t>(node))) {
        *next = child + 1;
        next = &next_siblings[at(s * (most + 1) + child + 1)];
      }
    }
  }
  if (has_tables) {
    args.draft_layout.first_children = first_children.data();
    args.draft_layout.next_siblings = next_siblings.data();
  } else {
    args.draft_layout.parents = parents.data();
  }
}

void Call::put_row(const Row &row, std::int64_t number, std::int64_t element,
                   std::vector<float> *values, std::vector<std::int32_t> *ids,
                   std::vector<std::int32_t> *counts) {
  if (!layout_.has_candidates) {
    std::copy(row.begin(), row.end(), values->begin() + element);
    return;
  }
  std::vector<std::int32_t> order;
  const float impossible =
      (values == &target ? problem_.kind : problem_.draft_kind) == SAMPLER_LOGITS ? -kInfinity : 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!layout_.omits_impossible || row[i] != impossible) {
      order.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[at(order_.between(0, std::int64_t(i) - 1))]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    (*values)[at(element) + i] = row[at(order[i])];
    (*ids)[at(element) + i] = order[i];
  }
  (*counts)[at(number)] = static_cast<std::int32_t>(order.size());
}

void Call::set_lists(std::int64_t num_rows, std::vector<float> *values,
                     std::vector<std::int32_t> *ids, std::vector<std::int32_t> *counts,
                     sampler_rows *view) {
  if (!layout_.has_candidates) return;
  ids->assign(values->size(), -9);
  counts->assign(at(num_rows), -9);
  view->candidate_ids = ids->data();
  view->candidate_counts = counts->data();
}

void Call::set_values(const std::vector<float> &values, std::vector<std::uint16_t> *narrow,
                      sampler_rows *view) const {
  if (values.empty()) return;
  view->dtype = layout_.dtype;
  view->values = values.data();
  if (layout_.dtype == SAMPLER_F32) return;
  narrow->clear();
  for (const float x : values) {
    narrow->push_back(layout_.dtype == SAMPLER_F16 ? oracle::f32_to_f16(x)
                                                   : oracle::f32_to_bf16(x));
  }
  view->values = narrow->data();
}

void Call::lay_target() {
  const std::int64_t count = problem_.num_sequences(), cols = num_call_cols();
  const std::int64_t stride = layout_.has_wide_strides ? cols + 3 : cols;
  const bool has_indices = layout_.has_target_indices || layout_.has_bonus_indices;
  const std::int64_t places = num_position_places();
  // With indices rows lie the other way round, each behind one that nothing may read.
  const std::int64_t num_rows = has_indices ? 2 * places + 3 : places;
  const bool is_dense = layout_.packing == SAMPLER_PACKING_DENSE;
  const std::int64_t sequence_stride = is_dense && !has_indices && layout_.has_wide_strides
                                           ? (problem_.num_drafts + 1) * stride + 5
                                           : 0;
  args.draft_layout.target_sequence_stride = sequence_stride;
  target.assign(at(num_rows * stride + count * sequence_stride + 1), kNan);
  set_lists(sequence_stride == 0 ? num_rows : count * (problem_.num_drafts + 1), &target,
            &target_ids, &target_id_counts, &args.target);
  args.target.num_rows = num_rows;
  args.target.num_cols = cols;
  args.target.row_stride = layout_.has_wide_strides ? stride : 0;
  args.target.kind = problem_.kind;
  if (has_indices) {
    args.draft_layout.num_sequences = count;
    const std::int64_t entries = layout_.has_bonus_indices ? num_entry_places() : places;
    // Where there are no drafts it is there all the same.
    target_row_indices.assign(at(entries + 1), kFarFromAll);
    bonus_row_indices.assign(at(count), kFarFromAll);
    args.draft_layout.target_row_indices = target_row_indices.data();
    if (layout_.has_bonus_indices) args.draft_layout.bonus_row_indices = bonus_row_indices.data();
  }
  for (std::int64_t s = 0; s < count; ++s) {
    const Sequence &sequence = problem_.sequences[at(s)];
    for (std::int64_t i = 0; i <= sequence.num_drafts(); ++i) {
      const std::int64_t place = position_place(s, i);
      std::int64_t element = place * stride, number = place;
      if (has_indices) {
        const std::int64_t row = 2 * (places - place);
        number = row;
        element = row * stride;
        std::int32_t *entry = &bonus_row_indices[at(s)];
        if (!layout_.has_bonus_indices) {
          entry = &target_row_indices[at(place)];
        } else if (i < sequence.num_drafts()) {
          entry = &target_row_indices[at(entry_place(s, i))];
        }
        *entry = static_cast<std::int32_t>(row);
      } else if (sequence_stride != 0) {
        element = s * sequence_stride + i * stride;
      }
      put_row(sequence.target[at(i)], number, element, &target, &target_ids, &target_id_counts);
    }
  }
}

void Call::lay_draft_rows() {
  if (!problem_.has_draft_rows) return;
  const std::int64_t count = problem_.num_sequences(), cols = num_call_cols();
  const std::int64_t most = problem_.num_drafts;
  const std::int64_t stride = layout_.has_wide_strides ? cols + 1 : cols;
  args.draft.num_cols = cols;
  args.draft.kind = problem_.draft_kind;
  args.draft.row_stride = layout_.has_wide_strides ? stride : 0;
  const auto put = [&](std::int64_t number, std::int64_t element, const Row &row) {
    put_row(row, number, element, &draft, &draft_ids, &draft_id_counts);
  };
  if (layout_.has_draft_indices) {
    draft_row_indices.assign(at(num_entry_places() + 1), kFarFromAll);
    std::vector<Row> rows = {Row(at(problem_.num_cols), kNan)};
    for (std::int64_t s = 0; s < count; ++s) {
      const Sequence &sequence = problem_.sequences[at(s)];
      for (std::int64_t i = 0; i < sequence.num_drafts(); ++i) {
        const Row &row = sequence.draft[at(i)];
        const auto same = std::find(rows.begin(), rows.end(), row);
        draft_row_indices[at(entry_place(s, i))] = static_cast<std::int32_t>(same - rows.begin());
        if (same == rows.end()) rows.push_back(row);
      }
    }
    draft.assign(rows.size() * at(stride), kNan);
    set_lists(std::int64_t(rows.size()), &draft, &draft_ids, &draft_id_counts, &args.draft);
    for (std::int64_t i = 0; i < std::int64_t(rows.size()); ++i) put(i, i * stride, rows[at(i)]);
    args.draft.num_rows = static_cast<std::int64_t>(rows.size());
    args.draft_layout.draft_row_indices = draft_row_indices.data();
  } else {
    const std::int64_t num_rows =
        layout_.has_draft_rows_by_slot ? num_slots * most : num_draft_places();
    const bool is_dense = layout_.packing == SAMPLER_PACKING_DENSE;
    const std::int64_t sequence_stride =
        is_dense && !layout_.has_draft_rows_by_slot && layout_.has_wide_strides ? most * stride + 7
                                                                                : 0;
    args.draft_layout.draft_sequence_stride = sequence_stride;
    args.draft_layout.draft_rows_by_slot = layout_.has_draft_rows_by_slot ? 1 : 0;
    draft.assign(at(num_rows * stride + count * sequence_stride + 1), kNan);
    args.draft.num_rows = num_rows;
    set_lists(num_rows, &draft, &draft_ids, &draft_id_counts, &args.draft);
    for (std::int64_t s = 0; s < count; ++s) {
      const Sequence &sequence = problem_.sequences[at(s)];
      for (std::int64_t i = 0; i < sequence.num_drafts(); ++i) {
        std::int64_t number = draft_place(s, i);
        if (layout_.has_draft_rows_by_slot) number = slot_of[at(s)] * most + i;
        std::int64_t element = number * stride;
        if (sequence_stride != 0) element = s * sequence_stride + i * stride;
        put(number, element, sequence.draft[at(i)]);
      }
    }
  }
}

void Call::lay_pipeline() {
  pipeline.struct_size = sizeof pipeline;
  args.pipeline = &pipeline;
  // Slots that no sequence has hold a text of their own.
  std::vector<const Sequence *> by_slot(at(num_slots), nullptr);
  for (std::int64_t s = 0; s < problem_.num_sequences(); ++s) {
    by_slot[at(slot_of[at(s)])] = &problem_.sequences[at(s)];
  }
  history_offsets = {0};
  for (const Sequence *sequence : by_slot) {
    const std::vector<std::int32_t> text =
        sequence ? sequence->history : std::vector<std::int32_t>{0, 0, 0};
    history.insert(history.end(), text.begin(), text.end());
    history_offsets.push_back(static_cast<std::int64_t>(history.size()));
    prompt_lengths.push_back(sequence ? sequence->prompt_length : 0);
    for (int i = 0; i < SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
      adaptive_values.push_back(sequence ? sequence->adaptive_values[std::size_t(i)] : 1);
    }
  }
  if (layout_.has_state) {
    auto options = sized<sampler_state_options>();
    options.num_slots = num_slots;
    options.max_tokens = 1;
    options.max_distinct_tokens = layout_.max_distinct_tokens;
    for (const Sequence *sequence : by_slot) {
      const std::int64_t length = sequence ? std::int64_t(sequence->history.size()) : 3;
      options.max_tokens = std::max(options.max_tokens, length);
    }
    options.max_distinct_tokens = std::min(options.max_distinct_tokens, options.max_tokens);
    EXPECT_EQ(sampler_state_create(sampler_, &options, &state_), SAMPLER_OK)
        << sampler_last_error();
    auto reset = sized<sampler_state_reset_args>();
    std::vector<std::int32_t> all(at(num_slots));
    std::iota(all.begin(), all.end(), 0);
    reset.state = state_;
    reset.slots = all.data();
    reset.num_rows = num_slots;
    reset.adaptive_values = adaptive_values.data();
    EXPECT_EQ(sampler_state_reset(sampler_, &reset), SAMPLER_OK) << sampler_last_error();
    for (const bool is_prompt : {true, false}) {
      std::vector<std::int64_t> offsets_of = {0};
      std::vector<std::int32_t> ids;
      for (std::int64_t slot = 0; slot < num_slots; ++slot) {
        const std::int64_t begin = history_offsets[at(slot)];
        const std::int64_t middle = begin + prompt_lengths[at(slot)];
        const std::int64_t end = history_offsets[at(slot + 1)];
        ids.insert(ids.end(), history.begin() + (is_prompt ? begin : middle),
                   history.begin() + (is_prompt ? middle : end));
        offsets_of.push_back(static_cast<std::int64_t>(ids.size()));
      }
      auto append = sized<sampler_state_append_args>();
      append.state = state_;
      append.num_rows = num_slots;
      append.tokens.offsets = offsets_of.data();
      append.tokens.token_ids = ids.data();
      append.tokens.num_lists = num_slots;
      append.tokens.num_token_ids = static_cast<std::int64_t>(ids.size());
      append.token_kind = is_prompt ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
      EXPECT_EQ(sampler_state_append(sampler_, &append), SAMPLER_OK) << sampler_last_error();
    }
    pipeline.state = state_;
  } else {
    pipeline.history.offsets = history_offsets.data();
    pipeline.history.token_ids = history.data();
    pipeline.history.num_lists = num_slots;
    pipeline.history.num_token_ids = static_cast<std::int64_t>(history.size());
    pipeline.prompt_lengths = prompt_lengths.data();
    pipeline.adaptive_values = adaptive_values.data();
    for (std::size_t slot = 0; layout_.has_tight_history && slot < by_slot.size(); ++slot) {
      pipeline.max_history_tokens =
          std::max(pipeline.max_history_tokens, history_offsets[slot + 1] - history_offsets[slot]);
    }
    if (layout_.has_short_history && pipeline.max_history_tokens > 1) --pipeline.max_history_tokens;
  }
  pipeline.biased = one_list_for_all(problem_.biased, &one_list[kBiased]);
  if (!problem_.biased.empty()) pipeline.biases = problem_.biases.data();
  pipeline.banned = one_list_for_all(problem_.banned, &one_list[kBanned]);
  pipeline.stop = one_list_for_all(problem_.stop, &one_list[kStop]);
  pipeline.bad_words = lists_of(problem_.bad_words, &bad_word_offsets, &bad_words);
  pipeline.dry_breakers = lists_of(problem_.breakers, &breaker_offsets, &breakers);
  if (!problem_.masks.empty()) {
    for (const auto &mask : problem_.masks) masks.insert(masks.end(), mask.begin(), mask.end());
    pipeline.token_bitmasks = masks.data();
    pipeline.num_token_bitmasks = static_cast<std::int64_t>(problem_.masks.size());
    pipeline.token_bitmask_stride = (problem_.num_cols + 31) / 32;
    mask_indices.assign(at(problem_.num_sequences() * (problem_.num_drafts + 1)), 1 << 20);
    for (std::int64_t s = 0; s < problem_.num_sequences(); ++s) {
      const auto &own = problem_.sequences[at(s)].masks;
      std::copy(own.begin(), own.end(), &mask_indices[at(s * (problem_.num_drafts + 1))]);
    }
    pipeline.token_bitmask_indices = mask_indices.data();
  }
}

void Call::lay_outputs() {
  const std::size_t count = at(problem_.num_sequences());
  const std::size_t places = count * at(problem_.num_drafts + 1);
  tokens.assign(places, -77);
  tokens32.assign(places, -77);
  accepted.assign(count, -77);
  emitted.assign(count, -77);
  status.assign(count, 0x7777);
  args.out_token_ids = layout_.has_i64_ids ? static_cast<void *>(tokens.data()) : tokens32.data();
  if (layout_.has_accepted_counts) args.out_accepted_counts = accepted.data();
  args.accumulate_counts = layout_.adds_counts;
  args.out_emitted_counts = emitted.data();
  args.out_row_status = status.data();
  if (layout_.has_positions) {
    positions.assign(places, -77);
    kv.assign(places, -77);
    for (std::size_t i = 0; i < places; ++i) {
      kv_indices.push_back((std::int64_t{1} << 40) + static_cast<std::int64_t>(7 * i));
    }
    args.out_positions = positions.data();
    args.kv_indices = kv_indices.data();
    args.out_kv_indices = kv.data();
  }
  if (problem_.has_forced_tokens) {
    forced.assign(places, 1 << 20);  // of positions that no sequence has
    for (std::int64_t s = 0; s < problem_.num_sequences(); ++s) {
      const auto &own = problem_.sequences[at(s)].forced;
      std::copy(own.begin(), own.end(), &forced[at(s * (problem_.num_drafts + 1))]);
    }
    forced32.assign(forced.begin(), forced.end());
    args.forced_token_ids = layout_.has_i64_ids ? static_cast<const void *>(forced.data())
                                                : static_cast<const void *>(forced32.data());
  }
  if (!layout_.has_new_outputs || !problem_.has_reports) return;
  kept_counts.assign(places, -77);
  ranks.assign(places, -77);
  logprobs.assign(places, 7);
  entropies.assign(places, 7);
  observations.assign(places, 7);
  args.report_args.logprob_kind = problem_.logprob_kind;
  if (problem_.has_kept_counts) args.report_args.out_kept_counts = kept_counts.data();
  if (problem_.has_ranks) args.report_args.out_ranks = ranks.data();
  if (problem_.has_logprobs) args.report_args.out_logprobs = logprobs.data();
  if (problem_.has_entropies) args.report_args.out_entropies = entropies.data();
  if (problem_.has_observations) args.report_args.out_observations = observations.data();
  kept_bitmask.assign(places * at((problem_.num_cols + 31) / 32), 0x77777777);
  if (problem_.has_kept_bitmask) {
    args.report_args.out_kept_bitmask = kept_bitmask.data();
    args.report_args.kept_bitmask_stride = (problem_.num_cols + 31) / 32;
  }
  const auto ids = [&](std::int64_t each, std::vector<std::int64_t> *wide,
                       std::vector<std::int32_t> *narrow) -> void * {
    wide->assign(places * at(each), -77);
    narrow->assign(places * at(each), -77);
    if (layout_.has_i64_ids) return wide->data();
    return narrow->data();
  };
  if (problem_.num_top > 0) {
    top_logprobs.assign(places * at(problem_.num_top), 7);
    args.report_args.num_top_logprobs = problem_.num_top;
    args.report_args.out_top_token_ids = ids(problem_.num_top, &top_ids, &top_ids32);
    args.report_args.out_top_logprobs = top_logprobs.data();
  }
  if (problem_.kept_capacity > 0) {
    kept_probabilities.assign(places * at(problem_.kept_capacity), 7);
    args.report_args.kept_capacity = problem_.kept_capacity;
    args.report_args.out_kept_token_ids = ids(problem_.kept_capacity, &kept_ids, &kept_ids32);
    args.report_args.out_kept_probabilities = kept_probabilities.data();
  }
}

sampler_status Call::run() {
  set_values(target, &target16_, &args.target);
  set_values(draft, &draft16_, &args.draft);
  std::size_t bytes = 0;
  const sampler_status sized = sampler_verify_workspace_size(sampler_, &args, &bytes);
  workspace_.assign(bytes, 0xA5);
  args.exec.workspace = workspace_.data();
  args.exec.workspace_bytes = bytes;
  const sampler_status result = sampler_verify(sampler_, &args);
  if (result == SAMPLER_OK) {
    EXPECT_EQ(sized, SAMPLER_OK);
  }
  if (result == SAMPLER_OK && bytes > 0) {
    // One byte fewer is too little, and nothing is written.
    VerifyArgs small = args;
    --small.exec.workspace_bytes;
    const auto before = outcomes();
    EXPECT_EQ(sampler_verify(sampler_, &small), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
    EXPECT_TRUE(before == outcomes());
  }
  return result;
}

std::vector<Outcome> Call::outcomes() const {
  std::vector<Outcome> result;
  const std::int64_t each = problem_.num_drafts + 1;
  const auto ids_of = [&](const std::vector<std::int64_t> &wide,
                          const std::vector<std::int32_t> &narrow, std::int64_t first,
                          std::int64_t count) {
    return layout_.has_i64_ids ? part(wide, first, count) : part(narrow, first, count);
  };
  for (std::int64_t s = 0; s < problem_.num_sequences(); ++s) {
    Outcome one;
    one["tokens"] = ids_of(tokens, tokens32, s * each, each);
    one["accepted"] = part(accepted, s, 1);
    one["emitted"] = part(emitted, s, 1);
    one["status"] = part(status, s, 1);
    if (layout_.has_positions) {
      one["positions"] = part(positions, s * each, each);
      one["kv"] = part(kv, s * each, each);
      for (std::int64_t &index : one["kv"]) {
        if (index >= 0) index -= (std::int64_t{1} << 40) + 7 * s * each;
      }
    }
    if (!kept_counts.empty()) {
      one["kept_counts"] = part(kept_counts, s * each, each);
      one["ranks"] = part(ranks, s * each, each);
      one["logprobs"] = bits_of(logprobs, s * each, each);
      one["entropies"] = bits_of(entropies, s * each, each);
      one["observations"] = bits_of(observations, s * each, each);
      const std::int64_t words = (problem_.num_cols + 31) / 32;
      one["kept_bitmask"] = part(kept_bitmask, s * each * words, each * words);
      if (problem_.num_top > 0) {
        const std::int64_t first = s * each * problem_.num_top, count = each * problem_.num_top;
        one["top_ids"] = ids_of(top_ids, top_ids32, first, count);
        one["top_logprobs"] = bits_of(top_logprobs, first, count);
      }
      if (problem_.kept_capacity > 0) {
        const std::int64_t count = each * problem_.kept_capacity, first = s * count;
        one["kept_ids"] = ids_of(kept_ids, kept_ids32, first, count);
        one["kept_probabilities"] = bits_of(kept_probabilities, first, count);
      }
    }
    result.push_back(std::move(one));
  }
  return result;
}

std::string Call::state_bytes() const {
  if (!state_) return "";
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_state_serialize(sampler_, state_, 0, num_slots, nullptr, 0, &bytes),
            SAMPLER_OK);
  std::string result(bytes, '\0');
  EXPECT_EQ(sampler_state_serialize(sampler_, state_, 0, num_slots, result.data(), bytes, &bytes),
            SAMPLER_OK);
  return result;
}

}  // namespace verification_test
