#ifndef GENERATE_SAFETENSORS_H
#define GENERATE_SAFETENSORS_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace generate {

// IEEE binary16, and the upper half of an f32; both widen exactly.
float widen_f16(std::uint16_t bits);
float widen_bf16(std::uint16_t bits);

using Shape = std::vector<std::int64_t>;

// A file of named tensors: 8 bytes of header length, a JSON header, the data. The constructor
// checks the whole header against the size of the file, so that reading a tensor later can only
// fail by its name, shape or type.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path &path);

  bool contains(const std::string &name) const { return tensors_.count(name) != 0; }

  // Reads an F32, F16 or BF16 tensor of exactly this shape, widened to f32.
  std::vector<float> read_f32(const std::string &name, const Shape &shape);

 private:
  struct Tensor {
    std::string dtype;
    Shape shape;
    // This tensor's bytes of the data: [begin, end).
    std::uint64_t begin;
    std::uint64_t end;
  };

  void read_at(std::uint64_t offset, char *out, std::size_t num_bytes);
  std::string read_header(std::uint64_t file_bytes);
  void parse_header(const std::string &header);
  void check_layout() const;
  [[noreturn]] void fail(const std::string &what) const;

  std::string path_;
  std::ifstream stream_;
  std::map<std::string, Tensor> tensors_;
  std::uint64_t data_start_ = 0;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace generate

#endif  // GENERATE_SAFETENSORS_H
