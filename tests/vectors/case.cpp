#include "case.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "call.h"

namespace vectors_test {
namespace {

using capi_test::Args;
using capi_test::Buffer;
using capi_test::Member;
using capi_test::Operation;
using Json = nlohmann::ordered_json;

constexpr unsigned char kUntouched = 0xCD;

[[noreturn]] void give_up(const std::string &name, const std::string &reason) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), reason.c_str());
  std::abort();
}

// ---- Replaying

sampler_options handle_options(const Case &recorded, WorkspaceOf workspace_of) {
  sampler_options options = sampler_options_default();
  if (workspace_of == WorkspaceOf::kHandle) {
    options.max_rows = kMaxRows;
    options.max_cols = kMaxCols;
  }
  options.fallback_token_id = recorded.fallback_token_id;
  options.use_fallback_token = recorded.use_fallback_token;
  return options;
}

// Memory for each array, to which the pointers of `args` are set.
std::map<std::string, Buffer> allocate(const Arrays &arrays, Args *args) {
  std::map<std::string, Buffer> buffers;
  for (const auto &[member, array] : arrays) {
    Buffer buffer(array.bytes.size(), 0, kUntouched);
    args->set<void *>(member, buffer.data());
    buffers.emplace(member, std::move(buffer));
  }
  return buffers;
}

bool starts_with(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Whether the call has what a pointer points to, "params", "row_params" or "pipeline".
bool has_pointee(const Case &recorded, const std::string &pointer) {
  const auto is_of_it = [&](const auto &member) {
    return starts_with(member.first, pointer + ".");
  };
  return std::any_of(recorded.args.begin(), recorded.args.end(), is_of_it) ||
         std::any_of(recorded.inputs.begin(), recorded.inputs.end(), is_of_it);
}

// The scalars. Pointers to arrays are NULL.
Args arguments(const Case &recorded) {
  Args args(*recorded.operation);
  for (const char *pointer : {"params", "row_params", "pipeline"}) {
    if (!has_pointee(recorded, pointer)) args.set_if_any<void *>(pointer, nullptr);
  }
  for (const auto &[member, bits] : recorded.args) {
    if (recorded.operation->members.at(member).size == sizeof bits) {
      args.set(member, bits);
    } else {
      args.set(member, std::uint32_t(bits));
    }
  }
  return args;
}

void fill(const Arrays &contents, const std::map<std::string, Buffer> &buffers) {
  for (const auto &[member, buffer] : buffers) {
    const auto found = contents.find(member);
    if (found == contents.end()) continue;
    std::memcpy(buffer.data(), found->second.bytes.data(), buffer.size());
  }
}

}  // namespace

Case replayed(const Case &recorded, WorkspaceOf workspace_of) {
  const capi_test::Sampler sampler =
      capi_test::make_sampler(handle_options(recorded, workspace_of));
  const Operation &operation = *recorded.operation;
  Args args = arguments(recorded);
  const auto inputs = allocate(recorded.inputs, &args);
  const auto outputs = allocate(recorded.outputs, &args);  // replaces those that are inputs too
  fill(recorded.inputs, inputs);
  fill(recorded.inputs, outputs);

  Buffer workspace;
  std::size_t bytes = 0;
  const bool has_size = operation.workspace_size(sampler.get(), args.data(), &bytes) == SAMPLER_OK;
  if (workspace_of == WorkspaceOf::kCall && has_size) {
    workspace = Buffer(bytes, 0, kUntouched);
    args.set<void *>("exec.workspace", workspace.data());
    args.set("exec.workspace_bytes", bytes);
  }

  Case result = recorded;
  result.status = operation.run(sampler.get(), args.data());
  result.error = result.status == SAMPLER_OK ? "" : sampler_last_error();
  for (auto &[member, array] : result.outputs) array.bytes = outputs.at(member).bytes();
  for (const auto &[member, array] : recorded.inputs) {
    if (inputs.at(member).bytes() != array.bytes) give_up(recorded.name, member + " was written");
  }
  return result;
}

// ---- JSON

namespace {

const char *const kTypeNames[] = {"f32", "f16", "bf16", "i32", "i64", "u32", "u64"};

ElementType type_named(const std::string &name) {
  const auto found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) give_up(name, "no type of elements");
  return ElementType(found - std::begin(kTypeNames));
}

std::size_t size_of(ElementType type) {
  if (type == ElementType::kF16 || type == ElementType::kBf16) return 2;
  return type == ElementType::kI64 || type == ElementType::kU64 ? 8 : 4;
}

// Floating-point elements as their bits, u64 as text: readers of JSON may know no integers of 64
// bits.
Json element_to_json(ElementType type, const char *element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, size_of(type));  // little endian
  if (type == ElementType::kI32) return std::int32_t(bits);
  if (type == ElementType::kI64) return std::int64_t(bits);
  if (type == ElementType::kU64) return std::to_string(bits);
  return bits;
}

std::uint64_t element_from_json(ElementType type, const Json &json) {
  if (type == ElementType::kU64) return std::stoull(json.get<std::string>());
  return json.get<std::uint64_t>();  // negative ones wrap around
}

Json array_to_json(const Array &array) {
  Json data = Json::array();
  for (std::size_t i = 0; i < array.bytes.size(); i += size_of(array.type)) {
    data.push_back(element_to_json(array.type, array.bytes.data() + i));
  }
  return {{"type", kTypeNames[int(array.type)]}, {"data", data}};
}

