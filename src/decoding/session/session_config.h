// The options of a session, with their defaults filled in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/elements.h"
#include "sampler/session.h"

namespace sampler::decoding {

// What a step is asked to report; all 0: nothing.
inline const sampler_report_args &reports_of(const sampler_session_advance_args &args) {
  static constexpr sampler_report_args nothing = {};
  return args.reports ? *args.reports : nothing;
}

// The guidance row of a target row; negative: none.
inline int32_t guidance_row_of(const sampler_session_advance_args &args, int64_t row) {
  return args.guidance_row_indices ? args.guidance_row_indices[row] : int32_t(row);
}

struct SessionConfig {
  sampler_session_options options;
  sampler_params params;
  sampler_acceptance_params acceptance;  // its rule is one
  sampler_pipeline pipeline;             // all 0: none
  bool has_pipeline;
  sampler_dtype drafter_dtype;

  int64_t num_sequences() const { return options.max_sequences; }
  int64_t max_drafts() const { return options.max_drafts; }
  int64_t num_cols() const { return options.vocabulary_size; }
  // Places for a text and its drafts.
  int64_t text_stride() const { return options.max_context + max_drafts(); }
  // Places for a tree's drafts.
  int64_t num_tree_places() const { return options.has_draft_trees ? max_drafts() : 0; }
  // The longest text that fits the drafter's cache.
  int64_t drafter_context() const {
    return options.drafter_context ? options.drafter_context : options.max_context;
  }
  size_t drafter_row_bytes() const { return size_t(num_cols()) * contract::size_of(drafter_dtype); }
};

}  // namespace sampler::decoding
