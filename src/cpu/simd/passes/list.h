// Passes that list tokens or compact values.
#pragma once

#include "cpu/simd/passes/elements.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// 63 if x is 0.
SAMPLER_INLINE int lowest_bit(uint64_t x) {
  return __builtin_ctzll(x | uint64_t(1) << 63);
}

// Prefetch distance of writes, most of which are shorter than a cache line.
constexpr int64_t kAhead = 64;

// Writes tokens of a row: values and positions.
template <class Type>
struct TokenWriter {
  static constexpr int kVectors = 4;
  static constexpr int64_t kElements = kVectors * kWidth;
  const typename Type::Element *row;
  float *values;
  int32_t *positions;
  int64_t count = 0;

  // Appends the masked elements of kVectors vectors, the first of which begins at element `first`.
  // Usually there are at most two tokens, which are written without a branch.
  SAMPLER_INLINE void append(const Floats (&x)[kVectors], const Mask (&wanted)[kVectors],
                             int64_t first) {
    uint64_t masks[kVectors], any = 0;
    for (int i = 0; i < kVectors; ++i) any |= masks[i] = bits(wanted[i]);
    if (any == 0) return;
    int num_wanted = 0;
    for (const uint64_t mask : masks) num_wanted += __builtin_popcountll(mask);
    if (num_wanted <= 2) {
      uint64_t all = 0;
      for (int i = 0; i < kVectors; ++i) all |= masks[i] << (i * kWidth);
      put(count, first + lowest_bit(all));
      put(count + 1, first + lowest_bit(all & (all - 1)));
      count += num_wanted;
      return;
    }
    __builtin_prefetch(values + count + kAhead, 1);
    __builtin_prefetch(positions + count + kAhead, 1);
    const Ints start = add(lane_indices(), splat(int32_t(first)));
    for (int i = 0; i < kVectors; ++i) {
      append_lanes(x[i], wanted[i], add(start, splat(int32_t(i * kWidth))));
    }
  }
  SAMPLER_INLINE void append(Floats x, Mask wanted, int64_t first) {
    append_lanes(x, wanted, add(lane_indices(), splat(int32_t(first))));
  }

 private:
  SAMPLER_INLINE void put(int64_t place, int64_t position) {
    positions[place] = int32_t(position);
    values[place] = Type::value(row[position]);
  }
  SAMPLER_INLINE void append_lanes(Floats x, Mask wanted, Ints position) {
    store_packed(values + count, wanted, x);
    count +=
        store_packed(reinterpret_cast<float *>(positions + count), wanted, as_floats(position));
  }
};

// kMasked: only tokens that the bitmask allows.
template <class Type, bool kMasked>
Listed list_tokens(const RowView &source, const float *maxima, int64_t begin, int64_t end,
                   const ListRange &range, float *out_values, int32_t *out_ids) {
  const auto *p = elements<Type>(source.values);
  const Floats at_least = splat(range.at_least);
  int64_t end_of_ties = end;
  TokenWriter<Type> list = {p, out_values, out_ids};
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / kGroupBlock;
    const int64_t block_end = smaller((block + 1) * kGroupBlock, end);
    if (list.count >= range.enough && end_of_ties == end) end_of_ties = i;
    const bool no_ties = end_of_ties < end;
    const auto reaches = [&](Floats x) SAMPLER_INLINE_LAMBDA {
      return no_ties ? gt(x, at_least) : ge(x, at_least);
    };
    if (!maxima || bits(reaches(load(maxima + block * kWidth))) != 0) {
      const auto wanted = [&](Floats x, int64_t k) SAMPLER_INLINE_LAMBDA {
        return kMasked ? both(reaches(x), allowed_by(bits_from(range.allowed, k))) : reaches(x);
      };
      int64_t j = i;
      for (; j + list.kElements <= block_end; j += list.kElements) {
        const Floats x[] = {Type::read(p + j), Type::read(p + j + kWidth),
                            Type::read(p + j + 2 * kWidth), Type::read(p + j + 3 * kWidth)};
        const Mask masks[] = {wanted(x[0], j), wanted(x[1], j + kWidth),
                              wanted(x[2], j + 2 * kWidth), wanted(x[3], j + 3 * kWidth)};
        list.append(x, masks, j);
      }
      for_each_vector<Type>(p, j, block_end,
                            [&](Floats x, int64_t k, int64_t)
                                SAMPLER_INLINE_LAMBDA { list.append(x, wanted(x, k), k); });
    }
    i = block_end;
  }
  return {list.count, end_of_ties};
}

// Writes compacted values.
struct ValueWriter {
  float *values;
  int64_t count = 0;

  SAMPLER_INLINE void append(Mask wanted, Floats x) {
    count += store_packed(values + count, wanted, x);
    __builtin_prefetch(values + count + kAhead, 1);
  }
};

// Lists from another list, most of which is kept.
Listed list_listed(const RowView &source, int64_t begin, int64_t end, float at_least,
                   float *out_values, int32_t *out_ids) {
  const Floats least = splat(at_least);
  const auto *const ids = reinterpret_cast<const float *>(ids_of(source));
  ValueWriter values = {out_values}, listed_ids = {reinterpret_cast<float *>(out_ids)};
  for_each_vector<F32>(elements<F32>(source.values), begin, end,
                       [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                         const Mask wanted = ge(x, least);
                         values.append(wanted, x);
                         listed_ids.append(wanted, lanes < kWidth
                                                       ? read_some<F32>(ids + index, lanes, 0.0f)
                                                       : load(ids + index));
                       });
  return {values.count, end};
}

