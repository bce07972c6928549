// How the value of a parameter is read: for engine_parameters.cpp.
#ifndef ENGINE_VALUES_H_
#define ENGINE_VALUES_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine_parameters.h"

namespace engine_parameters {

using Json = nlohmann::json;

// A value and the name of its parameter.
struct Value {
  const std::string &name;
  const Json &json;

  [[noreturn]] void fail(const std::string &rule) const { throw Error(what_is_wrong(rule)); }
  // Long values are cut.
  std::string what_is_wrong(const std::string &rule) const {
    constexpr std::size_t kLongest = 200;
    std::string text = json.dump(-1, ' ', true);
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    return name + " is " + text + "; it must be " + rule;
  }

  float number() const {
    if (!json.is_number()) fail("a number");
    if (!is_f32(json)) fail("a number that f32 has");
    return json.get<float>();
  }
  std::int32_t integer() const {
    if (!is_integer(json)) fail("an integer of 32 bits");
    return json.get<std::int32_t>();
  }
  bool flag() const {
    if (!json.is_boolean()) fail("true or false");
    return json.get<bool>();
  }
  std::uint64_t seed() const {
    if (!json.is_number_unsigned()) fail("an integer of at least 0");
    return json.get<std::uint64_t>();
  }
  // One id or a list.
  Ids ids() const {
    if (json.is_number()) return {integer()};
    return ids_of(json);
  }
  std::vector<Ids> words() const {
    if (!json.is_array()) fail("a list of lists of token ids");
    std::vector<Ids> words;
    for (const Json &word : json) words.push_back(ids_of(word));
    return words;
  }

  std::int32_t id_of(const Json &one) const {
    if (!is_integer(one)) fail("made of token ids");
    return one.get<std::int32_t>();
  }
  static bool is_f32(const Json &one) {
    return one.is_number() && std::abs(one.get<double>()) <= std::numeric_limits<float>::max();
  }
  static bool is_integer(const Json &one) {
    return one.is_number_integer() &&
           one.get<double>() >= std::numeric_limits<std::int32_t>::min() &&
           one.get<double>() <= std::numeric_limits<std::int32_t>::max();
  }
  Ids ids_of(const Json &list) const {
    if (!list.is_array()) fail("made of lists of token ids");
    Ids ids;
    for (const Json &id : list) ids.push_back(id_of(id));
    return ids;
  }
};

using Reader = void (*)(const Value &, Request *);

template <float sampler_params::*Member>
inline void set_number(const Value &value, Request *request) {
  request->params.*Member = value.number();
}
template <std::int32_t sampler_params::*Member>
inline void set_integer(const Value &value, Request *request) {
  request->params.*Member = value.integer();
}
template <Ids Request::*Member>
inline void add_ids(const Value &value, Request *request) {
  const Ids ids = value.ids();
  (request->*Member).insert((request->*Member).end(), ids.begin(), ids.end());
}
template <std::vector<Ids> Request::*Member>
inline void set_words(const Value &value, Request *request) {
  request->*Member = value.words();
}
inline void set_seed(const Value &value, Request *request) {
  request->seed = value.seed();
}
// JSON's comparison takes 2^64 - 1 for -1.
inline bool is_minus_1(const Json &json) {
  return !json.is_number_unsigned() && json == -1;
}

// -1 is a random one.
inline void set_seed_or_random(const Value &value, Request *request) {
  request->has_random_seed = is_minus_1(value.json);
  if (!request->has_random_seed) request->seed = value.seed();
}
inline void set_length(const Value &value, Request *request) {
  request->max_new_tokens = value.integer();
}
inline void set_ignore_eos(const Value &value, Request *request) {
  request->ignores_end = value.flag();
}
// false, llama.cpp's, is -inf, which JSON does not have.
inline float bias_of(const Value &value, const Json &bias, const char *rule) {
  if (bias.is_boolean() && !bias.get<bool>()) return -INFINITY;
  if (!Value::is_f32(bias)) value.fail(rule);
  return bias.get<float>();
}

// One number for each id.
inline void set_dense_bias(const Value &value, Request *request) {
  constexpr char kRule[] = "a list of numbers that f32 has, or false for -inf";
  if (!value.json.is_array()) value.fail(kRule);
  for (const Json &bias : value.json) request->dense_bias.push_back(bias_of(value, bias, kRule));
}

inline void add_bias(const Value &value, const Json &id, const Json &bias, Request *request) {
  const std::string text = id.is_string() ? id.get<std::string>() : "";
  const Json number = id.is_string() ? Json::parse(text, nullptr, false) : id;
  request->biased.push_back(value.id_of(number));
  request->biases.push_back(bias_of(value, bias, "token ids with numbers that f32 has"));
}

// {"id": bias}, [[id, bias]] or [{"token": id, "bias": bias}].
inline void add_biases(const Value &value, Request *request) {
  if (value.json.is_object()) {
    for (const auto &[id, bias] : value.json.items()) add_bias(value, id, bias, request);
    return;
  }
  if (!value.json.is_array()) value.fail("token ids with numbers");
  for (const Json &pair : value.json) {
    if (pair.is_object() && pair.contains("token") && pair.contains("bias")) {
      add_bias(value, pair["token"], pair["bias"], request);
      continue;
    }
    if (!pair.is_array() || pair.size() != 2) value.fail("pairs of a token id and a number");
    add_bias(value, pair[0], pair[1], request);
  }
}

}  // namespace engine_parameters

#endif  // ENGINE_VALUES_H_
