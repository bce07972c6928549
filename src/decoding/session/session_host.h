// What drives a session: an engine, which calls sampler_session_plan and sampler_session_advance,
// or a loop, which runs the models itself. Holds all differences between the two.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/entry.h"
#include "contract/adaptive_values.h"
#include "decoding/session/transfer.h"
#include "sampler/session.h"

namespace sampler::decoding {

// A call of one of a caller's n-gram functions: a reference to a function object.
class NgramCall {
 public:
  template <class Function>
  NgramCall(const Function &function)
      : function_(&function),
        call_([](const void *object) { return (*static_cast<const Function *>(object))(); }) {}
  sampler_status operator()() const { return call_(function_); }

 private:
  const void *function_;
  sampler_status (*call_)(const void *);
};

class SessionHost {
 public:
  struct Rules {
    bool has_state;           // stages may read the texts' history
    bool drafts_first;        // the first new token may be a draft
    bool skips_adjustment;    // tokens after rejected drafts are drawn from the target's p
    bool proposes_by_limits;  // n-grams use `propose` only where a sequence has limits
    bool learns_late;         // the host chooses when draft sources learn a step's tokens
    bool measures_rounds;     // the host measures rounds, which include all sequences
    bool takes_guidance;      // steps may bring rows for guidance
  };

  // All arrays that calls may ever get, at any address: the workspace depends on them.
  struct Extent {
    sampler_row_params numbers, plain_numbers;
    bool has_ends;          // lists of end tokens by sequence
    bool has_observations;  // what adaptive stages learn from
    bool has_logprobs;
    bool has_chains;  // verifications of chains
  };

  SessionHost(const SessionHost &) = delete;
  SessionHost &operator=(const SessionHost &) = delete;

  const Rules &rules() const { return rules_; }
  virtual Extent extent(const void *somewhere) const = 0;

  // ---- Texts

  // A text, with room for drafts after it.
  virtual int32_t *text(int32_t sequence) const = 0;
  // The most tokens that a text may have.
  virtual int64_t longest_text() const = 0;
  virtual bool is_end(int32_t sequence, int32_t token) const = 0;

  // Teaches n-grams a new text, unless they know it. On failure the status, with its text.
  virtual sampler_status teach(abi::Entry &entry, const sampler_session_add_args &args) const = 0;
  // Gives a new sequence its text, end tokens and numbers.
  virtual void set(int32_t sequence, const sampler_session_add_args &args,
                   const sampler_params &params) = 0;
  // Copies those of another sequence, with the first `length` tokens of its text. `params` null:
  // its numbers.
  virtual void copy(int32_t source, int32_t destination, int64_t length,
                    const sampler_params *params) = 0;
  virtual void clear(int32_t sequence) = 0;

  // Calls a function of a caller's n-grams. False: it failed, and the sequence gets no more drafts.
  // A host may throw instead.
  virtual bool call_ngram(abi::Entry &entry, const char *name, const NgramCall &call) const = 0;

  // ---- Numbers by sequence

  // Place the numbers for calls: all, and those of a drafter's draws. `numbers` are all.
  virtual sampler_row_params place_numbers(Transfer *transfer) const = 0;
  virtual sampler_row_params place_plain_numbers(const sampler_row_params &numbers,
                                                 Transfer *transfer) const = 0;
  // Whether stages need the end tokens, and these for calls then.
  virtual bool needs_ends() const = 0;
  virtual sampler_token_lists place_ends(Transfer *transfer) const = 0;
  // Whether tokens move adaptive stages, and the rules of a sequence whose values are reported.
  virtual bool has_adaptive() const = 0;
  virtual std::optional<contract::AdaptiveRules> adaptive_rules(int32_t sequence) const = 0;
  // Whether a sequence's rows have guidance.
  virtual bool has_guidance(int32_t sequence) const = 0;
  // Temperature of the distribution whose entropy determines the number of drafts.
  virtual float entropy_temperature(int32_t sequence) const = 0;

 protected:
  explicit SessionHost(const Rules &rules) : rules_(rules) {}
  ~SessionHost() = default;

 private:
  const Rules rules_;
};

}  // namespace sampler::decoding
