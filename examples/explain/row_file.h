#ifndef EXPLAIN_ROW_FILE_H
#define EXPLAIN_ROW_FILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace explain {

// Row `row` of a file of logits, each of `num_cols`; 0: the file is one row. What the file holds is
// told by the end of its name: ".f32", ".f16", ".bf16", little-endian and without a header; ".npy",
// f4 or f2 in C order, whose last dimension is num_cols; all else, and "-", standard input, is text
// with numbers in it, of which "-inf" is one. Throws std::runtime_error.
std::vector<float> read_row(const std::string &path, std::int64_t row, std::int64_t num_cols);

}  // namespace explain

#endif  // EXPLAIN_ROW_FILE_H
