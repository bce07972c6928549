// Random requests for every operation, and their outputs as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "contract/request.h"

namespace test_support {

// Kinds of request.
constexpr int kNumRequests = 5;

// What the values of a row look like. Logits; probabilities are made of them.
enum class Shape {
  kNormal,
  kLikeAModels,
  kAllEqual,
  kTwoValues,
  kOneFinite,
  kMasked,  // two of three are -inf
  kFlat,
  kTies,
  kHuge,  // f16: near its largest number; else 1e30
  kSubnormal,
  kZeros,  // of both signs
  kNumShapes
};

// What is not drawn: types and parameters of all rows. Rows whose shape is fixed are good ones.
struct Fixed {
  std::optional<Shape> shape;
  std::optional<sampler_dtype> dtype;
  std::optional<float> temperature;  // of logits
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
};

// Widths and numbers of rows to draw from.
struct Scale {
  std::vector<int64_t> widths;
  int64_t max_rows;
  Fixed fixed = {};
};

extern const Scale kSmall;
extern const Scale kLarge;

// An output array after a run, canaries included.
struct Output {
  std::string name;
  std::vector<unsigned char> bytes;
};

// Filled while the request that bind_outputs() was given runs.
using Outputs = std::vector<Output>;

// "" when they are the same bytes, otherwise what differs.
std::string difference(const Outputs &expected, const Outputs &actual);

class Problem {
 public:
  Problem(std::mt19937_64 &random, const Scale &scale);

  sampler::contract::SampleRequest sample_request();
  sampler::contract::RowsRequest rows_request();
  sampler::contract::SelectRequest select_request();
  sampler::contract::ChainRequest chain_request();
  sampler::contract::ResidualRequest residual_request();

  // Points the request's outputs, those it wants, at new arrays.
  Outputs bind_outputs(sampler::contract::SampleRequest *request) const;
  Outputs bind_outputs(sampler::contract::RowsRequest *request) const;
  Outputs bind_outputs(sampler::contract::SelectRequest *request) const;
  Outputs bind_outputs(sampler::contract::ChainRequest *request) const;
  Outputs bind_outputs(sampler::contract::ResidualRequest *request) const;

  // f(request) for a request of each kind in turn: `which` % kNumRequests.
  template <class F>
  auto visit(int which, const F &f) {
    switch (which % kNumRequests) {
      case 0:
        return f(sample_request());
      case 1:
        return f(rows_request());
      case 2:
        return f(select_request());
      case 3:
        return f(chain_request());
      default:
        return f(residual_request());
    }
  }

  const std::string &description() const { return description_; }

 private:
  // What rows have: all columns, the first ones, or candidates in any number.
  enum class Elements { kAll, kFirst, kCandidates };

  // A model's rows: values, ids of candidates, and how many elements there are.
  struct Storage {
    std::vector<unsigned char> values;
    std::vector<unsigned char> ids;
    std::vector<int32_t> counts;
  };

  bool one_in(int n) { return random_() % uint64_t(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }

  sampler::contract::Rows make_rows(Storage *storage, int64_t num_rows, int64_t num_cols,
                                    sampler_input_kind kind, Elements elements);
  Elements random_elements();
  float random_logit(Shape shape, sampler_dtype dtype, int64_t column);
  float random_value(sampler_input_kind kind, Shape shape, sampler_dtype dtype, int64_t column);
  sampler::contract::Slots make_slots(int64_t num_rows);
  void make_parameters(sampler::contract::Parameters *parameters, int64_t num_slots,
                       sampler_input_kind kind, int64_t num_cols);
  void make_randomness(sampler::contract::Randomness *random, int64_t num_slots);
  void make_draft_token_ids(sampler_id_type type, int64_t count);
  void describe(const std::string &text);

  std::mt19937_64 &random_;
  Fixed fixed_;
  int64_t num_rows_;
  int64_t num_cols_;
  bool candidates_;
  std::string description_;
  Storage input_, draft_;
  std::vector<int32_t> row_indices_, slots_, top_ks_, draft_counts_;
  std::vector<float> temperatures_, top_ps_, min_ps_;
  std::vector<uint64_t> seeds_, offsets_;
  std::vector<uint32_t> streams_;
  std::vector<unsigned char> draft_token_ids_;
};

}  // namespace test_support
