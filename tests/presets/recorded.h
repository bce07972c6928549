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

// What an engine keeps of a row.
struct Kept {
  std::vector<bool> set;
  std::vector<double> probabilities;
};

struct Recorded {
  std::string text;        // the line
  std::uint64_t seed = 0;  // of the logits
  std::vector<float> logits, guidance;
  bool has_ties = false;  // many logits are equal
  nlohmann::json parameters;
  std::vector<std::int32_t> history;
  std::int32_t prompt_length;
  std::optional<std::uint64_t> edited;  // hash_of the logits after the edits; none: not compared
  Kept kept;
  std::optional<Kept> other;  // where XTC's coin falls on its other side
};

// A row whose sums are exact.
struct RecordedEdge {
  std::string preset;
  Recorded row;
};

// A text that llama.cpp has written with mirostat or adaptive-p.
struct RecordedText {
  struct Step {
    std::vector<float> logits;
    Kept kept;
    std::int32_t token;         // which llama.cpp has drawn
    std::vector<float> values;  // that it then remembers
  };

  std::string text;  // the line
  nlohmann::json parameters;
  std::vector<std::int32_t> history;
  std::int32_t prompt_length;
  std::vector<Step> steps;
};

std::uint64_t hash_of(const std::vector<float> &logits);

std::vector<Recorded> read_recorded(const std::string &path);
std::vector<RecordedEdge> read_edges(const std::string &path);
std::vector<RecordedText> read_texts(const std::string &path);

}  // namespace presets_test

#endif  // SAMPLER_TESTS_PRESETS_RECORDED_H_
