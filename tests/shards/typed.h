// Random calls on rows of every type and kind, for handles of any device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "../seed.h"
#include "problem.h"
#include "random_calls.h"

namespace shards_test {

struct Shape {
  int64_t num_rows, num_cols, num_ranks;
};
using Shapes = std::vector<Shape>;
using TypeAndKind = std::tuple<sampler_dtype, sampler_input_kind>;

class TypedTest : public testing::TestWithParam<TypeAndKind> {
 protected:
  static constexpr int64_t kManyRanks = 64;  // which have a sixth of the calls

  sampler_dtype dtype() const { return std::get<0>(GetParam()); }
  sampler_input_kind kind() const { return std::get<1>(GetParam()); }
  Rows rows_of(const Shape &shape, int i, uint64_t seed) const {
    return make_rows(shape.num_rows, shape.num_cols, dtype(), kind(), i % 3 == 0, seed);
  }
  static Ranges ranges(const Shape &shape, int which) {
    return which % 2 ? uneven_ranges(shape.num_cols, shape.num_ranks, uint64_t(which))
                     : even_ranges(shape.num_cols, shape.num_ranks);
  }

  // call(shape, i), whose result is what is wrong.
  template <class Call>
  static void for_calls(const Shapes &shapes, int num_calls, const Call &call) {
    for (const Shape &shape : shapes) {
      for (int i = 0; i < (shape.num_ranks < kManyRanks ? num_calls : num_calls / 6 + 1); ++i) {
        ASSERT_EQ(call(shape, i), "")
            << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
      }
    }
  }

  // In what follows the handles of call i are samplers(i), and what is wrong with a sample is
  // compare(i, rows, call, ranges).
  template <class Compare>
  void sample(const Shapes &shapes, int num_calls, const Compare &compare) const {
    std::mt19937_64 random(seeded(1));
    for_calls(shapes, num_calls, [&](const Shape &shape, int i) {
      const Rows rows = rows_of(shape, i, random());
      const SampleCall call = random_sample(random, kind(), shape.num_cols);
      const std::string text = compare(i, rows, call, ranges(shape, i));
      return text.empty() ? text : text + ": " + to_text(call);
    });
  }

  template <class SamplersOf>
  void filter(const Shapes &shapes, int num_calls, const SamplersOf &samplers) const {
    std::mt19937_64 random(seeded(2));
    for_calls(shapes, num_calls, [&](const Shape &shape, int i) {
      const Rows rows = rows_of(shape, i, random());
      FilterCall call;
      call.params = draw_params(random, kind(), shape.num_cols);
      call.args.output_dtype = random() % 2 ? dtype() : sampler_dtype(SAMPLER_F32);
      call.args.output_kind = kind() == SAMPLER_LOGITS ? int32_t(random() % 2) : 0;
      const std::string text = compare_filter(samplers(i), rows, call, ranges(shape, i));
      return text.empty() ? text : text + ": " + to_text(call.params);
    });
  }

  template <class SamplersOf>
  void select(const Shapes &shapes, int num_calls, const SamplersOf &samplers) const {
    std::mt19937_64 random(seeded(3));
    for_calls(shapes, num_calls, [&](const Shape &shape, int i) {
      const Rows rows = rows_of(shape, i, random());
      const int64_t wanted[] = {1, 5, shape.num_cols, int64_t(random() % 1000) + 1};
      const int64_t num_selected = std::min(wanted[i % 4], shape.num_cols);
      std::vector<int32_t> counts;
      for (int64_t row = 0; row < shape.num_rows; ++row) {
        counts.push_back(int32_t(random() % 7) - 1);
      }
      return compare_select(samplers(i), rows, num_selected, i % 2 ? counts.data() : nullptr,
                            ranges(shape, i));
    });
  }

  template <class SamplersOf>
  void leave_residuals(const Shapes &shapes, int num_calls, const SamplersOf &samplers) const {
    constexpr sampler_input_kind kKind = SAMPLER_PROBABILITIES;
    std::mt19937_64 random(seeded(4 + uint64_t(kind())));
    for_calls(shapes, num_calls, [&](const Shape &shape, int i) {
      const Rows p =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kKind, i % 3 == 0, random());
      // Equal rows leave nothing.
      const Rows q = i % 4 == 1 ? p
                                : make_rows(shape.num_rows, shape.num_cols, sampler_dtype(i % 3),
                                            kKind, i % 3 == 0, random());
      std::vector<int32_t> drafts;
      for (int64_t row = 0; row < shape.num_rows; ++row) {
        drafts.push_back(int32_t(random() % uint64_t(shape.num_cols + 2)) - 1);
      }
      return compare_residual(samplers(i), p, q, i % 2 ? nullptr : drafts.data(),
                              i % 3 ? sampler_dtype(SAMPLER_F32) : dtype(), ranges(shape, i / 2));
    });
  }
};

inline std::string name_of(const testing::TestParamInfo<TypeAndKind> &of) {
  const std::string types[] = {"F32", "F16", "BF16"};
  const bool logits = std::get<1>(of.param) == SAMPLER_LOGITS;
  return types[std::get<0>(of.param)] + (logits ? "Logits" : "Probabilities");
}

inline auto all_types_and_kinds() {
  return testing::Combine(testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                          testing::Values(SAMPLER_LOGITS, SAMPLER_PROBABILITIES));
}

}  // namespace shards_test
