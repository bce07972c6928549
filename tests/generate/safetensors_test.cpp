#include "safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "model_files.h"

namespace {

using generate::SafetensorsFile;

TEST(Widen, EveryF16AndBf16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    const std::string bytes = {static_cast<char>(bits & 0xFF), static_cast<char>(bits >> 8)};
    const double f16 = StoredTensor{"F16", {1}, bytes}.values()[0];
    const double bf16 = StoredTensor{"BF16", {1}, bytes}.values()[0];
    if (std::isnan(f16)) {
      EXPECT_TRUE(std::isnan(generate::widen_f16(word))) << bits;
    } else {
      EXPECT_EQ(generate::widen_f16(word), f16) << bits;
    }
    if (std::isnan(bf16)) {
      EXPECT_TRUE(std::isnan(generate::widen_bf16(word))) << bits;
    } else {
      EXPECT_EQ(generate::widen_bf16(word), bf16) << bits;
    }
  }
  EXPECT_TRUE(std::signbit(generate::widen_f16(0x8000)));
  EXPECT_TRUE(std::signbit(generate::widen_bf16(0x8000)));
}

class Safetensors : public testing::Test {
 protected:
  // The error without the file's name; "" when the file is good.
  std::string error(const std::string &file_bytes) {
    write_bytes(path_, file_bytes);
    std::string message = error_of([&] { SafetensorsFile{path_}; });
    if (message.empty()) return message;
    const std::string prefix = path_.string() + ": ";
    EXPECT_EQ(message.substr(0, prefix.size()), prefix);
    EXPECT_EQ(message.find('\n'), message.npos);
    return message.substr(prefix.size());
  }
  std::string error(const std::string &header, std::size_t data_bytes) {
    return error(safetensors_bytes(header, std::string(data_bytes, '\0')));
  }
  // The error of a file with one tensor "x" and 8 bytes of data.
  std::string error_of_tensor(const std::string &entry) {
    return error("{\"x\": " + entry + "}", 8);
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "m.safetensors";
};

TEST_F(Safetensors, ReadsTensorsOfEachType) {
  const std::string header =
      R"({"__metadata__": {"format": "pt"},)"
      R"("f32": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},)"
      R"("f16": {"dtype": "F16", "shape": [2, 1], "data_offsets": [8, 12]},)"
      R"("bf16": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [12, 16]},)"
      R"("mask": {"dtype": "BOOL", "shape": [3], "data_offsets": [16, 19]},)"
      R"("scalar": {"dtype": "F32", "shape": [], "data_offsets": [19, 23]},)"
      R"("none": {"dtype": "F32", "shape": [0, 5], "data_offsets": [23, 23]}}   )";
  const std::string data(
      "\x00\x00\x80\x3F\x00\x00\x00\xC0"  // 1, -2
      "\x00\x3C\x00\xC0\x80\x3F\x00\xC0"  // 1, -2, 1, -2
      "\x01\x00\x01"
      "\x00\x00\x00\x3F",  // 0.5
      23);
  write_bytes(path_, safetensors_bytes(header, data));
  SafetensorsFile file(path_);
  const std::vector<float> expected = {1, -2};
  EXPECT_EQ(file.read_f32("f32", {2}), expected);
  EXPECT_EQ(file.read_f32("f16", {2, 1}), expected);
  EXPECT_EQ(file.read_f32("bf16", {1, 2}), expected);
  EXPECT_EQ(file.read_f32("scalar", {}), std::vector<float>{0.5f});
  EXPECT_EQ(file.read_f32("none", {0, 5}), std::vector<float>{});
  EXPECT_TRUE(file.contains("mask"));
  EXPECT_FALSE(file.contains("__metadata__"));

  const auto read_error = [&](const std::string &name, const generate::Shape &shape) {
    return error_of([&] { file.read_f32(name, shape); }).substr(path_.string().size() + 2);
  };
  EXPECT_EQ(read_error("y", {2}), "tensor \"y\" is missing");
  EXPECT_EQ(read_error("f16", {2}), "tensor \"f16\" has shape [2,1]; config.json needs [2]");
  EXPECT_EQ(read_error("mask", {3}), "tensor \"mask\" has dtype BOOL; F32, F16 or BF16 is needed");
}

TEST_F(Safetensors, TheHeaderLengthMustFitTheFile) {
  EXPECT_EQ(error(""), "has 0 bytes; the header length alone takes 8");
  EXPECT_EQ(error("\x01\x02\x03"), "has 3 bytes; the header length alone takes 8");
  EXPECT_EQ(error(std::string("\x03\0\0\0\0\0\0\0{}", 10)),
            "header length is 3; the file has 10 bytes");
  EXPECT_EQ(error(std::string(8, '\xFF') + "{}"),
            "header length is 18446744073709551615; the file has 10 bytes");
  // A sparse file: as long as it says, but above the format's limit.
  write_bytes(path_, std::string("\x01\xE1\xF5\x05\0\0\0\0{}", 10));
  std::filesystem::resize_file(path_, 200'000'000);
  EXPECT_EQ(error_of([&] { SafetensorsFile{path_}; }),
            path_.string() + ": header length is 100000001; the file has 200000000 bytes");
}

TEST_F(Safetensors, TheHeaderMustBeAnObjectOfTensors) {
  EXPECT_EQ(error("", 0), "header: not valid JSON at byte 1");
  EXPECT_EQ(error("{\"x\": }", 0), "header: not valid JSON at byte 7");
  EXPECT_EQ(error("{\"\xFF\": 1}", 0), "header: not valid JSON at byte 3");
  EXPECT_EQ(error("{} {}", 0), "header: not valid JSON at byte 4");
  EXPECT_EQ(error("[]", 0), "header: not a JSON object");
  EXPECT_EQ(error("{\"x\": " + std::string(100'000, '['), 0),
            "header: nested deeper than 32 levels");
  EXPECT_EQ(error("{\"x\\n\": {}, \"x\\n\": {}}", 0), "header: key \"x\\n\" stands twice");
  EXPECT_EQ(error("{}", 0), "");
  EXPECT_EQ(error("{\"__metadata__\": {}}", 0), "");
}

TEST_F(Safetensors, ATensorMustBeDescribed) {
  EXPECT_EQ(error_of_tensor("7"), "tensor \"x\" is not described by an object");
  for (const std::string entry : {
           R"({})",
           R"({"shape": [2], "data_offsets": [0, 8]})",
           R"({"dtype": 32, "shape": [2], "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]})",
           R"({"dtype": "F32", "shape": [2]})",
           R"({"dtype": "F32", "shape": [2], "data_offsets": [0]})",
           R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]})",
           R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 8]})",
           R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 36893488147419103232]})",
       }) {
    EXPECT_EQ(error_of_tensor(entry), "tensor \"x\" needs a dtype, a shape and two data_offsets")
        << entry;
  }
  EXPECT_EQ(error_of_tensor(R"({"dtype": "f32", "shape": [2], "data_offsets": [0, 8]})"),
            "tensor \"x\" has the unknown dtype \"f32\"");
}

