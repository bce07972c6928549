// The row passes: the work on a row that reads many elements, once for each instruction set.
//
// A pass reads a row in the caller's memory, or a list of some of its tokens with ids of i32. It
// looks at elements [begin, end) and there at those of value `at_least` or more. Tokens that a cut
// keeps are two such ranges: up to the last of the tokens that equal the cut's value, and after
// it.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/philox.h"
#include "contract/row_view.h"
#include "contract/weight.h"

namespace sampler::cpu {

// Elements of a group, whose largest stands for all of them: those at the same place of the
// block's vectors.
constexpr int64_t kVectorElements = 16;
constexpr int64_t kGroupElements = 16;
constexpr int64_t kGroupBlock = kVectorElements * kGroupElements;
// Elements that one sum of weights is kept for. 128 of a lane, whose limbs do not overflow.
constexpr int64_t kWeightBlock = 2048;
// A sample has one vector of every so many.
constexpr int64_t kSampleStep = 32;

// A set of ids: `many` has `num_many` bits, a power of two, by their lowest bits. What else there
// is, each instruction set has of its own: bits by the lowest 10, `few`, and by the 10 from bit
// kIdShift on, `shifted`; or `nibbles`, for each of the lowest four a byte by its value, with the
// bits of id % 8 of the ids that have it.
constexpr int64_t kFewIdBits = 1024;
constexpr int kIdShift = 5, kIdNibbles = 4, kNibbleValues = 16, kIdsInMask = 64;
struct IdBits {
  uint32_t *many;
  uint32_t num_many;
  uint32_t few[kFewIdBits / 32], shifted[kFewIdBits / 32];
  uint8_t nibbles[kIdNibbles][kNibbleValues];
};

// A write may reach this far beyond the last element of a list.
constexpr int64_t kListPadding = kVectorElements;

using contract::RowView;

// How values become relative probabilities: by the contract's scale, or unchanged, for rows of
// probabilities that are taken as given.
struct Scaling {
  contract::RowScale row;
  bool as_given = false;
};

struct RowScan {
  bool valid;  // no NaN, no negative probability
  float max;
  float least;  // of scan_range alone
};

// Of the elements between two bounds; without any, `least` and `largest` mean nothing.
struct ValueRange {
  int64_t count;
  float least;
  float largest;
};

struct ListRange {
  float at_least;
  int64_t enough;  // when so many are listed, further ones that equal at_least are left out
  const uint32_t *allowed = nullptr;  // a bitmask of the source; null: all elements
};

struct Listed {
  int64_t count;
  int64_t end_of_ties;  // index before which every element equal to at_least is listed
};

struct GumbelBest {
  float score;
  int64_t index;  // -1: no element
};

struct SplitWeight {
  uint64_t total;
  uint64_t heavy;  // of the heavy elements alone
};

struct Passes {
  const char *name;
  uint32_t isa;  // its SAMPLER_ISA_ bit

  // Checks all values and finds the largest. Group maxima, kVectorElements for each kGroupBlock
  // elements, go to `maxima`.
  RowScan (*scan)(const RowView &row, float *maxima);

  // As scan, and finds the least value, too, of a row of f32; of others it is -inf.
  RowScan (*scan_range)(const RowView &row, float *maxima);

  // As scan, of what a bitmask allows: the largest is -inf where that is nothing. Of logits, among
  // which a +inf is not valid either, allowed or not.
  RowScan (*scan_allowed)(const RowView &row, const uint32_t *allowed, float *maxima);

  // As scan, of what it writes to `out`, as f32: the values, -inf or probability 0 for those above
  // `at_most`. `out` may be the row's own array of f32.
  RowScan (*copy)(const RowView &row, float at_most, float *out, float *maxima);

  // Writes the logits that adaptive-p makes of elements, -inf for those below `at_least`, and their
  // group maxima. The result is the largest. `out` may be the row's own array of f32.
  float (*reweigh)(const RowView &row, const contract::AdaptiveP &stage, float at_least, float *out,
                   float *maxima);

  // Index of the first element that equals the largest, `max`.
  int64_t (*find_first)(const RowView &row, const float *maxima, float max);

  // Index of the n-th element, n >= 1, that equals `value`; -1 if there are fewer.
  int64_t (*find_nth)(const RowView &row, float value, int64_t n);

  // How many of elements [begin, end) are at least `at_least`.
  int64_t (*count)(const RowView &source, int64_t begin, int64_t end, float at_least);

