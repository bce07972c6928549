#include "counting_passes.h"

#include <algorithm>

#include "cpu/simd/isa.h"

namespace complexity_test {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using contract::RowView;

Work work;

namespace {

constexpr double kWeighBetweenCost = 1.3 * kWeighCost, kScanRangeCost = 1.2;
constexpr double kSplitWeighCost = 1.25 * kWeighCost, kEntropyCost = 1.6 * kWeighCost,
                 kCollisionCost = 1.6 * kWeighCost, kDeviationCost = 4, kReweighCost = 8,
                 kWeighAdaptiveCost = 2 * kWeighCost, kRangeCost = 1.5, kScanAllowedCost = 1.5,
                 kCopyCost = 3, kWeighAllowedCost = 1.2 * kWeighCost, kPenalizeCost = 4;
constexpr double kReadCost = 1, kPackCost = 2.5, kListCost = 2.2, kListedCost = 2, kWriteCost = 2,
                 kScoreOfIdCost = 150, kIdCost = 3, kComparedIdCost = 1.5, kPickedIdCost = 60;

const cpu::Passes *real = nullptr;
cpu::Passes counting;

void add(double cost, int64_t count) {
  work.cost += cost * double(count);
  work.num_read += count;
}
void add_weighed(double cost, int64_t count) {
  add(cost, count);
  work.num_weighed += count;
}

// Elements of the blocks that are looked into, going by their maxima: those that hold one of at
// least `at_least`, or after the last tie that is listed, a larger one.
int64_t num_opened(const float *maxima, int64_t begin, int64_t end, float at_least,
                   int64_t end_of_ties) {
  if (!maxima) return end - begin;
  int64_t opened = 0;
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / cpu::kGroupBlock;
    const int64_t block_end = std::min((block + 1) * cpu::kGroupBlock, end);
    bool is_opened = false;
    for (int64_t j = 0; j < cpu::kVectorElements; ++j) {
      const float max = maxima[block * cpu::kVectorElements + j];
      is_opened = is_opened || (i < end_of_ties ? max >= at_least : max > at_least);
    }
    if (is_opened) opened += block_end - i;
    i = block_end;
  }
  return opened;
}

}  // namespace

