// Files of logits that examples/explain reads.
#include "row_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace explain::row_file_test {
namespace {

using Bytes = std::string;

class RowFile : public testing::Test {
 protected:
  // A file of this end of name and these bytes.
  std::string file(const std::string &end, const Bytes &bytes) {
    const std::string path = testing::TempDir() + "explain_row_" + std::to_string(getpid()) + end;
    std::ofstream(path, std::ios::binary) << bytes;
    paths_.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string &path : paths_) std::filesystem::remove(path);
  }

  static std::string error_of(const std::string &path, std::int64_t row, std::int64_t num_cols) {
    try {
      read_row(path, path, row, num_cols);
    } catch (const std::runtime_error &error) {
      return std::string(error.what()).substr(path.size());
    }
    return "";
  }

 private:
  std::vector<std::string> paths_;
};

template <std::size_t N>
Bytes bytes_of(const char (&text)[N]) {
  return {text, N - 1};
}

// A header of NumPy's format, with `version` of 1 or 2.
Bytes npy(char version, const std::string &dtype, const std::string &shape, const Bytes &data) {
  const std::string header =
      "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  Bytes bytes = bytes_of("\x93NUMPY") + version + '\0' + char(header.size()) + '\0';
  if (version > 1) bytes += bytes_of("\0\0");
  return bytes + header + data;
}

using Row = std::vector<float>;

TEST_F(RowFile, OfF32) {
  const std::string path = file(".f32", bytes_of("\0\0\x80\x3f\0\0\0\xc0\0\0\x80\xff\0\0\0\x3f"));
  EXPECT_EQ(read_row(path, path, 0, 0), (Row{1, -2, -INFINITY, 0.5f}));
  EXPECT_EQ(read_row(path, path, 1, 2), (Row{-INFINITY, 0.5f}));
}

TEST_F(RowFile, OfF16) {
  // 1, -2, the least subnormal, the largest, -inf, -0, the least normal.
  const std::string path = file(".f16", bytes_of("\0\x3c\0\xc0\1\0\xff\x7b\0\xfc\0\x80\0\x04"));
  EXPECT_EQ(read_row(path, path, 0, 0), (Row{1, -2, 0x1p-24f, 65504, -INFINITY, 0, 0x1p-14f}));
  EXPECT_TRUE(std::signbit(read_row(path, path, 5, 1)[0]));
  const std::string nan = file("nan.f16", bytes_of("\1\x7c"));
  EXPECT_TRUE(std::isnan(read_row(nan, nan, 0, 0)[0]));
}

TEST_F(RowFile, OfBf16) {
  const std::string path = file(".bf16", bytes_of("\x80\x3f\x20\xc0"));
  EXPECT_EQ(read_row(path, path, 0, 0), (Row{1, -2.5f}));
}

TEST_F(RowFile, OfNumPy) {
  const Bytes data = bytes_of("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\x40\x40");
  for (const char version : {1, 2}) {
    const std::string path = file(".npy", npy(version, "<f4", "(2, 2)", data));
    EXPECT_EQ(read_row(path, path, 0, 0), (Row{1, -2}));
    EXPECT_EQ(read_row(path, path, 1, 0), (Row{0.5f, 3}));
    EXPECT_EQ(error_of(path, 0, 4), ": --cols is 4; it must be the length of a row, 2");
  }
  const std::string flat = file(".npy", npy(1, "<f2", "(2,)", bytes_of("\0\x3c\0\xc0")));
  EXPECT_EQ(read_row(flat, flat, 0, 0), (Row{1, -2}));
}

TEST_F(RowFile, OfDamagedNumPyIsAnError) {
  const Bytes good = npy(1, "<f4", "(1,)", bytes_of("\0\0\0\0"));
  EXPECT_EQ(error_of(file(".npy", "\x93NUMP"), 0, 0), ": is no .npy file");
  EXPECT_EQ(error_of(file(".npy", good.substr(0, 40)), 0, 0), ": ends within its header");
  EXPECT_EQ(error_of(file(".npy", good.substr(0, good.size() - 1)), 0, 0), ": ends within a logit");
  EXPECT_EQ(error_of(file(".npy", npy(1, "<f8", "(1,)", Bytes(8, '\0'))), 0, 0),
            ": must hold '<f4' or '<f2'");
  EXPECT_EQ(error_of(file(".npy", npy(1, "<f4", "()", Bytes(4, '\0'))), 0, 0), ": is empty");
  EXPECT_EQ(error_of(file(".npy", npy(1, "<f4", "(3,)", Bytes(4, '\0'))), 0, 0),
            ": has 1 logits, which are no rows of 3");
}

