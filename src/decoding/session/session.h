// The decoding session: what it knows of its sequences, and what a step makes of them. The entry
// points in session_calls.cpp have checked all arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "capi/allocator.h"
#include "capi/busy.h"
#include "capi/handle_impl.h"
#include "contract/adaptive_values.h"
#include "decoding/loops/generation.h"
#include "decoding/ngram/prompt_lookup.h"
#include "decoding/session/arena.h"
#include "decoding/session/measured_gamma.h"
#include "decoding/session/session_numbers.h"
#include "decoding/session/transfer.h"
#include "sampler/session.h"

namespace sampler::decoding {

// A span as it was planned. No tokens: there is none.
struct PlannedSpan {
  int64_t start = 0, num_tokens = 0, num_logits = 0;
  int32_t plan = 0;  // its number
};

// Which call draws or verifies the tokens of a sequence.
enum class DraftGroup {
  kNone,     // without drafts, where that is sampler_sample: by SAMPLE_MATCH
  kCertain,  // chains of which nothing else is known
  kDrawn,    // chains that were drawn from rows of the drafter, for which the verification asks
  kTrees,
};
constexpr DraftGroup kDraftGroups[] = {DraftGroup::kNone, DraftGroup::kCertain, DraftGroup::kDrawn,
                                       DraftGroup::kTrees};

struct SessionSequence {
  bool is_used, is_drafting, drafts_unknown;
  bool is_drafted;   // the drafts of the step are complete
  DraftGroup group;  // of its drafts
  sampler_draft_source source;
  sampler_finish_reason reason;
  sampler_row_status row_status;
  int64_t stop_sequence;
  int64_t length, prompt_length;
  int64_t max_length;  // by max_new_tokens; INT64_MAX: no such limit
  int64_t cache_length, drafter_cache_length;
  int64_t most_drafts, num_drafts;
  // Of the step that its drafts are for: at most so many. The step of a measured sequence begins
  // when it is planned first.
  int64_t step_drafts;
  bool is_in_step;
  sampler_gamma_rule gamma_rule;
  int64_t gamma_min;
  float ema_beta;
  double entropy, step_entropy;  // smoothed over the steps before, and with that of this one
  float row_entropy;             // of the first row of this step; NaN: it was not measured
  int64_t first_row;             // of the target's, in the last advance
  // Of a tree: drafts of a position; drafts of its first path, which lie before the others; and
  // others that are not among the drafts yet.
  int64_t top_k, num_first, num_siblings;
  int64_t min_match;
  int64_t least_count;
  float least_share;
  float least_probability;
  int64_t num_ends, num_stops;
  int64_t num_steps, num_drafted, num_accepted;
  contract::AdaptiveValues adaptive;  // the state's, once it has been told the text
  PlannedSpan target, drafter;
  sampler_ngram ngram;

  int64_t num_new() const { return length - prompt_length; }
  bool runs() const { return is_used && reason == SAMPLER_FINISH_NONE; }
  // Drafts of a position.
  int64_t width() const { return group == DraftGroup::kTrees ? top_k : 1; }
  // What goes on of a sequence that was removed, and what is told of this one but for its tokens.
  void resume(const sampler_session_sequence &before);
  void tell(sampler_session_sequence *out) const;
  // For a measured round, of as many positions at most.
  void add_to(RoundTexts *texts, bool drafts) const;
  void limit_drafts(int64_t num_positions) {
    step_drafts = std::min(most_drafts, num_positions * width());
  }
};

// What the session of a loop has that no engine's has. Text i of the loop is sequence i.
struct LoopRules {
  Generation *generation;         // its texts are where the session's are, and end as it tells
  sampler_row_params row_params;  // numbers by text: the caller's, read in each step
  bool has_state;                 // stages may look at what the texts have said
  bool drafts_first;              // the first new token may be a draft
  bool skips_adjustment;          // tokens after rejected drafts come from the target's p
  bool proposes;                  // n-grams draft by `propose`
};

// The rule of sampler_verify that a sequence's drafts are verified by.
sampler_acceptance acceptance_of(sampler_draft_verification verification);

sampler_draft_verification verification_of(sampler_acceptance acceptance);

// Whether its verification asks for the rows that the drafts were drawn from.
bool asks_for_rows(const sampler_session_add_args &args);

class Session {
 public:
  // With defaults filled in. `pipeline` is all 0 where there is none.
  struct Config {
    sampler_session_options options;
    sampler_params params;
    sampler_pipeline pipeline;
    bool has_pipeline;
    sampler_dtype drafter_dtype;
    const LoopRules *loop;  // null: an engine's session
  };