TEST_F(Safetensors, OffsetsMustFitShapeAndType) {
  const std::pair<std::string, std::string> cases[] = {
      {"[2]", "[0,7]"},
      {"[2]", "[0,16]"},
      {"[2]", "[8,0]"},
      {"[3]", "[0,8]"},
      {"[]", "[0,8]"},
      {"[4611686018427387906]", "[0,8]"},    // 4 times this is 2^64 + 8
      {"[4294967296,4294967296]", "[0,0]"},  // 2^64 elements
      {"[4611686018427387904]", "[8,8]"},    // 2^64 bytes
      {"[2]", "[18446744073709551612,4]"},   // wraps to 8 bytes
      {"[1,18446744073709551615,18446744073709551615]", "[0,4]"},
  };
  for (const auto &[shape, offsets] : cases) {
    std::ostringstream entry, message;
    entry << R"({"dtype": "F32", "shape": )" << shape << R"(, "data_offsets": )" << offsets << "}";
    message << "tensor \"x\" has data_offsets " << offsets << ", which do not fit its shape "
            << shape << " and dtype \"F32\"";
    EXPECT_EQ(error_of_tensor(entry.str()), message.str());
  }
}

TEST_F(Safetensors, TensorsMustFillTheDataWithoutGapOrOverlap) {
  const auto header = [](const std::string &x_offsets, const std::string &y_offsets) {
    return R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": )" + x_offsets +
           R"(}, "y": {"dtype": "F16", "shape": [2], "data_offsets": )" + y_offsets + "}}";
  };
  EXPECT_EQ(error(header("[0,8]", "[8,12]"), 12), "");
  EXPECT_EQ(error(header("[4,12]", "[0,4]"), 12), "");
  EXPECT_EQ(error(header("[0,8]", "[8,12]"), 11),
            "tensor \"y\" ends at byte 12 of the data, which has 11 (truncated file?)");
  EXPECT_EQ(error(header("[0,8]", "[18446744073709551608,18446744073709551612]"), 12),
            "tensor \"y\" ends at byte 18446744073709551612 of the data, which has 12 "
            "(truncated file?)");
  EXPECT_EQ(error(header("[0,8]", "[8,12]"), 13),
            "the tensors end at byte 12 of the data, which has 13");
  EXPECT_EQ(error(header("[0,8]", "[6,10]"), 12),
            "tensor \"y\" begins at byte 6 of the data; the tensor before it ends at 8");
  EXPECT_EQ(error(header("[0,8]", "[0,4]"), 12),
            "tensor \"x\" begins at byte 0 of the data; the tensor before it ends at 4");
  EXPECT_EQ(error(header("[0,8]", "[10,14]"), 14),
            "tensor \"y\" begins at byte 10 of the data; the tensor before it ends at 8");
  EXPECT_EQ(error(header("[1,9]", "[9,13]"), 13),
            "tensor \"x\" begins at byte 1 of the data; the tensor before it ends at 0");
}

TEST_F(Safetensors, AMissingFileOrAFolderIsAnError) {
  EXPECT_EQ(error_of([&] { SafetensorsFile{path_}; }),
            path_.string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { SafetensorsFile{dir_.path()}; }),
            dir_.path().string() + ": cannot be read");
}

}  // namespace
