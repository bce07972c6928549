// A tree in which whole paths from the root to a node are written at once: a link-cut tree
// (Sleator, Tarjan: "Self-adjusting binary search trees", 1985). Each node has a number `last_end`;
// setting it on a path takes amortised logarithmic time.
//
// Paths are kept as splay trees, ordered by depth. `Node` lies in a caller's array and has a
// LinkCutPlace as its member `place`. Node 0 means none.
#pragma once

#include <cstdint>

namespace sampler::decoding {

struct LinkCutPlace {
  // Parent in the splay tree; at its root, the tree parent of the path's uppermost node.
  uint32_t above;
  uint32_t child[2];
  uint32_t last_end : 31;
  uint32_t is_new_end : 1;  // pending: last_end applies to the whole splay subtree
};

template <class Node>
class LinkCutTree {
 public:
  LinkCutTree() = default;
  explicit LinkCutTree(Node *nodes) : nodes_(nodes) {}

  // Makes the path from the root to a node one splay tree, with the node as its root and last node.
  void expose(uint32_t node) {
    uint32_t lower = 0;
    for (uint32_t at = node; at != 0; at = place(at).above) {
      splay(at);
      place(at).child[1] = lower;
      lower = at;
    }
    splay(node);
  }

  // Rotates a node to the root of its splay tree. Pending updates above it must have been pushed.
  void splay(uint32_t node) {
    while (!is_splay_root(node)) {
      const uint32_t parent = place(node).above;
      if (!is_splay_root(parent)) {
        const uint32_t above = place(parent).above;
        push(above);
        push(parent);
        push(node);
        const bool is_straight =
            (place(above).child[1] == parent) == (place(parent).child[1] == node);
        rotate(is_straight ? parent : node);
      } else {
        push(parent);
      }
      push(node);
      rotate(node);
    }
    push(node);
  }

  // Inserts a new node into the path to an exposed node, right before it.
  void insert_before(uint32_t node, uint32_t added) {
    LinkCutPlace &lower = place(node), &upper = place(added);
    upper.last_end = lower.last_end;
    upper.child[0] = lower.child[0];
    if (upper.child[0] != 0) place(upper.child[0]).above = added;
    lower.child[0] = 0;
    lower.above = added;
  }

  // Sets last_end of all nodes of the splay tree with root `node`.
  void set_last_end(uint32_t node, uint32_t last_end) {
    place(node).last_end = last_end;
    place(node).is_new_end = 1;
  }

  // Binary search on the path to an exposed node, where high nodes precede low ones: the last high
  // and the first low node, 0 if there is none. Their last_end is up to date.
  template <class IsLow>
  void search_way(uint32_t node, const IsLow &is_low, uint32_t *last_high, uint32_t *first_low) {
    *last_high = *first_low = 0;
    uint32_t last = node;
    for (uint32_t at = node; at != 0;) {
      push(at);
      last = at;
      const bool here = is_low(at);
      *(here ? first_low : last_high) = at;
      at = place(at).child[here ? 0 : 1];
    }
    splay(last);  // pays for the descent
  }

 private:
  LinkCutPlace &place(uint32_t node) const { return nodes_[node].place; }

  bool is_splay_root(uint32_t node) const {
    const LinkCutPlace &above = place(place(node).above);
    return above.child[0] != node && above.child[1] != node;
  }

  void push(uint32_t node) {
    LinkCutPlace &here = place(node);
    if (!here.is_new_end) return;
    for (const uint32_t child : here.child) {
      if (child != 0) set_last_end(child, here.last_end);
    }
    here.is_new_end = 0;
  }

  // Rotates a node into its parent's place in the splay tree.
  void rotate(uint32_t node) {
    const uint32_t parent = place(node).above, above = place(parent).above;
    if (!is_splay_root(parent)) place(above).child[place(above).child[1] == parent] = node;
    const int side = place(parent).child[1] == node;
    const uint32_t inner = place(node).child[1 - side];
    place(parent).child[side] = inner;
    if (inner != 0) place(inner).above = parent;
    place(node).child[1 - side] = parent;
    place(parent).above = node;
    place(node).above = above;
  }

  Node *nodes_ = nullptr;
};

}  // namespace sampler::decoding
