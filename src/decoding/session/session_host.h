// What drives a session: an engine, which calls sampler_session_plan and sampler_session_advance,
// or a loop, which runs the models itself. All in which these differ is here.
#pragma once

#include <cstdint>
#include <optional>

#include "capi/entry.h"
#include "contract/adaptive_values.h"
#include "decoding/session/transfer.h"
#include "sampler/session.h"

namespace sampler::decoding {

// A call of one of a caller's n-gram functions: a function object by reference.
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
    bool has_state;           // stages may look at what the texts have said
    bool drafts_first;        // the first new token may be a draft
    bool skips_adjustment;    // tokens after rejected drafts come from the target's p
    bool proposes_by_limits;  // n-grams draft by `propose` where a sequence has limits, only there
    bool learns_late;         // sources of drafts learn a step's tokens when the host says so
    bool measures_rounds;     // the host measures rounds, which are of all sequences
  };

  // What calls may ever be given, with arrays at any address: their workspace depends on it.
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

  // A text, with room for drafts behind it.
  virtual int32_t *text(int32_t sequence) const = 0;
  // What a text may become.
  virtual int64_t longest_text() const = 0;
  virtual bool is_end(int32_t sequence, int32_t token) const = 0;

  // Has n-grams learn a new text, where they do not know it. On failure the status, with its text.
  virtual sampler_status teach(capi::Entry &entry, const sampler_session_add_args &args) const = 0;
  // Gives a new sequence its text, end tokens and numbers.
  virtual void set(int32_t sequence, const sampler_session_add_args &args,
                   const sampler_params &params) = 0;
  // Likewise, those of another one, of which the text has `length` tokens. `params` null: its
  // numbers.
  virtual void copy(int32_t source, int32_t destination, int64_t length,
                    const sampler_params *params) = 0;
  virtual void clear(int32_t sequence) = 0;

  // Calls a function of a caller's n-grams. False: it failed, and the sequence has no drafts from
  // now on. A host may leave the session by an exception instead.
  virtual bool call_ngram(capi::Entry &entry, const char *name, const NgramCall &call) const = 0;

  // ---- Numbers by sequence

  // Where calls find them: all, and those of a drafter's draws. `numbers` are all.
  virtual sampler_row_params place_numbers(Transfer *transfer) const = 0;
  virtual sampler_row_params place_plain_numbers(const sampler_row_params &numbers,
                                                 Transfer *transfer) const = 0;
  // Whether a text has a minimum of new tokens now, and where calls find the end tokens then.
  virtual bool has_minimum() const = 0;
  virtual sampler_token_lists place_ends(Transfer *transfer) const = 0;
  // Whether tokens move stages now; and how those of a sequence, if its values are asked for.
  virtual bool has_adaptive() const = 0;
  virtual std::optional<contract::AdaptiveRules> adaptive_rules(int32_t sequence) const = 0;
  // Of the distribution whose entropy says how many drafts there are.
  virtual float entropy_temperature(int32_t sequence) const = 0;

 protected:
  explicit SessionHost(const Rules &rules) : rules_(rules) {}
  ~SessionHost() = default;

 private:
  const Rules rules_;
};

}  // namespace sampler::decoding
