// Index of a row's elements by token id.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/row_view.h"
#include "cpu/sort.h"

namespace sampler::cpu {

class Elements {
 public:
  // Takes memory only for candidate lists that are to be indexed.
  template <class Memory>
  Elements(bool is_wanted, const contract::Rows &input, Memory &memory) {
    if (!is_wanted || !input.ids) return;
    elements_ = memory.template take<uint64_t>(input.num_cols);
    sort_scratch_ = memory.template take<uint64_t>(input.num_cols);
  }

  // `row` is valid.
  void index(const contract::RowView &row) {
    count_ = row.count;
    is_list_ = row.ids != nullptr;
    if (!is_list_) return;
    for (int64_t i = 0; i < count_; ++i) elements_[i] = uint64_t(row.id(i)) << 32 | uint64_t(i);
    sorted_ = sort_by_upper_half(elements_, count_, sort_scratch_);
  }

  bool is_list() const { return is_list_; }
  // Element of a token; -1: the row has no such id.
  int64_t find(int64_t id) const {
    if (!is_list_) return id >= 0 && id < count_ ? id : -1;
    const uint64_t *const end = sorted_ + count_;
    const uint64_t *const found = std::lower_bound(
        sorted_, end, id,
        [](uint64_t element, int64_t wanted) { return int64_t(element >> 32) < wanted; });
    return found != end && int64_t(*found >> 32) == id ? int64_t(uint32_t(*found)) : -1;
  }

 private:
  int64_t count_ = 0;
  bool is_list_ = false;
  uint64_t *elements_ = nullptr;  // id in the upper half, element in the lower
  uint64_t *sort_scratch_ = nullptr;
  const uint64_t *sorted_ = nullptr;  // by id
};

}  // namespace sampler::cpu
