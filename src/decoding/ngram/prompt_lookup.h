// The longest earlier occurrence of a growing text's suffix; ties go to the latest.
//
// A suffix automaton of the text: each state stands for the substrings that end at the same
// positions, `length` is that of the longest, and `link` leads to the state of its longest suffix
// that ends at more positions. The link of the whole text's state is the longest suffix with an
// earlier occurrence. Appending a token takes an amortised constant number of edge searches and at
// most 2 states and 3 edges.
//
// Edges lie in one hash table. The hash is not secret, so a text can be made whose edges all hash
// to the same slot. An edge therefore lies within kWindow slots of its hash or, if those were
// taken, in any slot, as a node of a balanced tree, one per state. A search visits at most kWindow
// slots and 2 log2(n + 1) nodes, n being the number of different tokens.
//
// `last_end` is the last end of a state's substrings. Each token changes it on the whole path from
// the text's state along the links, so the links form a link-cut tree.
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

  // Bytes of the constructor's memory, which is aligned to 8 bytes. max_tokens in [1, 2^27].
  static size_t memory_bytes(int64_t max_tokens);
  PromptLookup(void *memory, int64_t max_tokens, const Limits &limits);
  // A copy in its own memory, as large as that of `other`.
  PromptLookup(const PromptLookup &other, void *memory);
  PromptLookup(const PromptLookup &) = delete;

  int64_t num_tokens() const { return num_tokens_; }
  int64_t max_tokens() const { return max_tokens_; }

  // There must be room.
  void append(int32_t token);
  void reset();

  // Writes up to num_drafts tokens that followed the match of the text's suffix; returns their
  // number.
  int64_t propose(int64_t num_drafts, int32_t *out_token_ids) const;

  // Writes num_drafts tokens, or none without a match: those of propose() and, beyond the text's
  // end, the tokens after the match there, which are these tokens themselves. So a text that
  // repeats itself keeps repeating.
  int64_t continue_match(int64_t num_drafts, int32_t *out_token_ids) const;

  // How many tokens of `extra` the last next_token() has matched already: all of its own, or 0.
  int64_t num_matched(const int32_t *extra, int64_t num_extra) const;

  // The token after the longest occurrence of the suffix of text and `extra`; -1: no match.
  // `matched` is num_matched() or 0. Moves nodes of the link-cut tree; takes amortised logarithmic
  // time per unmatched token of `extra`.
  int32_t next_token(const int32_t *extra, int64_t num_extra, int64_t matched);

  // The same token, then what next_token() would return after each is appended to `extra`: up to
  // num_drafts tokens, up to the first -1; returns their number. Amortised logarithmic time per
  // token.
  int64_t propose(const int32_t *extra, int64_t num_extra, int64_t matched, int64_t num_drafts,
                  int32_t *out_token_ids);

  // Whether the tokens occur in the text and a token follows them.
  bool has_gram(const int32_t *tokens, int64_t num_tokens) const;

 private:
  using StateId = uint32_t;
  static constexpr StateId kNone = 0, kRoot = 1;
  static constexpr int kWindow = 32;

  struct State {
    uint32_t length;
    StateId link;
    uint32_t first_edge;  // of those in their windows: slot + 1; 0: none
    uint32_t edge_tree;   // root of the tree of the others, a slot; 0: none

    LinkCutPlace place;  // last_end: length of the text where these substrings ended last
  };
  struct Edge {
    StateId from;   // kNone: the slot is free. In a node: kNode and the left child
    int32_t token;  // in a node: and, from kLevelShift on, its level
    StateId to;
    uint32_t
        next;  // another edge of the same state, as State::first_edge. In a node: the right child
  };
  static constexpr uint32_t kNode = uint32_t(1) << 31;
  static constexpr int kLevelShift = 20;
  class Nodes;

  // A suffix of a text, of at most max_match tokens, and its state.
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
  Match match_extended(const int32_t *extra, int64_t num_extra, int64_t matched);
  int64_t end_of(const Match &found, bool is_extended);

  Limits limits_;
  int64_t max_tokens_;
  uint64_t num_slots_;
  uint64_t free_end_;  // all slots from here on are taken
  State *states_;
  LinkCutTree<State> links_;
  Edge *edges_;
  int32_t *tokens_;  // after the text: the tokens that next_token() has matched

  int64_t num_tokens_ = 0;
  uint32_t num_states_ = 0;
  StateId text_ = kRoot;  // the state of the whole text

  // The longest suffix of the text that occurred earlier, and its last end.
  Match match_;
  int64_t match_end_ = 0;

  // The match of the text plus the tokens that next_token() has matched.
  Match extended_match_;
  int64_t num_extra_ = 0;
};

}  // namespace sampler::decoding