  // Takes its memory from the arenas. `device`: what calls work on; of a CPU handle the same one.
  Session(const Config &config, sampler_handle *handle, Arena *host, Arena *device);

  const sampler_session_options &options() const { return config_.options; }
  const sampler_params &params() const { return config_.params; }
  const Config &config() const { return config_; }

  const sampler_handle &handle() const { return *handle_; }

  // What the largest call of a step needs as workspace. On failure the status, with its text.
  sampler_status ask_workspace(capi::Entry &entry, size_t *out_bytes) const;

  // Makes the state. Of a session with memory.
  sampler_status start(capi::Entry &entry, void *workspace, size_t workspace_bytes);
  void stop(capi::Entry &entry) {
    entry.call_host([&] { sampler_state_destroy(state_); });
  }

  const SessionSequence *find(int32_t sequence) const {
    return sequence >= 0 && sequence < num_sequences() && sequences_[sequence].is_used
               ? &sequences_[sequence]
               : nullptr;
  }
  const int32_t *text(int32_t sequence) const {
    return config_.loop ? config_.loop->generation->texts()[size_t(sequence)].tokens
                        : tokens_ + sequence * text_stride();
  }
  // The longest text that the drafter's cache can hold.
  int64_t drafter_context() const {
    const sampler_session_options &options = config_.options;
    return options.drafter_context ? options.drafter_context : options.max_context;
  }
  // Of SAMPLER_VERIFY_SYNTHETIC.
  bool has_rates() const { return config_.options.synthetic_rates || max_drafts() == 0; }
  bool is_full() const { return num_free_ == 0; }

  // Whether these parameters can be a sequence's: the library's own checks.
  sampler_status check_params(capi::Entry &entry, const sampler_params &params);

  // The text and lists have been checked, as has all else; there is a free number.
  sampler_status add(capi::Entry &entry, const sampler_session_add_args &args,
                     const sampler_params &params, int32_t *out_sequence);
  sampler_status fork(capi::Entry &entry, int32_t source, const uint64_t *seed,
                      const sampler_params *params, int32_t *out_sequence);
  void remove(int32_t sequence);
  sampler_params params_of(int32_t sequence) const;

  void plan(capi::Entry &entry, const sampler_session_plan_args &args);

  // Whether the span is that which the sequence was planned last.
  bool is_planned(const sampler_span &span, bool of_drafter) const;
  // Marks a sequence as seen in this call: false where it was before.
  bool mark(int32_t sequence) {
    const bool is_new = marks_[sequence] != mark_;
    marks_[sequence] = mark_;
    return is_new;
  }
  void begin_marks() { ++mark_; }

  sampler_status advance(capi::Entry &entry, const sampler_session_advance_args &args);

  // Of loops, which do one thing after the other. Whether what is asked for is well, by the
  // library's own checks.
  sampler_status check(capi::Entry &entry);
  // What a round of all its texts will be of, and their positions at most.
  RoundTexts round_texts() const;
  void limit_drafts(int64_t num_positions);
  // What the last advance verified.
  const MeasuredRound &verified_round() const { return verified_round_; }
  // Tells the state what the last step's tokens were.
  sampler_status settle(capi::Entry &entry);
  // Teaches the draft source the text from `begin` on. Drafts end where it has no room for it.
  void learn(capi::Entry &entry, int32_t sequence, int64_t begin);
  void cancel(int32_t sequence) { sequences_[sequence].reason = SAMPLER_FINISH_CANCELLED; }

 private:
  // An id that no row has: it fills lists of end tokens.
  static constexpr int32_t kNoToken = INT32_MAX;

  // What measured sequences are doing. They draft and are verified together.
  struct Round {
    int64_t num_texts;
    bool is_clean;    // nothing else takes time
    bool is_drafted;  // the last plan has all their spans of the target
  };

  // A sequence that gets tokens, and its span's place among the spans.
  struct Verified {
    int64_t span;
    int32_t sequence;
  };

  // Chains that one call draws or verifies, which stand together, and all their drafts. The offsets
  // of chains, one more, stand with those of other groups. What goes along with positions stands in
  // places, so many a chain.
  struct Group {
    int64_t first, first_offset, first_place, num_positions, count, num_drafts;
    int64_t num_places() const { return count * num_positions; }
  };

