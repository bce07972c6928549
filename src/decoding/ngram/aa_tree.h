// Balanced search trees of nodes in a caller's table: AA trees (Andersson: "Balanced search trees
// made simple", 1993). In a tree of n nodes the depth is at most 2 log2(n + 1), whatever the keys
// and their order.
//
// `Nodes` has key(node), level(node), child(node, side), set_level and set_child; side 0 has the
// lesser keys. Node 0 means none; its level is 0.
#pragma once

#include <cstdint>

namespace sampler::decoding {

// Returns 0 if no node has the key.
template <class Nodes>
uint32_t find_in_tree(const Nodes &nodes, uint32_t root, uint64_t key) {
  while (root != 0 && nodes.key(root) != key) root = nodes.child(root, key > nodes.key(root));
  return root;
}

// Rotates a child into its parent's place; returns the child.
template <class Nodes>
uint32_t lift_child(const Nodes &nodes, uint32_t parent, int side) {
  const uint32_t child = nodes.child(parent, side);
  nodes.set_child(parent, side, nodes.child(child, 1 - side));
  nodes.set_child(child, 1 - side, parent);
  return child;
}

// Rebalances a tree after an insertion below its root. Returns the new root.
template <class Nodes>
uint32_t balance(const Nodes &nodes, uint32_t root) {
  if (nodes.level(nodes.child(root, 0)) == nodes.level(root)) root = lift_child(nodes, root, 0);
  const uint32_t right = nodes.child(root, 1);
  if (right != 0 && nodes.level(nodes.child(right, 1)) == nodes.level(root)) {
    root = lift_child(nodes, root, 1);
    nodes.set_level(root, nodes.level(root) + 1);
  }
  return root;
}

// Inserts a node with a new key, level 1 and no children. Returns the new root.
template <class Nodes>
uint32_t add_to_tree(const Nodes &nodes, uint32_t root, uint32_t node) {
  uint32_t way[64];
  int depth = 0;
  for (uint32_t at = root; at != 0; ++depth) {
    way[depth] = at;
    at = nodes.child(at, nodes.key(node) > nodes.key(at));
  }
  // Balancing reads a node's children and its right child's children, so nothing changes at a node
  // if nothing changed at the two below it on the path.
  uint32_t below = node;
  for (int num_unchanged = 0; depth > 0 && num_unchanged < 2;) {
    const uint32_t at = way[--depth], level = nodes.level(at);
    nodes.set_child(at, nodes.key(node) > nodes.key(at), below);
    below = balance(nodes, at);
    num_unchanged = below == at && nodes.level(at) == level ? num_unchanged + 1 : 0;
  }
  return depth == 0 ? below : root;
}

}  // namespace sampler::decoding
