// The public operations as data: their functions, and the members of their argument structs by
// name, so that one test covers every operation that has a member.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace capi_test {

enum class MemberType { kInt32, kUint32, kInt64, kUint64, kFloat, kPointer };

struct Member {
  std::size_t offset;
  std::size_t size;
  MemberType type;
};

struct Operation {
  const char *name;
  sampler_operation number;
  std::size_t args_size;
  std::map<std::string, Member> members;
  sampler_status (*init)(void *args, std::size_t struct_size);
  void (*init_by_macro)(void *args);
  sampler_status (*run)(sampler_t sampler, const void *args);

  bool has(const std::string &member) const { return members.count(member) != 0; }
};

// By operation number.
const std::vector<Operation> &operations();

constexpr std::size_t kMaxArgsSize = 1024;

// The argument struct of some operation.
class Args {
 public:
  explicit Args(const Operation &operation);

  const Operation &operation() const { return *operation_; }
  void *data() { return bytes_; }
  const void *data() const { return bytes_; }

  // The member's value. T has the member's size; asking for a member that is not there is a fault
  // of the test and aborts.
  template <class T>
  T get(const std::string &member) const {
    T value;
    std::memcpy(&value, bytes_ + offset(member, sizeof value), sizeof value);
    return value;
  }
  template <class T>
  void set(const std::string &member, T value) {
    std::memcpy(bytes_ + offset(member, sizeof value), &value, sizeof value);
  }
  // Nothing happens where the operation has no such member.
  template <class T>
  void set_if_any(const std::string &member, T value) {
    if (operation_->has(member)) set(member, value);
  }

 private:
  std::size_t offset(const std::string &member, std::size_t size) const;

  const Operation *operation_;
  alignas(std::max_align_t) unsigned char bytes_[kMaxArgsSize];
};

}  // namespace capi_test
