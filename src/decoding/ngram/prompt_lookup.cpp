#include "decoding/ngram/prompt_lookup.h"

#include <algorithm>
#include <cstring>

#include "decoding/ngram/aa_tree.h"

namespace sampler::decoding {

namespace {

// A text of n tokens has at most 2 n states and 3 n edges; state 0 is none.
uint64_t most_states(int64_t max_tokens) {
  return 2 * uint64_t(max_tokens) + 2;
}

// A quarter of the slots stays free, so that searches stay short.
uint64_t num_slots_for(int64_t max_tokens) {
  return 4 * uint64_t(max_tokens) + 4;
}

}  // namespace

size_t PromptLookup::memory_bytes(int64_t max_tokens) {
  return size_t(most_states(max_tokens) * sizeof(State) + num_slots_for(max_tokens) * sizeof(Edge) +
                uint64_t(max_tokens) * sizeof(int32_t));
}

PromptLookup::PromptLookup(void *memory, int64_t max_tokens, const Limits &limits)
    : limits_(limits), max_tokens_(max_tokens), num_slots_(num_slots_for(max_tokens)) {
  place_in(memory);
  reset();
}

PromptLookup::PromptLookup(const PromptLookup &other, void *memory)
    : limits_(other.limits_),
      max_tokens_(other.max_tokens_),
      num_slots_(other.num_slots_),
      free_end_(other.free_end_),
      num_tokens_(other.num_tokens_),
      num_states_(other.num_states_),
      text_(other.text_),
      match_(other.match_),
      match_end_(other.match_end_) {
  place_in(memory);
  std::memcpy(states_, other.states_, num_states_ * sizeof(State));
  std::memcpy(edges_, other.edges_, num_slots_ * sizeof(Edge));
  std::copy_n(other.tokens_, num_tokens_, tokens_);
}

void PromptLookup::place_in(void *memory) {
  states_ = static_cast<State *>(memory);
  links_ = LinkCutTree<State>(states_);
  edges_ = reinterpret_cast<Edge *>(states_ + most_states(max_tokens_));
  tokens_ = reinterpret_cast<int32_t *>(edges_ + num_slots_);
}

void PromptLookup::reset() {
  std::memset(edges_, 0, num_slots_ * sizeof(Edge));
  states_[kNone] = {};
  free_end_ = num_slots_;
  num_states_ = kRoot;
  new_state(0);
  num_tokens_ = 0;
  text_ = kRoot;
  match_ = {};
  match_end_ = num_extra_ = 0;
}

// ---- The automaton ------------------------------------------------------------------------------

PromptLookup::StateId PromptLookup::new_state(uint32_t length) {
  states_[num_states_] = {};
  states_[num_states_].length = length;
  return num_states_++;
}

// The edges of a state outside their window. Slot 0 is never a node: nodes take the highest free
// slots, and a quarter of all slots stays free.
class PromptLookup::Nodes {
 public:
  explicit Nodes(Edge *edges) : edges_(edges) {}

  uint64_t key(uint32_t node) const { return uint64_t(token(node)); }
  int32_t token(uint32_t node) const { return edges_[node].token & kToken; }
  uint32_t level(uint32_t node) const {
    return node == 0 ? 0 : uint32_t(edges_[node].token) >> kLevelShift;
  }
  void set_level(uint32_t node, uint32_t level) const {
    edges_[node].token = token(node) | int32_t(level << kLevelShift);
  }
  uint32_t child(uint32_t node, int side) const {
    return side == 0 ? edges_[node].from & ~kNode : edges_[node].next;
  }
  void set_child(uint32_t node, int side, uint32_t child) const {
    if (side == 0) {
      edges_[node].from = kNode | child;
    } else {
      edges_[node].next = child;
    }
  }

 private:
  static constexpr int32_t kToken = (1 << kLevelShift) - 1;