const cpu::Passes *counting_passes() {
  const cpu::IsaChoice choice = cpu::choose_isa(nullptr);
  real = choice.passes;
  if (!real) return nullptr;
  counting = *real;
  counting.scan = [](const RowView &row, float *maxima) {
    add(kReadCost, row.count);
    return real->scan(row, maxima);
  };
  counting.scan_range = [](const RowView &row, float *maxima) {
    add(row.dtype == SAMPLER_F32 ? kScanRangeCost : kReadCost, row.count);
    return real->scan_range(row, maxima);
  };
  counting.scan_allowed = [](const RowView &row, const uint32_t *allowed, float *maxima) {
    add(kScanAllowedCost, row.count);
    return real->scan_allowed(row, allowed, maxima);
  };
  counting.copy = [](const RowView &row, float at_most, float *out, float *maxima) {
    add(kCopyCost, row.count);
    return real->copy(row, at_most, out, maxima);
  };
  counting.copy_allowed = [](const RowView &row, const uint32_t *allowed, float *out) {
    add(kCopyCost, row.count);
    real->copy_allowed(row, allowed, out);
  };
  counting.reweigh = [](const RowView &row, const contract::Reweighing &stage, float at_least,
                        float *out, float *maxima) {
    add(kReweighCost, row.count);
    return real->reweigh(row, stage, at_least, out, maxima);
  };
  counting.weigh_adaptive = [](const float *relative, int64_t count,
                               const contract::AdaptiveP &stage, float max,
                               uint64_t *block_weights) {
    add_weighed(kWeighAdaptiveCost, count);
    return real->weigh_adaptive(relative, count, stage, max, block_weights);
  };
  counting.find_range = [](const RowView &source, int64_t begin, int64_t end, float at_least,
                           float at_most) {
    add(kRangeCost, end - begin);
    return real->find_range(source, begin, end, at_least, at_most);
  };
  counting.sum_entropy = [](const RowView &source, const contract::RowScale &row, int64_t begin,
                            int64_t end, float at_least) {
    add_weighed(kEntropyCost, end - begin);
    return real->sum_entropy(source, row, begin, end, at_least);
  };
  counting.sum_collisions = [](const RowView &source, const contract::RowScale &row, int64_t begin,
                               int64_t end, float at_least) {
    add_weighed(kCollisionCost, end - begin);
    return real->sum_collisions(source, row, begin, end, at_least);
  };
  counting.sum_deviations = [](const RowView &source, const contract::RowScale &row,
                               const contract::DeviationScale &unit, int64_t begin, int64_t end,
                               float at_least) {
    add(kDeviationCost, end - begin);
    return real->sum_deviations(source, row, unit, begin, end, at_least);
  };
  counting.find_first = [](const RowView &row, const float *maxima, float max) {
    add(kReadCost, row.count / cpu::kGroupElements + cpu::kGroupBlock);
    return real->find_first(row, maxima, max);
  };
  counting.find_nth = [](const RowView &row, float value, int64_t n) {
    add(kReadCost, row.count);
    return real->find_nth(row, value, n);
  };
  counting.count = [](const RowView &source, int64_t begin, int64_t end, float at_least) {
    add(kReadCost, end - begin);
    return real->count(source, begin, end, at_least);
  };
  counting.count_groups = [](const RowView &row, const float *maxima, int64_t begin, int64_t end,
                             float at_least) {
    add(kReadCost, (end - begin) / cpu::kGroupElements);
    add(kReadCost, num_opened(maxima, begin, end, at_least, end));
    return real->count_groups(row, maxima, begin, end, at_least);
  };
  counting.fold_maxima = [](const float *maxima, int64_t count, int64_t factor, float *out) {
    add(kReadCost, count);
    return real->fold_maxima(maxima, count, factor, out);
  };
  counting.list = [](const RowView &source, const float *maxima, int64_t begin, int64_t end,
                     const cpu::ListRange &range, float *out_values, int32_t *out_ids) {
    const cpu::Listed listed = real->list(source, maxima, begin, end, range, out_values, out_ids);
    add(kReadCost, maxima ? (end - begin) / cpu::kGroupElements : 0);
    add(kListCost, num_opened(maxima, begin, end, range.at_least, listed.end_of_ties));
    add(kListedCost, listed.count);
    return listed;
  };
  counting.pack = [](const RowView &source, float at_least, float at_most, float *out) {
    ++work.num_rounds;
    add(kPackCost, source.count);
    return real->pack(source, at_least, at_most, out);
  };
  counting.pack_beyond = [](const RowView &source, float at_least, float low, float high,
                            float *out) {
    ++work.num_rounds;
    add(kPackCost, source.count);
    return real->pack_beyond(source, at_least, low, high, out);
  };
  // Picked ids are counted, one after the other.
  counting.pick_ids = [](const int32_t *ids, int64_t count, const cpu::IdBits &wanted,
                         int32_t *out) {
    const int64_t num_picked = real->pick_ids(ids, count, wanted, out);
    add(kIdCost, count);
    add(kPickedIdCost, num_picked);
    return num_picked;
  };
  counting.count_id = [](const int32_t *ids, int64_t count, int32_t id) {
    add(kComparedIdCost, count);
    return real->count_id(ids, count, id);
  };
  counting.sample = [](const RowView &row, float at_least, uint64_t key, float *out) {
    add(kPackCost, row.count / cpu::kSampleStep);
    return real->sample(row, at_least, key, out);
  };
  counting.weigh = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                      int64_t end, float at_least, uint64_t *block_weights) {
    add_weighed(kWeighCost, end - begin);
    return real->weigh(source, scaling, begin, end, at_least, block_weights);
  };
  counting.weigh_and_write = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                                int64_t end, float at_least, uint64_t *block_weights, float *out) {
    add_weighed(kWeighCost, end - begin);
    add(kWriteCost, end - begin);
    return real->weigh_and_write(source, scaling, begin, end, at_least, block_weights, out);
  };
  counting.weigh_and_mark = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                               int64_t end, float at_least, float *out) {
    add_weighed(kWeighCost, end - begin);
    add(kWriteCost, end - begin);
    return real->weigh_and_mark(source, scaling, begin, end, at_least, out);
  };
  counting.weigh_between = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                              int64_t end, float at_least, float at_most, uint64_t *block_weights) {
    add_weighed(kWeighBetweenCost, end - begin);
    return real->weigh_between(source, scaling, begin, end, at_least, at_most, block_weights);
  };
  counting.weigh_split = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                            int64_t end, float at_least, float heavy) {
    add_weighed(kSplitWeighCost, end - begin);
    return real->weigh_split(source, scaling, begin, end, at_least, heavy);
  };
  counting.sum_weights = [](const RowView &source, const cpu::Scaling &scaling, int64_t begin,
                            int64_t end, float at_least, uint64_t sum, uint64_t *out) {
    add(kWeighCost, end - begin);
    return real->sum_weights(source, scaling, begin, end, at_least, sum, out);
  };
  counting.write_probabilities = [](const RowView &source, const cpu::Scaling &scaling,
                                    float normalizer, int64_t begin, int64_t end, float at_least,
                                    void *out, sampler_dtype out_dtype) {
    add(kWeighCost, end - begin);
    real->write_probabilities(source, scaling, normalizer, begin, end, at_least, out, out_dtype);
  };
  counting.multiply = [](float *values, int64_t count, float factor) {
    add(kWriteCost, count);
    real->multiply(values, count, factor);
  };
  counting.write_values = [](const RowView &source, int64_t begin, int64_t end, float at_least,
                             void *out, sampler_dtype out_dtype) {
    add(kWriteCost, end - begin);
    real->write_values(source, begin, end, at_least, out, out_dtype);
  };
  counting.set_bits = [](const RowView &source, int64_t begin, int64_t end, float at_least,
                         uint32_t *words) {
    add(kReadCost, end - begin);
    real->set_bits(source, begin, end, at_least, words);
  };
  counting.penalize = [](float *values, const int32_t *marks, int64_t count,
                         const contract::Penalties &penalties) {
    add(kPenalizeCost, count);
    real->penalize(values, marks, count, penalties);
  };
  counting.weigh_allowed = [](const RowView &row, const contract::RowScale &scale,
                              const uint32_t *allowed, int64_t begin, int64_t end,
                              uint64_t *block_weights) {
    add_weighed(kWeighAllowedCost, end - begin);
    return real->weigh_allowed(row, scale, allowed, begin, end, block_weights);
  };
  counting.weigh_changes = [](const float *given, const float *changed, int64_t count,
                              const contract::RowScale &row, float at_least, int32_t *high,
                              int32_t *low) {
    add(2 * kWeighCost, count);
    real->weigh_changes(given, changed, count, row, at_least, high, low);
  };
  counting.subtract = [](const RowView &source, const cpu::Scaling &scaling, float normalizer,
                         int64_t begin, int64_t end, float at_least, const float *p,
                         float *residual, float *maxima) {
    add(kWeighCost, end - begin);
    return real->subtract(source, scaling, normalizer, begin, end, at_least, p, residual, maxima);
  };
  counting.gumbel = [](const RowView &source, const contract::RowScale &scale,
                       const contract::GumbelStream &random, int64_t begin, int64_t end,
                       float at_least) {
    add(source.ids ? kScoreOfIdCost : kGumbelCost, end - begin);
    return real->gumbel(source, scale, random, begin, end, at_least);
  };
  return &counting;
}

}  // namespace complexity_test
