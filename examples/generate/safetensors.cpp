#include "safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "error.h"
#include "json_file.h"

namespace generate {

namespace {

using Json = nlohmann::json;

// The format's own limit. The header of a GPT-2 takes some 10 kB.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

constexpr std::pair<const char *, std::uint64_t> kDtypeBytes[] = {
    {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8},     {"I64", 8},
    {"U64", 8}, {"I32", 4}, {"U32", 4},  {"I16", 2},     {"U16", 2},
    {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
};

// 0 for an unknown type.
std::uint64_t dtype_bytes(const std::string &dtype) {
  for (const auto &[name, bytes] : kDtypeBytes) {
    if (dtype == name) return bytes;
  }
  return 0;
}

bool is_list_of_counts(const Json &json) {
  return json.is_array() && std::all_of(json.begin(), json.end(),
                                        [](const Json &n) { return n.is_number_unsigned(); });
}

// False when the tensor has more bytes than 64 bits can count.
bool count_bytes(const Json &shape, std::uint64_t element_bytes, std::uint64_t *out_bytes) {
  std::uint64_t bytes = element_bytes;
  for (const Json &size : shape) {
    if (__builtin_mul_overflow(bytes, size.get<std::uint64_t>(), &bytes)) return false;
  }
  *out_bytes = bytes;
  return true;
}

std::string to_text(const Shape &shape) {
  return Json(shape).dump();
}

std::uint64_t little_endian(const char *bytes, int num_bytes) {
  std::uint64_t value = 0;
  for (int i = num_bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename Widen>
void widen_all(const std::vector<char> &raw, int element_bytes, std::vector<float> *out,
               Widen widen) {
  const char *bytes = raw.data();
  for (float &value : *out) {
    value = widen(little_endian(bytes, element_bytes));
    bytes += element_bytes;
  }
}

}  // namespace

float widen_bf16(std::uint16_t bits) {
  return float_of_bits(std::uint32_t{bits} << 16);
}

float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
  if ((bits & 0x7c00u) == 0x7c00u) return float_of_bits(sign | 0x7f800000u | magnitude);
  // The exponents of f16 and f32 are biased by 15 and 127; the product is exact, and it turns
  // subnormal numbers into normal ones as well.
  return float_of_bits(sign | magnitude) * 0x1p112f;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path &path)
    : path_(path.string()), stream_(path, std::ios::binary) {
  if (!stream_) fail(std::string("cannot be opened: ") + std::strerror(errno));
  stream_.seekg(0, std::ios::end);
  const std::streamoff file_bytes = stream_.tellg();
  if (!stream_ || file_bytes < 0) fail("cannot be read");
  parse_header(read_header(static_cast<std::uint64_t>(file_bytes)));
  check_layout();
}

void SafetensorsFile::fail(const std::string &what) const {
  throw Error(path_ + ": " + what);
}

void SafetensorsFile::read_at(std::uint64_t offset, char *out, std::size_t num_bytes) {
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(out, static_cast<std::streamsize>(num_bytes));
  if (!stream_) fail("cannot be read");
}

std::string SafetensorsFile::read_header(std::uint64_t file_bytes) {
  if (file_bytes < 8) {
    fail("has " + std::to_string(file_bytes) + " bytes; the header length alone takes 8");
  }
  char length_bytes[8];
  read_at(0, length_bytes, sizeof length_bytes);
  const std::uint64_t header_bytes = little_endian(length_bytes, 8);
  if (header_bytes > kMaxHeaderBytes || header_bytes > file_bytes - 8) {
    fail("header length is " + std::to_string(header_bytes) + "; the file has " +
         std::to_string(file_bytes) + " bytes");
  }
  std::string header(header_bytes, '\0');
  read_at(8, header.data(), header_bytes);
  data_start_ = 8 + header_bytes;
  data_bytes_ = file_bytes - data_start_;
  return header;
}

void SafetensorsFile::parse_header(const std::string &header) {
  const Json json = parse_json_object(header, path_ + ": header");
  for (const auto &[name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    const std::string tensor = "tensor " + in_quotes(name);
    if (!entry.is_object()) fail(tensor + " is not described by an object");
    const Json dtype = entry.value("dtype", Json());
    const Json shape = entry.value("shape", Json());
    const Json offsets = entry.value("data_offsets", Json());
    if (!dtype.is_string() || !is_list_of_counts(shape) || !is_list_of_counts(offsets) ||
        offsets.size() != 2) {
      fail(tensor + " needs a dtype, a shape and two data_offsets");
    }
    const std::uint64_t element_bytes = dtype_bytes(dtype.get<std::string>());
    if (element_bytes == 0) fail(tensor + " has the unknown dtype " + dtype.dump());
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    std::uint64_t num_bytes;
    if (!count_bytes(shape, element_bytes, &num_bytes) || begin > end || end - begin != num_bytes) {
      fail(tensor + " has data_offsets " + offsets.dump() + ", which do not fit its shape " +
           shape.dump() + " and dtype " + dtype.dump());
    }
    tensors_[name] = {dtype.get<std::string>(), shape.get<Shape>(), begin, end};
  }
}

// The tensors fill the data without gap or overlap; the format asks for it.
void SafetensorsFile::check_layout() const {
  std::vector<std::pair<const std::string *, const Tensor *>> by_offset;
  for (const auto &[name, tensor] : tensors_) by_offset.emplace_back(&name, &tensor);
  std::sort(by_offset.begin(), by_offset.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::uint64_t filled = 0;
  for (const auto &[name, tensor] : by_offset) {
    if (tensor->end > data_bytes_) {
      fail("tensor " + in_quotes(*name) + " ends at byte " + std::to_string(tensor->end) +
           " of the data, which has " + std::to_string(data_bytes_) + " (truncated file?)");
    }
    if (tensor->begin != filled) {
      fail("tensor " + in_quotes(*name) + " begins at byte " + std::to_string(tensor->begin) +
           " of the data; the tensor before it ends at " + std::to_string(filled));
    }
    filled = tensor->end;
  }
  if (filled != data_bytes_) {
    fail("the tensors end at byte " + std::to_string(filled) + " of the data, which has " +
         std::to_string(data_bytes_));
  }
}

std::vector<float> SafetensorsFile::read_f32(const std::string &name, const Shape &shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("tensor " + in_quotes(name) + " is missing");
  const Tensor &tensor = found->second;
  if (tensor.shape != shape) {
    fail("tensor " + in_quotes(name) + " has shape " + to_text(tensor.shape) +
         "; config.json needs " + to_text(shape));
  }
  if (tensor.dtype != "F32" && tensor.dtype != "F16" && tensor.dtype != "BF16") {
    fail("tensor " + in_quotes(name) + " has dtype " + tensor.dtype +
         "; F32, F16 or BF16 is needed");
  }
  std::vector<char> raw(tensor.end - tensor.begin);
  read_at(data_start_ + tensor.begin, raw.data(), raw.size());

  const int element_bytes = static_cast<int>(dtype_bytes(tensor.dtype));
  std::vector<float> values(raw.size() / static_cast<std::size_t>(element_bytes));
  if (tensor.dtype == "F32") {
    widen_all(raw, 4, &values,
              [](std::uint64_t bits) { return float_of_bits(static_cast<std::uint32_t>(bits)); });
  } else if (tensor.dtype == "F16") {
    widen_all(raw, 2, &values,
              [](std::uint64_t bits) { return widen_f16(static_cast<std::uint16_t>(bits)); });
  } else {
    widen_all(raw, 2, &values,
              [](std::uint64_t bits) { return widen_bf16(static_cast<std::uint16_t>(bits)); });
  }
  return values;
}

}  // namespace generate
