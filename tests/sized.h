// The library's structs as callers make them.
#ifndef SAMPLER_TESTS_SIZED_H_
#define SAMPLER_TESTS_SIZED_H_

// All 0 except struct_size.
template <class Struct>
Struct sized() {
  Struct result = {};
  result.struct_size = sizeof result;
  return result;
}

#endif  // SAMPLER_TESTS_SIZED_H_