  // Arrays by slot, where the calls of a step find them.
  struct Placed {
    const uint64_t *seeds, *offsets;
    const sampler_acceptance *acceptances;
    sampler_row_params numbers, plain_numbers;
    sampler_token_lists ends;  // with a minimum of new tokens
  };

  int64_t num_sequences() const { return config_.options.max_sequences; }
  int64_t max_drafts() const { return config_.options.max_drafts; }
  int64_t num_cols() const { return config_.options.vocabulary_size; }
  int64_t text_stride() const { return config_.options.max_context + max_drafts(); }
  size_t drafter_row_bytes() const;
  size_t lookup_bytes() const;
  int64_t num_tree_places() const { return config_.options.has_draft_trees ? max_drafts() : 0; }
  int32_t *tokens_of(int32_t sequence) { return const_cast<int32_t *>(text(sequence)); }
  int64_t longest_text() const;
  int32_t *ends_of(int32_t sequence) { return ends_ + sequence * config_.options.max_end_tokens; }
  unsigned char *drafter_row(int32_t sequence, int64_t draft) const;

  bool is_end(int32_t sequence, int32_t token);
  int64_t find_stop(int32_t sequence) const;
  void finish_if_full(int32_t sequence);
  void finish_if_ended(int32_t sequence);
  void append(int32_t sequence, int32_t token);

  // Drafts and spans.
  // Of a text of this length.
  int64_t wanted_drafts(const SessionSequence &sequence, int64_t length) const;
  int64_t wanted_drafts(const SessionSequence &sequence) const {
    return wanted_drafts(sequence, sequence.length);
  }
  int64_t depth_of(int32_t sequence) const;
  bool is_draft(int32_t token) const { return token >= 0 && token < num_cols(); }
  void join_siblings(int32_t sequence);
  void tell_parents(const sampler_session_plan_args &args, int32_t sequence, int64_t span) const;
  void draft_by_lookup(int32_t sequence);
  void draft_by_ngram(capi::Entry &entry, int32_t sequence);
  bool needs_drafter(const SessionSequence &sequence) const;
  bool begin_round(capi::Entry &entry, const sampler_session_plan_args &args);
  void mark_drafted(capi::Entry &entry, const sampler_session_plan_args &args);
  bool finish_round(const sampler_session_advance_args &args);
  void plan_sequence(capi::Entry &entry, int32_t sequence, const sampler_session_plan_args &args,
                     bool is_waiting, int64_t *room, int64_t *drafter_room);
  sampler_span planned_span(int32_t sequence, const PlannedSpan &planned) const;
  bool make_span(int64_t begin, int64_t end, int64_t last_part, int64_t num_logits, int64_t *room,
                 PlannedSpan *out) const;
  template <class Call>
  bool call_ngram(capi::Entry &entry, const char *name, const Call &call) const;

  // Calls of the library.
  sampler_rows rows_of(const void *logits, int64_t num_rows, int64_t stride) const;
  sampler_rows drafter_rows_of(const void *logits, int64_t num_rows, int64_t stride) const;
  void place_arrays(bool has_minimum);
  sampler_row_params place_row_params();
  sampler_sample_args sample_args(const sampler_params &params,
                                  const sampler_row_params &row_params) const;
  sampler_filter_args entropy_args(const void *row, const sampler_params &params,
                                   void *probabilities) const;
  sampler_pipeline make_pipeline() const;
  sampler_verify_args verify_args(const sampler_params &params,
                                  const sampler_row_params &row_params,
                                  const sampler_pipeline &pipeline, int64_t num_chains) const;
  void add_drafter_rows(const sampler_params &params, const sampler_row_params &row_params,
                        sampler_verify_args *args) const;
  void place_chains(const Group &group, sampler_verify_args *args);
  void place_trees(const Group &group, sampler_verify_args *args);
  template <class Call>
  void place_results(const sampler_session_advance_args &args, const Group &group, Call *call);
  sampler_status append_text(capi::Entry &entry, int32_t sequence,
                             const sampler_session_add_args &args);
  sampler_status copy_state(capi::Entry &entry, int32_t source, int32_t destination);
  sampler_status tell(capi::Entry &entry, const Group &group);