TEST_F(RowFile, OfText) {
  const std::string path = file("", "[[1, -2.5e0], [-inf,\n0x1p-1]]\n");
  EXPECT_EQ(read_row(path, path, 0, 0), (Row{1, -2.5f, -INFINITY, 0.5f}));
  EXPECT_EQ(read_row(path, path, 1, 2), (Row{-INFINITY, 0.5f}));
}

TEST_F(RowFile, ATypeIsToldApartFromTheName) {
  const std::string path = file(".bin", bytes_of("\x80\x3f\x20\xc0"));
  EXPECT_EQ(read_row(path, ".bf16", 0, 0), (Row{1, -2.5f}));
  EXPECT_EQ(read_row(path, ".f32", 0, 0).size(), 1u);
}

TEST_F(RowFile, WrongOnesAreErrorsThatSayWhatIsWrong) {
  EXPECT_EQ(error_of(file("", "1 2 x3"), 0, 0),
            ": \"x3\" is no number; a file of f32, f16 or bf16 needs --dtype");
  EXPECT_EQ(error_of(file("", " \n"), 0, 0), ": has no logits");
  EXPECT_EQ(error_of(file(".f16", ""), 0, 0), ": has no logits");
  EXPECT_EQ(error_of(file(".f16", "abc"), 0, 0), ": ends within a logit");
  EXPECT_EQ(error_of(file("", "1 2 3"), 0, 2), ": has 3 logits, which are no rows of 2");
  EXPECT_EQ(error_of(file("", "1 2 3 4"), 2, 2), ": row 2 is not in [0, 2), the rows of 2 logits");
  EXPECT_EQ(error_of("/nonexistent", 0, 0), ": cannot be opened: No such file or directory");
}

TEST_F(RowFile, OfBitmasks) {
  using Words = std::vector<std::uint32_t>;
  const Bytes words = bytes_of("\1\0\0\0\0\0\0\x80\xff\xff\xff\xff\2\0\0\0");
  const Words second = {0xffffffff, 2};
  const std::string raw = file(".u32", words);
  EXPECT_EQ(read_bitmask(raw, 0, 2), (Words{1, 0x80000000}));
  EXPECT_EQ(read_bitmask(raw, 1, 2), second);
  EXPECT_EQ(read_bitmask(file(".i32", words), 1, 2), second);
  EXPECT_EQ(read_bitmask(file(".npy", npy(1, "<u4", "(2, 2)", words)), 1, 2), second);
  EXPECT_EQ(read_bitmask(file("2.npy", npy(2, "<i4", "(2, 2)", words)), 1, 2), second);
  EXPECT_EQ(read_bitmask(file(".txt", "[1, 0x80000000, -1 2]"), 1, 2), second);

  const auto error_of_bitmask = [](const std::string &path, std::int64_t row) -> std::string {
    try {
      read_bitmask(path, row, 2);
    } catch (const std::runtime_error &error) {
      return std::string(error.what()).substr(path.size());
    }
    return "";
  };
  EXPECT_EQ(error_of_bitmask(raw, 2), ": bitmask 2 is not in [0, 2)");
  EXPECT_EQ(error_of_bitmask(file(".txt", "1 2 3"), 0),
            ": has 3 words, which are no bitmasks of 2");
  EXPECT_EQ(error_of_bitmask(file(".txt", ""), 0), ": has 0 words, which are no bitmasks of 2");
  EXPECT_EQ(error_of_bitmask(file(".txt", "1 4294967296"), 0),
            ": \"4294967296\" is no word of 32 bits");
  EXPECT_EQ(error_of_bitmask(file(".txt", "1 x"), 0), ": \"x\" is no word of 32 bits");
  EXPECT_EQ(error_of_bitmask(file(".u32", "12345"), 0), ": ends within a word of 32 bits");
  EXPECT_EQ(error_of_bitmask(file(".npy", npy(1, "<f4", "(2, 2)", words)), 0),
            ": must hold '<u4' or '<i4'");
}

}  // namespace
}  // namespace explain::row_file_test
