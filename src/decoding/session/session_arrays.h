// The arrays of a session, taken from its blocks. Counts the bytes that calls read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "decoding/session/arena.h"
#include "decoding/session/session_sequence.h"

namespace sampler::decoding {

class SessionArrays {
 public:
  // `device`: the memory that calls work on; the same as `host` for a CPU handle.
  SessionArrays(Arena *host, Arena *device) : host_(host), device_(device) {}

  Arena *host() const { return host_; }
  Arena *device() const { return device_; }

  // An array that no call reads or writes.
  template <class T>
  T *take(int64_t count, int64_t per_item = 1) {
    return host_->take<T>(count, per_item);
  }
  template <class T>
  T *in(int64_t count, int64_t per_item = 1) {
    count_in<T>(count, per_item);
    return take<T>(count, per_item);
  }
  template <class T>
  void count_in(int64_t count, int64_t per_item = 1) {
    count_pieces<T>(&ins_, count, per_item);
  }
  template <class T>
  T *out(int64_t count, int64_t per_item = 1) {
    count_pieces<T>(&outs_, count, per_item);
    return take<T>(count, per_item);
  }

  size_t bytes_in() const { return ins_.bytes(); }
  size_t bytes_out() const { return outs_.bytes(); }

 private:
  // Each group has its own piece, padded.
  template <class T>
  static void count_pieces(Arena *all, int64_t count, int64_t per_item) {
    all->take<T>(count, per_item);
    for (size_t i = 1; i < std::size(kDraftGroups); ++i) all->take<char>(1);
  }

  Arena *host_, *device_;
  Arena ins_{nullptr}, outs_{nullptr};
};

}  // namespace sampler::decoding
