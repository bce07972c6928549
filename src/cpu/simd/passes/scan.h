// Passes that find the largest values, find positions and count.
#pragma once

#include "cpu/simd/passes/elements.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// Running result of a scan. kFindsLeast: also the lowest value, of f32.
template <bool kIsProbability, bool kFindsLeast = false>
struct Scanned {
  static constexpr bool kHasBottom = kIsProbability || kFindsLeast;
  Floats top = splat(-kInfinity), bottom = splat(kInfinity);
  Mask bad = unordered(top, top);

  SAMPLER_INLINE void check(Floats a, Floats b) {
    bad = either(bad, unordered(a, b));
    if (kHasBottom) bottom = min(bottom, min(a, b));
  }
  SAMPLER_INLINE RowScan result() const {
    RowScan scan;
    scan.max = largest(top);
    scan.valid = bits(bad) == 0;
    scan.least = kFindsLeast ? -largest(negate(bottom)) : -kInfinity;
    if (kIsProbability) scan.valid = scan.valid && bits(ge(bottom, splat(0.0f))) == 0xFFFFu;
    return scan;
  }
};

template <bool kIsProbability, bool kFindsLeast>
SAMPLER_INLINE int64_t scan_blocks(F32, const float *p, int64_t count, float *maxima,
                                   Scanned<kIsProbability, kFindsLeast> *scanned) {
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Floats a = F32::read(p + i), b = F32::read(p + i + kWidth);
    scanned->check(a, b);
    for (int64_t j = 2 * kWidth; j < kGroupBlock; j += 2 * kWidth) {
      const Floats x = F32::read(p + i + j), y = F32::read(p + i + j + kWidth);
      scanned->check(x, y);
      a = max(a, x);
      b = max(b, y);
    }
    a = max(a, b);
    store(maxima, a);
    scanned->top = max(scanned->top, a);
  }
  return i;
}

// Detects invalid 16-bit floats. Invalid logits are NaNs: adding 2^15 - (first NaN) changes the
// sign bit of NaNs only. Invalid probabilities have a sign: the largest unsigned integer is kept,
// which is the lowest value. (A NaN without a sign is above +inf.)
template <class Type, bool kIsProbability>
class BadHalves {
 public:
  SAMPLER_INLINE void check(Halves x) {
    seen_ = kIsProbability ? max_unsigned(seen_, x) : or_changes(seen_, x, to_sign_);
  }
  SAMPLER_INLINE void add_to(Scanned<kIsProbability> *scanned) const {
    uint16_t seen[2 * kWidth];
    store_halves(seen, seen_);
    if (kIsProbability) return scanned->check(Type::read(seen), Type::read(seen + kWidth));
    uint16_t any = 0;
    for (const uint16_t bits : seen) any |= bits;
    if (any >> 15) scanned->check(splat(kNaN), splat(kNaN));
  }

 private:
  Halves seen_ = splat_halves(0), to_sign_ = splat_halves(0x8000 - Type::kFirstNaN);
};

// Compares 16-bit floats by their bits. If any value is positive, the largest signed integer is the
// largest value. If all have a sign, the smallest unsigned integer is.
template <class Type, bool kIsProbability>
SAMPLER_INLINE int64_t scan_blocks(Type, const uint16_t *p, int64_t count, float *maxima,
                                   Scanned<kIsProbability> *scanned) {
  constexpr int64_t kElements = 2 * kWidth;
  BadHalves<Type, kIsProbability> bad;
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Halves top = load_halves(p + i), least = top;
    bad.check(top);
    for (int64_t j = kElements; j < kGroupBlock; j += kElements) {
      const Halves x = load_halves(p + i + j);
      top = max_signed(top, x);
      least = min_unsigned(least, x);
      bad.check(x);
    }
    uint16_t elements[kElements];
    store_halves(elements, if_positive(top, least));
    const Floats a = Type::read(elements), b = Type::read(elements + kWidth);
    const Floats larger = max(a, b);
    store(maxima, larger);
    scanned->check(a, b);
    scanned->top = max(scanned->top, larger);
  }
  bad.add_to(scanned);
  return i;
}

template <class Type, bool kIsProbability, bool kFindsLeast>
RowScan scan_row(const typename Type::Element *p, int64_t count, float *maxima) {
  Scanned<kIsProbability, kFindsLeast> scanned;
  int64_t i = scan_blocks(Type(), p, count, maxima, &scanned);
  if (i < count) {
    const float filler = kIsProbability ? 0.0f : -kInfinity;
    float *const last_maxima = maxima + i / kGroupElements;
    Floats rest = splat(filler);
    for (; i < count; i += kWidth) {
      const bool whole = count - i >= kWidth;
      const Floats x = whole ? Type::read(p + i) : read_some<Type>(p + i, count - i, filler);
      const Floats y = whole ? x : read_some<Type>(p + i, count - i, kInfinity);
      scanned.check(y, y);
      rest = max(rest, x);
    }
    store(last_maxima, rest);
    scanned.top = max(scanned.top, rest);
  }
  return scanned.result();
}

