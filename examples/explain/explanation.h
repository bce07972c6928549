#ifndef EXPLAIN_EXPLANATION_H
#define EXPLAIN_EXPLANATION_H

#include <sampler/sampler.h>

#include <cstdint>
#include <string>
#include <vector>

namespace explain {

// What is drawn from, and how.
struct Question {
  std::vector<float> logits;
  sampler_params params = sampler_params_default();
  const sampler_pipeline *pipeline = nullptr;  // one slot, with a history in place of a state
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::int32_t top_p_reset_token_id = -1;  // negative: none
  std::int32_t forced_token_id = -1;       // negative: none
};

// out_removed_by of tokens that no stage removed.
constexpr int kKept = 0;
constexpr int kWithoutProbability = 255;

struct Token {
  std::int32_t id;
  float logit;        // as given
  float edited;       // as the edits left it
  double given;       // its probability in the row as given,
  double left;        // as the edits left it, at temperature 1,
  double before;      // in what ADAPTIVE saw; `drawn_from` where that does not change weights,
  double drawn_from;  // and in what the token was drawn from
  int removed_by;     // a SAMPLER_STAGE_, kKept or kWithoutProbability
};

// One stage of the order.
struct Stage {
  sampler_stage stage;
  std::string numbers;  // "top_k 40"; of lists their names and what each would change by itself
  // Logits that an edit gave another value; tokens that adaptive-p or smoothing gave another
  // probability; else 0.
  std::int64_t num_changed;
  std::int64_t num_removed;
  std::int64_t num_left;
  double removed;  // the probability of what it removed: `given` of an edit, else `left`
};

// What moves from token to token: the stage's start where it was NaN.
struct Values {
  float mu, weighted_sum, total_weight, top_p;
};

struct Explanation {
  sampler_row_status status;  // where it is not OK, no token is drawn and no probability known
  std::string reason;         // then: see reason.h
  std::vector<Token> tokens;  // in rank order of the edited row; NaNs last
  std::vector<Stage> stages;  // those that are on, in their order; in a greedy row no windows
  std::int32_t drawn_id;
  std::int32_t drawn_rank;  // among the tokens that were kept; 0 of a forced one that was not
  bool is_forced;
  std::int32_t num_kept;
  double entropy_given;  // in nats
  double entropy_drawn_from;
  // Numbers of what is on; what is off is NaN. `after` is for the token's successor.
  float observation;
  Values values, values_after;
  bool is_reweighed;  // by adaptive-p or smoothing
};

// Throws std::runtime_error with the library's error.
Explanation explain(const Question &question);

}  // namespace explain

#endif  // EXPLAIN_EXPLANATION_H
