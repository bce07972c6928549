// Checks the arguments of one call. The first rule that is broken sets the error text; after it the
// other checks do nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/entry.h"
#include "abi/structs.h"
#include "contract/float_bits.h"

namespace sampler::abi {

// kReadParameters: on the host where a handle has them there; kReadOnHost: on every handle.
enum class Access { kRead, kReadParameters, kReadOnHost, kWrite };
enum class Need { kOptional, kRequired };
// How errors name members: as in the struct of a full call, or as a simple call's own arguments.
enum class Wording { kFull, kSimple };

// What errors call a member: its path from the arguments. It is built only for an error.
class Name {
 public:
  Name() = default;  // says nothing
  Name(const char *path) : parent_(nullptr), member_(path) {}
  Name(const char *parent, const char *member) : parent_(parent), member_(member) {}

  struct Text {
    char text[64];
  };
  Text text() const;

 private:
  const char *parent_;
  const char *member_;
};

class Check {
 public:
  // Without memory checks an address is only checked for null.
  explicit Check(Entry &entry, bool checks_memory = true, Wording wording = Wording::kFull)
      : entry_(entry), checks_memory_(checks_memory), wording_(wording) {}

  Entry &entry() const { return entry_; }
  bool ok() const { return status_ == SAMPLER_OK; }
  sampler_status status() const { return status_; }

  [[gnu::format(printf, 3, 4)]] void fail(sampler_status status, const char *format, ...);

  // The status of a call that has set the error text, if it failed.
  void adopt(sampler_status status) {
    if (ok()) status_ = status;
  }

  // Copies a caller's struct. False, and an error, when it cannot be one.
  template <class Struct>
  bool read(const char *name, const Struct *user, Struct *out) {
    if (!ok()) return false;
    if (!user) {
      fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it must point to a struct", name);
      return false;
    }
    size_t size;
    std::memcpy(&size, user, sizeof size);
    if (!is_struct_size<Struct>(size)) {
      fail(SAMPLER_ERROR_INVALID_ARGUMENT,
           "%s->struct_size is %zu; set it to sizeof(%s), %zu here or up to %zu with newer headers",
           name, size, StructTraits<Struct>::kName, sizeof(Struct), kMaxStructSize);
      return false;
    }
    if (!has_zero_tail(user, size)) {
      fail(SAMPLER_ERROR_INVALID_ARGUMENT,
           "%s->struct_size is %zu and members after byte %zu are set; this library does not know "
           "them",
           name, size, sizeof(Struct));
      return false;
    }
    *out = with_defaults(user, size);
    return true;
  }

  // low <= value < end.
  void range(const Name &name, int64_t value, int64_t low, int64_t end);

  // value in [0, count). The result is the value.
  int32_t enumeration(const Name &name, int32_t value, int32_t count);

  // The usual case is inline, without a call: there are many of these.
  void zero(const Name &name, int64_t value) {
    if (value != 0) refuse_not_zero(name, value);
  }
  void not_nan(const Name &name, float value) {
    if (contract::is_nan(value)) refuse_nan(name);
  }

  // Numbers in host memory, each in [0, 1]; null: none. Without memory checks they are not read.
  void shares(const Name &name, const float *values, int64_t count);

  // Elements from one row's start to the next: at least `least`, which 0 stands for.
  int64_t stride(const Name &name, int64_t stride, const Name &least_name, int64_t least);

  // [rows, cols] elements of `size` bytes, `stride` elements from row to row. Null is fine for an
  // array that is not required, or has no elements. Without memory checks a required one is there.
  void array(const Name &name, const void *data, size_t size, int64_t rows, int64_t cols,
             int64_t stride, Access access, Need need = Need::kOptional);
  void array(const Name &name, const void *data, size_t size, int64_t count, Access access,
             Need need = Need::kOptional) {
    if (!data && need == Need::kOptional) return;
    array(name, data, size, count, 1, 1, access, need);
  }
  // Numbers per row, in host memory for some handles.
  void parameters(const Name &name, const void *data, size_t size, int64_t count) {
    if (data) array(name, data, size, count, 1, 1, Access::kReadParameters);
  }
  void required(const Name &name, const void *data);

  // The caller's workspace.
  void workspace(const void *data, size_t bytes);

  // No output overlaps another array.
  void overlaps();

  // Each array that is not empty is where `is_there(address, access)` wants it. `place` says where.
  template <class IsThere, class Place>
  void places(const IsThere &is_there, const Place &place) {
    for (int i = 0; i < num_ranges_; ++i) {
      const Range &range = ranges_[i];
      if (!ok() || range.begin == range.end) continue;
      const void *address = reinterpret_cast<const void *>(range.begin);
      if (is_there(address, range.access)) continue;
      fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %p; it must be %s", range.name.text().text,
           address, place(range.access));
    }
  }

 private:
  struct Range {
    Name name;
    uintptr_t begin;
    uintptr_t end;
    Access access;
  };

  void refuse_not_zero(const Name &name, int64_t value);
  void refuse_nan(const Name &name);
  void add_range(const Name &name, const void *data, size_t bytes, Access access);

  Entry &entry_;
  bool checks_memory_;
  Wording wording_;
  sampler_status status_ = SAMPLER_OK;

  static constexpr int kMaxRanges = 128;
  Range ranges_[kMaxRanges];
  int num_ranges_ = 0;
};

}  // namespace sampler::abi
