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
using capi_test::Number;
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

// Memory for each array, to which the pointers of `args` are set. What lies in a struct is copied.
std::map<std::string, Buffer> allocate(const Arrays &arrays, Args *args) {
  std::map<std::string, Buffer> buffers;
  for (const auto &[member, array] : arrays) {
    if (!args->operation().all_members.at(member).is_pointer) {
      args->set_bytes(member, array.bytes);
      continue;
    }
    Buffer buffer(array.bytes.size(), 0, kUntouched);
    args->set<void *>(member, buffer.data());
    buffers.emplace(member, std::move(buffer));
  }
  return buffers;
}

bool starts_with(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Whether the call has what a pointer points to: "params", "pipeline".
bool has_pointee(const Case &recorded, const std::string &pointer) {
  const auto is_of_it = [&](const auto &member) {
    return starts_with(member.first, pointer + ".");
  };
  return std::any_of(recorded.args.begin(), recorded.args.end(), is_of_it) ||
         std::any_of(recorded.inputs.begin(), recorded.inputs.end(), is_of_it) ||
         std::any_of(recorded.outputs.begin(), recorded.outputs.end(), is_of_it);
}

// The scalars. Pointers to arrays are NULL.
Args arguments(const Case &recorded) {
  Args args(*recorded.operation);
  for (const char *pointer : {"params", "row_params", "pipeline", "draft_params",
                              "draft_row_params", "reports", "layout", "acceptance"}) {
    if (has_pointee(recorded, pointer)) {
      args.connect(pointer);
    } else if (recorded.operation->all_members.count(pointer)) {
      args.set<void *>(pointer, nullptr);
    }
  }
  for (const auto &[member, bits] : recorded.args) {
    if (recorded.operation->all_members.at(member).size == sizeof bits) {
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

// Where the call has a state.
void set_state(sampler_state_t state, Args *args) {
  const auto &members = args->operation().all_members;
  if (members.count("pipeline")) {
    args->connect("pipeline");
    args->set("pipeline.state", state);
  }
  for (const char *member : {"state", "source", "destination"}) {
    if (members.count(member)) args->set(member, state);
  }
}

// `state` NULL: there is none.
Case run(sampler_t sampler, sampler_state_t state, const Case &recorded, WorkspaceOf workspace_of) {
  const Operation &operation = *recorded.operation;
  Args args = arguments(recorded);
  if (state != nullptr) set_state(state, &args);
  const auto inputs = allocate(recorded.inputs, &args);
  const auto outputs = allocate(recorded.outputs, &args);  // replaces those that are inputs too
  fill(recorded.inputs, inputs);
  fill(recorded.inputs, outputs);

  Buffer workspace;
  std::size_t bytes = 0;
  const bool has_size = operation.workspace_size(sampler, args.data(), &bytes) == SAMPLER_OK;
  if ((workspace_of == WorkspaceOf::kCall || recorded.brings_workspace) && has_size) {
    workspace = Buffer(bytes, 0, kUntouched);
    args.set<void *>("exec.workspace", workspace.data());
    args.set("exec.workspace_bytes", bytes);
  }

  Case result = recorded;
  result.status = operation.run(sampler, args.data());
  result.error = result.status == SAMPLER_OK ? "" : sampler_last_error();
  for (auto &[member, array] : result.outputs) array.bytes = outputs.at(member).bytes();
  for (const auto &[member, buffer] : inputs) {
    if (buffer.bytes() != recorded.inputs.at(member).bytes) {
      give_up(recorded.name, member + " was written");
    }
  }
  return result;
}

}  // namespace

Case replayed(const Case &recorded, WorkspaceOf workspace_of) {
  const capi_test::Sampler sampler =
      capi_test::make_sampler(handle_options(recorded, workspace_of));
  return run(sampler.get(), nullptr, recorded, workspace_of);
}

StateCase replayed(const StateCase &recorded, WorkspaceOf workspace_of) {
  const capi_test::Sampler sampler = capi_test::make_sampler(handle_options({}, workspace_of));
  sampler_state_options options = recorded.options;
  options.struct_size = sizeof options;
  sampler_state_t state = nullptr;
  if (sampler_state_create(sampler.get(), &options, &state) != SAMPLER_OK) {
    give_up(recorded.name, sampler_last_error());
  }
  StateCase result = recorded;
  for (Case &call : result.calls) call = run(sampler.get(), state, call, workspace_of);
  sampler_state_destroy(state);
  return result;
}

namespace {

// The call without one of its members, with memory that is large enough for what it may say then.
Case without(Case recorded, const std::string &member) {
  recorded.args.erase(member);
  recorded.inputs.erase(member);
  for (Arrays *arrays : {&recorded.inputs, &recorded.outputs}) {
    for (auto &[name, array] : *arrays) {
      if (recorded.operation->all_members.at(name).is_pointer) {
        array.bytes.append(array.bytes.size() + 4096, '\0');
      }
    }
  }
  return recorded;
}

bool is_as_recorded(const Case &actual, const Case &recorded) {
  if (actual.status != recorded.status || actual.error != recorded.error) return false;
  return std::all_of(recorded.outputs.begin(), recorded.outputs.end(), [&](const auto &output) {
    return actual.outputs.at(output.first)
               .bytes.compare(0, output.second.bytes.size(), output.second.bytes) == 0;
  });
}

}  // namespace

bool shows(const Case &recorded, const std::string &name) {
  const std::string member = recorded.operation->path(name);
  if (recorded.outputs.count(member)) return true;
  if (!recorded.args.count(member) && !recorded.inputs.count(member)) return false;
  return !is_as_recorded(replayed(without(recorded, member), WorkspaceOf::kCall), recorded);
}

bool shows(const StateCase &recorded, std::size_t call, const std::string &member) {
  const Case &with = recorded.calls[call];
  if (with.outputs.count(member)) return true;
  if (!with.args.count(member) && !with.inputs.count(member)) return false;
  StateCase changed = recorded;
  changed.calls[call] = without(with, member);
  changed = replayed(changed, WorkspaceOf::kCall);
  for (std::size_t i = call; i < recorded.calls.size(); ++i) {
    if (!is_as_recorded(changed.calls[i], recorded.calls[i])) return true;
  }
  return false;
}

// ---- JSON

ElementType type_of(const Member &member) {
  switch (member.number) {
    case Number::kF32:
      return ElementType::kF32;
    case Number::kI32:
      return ElementType::kI32;
    case Number::kI64:
      return ElementType::kI64;
    case Number::kU32:
      return ElementType::kU32;
    case Number::kU64:
      return ElementType::kU64;
    case Number::kU8:
      return ElementType::kU8;
    case Number::kOther:
      break;
  }
  give_up("a member", "has no type of its own");
}

std::size_t size_of(ElementType type) {
  if (type == ElementType::kU8) return 1;
  if (type == ElementType::kF16 || type == ElementType::kBf16) return 2;
  return type == ElementType::kI64 || type == ElementType::kU64 ? 8 : 4;
}

namespace {

const char *const kTypeNames[] = {"f32", "f16", "bf16", "i32", "i64", "u32", "u64", "u8"};

ElementType type_named(const std::string &name) {
  const auto found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) give_up(name, "no type of elements");
  return ElementType(found - std::begin(kTypeNames));
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

// The members that a case may have, in the order of the struct.
std::vector<std::pair<std::string, Member>> members_of(const Operation &operation) {
  std::vector<std::pair<std::string, Member>> members(operation.all_members.begin(),
                                                      operation.all_members.end());
  std::sort(members.begin(), members.end(),
            [](const auto &a, const auto &b) { return a.second.offset < b.second.offset; });
  return members;
}

Json scalars_to_json(const Case &recorded) {
  Json json = Json::object();
  for (const auto &[name, member] : members_of(*recorded.operation)) {
    const auto found = recorded.args.find(name);
    if (found == recorded.args.end()) continue;
    json[name] = element_to_json(type_of(member), reinterpret_cast<const char *>(&found->second));
  }
  return json;
}

std::map<std::string, std::uint64_t> scalars_from_json(const Operation &operation,
                                                       const Json &json) {
  std::map<std::string, std::uint64_t> scalars;
  for (const auto &[name, value] : json.items()) {
    scalars[name] = element_from_json(type_of(operation.all_members.at(name)), value);
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
    const Member &member = operation.all_members.at(name);
    if (!member.is_pointer && member.size <= sizeof(std::int64_t)) give_up(name, "is no array");
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
  if (recorded.brings_workspace) json["workspace"] = "call";
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
  recorded.brings_workspace = json.contains("workspace");
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

// JSON that holds an object takes a line for each of its elements, all else one line.
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
  const std::string name = operation.name;
  return name.compare(0, 8, "sampler_") == 0 ? name.substr(8) : name;
}

const Operation &operation_named(const std::string &name) {
  for (const auto *all : {&capi_test::operations(), &capi_test::state_operations()}) {
    for (const Operation &operation : *all) {
      if (short_name(operation) == name) return operation;
    }
  }
  give_up(name, "is no call");
}

Json state_case_to_json(const StateCase &recorded) {
  const sampler_state_options &options = recorded.options;
  Json json = {{"name", recorded.name}};
  json["options"] = {{"num_slots", options.num_slots},
                     {"max_tokens", options.max_tokens},
                     {"max_distinct_tokens", options.max_distinct_tokens},
                     {"keep_adaptive_values", options.keep_adaptive_values}};
  json["calls"] = Json::array();
  for (const Case &call : recorded.calls) {
    Json of_call = case_to_json(call);
    of_call["name"] = short_name(*call.operation);
    json["calls"].push_back(of_call);
  }
  return json;
}

StateCase state_case_from_json(const Json &json) {
  StateCase recorded;
  recorded.name = json.at("name");
  const Json &options = json.at("options");
  recorded.options.num_slots = options.at("num_slots");
  recorded.options.max_tokens = options.at("max_tokens");
  recorded.options.max_distinct_tokens = options.at("max_distinct_tokens");
  recorded.options.keep_adaptive_values = options.at("keep_adaptive_values");
  for (const Json &call : json.at("calls")) {
    recorded.calls.push_back(case_from_json(operation_named(call.at("name")), call));
  }
  return recorded;
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

std::string to_text(const std::vector<StateCase> &cases) {
  Json json = {{"operation", "state"}, {"cases", Json::array()}};
  for (const StateCase &recorded : cases) json["cases"].push_back(state_case_to_json(recorded));
  std::string text;
  append_lines(json, &text);
  return text + "\n";
}

std::vector<StateCase> state_cases_from_text(const std::string &text) {
  std::vector<StateCase> cases;
  const Json json = Json::parse(text);
  for (const Json &element : json.at("cases")) cases.push_back(state_case_from_json(element));
  return cases;
}

}  // namespace vectors_test
