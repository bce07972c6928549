// Row passes: the loops over a row's elements, compiled for each instruction set.
//
// A pass reads a row in the caller's memory, or a list of some of its tokens with i32 ids. It
// covers the elements of [begin, end) with values >= `at_least`. The tokens that a cut keeps are
// two such ranges: up to the last kept tie of the cut's value, and after it.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/edits.h"
#include "contract/entropy.h"
#include "contract/philox.h"
#include "contract/row_view.h"
#include "contract/weight.h"

namespace sampler::cpu {

// Group maxima: a group is one lane of a block's vectors.
constexpr int64_t kVectorElements = 16;
constexpr int64_t kGroupElements = 16;
constexpr int64_t kGroupBlock = kVectorElements * kGroupElements;
// Elements per block weight: 128 per lane, so that limbs do not overflow.
constexpr int64_t kWeightBlock = 2048;
// A sample has one of every kSampleStep vectors.
constexpr int64_t kSampleStep = 32;

// An approximate set of ids. `many`: a bitmap of num_many bits, a power of two, indexed by the ids'
// low bits. The other members depend on the instruction set: bitmaps indexed by the lowest 10 bits
// (`few`) and by the 10 bits from kIdShift on (`shifted`); or `nibbles`: for each of the lowest
// four nibbles and each of its values, a bitmap of id % 8.
constexpr int64_t kFewIdBits = 1024;
constexpr int kIdShift = 5, kIdNibbles = 4, kNibbleValues = 16, kIdsInMask = 64;
struct IdBits {
  uint32_t *many;
  uint32_t num_many;
  uint32_t few[kFewIdBits / 32], shifted[kFewIdBits / 32];
  uint8_t nibbles[kIdNibbles][kNibbleValues];
};

// Elements that may be written beyond the end of a list.
constexpr int64_t kListPadding = kVectorElements;

// Stands for an element that is not kept among relative probabilities: adaptive-p's sum of it with
// kGrid is below that.
constexpr float kNotKept = -contract::AdaptiveP::kGrid;

using contract::RowView;

// Scaling from values to relative probabilities: the contract's scale, or none for given
// probabilities.
struct Scaling {
  contract::RowScale row;
  bool as_given = false;
};

struct RowScan {
  bool valid;  // no NaN, no negative probability
  float max;
  float least;  // only by scan_range
};

// Elements between two bounds. If count is 0, `least` and `largest` are undefined.
struct ValueRange {
  int64_t count;
  float least;
  float largest;
};

struct ListRange {
  float at_least;
  int64_t enough;  // once this many are listed, further elements equal to at_least are skipped
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

struct MarkedWeight {
  uint64_t total;
  float least;  // relative probability; +inf if there are no elements
};

struct SplitWeight {
  uint64_t total;
  uint64_t heavy;  // of the heavy elements
};

struct Passes {
  const char *name;
  uint32_t isa;  // its SAMPLER_ISA_ bit

  // Checks all values and finds the largest. Writes group maxima, kVectorElements for each
  // kGroupBlock elements, to `maxima`.
  RowScan (*scan)(const RowView &row, float *maxima);

  // As scan; also finds the lowest value of an f32 row; -inf for other types.
  RowScan (*scan_range)(const RowView &row, float *maxima);

  // As scan, for the logits that a bitmask allows; max is -inf if there are none. +inf is invalid,
  // even if not allowed.
  RowScan (*scan_allowed)(const RowView &row, const uint32_t *allowed, float *maxima);

  // Copies the values to `out` as f32, with -inf or probability 0 for those above `at_most`, and
  // scans the copy. `out` may be the row's own f32 array.
  RowScan (*copy)(const RowView &row, float at_most, float *out, float *maxima);

  // Copies logits to `out` as f32, with -inf for those that a bitmask does not allow. `out` may be
  // the row's own f32 array.
  void (*copy_allowed)(const RowView &row, const uint32_t *allowed, float *out);

  // Writes the elements' new logits, -inf for those below `at_least`, and their group
  // maxima; returns the largest. `out` may be the row's own f32 array.
  float (*reweigh)(const RowView &row, const contract::Reweighing &stage, float at_least,
                   float *out, float *maxima);

  // Weight of adaptive-p's new logits, relative to the largest, `max`; adds it to `block_weights`.
  // `relative` is what weigh_and_mark() writes.
  uint64_t (*weigh_adaptive)(const float *relative, int64_t count, const contract::AdaptiveP &stage,
                             float max, uint64_t *block_weights);

  // Index of the first element that equals the largest, `max`.
  int64_t (*find_first)(const RowView &row, const float *maxima, float max);

  // Index of the n-th element, n >= 1, that equals `value`; -1 if there are fewer.
  int64_t (*find_nth)(const RowView &row, float value, int64_t n);

  // Number of elements.
  int64_t (*count)(const RowView &source, int64_t begin, int64_t end, float at_least);

  // The same, skipping blocks whose group maxima are all below `at_least`.
  int64_t (*count_groups)(const RowView &row, const float *maxima, int64_t begin, int64_t end,
                          float at_least);

  // Elements [begin, end) in [at_least, at_most].
  ValueRange (*find_range)(const RowView &source, int64_t begin, int64_t end, float at_least,
                           float at_most);

  // Reduces each `factor` neighbouring vectors to their lane-wise maximum; the last may have fewer.
  // Returns the number of values written.
  int64_t (*fold_maxima)(const float *maxima, int64_t count, int64_t factor, float *out);