Array array_from_json(const Json &json) {
  Array array;
  array.type = type_named(json.at("type"));
  for (const Json &element : json.at("data")) {
    const std::uint64_t bits = element_from_json(array.type, element);
    array.bytes.append(reinterpret_cast<const char *>(&bits), size_of(array.type));
  }
  return array;
}

ElementType type_of_scalar(const std::string &name, const Member &member) {
  if (name == "random.seed" || name == "random.offset") return ElementType::kU64;
  for (const char *number : {"params.temperature", "params.top_p", "params.min_p"}) {
    if (name == number) return ElementType::kF32;
  }
  return member.size == 8 ? ElementType::kI64 : ElementType::kI32;
}

// The members that a case may have, in the order of the struct.
std::vector<std::pair<std::string, Member>> members_of(const Operation &operation) {
  std::vector<std::pair<std::string, Member>> members(operation.members.begin(),
                                                      operation.members.end());
  std::sort(members.begin(), members.end(),
            [](const auto &a, const auto &b) { return a.second.offset < b.second.offset; });
  return members;
}

Json scalars_to_json(const Case &recorded) {
  Json json = Json::object();
  for (const auto &[name, member] : members_of(*recorded.operation)) {
    const auto found = recorded.args.find(name);
    if (found == recorded.args.end()) continue;
    json[name] = element_to_json(type_of_scalar(name, member),
                                 reinterpret_cast<const char *>(&found->second));
  }
  return json;
}

std::map<std::string, std::uint64_t> scalars_from_json(const Operation &operation,
                                                       const Json &json) {
  std::map<std::string, std::uint64_t> scalars;
  for (const auto &[name, value] : json.items()) {
    scalars[name] = element_from_json(type_of_scalar(name, operation.members.at(name)), value);
  }
  return scalars;
}

Json arrays_to_json(const Operation &operation, const Arrays &arrays) {
  Json json = Json::object();
  for (const auto &[name, member] : members_of(operation)) {
    if (arrays.count(name) != 0) json[name] = array_to_json(arrays.at(name));
  }
  return json;
}

Arrays arrays_from_json(const Operation &operation, const Json &json) {
  Arrays arrays;
  for (const auto &[name, array] : json.items()) {
    if (!operation.members.at(name).is_pointer) give_up(name, "is no array");
    arrays[name] = array_from_json(array);
  }
  return arrays;
}

Json case_to_json(const Case &recorded) {
  const Operation &operation = *recorded.operation;
  Json json = {{"name", recorded.name}};
  if (recorded.use_fallback_token) {
    json["options"] = {{"fallback_token_id", recorded.fallback_token_id},
                       {"use_fallback_token", 1}};
  }
  json["args"] = scalars_to_json(recorded);
  json["inputs"] = arrays_to_json(operation, recorded.inputs);
  json["outputs"] = arrays_to_json(operation, recorded.outputs);
  json["status"] = recorded.status;
  if (recorded.status != SAMPLER_OK) json["error"] = recorded.error;
  return json;
}

Case case_from_json(const Operation &operation, const Json &json) {
  Case recorded;
  recorded.operation = &operation;
  recorded.name = json.at("name");
  if (json.contains("options")) {
    recorded.fallback_token_id = json.at("options").at("fallback_token_id");
    recorded.use_fallback_token = json.at("options").at("use_fallback_token") == 1;
  }
  recorded.args = scalars_from_json(operation, json.at("args"));
  recorded.inputs = arrays_from_json(operation, json.at("inputs"));
  recorded.outputs = arrays_from_json(operation, json.at("outputs"));
  recorded.status = json.at("status");
  if (recorded.status != SAMPLER_OK) recorded.error = json.at("error");
  return recorded;
}

bool holds_object(const Json &json) {
  return json.is_structured() && std::any_of(json.begin(), json.end(), [](const Json &element) {
           return element.is_object() || holds_object(element);
         });
}

// What holds an object takes a line for each of its elements, all else one line.
void append_lines(const Json &json, std::string *text) {
  if (!holds_object(json)) {
    *text += json.dump();
    return;
  }
  *text += json.is_object() ? "{" : "[";
  const char *separator = "\n";
  for (const auto &[key, element] : json.items()) {
    *text += separator;
    if (json.is_object()) *text += Json(key).dump() + ":";
    append_lines(element, text);
    separator = ",\n";
  }
  *text += json.is_object() ? "\n}" : "\n]";
}

std::string short_name(const Operation &operation) {
  return std::string(operation.name).substr(std::strlen("sampler_"));
}

}  // namespace

std::string file_name(const Operation &operation) {
  return short_name(operation) + ".json";
}

std::string to_text(const Operation &operation, const std::vector<Case> &cases) {
  Json json = {{"operation", short_name(operation)}, {"cases", Json::array()}};
  for (const Case &recorded : cases) json["cases"].push_back(case_to_json(recorded));
  std::string text;
  append_lines(json, &text);
  return text + "\n";
}

std::vector<Case> from_text(const Operation &operation, const std::string &text) {
  const Json json = Json::parse(text);
  if (json.at("operation") != short_name(operation)) give_up(operation.name, "another's file");
  std::vector<Case> cases;
  for (const Json &element : json.at("cases")) cases.push_back(case_from_json(operation, element));
  return cases;
}

}  // namespace vectors_test
