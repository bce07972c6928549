// Model folders for the tests: real ones to start from, changed ones to load.
#ifndef TESTS_GENERATE_MODEL_FILES_H
#define TESTS_GENERATE_MODEL_FILES_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// A new folder that is removed with all it holds.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir &) = delete;
  TempDir &operator=(const TempDir &) = delete;

  const std::filesystem::path &path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// examples/tiny_gpt2.
std::filesystem::path tiny_gpt2();

std::string read_bytes(const std::filesystem::path &path);
void write_bytes(const std::filesystem::path &path, std::string_view bytes);

// The message of the generate::Error that `load` throws; "" when it throws none.
std::string error_of(const std::function<void()> &load);

// The bytes of a safetensors file: the header's length, the header, the data.
std::string safetensors_bytes(const std::string &header, const std::string &data);

struct StoredTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;

  // F16 and BF16 as they widen, by way of ldexp.
  std::vector<double> values() const;
};

StoredTensor f32_tensor(const std::vector<std::int64_t> &shape, const std::vector<float> &values);

// The four files of a model, to be changed and written.
// NOLINTNEXTLINE(bugprone-exception-escape): what moving JSON may throw is an assertion
struct ModelFiles {
  nlohmann::json config;
  std::map<std::string, StoredTensor> tensors;
  std::string vocab;
  std::string merges;

  // "target" or "draft".
  static ModelFiles read(const std::string &model);

  // A GPT-2 whose sizes are no multiples of a vector register: 2 layers, width 20, 2 heads, 24
  // inner, 37 tokens, 16 positions; pseudo-random f32 weights. It has no vocabulary.
  static ModelFiles odd_sizes();

  void write(const std::filesystem::path &directory) const;
};

#endif  // TESTS_GENERATE_MODEL_FILES_H
