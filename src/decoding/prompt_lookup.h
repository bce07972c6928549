// The longest earlier occurrence of a growing text's end, and of equally long ones the latest.
//
// A suffix automaton of the text: each state stands for the parts of the text that end at the same
// places, `length` is the longest one's, and `link` leads to the state of the longest end of these
// that ends at more places. The link of the whole text's state is the longest end with an earlier
// occurrence. Appending costs amortised constant time and at most 2 states and 3 edges a token.
//
// Where a state's parts ended last, `last_end`, changes with each token on the whole way from the
// text's state along the links. So the tree of links is kept as a link-cut tree (Sleator, Tarjan:
// "Self-adjusting binary search trees", 1985), which sets a way in amortised logarithmic time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::decoding {

class PromptLookup {
 public:
  struct Limits {
    int64_t min_match;  // at least 1
    int64_t max_match;  // at least min_match
  };

  // What the memory given to the constructor takes, aligned to 8 bytes. max_tokens in [1, 2^27].
  static size_t memory_bytes(int64_t max_tokens);
  PromptLookup(void *memory, int64_t max_tokens, const Limits &limits);

  int64_t num_tokens() const { return num_tokens_; }
  int64_t max_tokens() const { return max_tokens_; }

  // There must be room.
  void append(int32_t token);
  void reset();

  // Up to num_drafts tokens that followed the match of the text's end; returns their number.
  int64_t propose(int64_t num_drafts, int32_t *out_token_ids) const;

  // What followed the longest occurrence of the end of text and `more` tokens; -1: no match. Moves
  // nodes of the link-cut tree.
  int32_t next_token(const int32_t *more, int64_t num_more);

  // Whether the tokens stand in the text with a token behind them.
  bool has_gram(const int32_t *tokens, int64_t num_tokens) const;

 private:
  using StateId = uint32_t;
  static constexpr StateId kNone = 0, kRoot = 1;

  struct State {
    uint32_t length;
    StateId link;
    uint32_t first_edge;  // number of a slot + 1; 0: none

    // The link-cut tree. `above` is the parent in a splay tree or, of its root, the link of the
    // uppermost state of that tree's way.
    StateId above, child[2];
    uint32_t last_end;  // how many tokens the text had where these parts ended last
    uint32_t new_end;   // to be set in all of the splay tree below; 0: nothing
  };
  struct Edge {
    StateId from;  // kNone: the slot is free
    int32_t token;
    StateId to;
    uint32_t next;  // another edge of the same state, as State::first_edge
  };

  StateId new_state(uint32_t length);
  uint64_t slot_of(StateId from, int32_t token) const;
  StateId target(StateId from, int32_t token) const;
  void add_edge(StateId from, int32_t token, StateId to);
  StateId split(StateId state, uint32_t length);
  StateId extend(int32_t token);

  bool is_splay_root(StateId state) const;
  void push(StateId state);
  void rotate(StateId state);
  void splay(StateId state);
  void expose(StateId state);
  StateId shortest_above(StateId state, uint32_t length);

  Limits limits_;
  int64_t max_tokens_;
  uint64_t num_slots_;
  State *states_;
  Edge *edges_;
  int32_t *tokens_;

  int64_t num_tokens_ = 0;
  uint32_t num_states_ = 0;
  StateId text_ = kRoot;  // the state of the whole text

  // The longest end of the text, of at most max_match tokens, that occurred earlier; and where
  // last.
  StateId match_ = kRoot;
  int64_t match_length_ = 0, match_end_ = 0;
};

}  // namespace sampler::decoding
