// A case, member by member.
#ifndef SAMPLER_TESTS_VECTORS_BUILDER_H_
#define SAMPLER_TESTS_VECTORS_BUILDER_H_

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "call.h"
#include "case.h"
#include "rows.h"

namespace vectors_test {

using capi_test::Member;
using capi_test::Number;
using capi_test::Random;
using Row = std::vector<float>;
using Rows = std::vector<Row>;
using Ids = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Words = std::vector<std::uint32_t>;

[[noreturn]] inline void give_up(const std::string &name, const std::string &reason) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), reason.c_str());
  std::abort();
}

template <class T>
constexpr ElementType element_type() {
  if (std::is_same_v<T, float>) return ElementType::kF32;
  if (std::is_same_v<T, std::int32_t>) return ElementType::kI32;
  if (std::is_same_v<T, std::int64_t>) return ElementType::kI64;
  if (std::is_same_v<T, std::uint8_t>) return ElementType::kU8;
  return std::is_same_v<T, std::uint32_t> ? ElementType::kU32 : ElementType::kU64;
}

template <class T>
std::string bytes_of(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

// Multiples of 1/16, which every type has.
inline Row random_logits(std::int64_t num_cols, Random *random) {
  Row row;
  for (std::int64_t i = 0; i < num_cols; ++i) row.push_back(float(random->between(-48, 48)) / 16);
  row[std::size_t(random->between(0, num_cols - 1))] += 1.5f;
  return row;
}

inline std::string bytes_of_rows(const Rows &rows, sampler_dtype dtype) {
  std::string bytes;
  for (const Row &row : rows) {
    const auto typed = oracle_test::to_type(row, dtype);
    bytes += dtype == SAMPLER_F32 ? bytes_of(typed.values) : bytes_of(typed.halfs);
  }
  return bytes;
}

class Builder {
 public:
  Builder(const capi_test::Operation &operation, const std::string &name, std::uint64_t seed)
      : random_(seed) {
    case_.operation = &operation;
    case_.name = name;
  }

  Case &get() { return case_; }
  Random *random() { return &random_; }
  bool has(const std::string &member) const {
    return case_.operation->all_members.count(path(member)) != 0;
  }

  Builder &set(const std::string &member, std::int64_t value) {
    if (this->member(member).number == Number::kF32) give_up(member, "is a float");
    case_.args[path(member)] =
        this->member(member).size == sizeof value ? std::uint64_t(value) : std::uint32_t(value);
    return *this;
  }
  Builder &set_float(const std::string &member, float value) {
    if (this->member(member).number != Number::kF32) give_up(member, "is no float");
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    case_.args[path(member)] = bits;
    return *this;
  }
  template <class T>
  Builder &in(const std::string &member, const std::vector<T> &values) {
    if (type_of(this->member(member)) != element_type<T>()) give_up(member, "has another type");
    case_.inputs[path(member)] = {element_type<T>(), bytes_of(values)};
    return *this;
  }
  // Ids of the type that use_i64() sets.
  Builder &ids(const std::string &member, const Ids &ids) {
    case_.inputs[path(member)] = id_type_ == ElementType::kI64
                                     ? Array{id_type_, bytes_of(ids)}
                                     : Array{id_type_, bytes_of(Ints(ids.begin(), ids.end()))};
    return *this;
  }
  Builder &out(const std::string &member, std::int64_t count) {
    const Member &described = this->member(member);
    const ElementType type = described.number == Number::kOther ? id_type_ : type_of(described);
    case_.outputs[path(member)] = {type, std::string(std::size_t(count) * size_of(type), '\0')};
    return *this;
  }
  // Before any ids.
  Builder &use_i64() {
    id_type_ = ElementType::kI64;
    if (has("token_id_type")) set("token_id_type", SAMPLER_ID_I64);
    return *this;
  }
  bool uses_i64() const { return id_type_ == ElementType::kI64; }

  Builder &rows(const std::string &view, const Rows &rows, sampler_input_kind kind,
                sampler_dtype dtype = SAMPLER_F32) {
    case_.inputs[view + ".values"] = {ElementType(dtype), bytes_of_rows(rows, dtype)};
    set(view + ".num_rows", std::int64_t(rows.size()));
    set(view + ".num_cols", std::int64_t(rows.at(0).size()));
    if (dtype) set(view + ".dtype", dtype);
    if (kind) set(view + ".kind", kind);
    return *this;
  }
  // `dtype` is that of the call's rows.
  Builder &guidance(const Rows &rows, sampler_dtype dtype = SAMPLER_F32) {
    case_.inputs["pipeline.guidance_logits"] = {ElementType(dtype), bytes_of_rows(rows, dtype)};
    return set("pipeline.num_guidance_rows", std::int64_t(rows.size()));
  }
  // The pipeline's.
  Builder &lists(const std::string &name, const std::vector<Ids> &lists) {
    if (uses_i64()) set("pipeline.token_id_type", SAMPLER_ID_I64);
    return lists_at("pipeline." + name, lists);
  }
  Builder &lists_at(const std::string &path, const std::vector<Ids> &lists) {
    Longs offsets = {0};
    Ids all;
    for (const Ids &list : lists) {
      all.insert(all.end(), list.begin(), list.end());
      offsets.push_back(std::int64_t(all.size()));
    }
    in(path + ".offsets", offsets).ids(path + ".token_ids", all);
    set(path + ".num_lists", std::int64_t(lists.size()));
    return set(path + ".num_token_ids", std::int64_t(all.size()));
  }
  Builder &stages(const Ints &order) {
    Ints all = order;
    all.resize(SAMPLER_MAX_STAGES, 0);
    return in("params.stages", all);
  }

 private:
  std::string path(const std::string &member) const { return case_.operation->path(member); }
  const Member &member(const std::string &name) const {
    const auto found = case_.operation->all_members.find(path(name));
    if (found == case_.operation->all_members.end()) give_up(name, "is no member");
    return found->second;
  }

  Case case_;
  Random random_;
  ElementType id_type_ = ElementType::kI32;
};

}  // namespace vectors_test

#endif  // SAMPLER_TESTS_VECTORS_BUILDER_H_