RowScan scan(const RowView &row, float *maxima) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    return row.kind == SAMPLER_PROBABILITIES ? scan_row<Type, true, false>(p, row.count, maxima)
                                             : scan_row<Type, false, false>(p, row.count, maxima);
  });
}

RowScan scan_range(const RowView &row, float *maxima) {
  if (row.dtype != SAMPLER_F32) return scan(row, maxima);
  const auto *p = elements<F32>(row.values);
  return row.kind == SAMPLER_PROBABILITIES ? scan_row<F32, true, true>(p, row.count, maxima)
                                           : scan_row<F32, false, true>(p, row.count, maxima);
}

// Whether all logits are below +inf. AVX-512 compares one of two vectors: its masks take turns.
class BelowInfinity {
 public:
  SAMPLER_INLINE void check(Floats a, Floats b) {
    if constexpr (native::kLanes == kWidth) {
      all_.check(a, b);
      all_.top = max(all_.top, max(a, b));
    } else {
      below_ = both(below_, both(gt(infinity_, a), gt(infinity_, b)));
    }
  }
  SAMPLER_INLINE bool holds() const {
    const RowScan scan = all_.result();
    return scan.valid && scan.max < kInfinity && bits(below_) == 0xFFFFu;
  }

 private:
  Scanned<false> all_;
  const Floats infinity_ = splat(kInfinity);
  Mask below_ = ge(infinity_, infinity_);
};

template <class Type>
RowScan scan_row_allowed(const typename Type::Element *p, int64_t count, const uint32_t *allowed,
                         float *maxima) {
  const Floats nothing = splat(-kInfinity);
  Floats top = nothing;
  BelowInfinity valid;
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Floats most = nothing;
    for (int64_t j = i; j < i + kGroupBlock; j += 2 * kWidth, ++allowed) {
      const Floats x = Type::read(p + j), y = Type::read(p + j + kWidth);
      valid.check(x, y);
      const Floats a = choose(mask_of_bits(*allowed, 0), x, nothing);
      const Floats b = choose(mask_of_bits(*allowed, kWidth), y, nothing);
      most = max(most, max(a, b));
    }
    store(maxima, most);
    top = max(top, most);
  }
  p += i;
  if (const int64_t num_left = count - i; num_left > 0) {
    Floats rest = nothing;
    for (int64_t j = 0; j < num_left; j += kWidth) {
      const int64_t lanes = num_left - j;
      const Floats x =
          lanes >= kWidth ? Type::read(p + j) : read_some<Type>(p + j, lanes, -kInfinity);
      valid.check(x, x);
      rest = max(rest, choose(allowed_by(bits_from(allowed, j)), x, nothing));
    }
    store(maxima, rest);
    top = max(top, rest);
  }
  return {valid.holds(), largest(top), -kInfinity};
}

RowScan scan_allowed(const RowView &row, const uint32_t *allowed, float *maxima) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    return scan_row_allowed<Type>(elements<Type>(row.values), row.count, allowed, maxima);
  });
}

// Copies up to kGroupBlock elements; returns the largest per lane.
template <class Type, bool kIsProbability, bool kIsLimited>
SAMPLER_INLINE Floats copy_block(const typename Type::Element *p, int64_t begin, int64_t end,
                                 Floats most, float *out, Scanned<kIsProbability> *scanned) {
  const float filler = kIsProbability ? 0.0f : -kInfinity;
  const Floats nothing = splat(filler);
  Floats top = nothing;
  for (int64_t i = begin; i < end; i += kWidth) {
    const bool whole = end - i >= kWidth;
    const Floats x = whole ? Type::read(p + i) : read_some<Type>(p + i, end - i, filler);
    scanned->check(x, x);
    const Floats y = kIsLimited ? choose(ge(most, x), x, nothing) : x;
    top = max(top, y);
    if (whole) {
      store(out + i, y);
    } else {
      write_some<F32>(out + i, end - i, y);
    }
  }
  return top;
}

template <class Type, bool kIsProbability, bool kIsLimited>
RowScan copy_row(const RowView &row, float at_most, float *out, float *maxima) {
  const auto *p = elements<Type>(row.values);
  const Floats most = splat(at_most);
  Scanned<kIsProbability> scanned;
  int64_t i = 0;
  const auto copy = [&](int64_t end) SAMPLER_INLINE_LAMBDA {
    const Floats top = copy_block<Type, kIsProbability, kIsLimited>(p, i, end, most, out, &scanned);
    store(maxima + i / kGroupElements, top);
    scanned.top = max(scanned.top, top);
  };
  for (; i + kGroupBlock <= row.count; i += kGroupBlock) copy(i + kGroupBlock);
  if (i < row.count) copy(row.count);
  return scanned.result();
}

