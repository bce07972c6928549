// Draws from a row.
#include <algorithm>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/weight.h"
#include "cpu/simd/row.h"

namespace sampler::cpu {

namespace {

// Elements whose weights a draw computes one by one.
constexpr int64_t kDrawPart = 128;

}  // namespace

// Relative probabilities of source elements [begin, end); 0 for those not kept.
void SimdRow::write_relative(const Kept &tokens, int64_t begin, int64_t end,
                             float *relative) const {
  for_each_range(tokens, begin, end, [&](int64_t from, int64_t to, float at_least) {
    const RowView part = part_of(tokens.source, from, to - from);
    passes_.write_probabilities(part, {distribution_.scale}, 1.0f, 0, part.count, at_least,
                                relative + (from - begin), SAMPLER_F32);
    if (tokens.at_most == kInfinity) return;
    for (int64_t i = from; i < to; ++i) {
      const float most = i < tokens.first ? tokens.before_first : tokens.at_most;
      if (tokens.source.value(i) > most) relative[i - begin] = 0.0f;
    }
  });
}

// Index in the kept tokens' source.
int64_t SimdRow::draw_index(uint64_t word) const {
  Kept tokens = kept();
  uint64_t target = contract::draw_target(word, distribution_.kept_weight);
  int64_t block = 0;
  for (; target >= block_weights_[block]; ++block) target -= block_weights_[block];

  int64_t begin = block * kWeightBlock, end = 0, before = 0;
  if (later_.stage) {
    before = begin;
    const int64_t num = std::min<int64_t>(kWeightBlock, row_.count - begin);
    tokens = {contract::f32_view(list_values_, num), num, tokens.at_least, tokens.after};
    begin = 0;
  } else if (weighs_edits(distribution_.cut)) {
    before = begin;
    tokens = block_of(tokens, begin);
    edited_->write_changed(begin, tokens.source.count, scratch_values_);
    tokens.at_most = kInfinity;
    begin = 0;
  }
  // Weighs parts of the block until one contains the target, then that part's elements.
  const int64_t count = tokens.source.count;
  for (;; begin = end) {
    end = std::min(begin + kDrawPart, count);
    if (later_.stage) {
      passes_.reweigh(part_of(row_, before + begin, end - begin), *later_.stage, later_.at_least,
                      list_values_ + begin, scratch_values_);
    }
    const uint64_t weight = weigh(tokens, begin, end, {distribution_.scale}, nullptr);
    if (target < weight) break;
    target -= weight;
  }
  float relative[kDrawPart];
  write_relative(tokens, begin, end, relative);
  uint64_t sum = 0;
  int64_t index = begin;
  while ((sum += contract::weight_of(relative[index - begin])) <= target) ++index;
  return before + index;
}

bool SimdRow::is_worth_sums(int64_t num_draws, const Kept &kept) const {
  return !later_.stage && !has_earlier_ && !weighs_edits_ &&
         are_many_draws(num_draws, kept.source.count);
}

// Makes the running sums; returns the last.
uint64_t SimdRow::sum_weights(const Kept &kept) {
  has_sums_ = true;
  uint64_t sum = 0;
  for_each_range(kept, 0, kept.source.count, [&](int64_t begin, int64_t end, float at_least) {
    sum = passes_.sum_weights(kept.source, {distribution_.scale}, begin, end, at_least, sum,
                              scratch_wide_);
  });
  return sum;
}

void SimdRow::prepare_draws(int64_t num_draws) {
  constexpr int64_t kWorthAll = 32;  // draws that take as long as all new logits
  if (later_.stage && num_draws > kWorthAll) reweigh_now();
  const Kept tokens = kept();
  if (!has_sums_ && is_worth_sums(num_draws, tokens)) sum_weights(tokens);
  if (!has_sums_) return;
  inverse_cdf_ = InverseCdf(scratch_wide_, tokens.source.count);
  inverse_cdf_.make_guide(num_draws, reinterpret_cast<int32_t *>(spare_));
}

void SimdRow::sample_words(const contract::RandomStream *streams, int64_t count,
                           uint64_t *words) const {
  constexpr int64_t kWorthAVector = 4;
  if (count < kWorthAVector) {
    cpu::sample_words(streams, count, words);
  } else {
    passes_.sample_words(streams, count, words);
  }
}

void SimdRow::draw(const uint64_t *words, int64_t count, int64_t *ids) const {
  if (has_sums_) {
    inverse_cdf_.draw(words, count, ids);
  } else {
    for (int64_t i = 0; i < count; ++i) ids[i] = draw_index(words[i]);
  }
  for (int64_t i = 0; i < count; ++i) ids[i] = kept_id(ids[i]);
}

int64_t SimdRow::draw_gumbel(const contract::GumbelStream &random) const {
  const Kept tokens = kept();
  GumbelBest best = {-kInfinity, -1};
  for_each_range(tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
    const GumbelBest part =
        passes_.gumbel(tokens.source, distribution_.scale, random, begin, end, at_least);
    if (part.score > best.score) best = part;
  });
  return kept_id(best.index);
}

}  // namespace sampler::cpu