Listed list(const RowView &source, const float *maxima, int64_t begin, int64_t end,
            const ListRange &range, float *out_values, int32_t *out_ids) {
  if (ids_of(source)) return list_listed(source, begin, end, range.at_least, out_values, out_ids);
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    return range.allowed
               ? list_tokens<Type, true>(source, maxima, begin, end, range, out_values, out_ids)
               : list_tokens<Type, false>(source, maxima, begin, end, range, out_values, out_ids);
  });
}

void set_bits(const RowView &source, int64_t begin, int64_t end, float at_least, uint32_t *words) {
  const Floats least = splat(at_least);
  with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    for_each_vector<Type>(elements<Type>(source.values), begin, end,
                          [&](Floats x, int64_t index, int64_t) SAMPLER_INLINE_LAMBDA {
                            const uint64_t set = uint64_t(bits(ge(x, least))) << (index % 32);
                            words[index / 32] |= uint32_t(set);
                            if (set >> 32 != 0) words[index / 32 + 1] |= uint32_t(set >> 32);
                          });
  });
}

// Compacts the values that `wanted` selects.
template <class Wanted>
SAMPLER_INLINE int64_t pack_wanted(const RowView &source, float *out, const Wanted &wanted) {
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    ValueWriter packed = {out};
    for_each_vector<Type>(elements<Type>(source.values), 0, source.count,
                          [&](Floats x, int64_t, int64_t)
                              SAMPLER_INLINE_LAMBDA { packed.append(wanted(x), x); });
    return packed.count;
  });
}

int64_t pack(const RowView &source, float at_least, float at_most, float *out) {
  const Floats least = splat(at_least), most = splat(at_most);
  return pack_wanted(source, out,
                     [&](Floats x) SAMPLER_INLINE_LAMBDA { return within(x, least, most); });
}

int64_t pack_beyond(const RowView &source, float at_least, float low, float high, float *out) {
  const Floats least = splat(at_least), inner_least = splat(low), inner_most = splat(high);
  const auto is_beyond = [&](Floats x) SAMPLER_INLINE_LAMBDA {
    return either(gt(inner_least, x), gt(x, inner_most));
  };
  if (at_least == -kInfinity) return pack_wanted(source, out, is_beyond);
  return pack_wanted(source, out, [&](Floats x) SAMPLER_INLINE_LAMBDA {
    return both(ge(x, least), is_beyond(x));
  });
}

void mark_ids(const int32_t *ids, int64_t count, IdBits *set) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t id = uint32_t(ids[i]), place = id & (set->num_many - 1);
    set->many[place / 32] |= uint32_t(1) << (place % 32);
    native::mark_id(id, set);
  }
}

int64_t pick_ids(const int32_t *ids, int64_t count, const IdBits &wanted, int32_t *out) {
  constexpr int kUnguessed = 4;
  const native::IdTables tables = native::load_id_tables(wanted);
  const int64_t whole = count / kIdsInMask * kIdsInMask;
  int64_t num_found = 0;
  for (int64_t i = 0; i < whole; i += kIdsInMask) {
    uint64_t mask = native::find_ids(tables, ids + i);
    if (mask == 0) continue;
    // Unconditional writes avoid a branch on the count.
    const int num = __builtin_popcountll(mask);
    for (int j = 0; j < kUnguessed; ++j, mask &= mask - 1) {
      out[num_found + j] = ids[i + lowest_bit(mask)];
    }
    for (int j = kUnguessed; mask != 0; ++j, mask &= mask - 1) {
      out[num_found + j] = ids[i + lowest_bit(mask)];
    }
    num_found += num;
  }
  int64_t num_picked = 0;
  const auto append = [&](int32_t id) SAMPLER_INLINE_LAMBDA {
    const uint32_t place = uint32_t(id) & (wanted.num_many - 1);
    out[num_picked] = id;
    num_picked += wanted.many[place / 32] >> (place % 32) & 1u;
  };
  for (int64_t i = 0; i < num_found; ++i) append(out[i]);
  for (int64_t i = whole; i < count; ++i) append(ids[i]);
  return num_picked;
}

int64_t count_id(const int32_t *ids, int64_t count, int32_t id) {
  const Ints wanted = splat(id);
  int64_t result = 0, i = 0;
  for (; i + kWidth <= count; i += kWidth) result += count_of(equal(load(ids + i), wanted));
  for (; i < count; ++i) result += ids[i] == id ? 1 : 0;
  return result;
}

// Positions are the upper bits of a linear congruential generator.
int64_t sample(const RowView &row, float at_least, uint64_t key, float *out) {
  static_assert(kSampleStep == 32, "the five upper bits");
  constexpr int64_t kStep = kSampleStep * kWidth;
  int64_t num_read = 0;
  with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    const int64_t count = row.count;
    for (int64_t i = 0; i < count; i += kStep) {
      key = key * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
      const int64_t place = i + int64_t(key >> 59) * kWidth;
      if (place + kWidth > count) continue;
      store(out + num_read, Type::read(p + place));
      num_read += kWidth;
    }
  });
  return pack(contract::f32_view(out, num_read), at_least, kInfinity, out);
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