  // Lists the elements of [begin, end) in the range. `maxima` null: no block is skipped. If the
  // source is a list, of f32 values, all elements in the range are listed.
  Listed (*list)(const RowView &source, const float *maxima, int64_t begin, int64_t end,
                 const ListRange &range, float *out_values, int32_t *out_ids);

  // Compacts the values in [at_least, at_most] into `out`, which has room for the source and the
  // list padding, and may be the source's own f32 array. Returns their number.
  int64_t (*pack)(const RowView &source, float at_least, float at_most, float *out);

  // The same for values >= `at_least` outside [low, high].
  int64_t (*pack_beyond)(const RowView &source, float at_least, float low, float high, float *out);

  // Adds ids to the set.
  void (*mark_ids)(const int32_t *ids, int64_t count, IdBits *set);

  // Compacts the ids that may be in the set: all its members, and some false positives of `many`.
  // `out` has room for all ids.
  int64_t (*pick_ids)(const int32_t *ids, int64_t count, const IdBits &wanted, int32_t *out);

  // Number of occurrences of `id`.
  int64_t (*count_id)(const int32_t *ids, int64_t count, int32_t id);

  // Compacts the values >= `at_least` of one vector of each kSampleStep, at positions chosen by
  // `key`.
  int64_t (*sample)(const RowView &row, float at_least, uint64_t key, float *out);

  // Weight of elements. Also adds it to `block_weights`, one per kWeightBlock elements of the
  // source, unless that is null.
  uint64_t (*weigh)(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                    float at_least, uint64_t *block_weights);

  // As weigh; also writes the relative probabilities to out[begin, end), 0 for other elements.
  uint64_t (*weigh_and_write)(const RowView &source, const Scaling &scaling, int64_t begin,
                              int64_t end, float at_least, uint64_t *block_weights, float *out);

  // The same without block weights, and kNotKept for other elements. It may write other relative
  // probabilities below 2^-99 instead of 0.
  MarkedWeight (*weigh_and_mark)(const RowView &source, const Scaling &scaling, int64_t begin,
                                 int64_t end, float at_least, float *out);

  // The same as weigh for values in [at_least, at_most].
  uint64_t (*weigh_between)(const RowView &source, const Scaling &scaling, int64_t begin,
                            int64_t end, float at_least, float at_most, uint64_t *block_weights);

  // Weight of elements, and of those with values >= `heavy`.
  SplitWeight (*weigh_split)(const RowView &source, const Scaling &scaling, int64_t begin,
                             int64_t end, float at_least, float heavy);

  // Sums of the elements' weights and surprises.
  contract::EntropySums (*sum_entropy)(const RowView &source, const contract::RowScale &row,
                                       int64_t begin, int64_t end, float at_least);

  // Sums of the elements' weights and of their squares.
  contract::CollisionSums (*sum_collisions)(const RowView &source, const contract::RowScale &row,
                                            int64_t begin, int64_t end, float at_least);

  // Sums of the elements' distances below the first token. Probabilities must be above 0.
  contract::DeviationSums (*sum_deviations)(const RowView &source, const contract::RowScale &row,
                                            const contract::DeviationScale &unit, int64_t begin,
                                            int64_t end, float at_least);

  // Writes the running sum of the elements' weights, starting from `sum`; returns the last.
  uint64_t (*sum_weights)(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                          float at_least, uint64_t sum, uint64_t *out);

  // Writes relative probabilities times `normalizer`; 0 for elements below `at_least`.
  void (*write_probabilities)(const RowView &source, const Scaling &scaling, float normalizer,
                              int64_t begin, int64_t end, float at_least, void *out,
                              sampler_dtype out_dtype);

  // Multiplies each value by `factor`.
  void (*multiply)(float *values, int64_t count, float factor);

  // Writes the values themselves; -inf for those below `at_least`.
  void (*write_values)(const RowView &source, int64_t begin, int64_t end, float at_least, void *out,
                       sampler_dtype out_dtype);

  // Sets the elements' bits, 32 per word.
  void (*set_bits)(const RowView &source, int64_t begin, int64_t end, float at_least,
                   uint32_t *words);

  // contract::penalize() of the logits whose marks, their counts, are not negative.
  void (*penalize)(float *values, const int32_t *marks, int64_t count,
                   const contract::Penalties &penalties);

  // As weigh, for the logits that a bitmask allows; `begin` is a multiple of kVectorElements.
  uint64_t (*weigh_allowed)(const RowView &row, const contract::RowScale &scale,
                            const uint32_t *allowed, int64_t begin, int64_t end,
                            uint64_t *block_weights);

  // Writes the limbs of what changed logits weigh more than the given ones, 0 below `at_least`.
  // `high` and `low` have room for the list padding.
  void (*weigh_changes)(const float *given, const float *changed, int64_t count,
                        const contract::RowScale &row, float at_least, int32_t *high, int32_t *low);

  // residual = max(p - probability, 0), where `residual` may be p. Returns the largest. Unless
  // `maxima` is null, writes the range's group maxima; `begin` is a multiple of kGroupBlock then.
  float (*subtract)(const RowView &source, const Scaling &scaling, float normalizer, int64_t begin,
                    int64_t end, float at_least, const float *p, float *residual, float *maxima);

  // Writes one word per stream: contract::random_word64(stream, kSample, 0).
  void (*sample_words)(const contract::RandomStream *streams, int64_t count, uint64_t *out);

  // The element with the largest Gumbel score, the first among equals. Ids ascend.
  GumbelBest (*gumbel)(const RowView &source, const contract::RowScale &scale,
                       const contract::GumbelStream &random, int64_t begin, int64_t end,
                       float at_least);
};

}  // namespace sampler::cpu