  Edge *edges_;
};

// The edge of (from, token). If there is none: the free slot for it or, if its window is full,
// null.
inline PromptLookup::Edge *PromptLookup::find(StateId from, int32_t token) const {
  uint64_t hash = (uint64_t(from) << 32 | uint32_t(token)) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  uint64_t i = (hash >> 32) * num_slots_ >> 32;
  for (int num_seen = 0; num_seen < kWindow; ++num_seen) {
    Edge *const edge = edges_ + i;
    if (edge->from == kNone || (edge->from == from && edge->token == token)) return edge;
    if (++i == num_slots_) i = 0;
  }
  return find_node(from, token);
}

[[gnu::noinline]] PromptLookup::Edge *PromptLookup::find_node(StateId from, int32_t token) const {
  const uint32_t node = find_in_tree(Nodes(edges_), states_[from].edge_tree, uint64_t(token));
  return node == 0 ? nullptr : edges_ + node;
}

// Returns kNone if there is no such edge.
PromptLookup::StateId PromptLookup::target(StateId from, int32_t token) const {
  const Edge *const edge = find(from, token);
  return edge ? edge->to : kNone;
}

// `place` is the result of find().
void PromptLookup::add_edge(Edge *place, StateId from, int32_t token, StateId to) {
  if (!place) return add_node(from, token, to);
  *place = {from, token, to, states_[from].first_edge};
  states_[from].first_edge = uint32_t(place - edges_ + 1);
}

[[gnu::noinline]] void PromptLookup::add_node(StateId from, int32_t token, StateId to) {
  do --free_end_;
  while (edges_[free_end_].from != kNone);
  const uint32_t node = uint32_t(free_end_);
  edges_[node] = {kNode, token | 1 << kLevelShift, to, 0};
  State &state = states_[from];
  state.edge_tree = add_to_tree(Nodes(edges_), state.edge_tree, node);
}

// Copies the edges of a tree to a state.
void PromptLookup::copy_edges(uint32_t edge_tree, StateId to) {
  if (edge_tree == 0) return;
  const Nodes nodes(edges_);
  const int32_t token = nodes.token(edge_tree);
  add_edge(find(to, token), to, token, edges_[edge_tree].to);
  for (const int side : {0, 1}) copy_edges(nodes.child(edge_tree, side), to);
}

// Splits off a new state, between `state` and its link, for the state's substrings of at most
// `length` tokens.
PromptLookup::StateId PromptLookup::split(StateId state, uint32_t length) {
  const StateId part = new_state(length);
  links_.expose(state);
  links_.insert_before(state, part);
  State &lower = states_[state];
  states_[part].link = lower.link;
  lower.link = part;
  for (uint32_t i = lower.first_edge; i != 0; i = edges_[i - 1].next) {
    const int32_t token = edges_[i - 1].token;
    add_edge(find(part, token), part, token, edges_[i - 1].to);
  }
  copy_edges(lower.edge_tree, part);
  return part;
}

// Returns the state of the text plus `token`, without its place in the link-cut tree.
PromptLookup::StateId PromptLookup::extend(int32_t token) {
  const StateId text = new_state(states_[text_].length + 1);
  StateId from = text_, to = kNone;
  for (; from != kNone; from = states_[from].link) {
    Edge *const edge = find(from, token);
    if (edge && edge->to != kNone) {
      to = edge->to;
      break;
    }
    add_edge(edge, from, token, text);
  }
  if (from == kNone) {
    states_[text].link = kRoot;
    return text;
  }
  const uint32_t length = states_[from].length + 1;
  if (states_[to].length != length) {
    const StateId whole = to;
    to = split(whole, length);
    // Each of these states has such an edge.
    for (; from != kNone; from = states_[from].link) {
      Edge *const edge = find(from, token);
      if (edge->to != whole) break;
      edge->to = to;
    }
  }
  states_[text].link = to;
  return text;
}

void PromptLookup::append(int32_t token) {
  tokens_[num_tokens_++] = token;
  num_extra_ = 0;
  text_ = extend(token);
  const StateId longest = states_[text_].link;
  states_[text_].place.above = longest;
  states_[text_].place.last_end = uint32_t(num_tokens_);
  links_.expose(longest);
  match_ = {longest, states_[longest].length};
  if (match_.length > limits_.max_match) {
    match_.length = limits_.max_match;
    StateId shorter;
    links_.search_way(
        longest, [&](StateId state) { return states_[state].length >= match_.length; }, &shorter,
        &match_.state);
  }
  match_end_ = states_[match_.state].place.last_end;
  // The text has a new end, where all substrings on this path end.
  links_.splay(longest);
  links_.set_last_end(longest, uint32_t(num_tokens_));
}

// ---- Lookup -------------------------------------------------------------------------------------

int64_t PromptLookup::propose(int64_t num_drafts, int32_t *out_token_ids) const {
  if (match_.length < limits_.min_match) return 0;
  const int64_t count = std::min(num_drafts, num_tokens_ - match_end_);
  std::copy_n(tokens_ + match_end_, count, out_token_ids);
  return count;
}

int64_t PromptLookup::continue_match(int64_t num_drafts, int32_t *out_token_ids) const {
  const int64_t count = propose(num_drafts, out_token_ids);
  if (count == 0) return 0;
  for (int64_t i = count; i < num_drafts; ++i) out_token_ids[i] = out_token_ids[i - count];
  return num_drafts;
}

// Matches the longest suffix of `at` plus `token` that occurs in the text.
void PromptLookup::match(int32_t token, Match *at) {
  StateId next = target(at->state, token);
  if (next == kNone) {
    // If a substring continues with the token, so do its suffixes.
    links_.expose(at->state);
    StateId end, longer;
    links_.search_way(
        at->state, [&](StateId state) { return target(state, token) == kNone; }, &end, &longer);
    if (end == kNone) {
      *at = {};
      return;
    }
    at->length = states_[end].length;
    next = target(end, token);
  }
  at->state = next;
  if (++at->length <= limits_.max_match) return;
  at->length = limits_.max_match;
  const StateId link = states_[next].link;
  if (states_[link].length >= at->length) at->state = link;
}

int64_t PromptLookup::num_matched(const int32_t *extra, int64_t num_extra) const {
  const int32_t *const matched = tokens_ + num_tokens_;
  return num_extra_ <= num_extra && std::equal(matched, matched + num_extra_, extra) ? num_extra_
                                                                                     : 0;
}

PromptLookup::Match PromptLookup::match_extended(const int32_t *extra, int64_t num_extra,
                                                 int64_t matched) {
  Match found = matched > 0 ? extended_match_ : match_;
  for (int64_t i = matched; i < num_extra; ++i) match(extra[i], &found);
  if (num_extra <= max_tokens_ - num_tokens_) {
    std::copy(extra + matched, extra + num_extra, tokens_ + num_tokens_ + matched);
    extended_match_ = found;
    num_extra_ = num_extra;
  }
  return found;
}

// Where in the text the match ends; -1: too short. `is_extended`: the match has tokens after the
// text.
int64_t PromptLookup::end_of(const Match &found, bool is_extended) {
  if (found.length < limits_.min_match) return -1;
  if (!is_extended) return match_end_;
  links_.splay(found.state);
  return states_[found.state].place.last_end;
}

int32_t PromptLookup::next_token(const int32_t *extra, int64_t num_extra, int64_t matched) {
  const int64_t end = end_of(match_extended(extra, num_extra, matched), num_extra > 0);
  if (end < 0) return -1;
  return end < num_tokens_ ? tokens_[end] : extra[0];
}

int64_t PromptLookup::propose(const int32_t *extra, int64_t num_extra, int64_t matched,
                              int64_t num_drafts, int32_t *out_token_ids) {
  Match found = match_extended(extra, num_extra, matched);
  int64_t num_proposed = 0;
  while (num_proposed < num_drafts) {
    const int64_t end = end_of(found, num_extra + num_proposed > 0);
    if (end < 0) break;
    const int32_t token = end < num_tokens_ ? tokens_[end]
                          : num_extra > 0   ? extra[0]
                                            : out_token_ids[0];
    out_token_ids[num_proposed++] = token;
    if (num_proposed < num_drafts) match(token, &found);
  }
  return num_proposed;
}

bool PromptLookup::has_gram(const int32_t *tokens, int64_t num_tokens) const {
  if (num_tokens < limits_.min_match || num_tokens > limits_.max_match) return false;
  StateId state = kRoot;
  for (int64_t i = 0; i < num_tokens && state != kNone; ++i) state = target(state, tokens[i]);
  return state != kNone && (states_[state].first_edge | states_[state].edge_tree) != 0;
}

}  // namespace sampler::decoding
