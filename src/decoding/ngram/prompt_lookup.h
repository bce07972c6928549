// The longest earlier occurrence of a growing text's end, and of equally long ones the latest.
//
// A suffix automaton of the text: each state stands for the parts of the text that end at the same
// places, `length` is the longest one's, and `link` leads to the state of the longest end of these
// that ends at more places. The link of the whole text's state is the longest end with an earlier
// occurrence. Appending takes an amortised constant number of searches for an edge and at most 2
// states and 3 edges a token.
//
// Edges lie in one hash table. The hash is no secret, so a text can be made whose edges all want
// the same slots. An edge therefore lies among the first kWindow slots from the one that its hash
// names or, where those were taken when it came, in any slot, as a node of a balanced tree, one for
// each state. Each search looks at kWindow slots and 2 log2(n + 1) nodes at most, n being the
// number of different tokens.
//
// `last_end` is where a state's parts ended last. Each token changes it on the whole way from the
// text's state along the links, so the tree of links is kept as a link-cut tree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/ngram/link_cut_tree.h"

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
  // A copy in memory of its own, as long as that of `other`.
  PromptLookup(const PromptLookup &other, void *memory);
  PromptLookup(const PromptLookup &) = delete;

  int64_t num_tokens() const { return num_tokens_; }
  int64_t max_tokens() const { return max_tokens_; }

  // There must be room.
  void append(int32_t token);
  void reset();

  // Up to num_drafts tokens that followed the match of the text's end; returns their number.
  int64_t propose(int64_t num_drafts, int32_t *out_token_ids) const;

  // num_drafts tokens, or none where there is no match: those of propose() and, beyond the text's
  // end, what follows the match there, which are these tokens themselves. A text that repeats
  // itself goes on so.
  int64_t continue_match(int64_t num_drafts, int32_t *out_token_ids) const;

  // How many of `more` the last next_token() has matched already: all of its own, or 0.
  int64_t num_matched(const int32_t *more, int64_t num_more) const;

  // What followed the longest occurrence of the end of text and `more` tokens; -1: no match.
  // `matched` is what num_matched() gives, or 0. Moves nodes of the link-cut tree; takes amortised
  // logarithmic time for each of `more` that is not matched yet.
  int32_t next_token(const int32_t *more, int64_t num_more, int64_t matched);

  // The same token, and those that next_token() would give with each one more of them in `more`:
  // up to num_drafts, up to the first -1; returns their number. Takes amortised logarithmic time
  // for each.
  int64_t propose(const int32_t *more, int64_t num_more, int64_t matched, int64_t num_drafts,
                  int32_t *out_token_ids);

  // Whether the tokens stand in the text and a token follows them.
  bool has_gram(const int32_t *tokens, int64_t num_tokens) const;

 private:
  using StateId = uint32_t;
  static constexpr StateId kNone = 0, kRoot = 1;
  static constexpr int kWindow = 32;

  struct State {
    uint32_t length;
    StateId link;
    uint32_t first_edge;  // of those in their windows: number of a slot + 1; 0: none
    uint32_t edge_tree;   // root of the tree of the others, a slot; 0: none

    LinkCutPlace place;  // last_end: how many tokens the text had where these parts ended last
  };
  struct Edge {
    StateId from;   // kNone: the slot is free. Of a node: kNode and the left child
    int32_t token;  // of a node: and, from kLevelShift on, its level
    StateId to;
    uint32_t
        next;  // another edge of the same state, as State::first_edge. Of a node: the right child
  };
  static constexpr uint32_t kNode = uint32_t(1) << 31;
  static constexpr int kLevelShift = 20;
  class Nodes;

  // The end of a text, of at most max_match tokens, that is in the state.
  struct Match {
    StateId state = kRoot;
    int64_t length = 0;
  };

  void place_in(void *memory);
  StateId new_state(uint32_t length);
  Edge *find(StateId from, int32_t token) const;
  Edge *find_node(StateId from, int32_t token) const;
  StateId target(StateId from, int32_t token) const;
  void add_edge(Edge *place, StateId from, int32_t token, StateId to);
  void add_node(StateId from, int32_t token, StateId to);
  void copy_edges(uint32_t edge_tree, StateId to);
  StateId split(StateId state, uint32_t length);
  StateId extend(int32_t token);

  void match(int32_t token, Match *at);
  Match match_more(const int32_t *more, int64_t num_more, int64_t matched);
  int64_t end_of(const Match &found, bool has_more);

  Limits limits_;
  int64_t max_tokens_;
  uint64_t num_slots_;
  uint64_t free_end_;  // no slot from here on is free
  State *states_;
  LinkCutTree<State> links_;
  Edge *edges_;
  int32_t *tokens_;  // beyond the text those that next_token() has matched

  int64_t num_tokens_ = 0;
  uint32_t num_states_ = 0;
  StateId text_ = kRoot;  // the state of the whole text

  // The longest end of the text that occurred earlier; and where last.
  Match match_;
  int64_t match_end_ = 0;

  // The match of the text and of the tokens that next_token() has matched.
  Match more_match_;
  int64_t num_more_ = 0;
};

}  // namespace sampler::decoding
