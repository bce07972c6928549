// The balanced trees that hold what finds no place in a hash table.
#include "decoding/ngram/aa_tree.h"
#include "../seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace ngram_test::aa_tree_test {
namespace {

struct Node {
  std::uint64_t key;
  std::uint32_t level, child[2];
};

struct Nodes {
  std::vector<Node> *nodes;

  std::uint64_t key(std::uint32_t node) const { return (*nodes)[node].key; }
  std::uint32_t level(std::uint32_t node) const { return (*nodes)[node].level; }
  std::uint32_t child(std::uint32_t node, int side) const { return (*nodes)[node].child[side]; }
  void set_level(std::uint32_t node, std::uint32_t level) const { (*nodes)[node].level = level; }
  void set_child(std::uint32_t node, int side, std::uint32_t child) const {
    (*nodes)[node].child[side] = child;
  }
};

int depth_of(const std::vector<Node> &nodes, std::uint32_t root) {
  if (root == 0) return 0;
  const auto &child = nodes[root].child;
  return 1 + std::max(depth_of(nodes, child[0]), depth_of(nodes, child[1]));
}

// Adds the keys in their order; looks for each, and for those between, again and again.
void expect_balanced(const std::vector<std::uint64_t> &keys) {
  std::vector<Node> nodes(1);
  std::uint32_t root = 0;
  for (const std::uint64_t key : keys) {
    nodes.push_back({key, 1, {0, 0}});
    root = sampler::decoding::add_to_tree(Nodes{&nodes}, root, std::uint32_t(nodes.size() - 1));
    const std::size_t count = nodes.size() - 1;
    if (count > 40 && count != keys.size()) continue;
    ASSERT_LE(depth_of(nodes, root), 2 * std::log2(double(count + 1)));
    for (std::uint32_t node = 1; node <= count; ++node) {
      ASSERT_EQ(sampler::decoding::find_in_tree(Nodes{&nodes}, root, nodes[node].key), node);
      ASSERT_EQ(sampler::decoding::find_in_tree(Nodes{&nodes}, root, nodes[node].key + 1), 0u);
    }
  }
}

TEST(AaTree, IsBalancedWhateverTheOrder) {
  std::vector<std::uint64_t> keys(3000);
  std::iota(keys.begin(), keys.end(), 1);
  for (std::uint64_t &key : keys) key *= std::uint64_t(1) << 50;
  expect_balanced(keys);
  std::reverse(keys.begin(), keys.end());
  expect_balanced(keys);
  // From both ends to the middle, and from the middle to both ends.
  std::vector<std::uint64_t> inwards;
  for (std::size_t i = 0; i < keys.size() / 2; ++i) {
    inwards.push_back(keys[i]);
    inwards.push_back(keys[keys.size() - 1 - i]);
  }
  expect_balanced(inwards);
  std::reverse(inwards.begin(), inwards.end());
  expect_balanced(inwards);
  std::mt19937 random(seeded(1));
  for (int round = 0; round < 100; ++round) {
    std::shuffle(keys.begin(), keys.end(), random);
    expect_balanced(keys);
    keys.resize(keys.size() - 29);
  }
}

}  // namespace
}  // namespace ngram_test::aa_tree_test