RowScan copy(const RowView &row, float at_most, float *out, float *maxima) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    if (row.kind == SAMPLER_PROBABILITIES) {
      return copy_row<Type, true, true>(row, at_most, out, maxima);
    }
    return at_most == kInfinity ? copy_row<Type, false, false>(row, at_most, out, maxima)
                                : copy_row<Type, false, true>(row, at_most, out, maxima);
  });
}

void copy_allowed(const RowView &row, const uint32_t *allowed, float *out) {
  const Floats nothing = splat(-kInfinity);
  with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    int64_t i = 0;
    for (; i + kWidth <= row.count; i += kWidth) {
      store(out + i, choose(allowed_by(bits_from(allowed, i)), Type::read(p + i), nothing));
    }
    if (i == row.count) return;
    const Floats rest = read_some<Type>(p + i, row.count - i, -kInfinity);
    write_some<F32>(out + i, row.count - i,
                    choose(allowed_by(bits_from(allowed, i)), rest, nothing));
  });
}

int64_t find_first(const RowView &row, const float *maxima, float max) {
  const Floats wanted = splat(max);
  int64_t block = 0;
  while (bits(ge(load(maxima + block * kWidth), wanted)) == 0) ++block;
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    int64_t i = block * kGroupBlock;
    for (;; i += kWidth) {
      const Floats x =
          row.count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, row.count - i, kNaN);
      const uint32_t found = bits(ge(x, wanted));
      if (found != 0) return i + __builtin_ctz(found);
    }
  });
}

int64_t find_nth(const RowView &row, float value, int64_t n) {
  const Floats wanted = splat(value);
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    for (int64_t i = 0; i < row.count; i += kWidth) {
      const Floats x =
          row.count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, row.count - i, kNaN);
      uint32_t equal = bits(both(ge(x, wanted), ge(wanted, x)));
      const int64_t found = __builtin_popcount(equal);
      if (found < n) {
        n -= found;
        continue;
      }
      for (; n > 1; --n) equal &= equal - 1;
      return i + __builtin_ctz(equal);
    }
    return int64_t(-1);
  });
}

int64_t count(const RowView &source, int64_t begin, int64_t end, float at_least) {
  const Floats least = splat(at_least), one = as_floats(splat(int32_t(1)));
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    Ints found = splat(int32_t(0));
    for_each_vector<Type>(elements<Type>(source.values), begin, end,
                          [&](Floats x, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                            found = add(found, as_ints(zero_unless(ge(x, least), one)));
                          });
    return sum(found);
  });
}

// Counts in a whole block, which begins at `p`.
template <class Type, class Elements>
SAMPLER_INLINE int64_t count_block(const Elements *p, Floats least) {
  int64_t result = 0;
  for (int64_t i = 0; i < kGroupBlock; i += 4 * kWidth) {
    const int64_t first = count_of(ge(Type::read(p + i), least)),
                  second = count_of(ge(Type::read(p + i + kWidth), least)),
                  third = count_of(ge(Type::read(p + i + 2 * kWidth), least)),
                  fourth = count_of(ge(Type::read(p + i + 3 * kWidth), least));
    result += (first + second) + (third + fourth);
  }
  return result;
}

int64_t count_groups(const RowView &row, const float *maxima, int64_t begin, int64_t end,
                     float at_least) {
  const Floats least = splat(at_least);
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *const p = elements<Type>(row.values);
    int64_t result = 0;
    for (int64_t i = begin; i < end;) {
      const int64_t block = i / kGroupBlock;
      const int64_t block_end = smaller((block + 1) * kGroupBlock, end);
      if (bits(ge(load(maxima + block * kWidth), least)) == 0) {
        // No element reaches `at_least`.
      } else if (block_end - i == kGroupBlock) {
        result += count_block<Type>(p + i, least);
      } else {
        for_each_vector<Type>(p, i, block_end,
                              [&](Floats x, int64_t, int64_t)
                                  SAMPLER_INLINE_LAMBDA { result += count_of(ge(x, least)); });
      }
      i = block_end;
    }
    return result;
  });
}

int64_t fold_maxima(const float *maxima, int64_t count, int64_t factor, float *out) {
  int64_t written = 0;
  for (int64_t i = 0; i < count; written += kWidth) {
    const int64_t end = smaller(i + factor * kWidth, count);
    Floats top = load(maxima + i);
    for (i += kWidth; i < end; i += kWidth) top = max(top, load(maxima + i));
    store(out + written, top);
  }
  return written;
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