  // An advance: what is drafted and verified, the calls of it, and what comes of them.
  void find_drawn(const sampler_session_advance_args &args);
  void find_verified(const sampler_session_advance_args &args);
  int64_t add_chain(const sampler_session_advance_args &args, int64_t span, int64_t first_row,
                    const Group &group);
  sampler_status keep_rows(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status draw_drafts(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status select_drafts(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status select(capi::Entry &entry, const sampler_rows &rows, int64_t count,
                        int32_t *out_ids);
  DraftGroup group_of(int32_t sequence) const;
  sampler_pipeline place_masks(const Group &group);
  sampler_sample_args draw_args(const Group &group, const sampler_pipeline &pipeline);
  bool has_adaptive() const;
  contract::AdaptiveRules adaptive_rules_of(int32_t sequence) const;
  float entropy_temperature(int32_t sequence) const;
  sampler_status select_likeliest(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status redraw(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status draw(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status verify(capi::Entry &entry, const sampler_session_advance_args &args,
                        DraftGroup group);
  sampler_status run_calls(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status adapt(capi::Entry &entry, const sampler_session_advance_args &args);
  const unsigned char *given_row(const sampler_session_advance_args &args, int64_t row) const;
  void take_drafts(const sampler_session_advance_args &args);
  void take_drawn(int32_t sequence, int64_t draw);
  void take_selected(int32_t sequence, int64_t row);
  void find_kept_path(const Group &group, int64_t tree);
  void take_tokens(const sampler_session_advance_args &args, const Group &group, int64_t chain);
  void clear_outputs(const sampler_session_advance_args &args) const;
  bool take_verified(capi::Entry &entry, const sampler_session_advance_args &args);
  void finish_span(capi::Entry &entry, const sampler_session_advance_args &args, int64_t span);

  Config config_;
  sampler_handle *handle_;
  sampler_state_t state_ = nullptr;
  sampler_exec exec_ = {};
  SessionNumbers numbers_;

  SessionSequence *sequences_;
  int32_t *tokens_;             // [sequences, max_context + max_drafts]
  int32_t *ends_;               // [sequences, max_end_tokens]
  int64_t *end_offsets_;        // [sequences + 1]
  int32_t *stop_tokens_;        // [sequences, max_stop_tokens]
  int64_t *stop_offsets_;       // [sequences, max_stop_sequences + 1]
  uint64_t *seeds_, *offsets_;  // [sequences]
  int32_t *free_;               // the numbers that are free, the next one last
  int64_t num_free_;
  uint64_t *marks_;
  uint64_t mark_ = 0;
  int64_t next_ = 0;  // the first sequence of the next plan
  uint32_t num_plans_ = 0;
  PromptLookup *lookups_;
  char *lookup_memory_;
  unsigned char *drafter_rows_;  // [sequences, max_drafts, columns], where calls are made

  // With has_adaptive_gamma.
  MeasuredGamma *measured_;
  float *probabilities_;  // [columns]
  Round round_ = {};
  MeasuredRound verified_round_;

  sampler_acceptance *acceptances_;  // [sequences]
  float *synthetic_rates_;           // [max_drafts]; null: there are none
  int64_t *lengths_before_;          // by span

  Transfer transfer_;
  Placed placed_ = {};

  // Of the drafter's rows: how many, and by draw or, of trees, by row.
  int64_t num_drafter_rows_ = 0, num_draws_ = 0, num_selected_ = 0;
  bool has_doubt_ = false;
  int32_t *row_indices_, *draw_slots_, *drawn_ids_;
  sampler_row_status *draw_status_;
  float *drawn_logprobs_;
  int32_t *selected_ids_;  // [rows, selected of each]

  // Of trees, [sequences, max_drafts].
  int32_t *siblings_, *sibling_parents_;  // drafts that are not among the others yet
  int32_t *parents_;                      // of the drafts

  // By chain, group after group: what is drawn and verified, [chains, max_drafts + 1] at most; the
  // drafts of chains are packed.
  Verified *verified_;
  Group groups_[4] = {};
  int64_t num_rows_ = 0;  // of the target
  int32_t *slots_;
  int32_t *draft_counts_, *tree_parents_, *positions_;  // of trees
  int32_t *packing_offsets_, *draft_ids_, *target_rows_, *masks_;
  int32_t *num_kept_, *token_ids_;
  sampler_row_status *row_status_;
  float *observations_, *logprobs_;
  int32_t *top_token_ids_;
  float *top_logprobs_;

  // What n-grams learn: the likeliest tokens of the target's rows, [rows, filler_top_k], and what
  // comes of them at one position.
  int32_t *likeliest_, *lesson_;

  // Chains of which the state has not been told what they have become: those without drafts, and
  // all others.
  Group untold_[2] = {};
  bool has_observations_ = false;
};

}  // namespace sampler::decoding
