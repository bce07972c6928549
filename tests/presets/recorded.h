// What engines have made of logits: the files beside this one, which tests/tools/peers writes and
// explains.
#ifndef SAMPLER_TESTS_PRESETS_RECORDED_H_
#define SAMPLER_TESTS_PRESETS_RECORDED_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace presets_test {

struct Recorded {
  std::string text;  // the line
  std::vector<float> logits;
  bool has_ties;  // many logits are equal
  nlohmann::json parameters;
  std::vector<std::int32_t> history;
  std::int32_t prompt_length;
  std::optional<std::uint64_t> edited;  // hash_of the logits after the edits; none: not compared
  std::vector<bool> kept;
  std::vector<double> probabilities;
};

std::uint64_t hash_of(const std::vector<float> &logits);

std::vector<Recorded> read_recorded(const std::string &path);

}  // namespace presets_test

#endif  // SAMPLER_TESTS_PRESETS_RECORDED_H_
