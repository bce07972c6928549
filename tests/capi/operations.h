// The full calls as data: their functions, and the members of their arguments by path, so that one
// test covers every call that has a member.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace capi_test {

enum class Op { kSample, kFilter, kSelect, kVerify, kResidual, kScore };

// What a member is, or its elements are.
enum class Number { kOther, kF32, kI32, kI64, kU32, kU64, kU8 };

struct Member {
  std::size_t offset;
  std::size_t size;
  bool is_pointer;
  Number number;  // kOther: values and ids, whose type another member has; structs
};

struct Operation {
  const char *name;
  std::size_t args_size;

  // By path from the arguments, those of the structs that they point to among them: "num_slots",
  // "input.num_cols", "params.top_k", "row_params.top_k".
  std::map<std::string, Member> members;

  // Those that only tests/verification and tests/vectors set, too.
  std::map<std::string, Member> all_members;

  sampler_status (*run)(sampler_t sampler, const void *args);
  sampler_status (*workspace_size)(sampler_t sampler, const void *args, std::size_t *out_bytes);

  // A member's path. Those of `reports`, `layout` and `acceptance` may be named alone.
  std::string path(const std::string &member) const;

  bool has(const std::string &member) const { return members.count(path(member)) != 0; }
};

// In the order of Op.
const std::vector<Operation> &operations();
inline const Operation &operation(Op op) {
  return operations()[std::size_t(op)];
}

// The calls of a state: append, accept, truncate, copy, reset, read, and, as if their arguments
// were structs, serialize and deserialize. They have no workspace, and are not among operations().
const std::vector<Operation> &state_operations();

// A member as error texts name it: "params->top_k".
std::string name_in_errors(const std::string &member);

// The arguments of some call, all 0 except the sizes, and those of Operation::members that point to
// structs, `params` or `pipeline`, which point to some of their own with the defaults.
class Args {
 public:
  explicit Args(const Operation &operation);

  const Operation &operation() const { return *operation_; }
  void *data() { return bytes_.get(); }
  const void *data() const { return bytes_.get(); }

  // Makes one of the arguments' pointers, "draft_params", point to a struct with the defaults.
  void connect(const std::string &pointer);

  // The member's value, one of all_members. T has the member's size; asking for a member that is
  // not there is a fault of the test and aborts.
  template <class T>
  T get(const std::string &member) const {
    T value;
    std::memcpy(&value, at(member, sizeof value), sizeof value);
    return value;
  }
  template <class T>
  void set(const std::string &member, T value) {
    std::memcpy(at(member, sizeof value), &value, sizeof value);
  }
  // The bytes of a member of any size.
  void set_bytes(const std::string &member, const std::string &bytes) {
    std::memcpy(at(member, bytes.size()), bytes.data(), bytes.size());
  }
  // Nothing happens where the call has no such member.
  template <class T>
  void set_if_any(const std::string &member, T value) {
    if (operation_->has(member)) set(member, value);
  }

  // All bytes, those of the structs pointed to among them.
  std::string bytes() const;

 private:
  unsigned char *at(const std::string &member, std::size_t size) const;

  const Operation *operation_;
  std::unique_ptr<unsigned char[]> bytes_;
};

}  // namespace capi_test
