#include "model_files.h"

#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "error.h"

namespace {

using Json = nlohmann::json;

std::string little_endian(std::uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::uint64_t from_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

// A binary float of any format with an implicit leading bit.
double value_of_bits(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
  const auto mantissa = static_cast<double>(bits & ((1u << mantissa_bits) - 1));
  const int max_exponent = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & max_exponent;
  const double sign = bits >> (mantissa_bits + exponent_bits) ? -1 : 1;
  const int bias = max_exponent / 2;
  if (exponent == max_exponent) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
}

}  // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "generate_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

TempDir::~TempDir() {
  std::filesystem::remove_all(path_);
}

std::filesystem::path tiny_gpt2() {
  return TINY_GPT2_DIR;
}

std::string read_bytes(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const std::filesystem::path &path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string error_of(const std::function<void()> &load) {
  try {
    load();
  } catch (const generate::Error &error) {
    return error.what();
  }
  return "";
}

std::string safetensors_bytes(const std::string &header, const std::string &data) {
  return little_endian(header.size(), 8) + header + data;
}

std::vector<double> StoredTensor::values() const {
  const std::size_t element_bytes = dtype == "F32" ? 4 : 2;
  const int exponent_bits = dtype == "F16" ? 5 : 8;
  const int mantissa_bits = static_cast<int>(8 * element_bytes) - 1 - exponent_bits;
  std::vector<double> values;
  for (std::size_t i = 0; i < bytes.size(); i += element_bytes) {
    const std::uint64_t bits = from_little_endian(std::string_view(bytes).substr(i, element_bytes));
    values.push_back(value_of_bits(bits, exponent_bits, mantissa_bits));
  }
  return values;
}

StoredTensor f32_tensor(const std::vector<std::int64_t> &shape, const std::vector<float> &values) {
  std::string bytes;
  for (const float value : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bytes += little_endian(bits, 4);
  }
  return {"F32", shape, bytes};
}

ModelFiles ModelFiles::read(const std::string &model) {
  const std::filesystem::path directory = tiny_gpt2() / model;
  ModelFiles files;
  files.config = Json::parse(read_bytes(directory / "config.json"));
  files.vocab = read_bytes(directory / "vocab.json");
  files.merges = read_bytes(directory / "merges.txt");
  const std::string file = read_bytes(directory / "model.safetensors");
  const std::uint64_t header_bytes = from_little_endian(std::string_view(file).substr(0, 8));
  const Json header = Json::parse(file.substr(8, header_bytes));
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t begin = entry["data_offsets"][0];
    const std::size_t end = entry["data_offsets"][1];
    files.tensors[name] = {entry["dtype"], entry["shape"],
                           file.substr(8 + header_bytes + begin, end - begin)};
  }
  return files;
}

ModelFiles ModelFiles::odd_sizes() {
  constexpr int kLayers = 2, kWidth = 20, kInner = 24, kVocab = 37, kPositions = 16;
  ModelFiles files;
  files.config = {{"vocab_size", kVocab}, {"n_positions", kPositions},
                  {"n_embd", kWidth},     {"n_layer", kLayers},
                  {"n_head", 2},          {"n_inner", kInner}};
  std::mt19937 random(1);
  const auto add = [&](const std::string &name, const std::vector<std::int64_t> &shape) {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) size *= extent;
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(random()) * 0x1p-32f - 0.5f);
    }
    files.tensors[name] = f32_tensor(shape, values);
  };
  const auto add_with_bias = [&](const std::string &name, const std::vector<std::int64_t> &shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape.back()});
  };
  add("wte.weight", {kVocab, kWidth});
  add("wpe.weight", {kPositions, kWidth});
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string block = "h." + std::to_string(layer) + ".";
    add_with_bias(block + "ln_1", {kWidth});
    add_with_bias(block + "attn.c_attn", {kWidth, 3 * kWidth});
    add_with_bias(block + "attn.c_proj", {kWidth, kWidth});
    add_with_bias(block + "ln_2", {kWidth});
    add_with_bias(block + "mlp.c_fc", {kWidth, kInner});
    add_with_bias(block + "mlp.c_proj", {kInner, kWidth});
  }
  add_with_bias("ln_f", {kWidth});
  return files;
}

void ModelFiles::write(const std::filesystem::path &directory) const {
  Json header;
  std::string data;
  for (const auto &[name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  write_bytes(directory / "config.json", config.dump());
  write_bytes(directory / "vocab.json", vocab);
  write_bytes(directory / "merges.txt", merges);
  write_bytes(directory / "model.safetensors", safetensors_bytes(header.dump(), data));
}