  // The same of the row whose group maxima these are: blocks below it are not read.
  int64_t (*count_groups)(const RowView &row, const float *maxima, int64_t begin, int64_t end,
                          float at_least);

  // Elements [begin, end) in [at_least, at_most].
  ValueRange (*find_range)(const RowView &source, int64_t begin, int64_t end, float at_least,
                           float at_most);

  // The largest of each `factor` neighbouring vectors; the last may have fewer. The result is the
  // number of values written.
  int64_t (*fold_maxima)(const float *maxima, int64_t count, int64_t factor, float *out);

  // Lists elements [begin, end) in the range. Without `maxima` no block is skipped. Of a list all
  // that are in the range, as values of f32.
  Listed (*list)(const RowView &source, const float *maxima, int64_t begin, int64_t end,
                 const ListRange &range, float *out_values, int32_t *out_ids);

  // Packs the values of elements in [at_least, at_most] side by side. `out`
  // has room for the source and the list padding; it may be the source's own array of f32.
  int64_t (*pack)(const RowView &source, float at_least, float at_most, float *out);

  // The same of what is at least `at_least` and not in [low, high].
  int64_t (*pack_beyond)(const RowView &source, float at_least, float low, float high, float *out);

  // Adds ids to the set.
  void (*mark_ids)(const int32_t *ids, int64_t count, IdBits *set);

  // Packs all ids of the set side by side, and some of those whose bits are set in its `many`.
  // `out` has room for all ids.
  int64_t (*pick_ids)(const int32_t *ids, int64_t count, const IdBits &wanted, int32_t *out);

  // How many of the ids are this one.
  int64_t (*count_id)(const int32_t *ids, int64_t count, int32_t id);

  // Packs one vector of each kSampleStep, at a place that `key` chooses; without an upper bound.
  int64_t (*sample)(const RowView &row, float at_least, uint64_t key, float *out);

  // The weight of elements. Adds to `block_weights`, one for each kWeightBlock elements of the
  // source, unless it is null.
  uint64_t (*weigh)(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                    float at_least, uint64_t *block_weights);

  // The same of elements in [at_least, at_most].
  uint64_t (*weigh_between)(const RowView &source, const Scaling &scaling, int64_t begin,
                            int64_t end, float at_least, float at_most, uint64_t *block_weights);

  // The weight of elements, and beside it of those that are at least `heavy`.
  SplitWeight (*weigh_split)(const RowView &source, const Scaling &scaling, int64_t begin,
                             int64_t end, float at_least, float heavy);

  // What the elements' weights and surprises add up to.
  contract::EntropySums (*sum_entropy)(const RowView &source, const contract::RowScale &row,
                                       int64_t begin, int64_t end, float at_least);

  // What their distances from the first token add up to. Probabilities are above 0.
  contract::DeviationSums (*sum_deviations)(const RowView &source, const contract::RowScale &row,
                                            const contract::DeviationScale &unit, int64_t begin,
                                            int64_t end, float at_least);

  // Adds the elements' weights to `sum` one after the other, and writes each sum. The result is the
  // last.
  uint64_t (*sum_weights)(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                          float at_least, uint64_t sum, uint64_t *out);

  // Writes relative probabilities times `normalizer`; 0 for elements below `at_least`.
  void (*write_probabilities)(const RowView &source, const Scaling &scaling, float normalizer,
                              int64_t begin, int64_t end, float at_least, void *out,
                              sampler_dtype out_dtype);

  // Writes the values themselves; -inf for those below `at_least`.
  void (*write_values)(const RowView &source, int64_t begin, int64_t end, float at_least, void *out,
                       sampler_dtype out_dtype);

  // Sets the bits of elements, 32 to a word.
  void (*set_bits)(const RowView &source, int64_t begin, int64_t end, float at_least,
                   uint32_t *words);

  // Takes the probabilities off those in `residual`, which do not fall below 0.
  void (*subtract)(const RowView &source, const Scaling &scaling, float normalizer, int64_t begin,
                   int64_t end, float at_least, float *residual);

  // The word that an output of each stream draws with: contract::random_word64(stream, kSample, 0).
  void (*sample_words)(const contract::RandomStream *streams, int64_t count, uint64_t *out);

  // The element with the largest Gumbel score, the first among equals; ids ascend. The result is
  // its index.
  GumbelBest (*gumbel)(const RowView &source, const contract::RowScale &scale,
                       const contract::RandomStream &random, int64_t begin, int64_t end,
                       float at_least);
};

}  // namespace sampler::cpu
