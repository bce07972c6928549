#ifndef EXPLAIN_ROW_FILE_H
#define EXPLAIN_ROW_FILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace explain {

// Row `row`, from 0, of a file of logits; "-" is standard input. The end of `type_name`, which may
// be the path, says what it holds: ".f32", ".f16" or ".bf16", little-endian without a header;
// ".npy", f4 or f2 in C order; else text with numbers in it, of which "-inf" is one, and spaces,
// commas or brackets between them. A row has `num_cols` logits; 0: the last dimension of .npy, of
// others all that there are. Throws std::runtime_error.
std::vector<float> read_row(const std::string &path, const std::string &type_name, std::int64_t row,
                            std::int64_t num_cols);

// Row `row` of a file of bitmasks as sampler_pipeline.token_bitmasks has them, of `num_words` words
// of 32 bits each: ".u32" and ".i32", little-endian without a header; ".npy", u4 or i4 in C order;
// else text with numbers in it, as C writes them: 255, 0xff, -1. Throws std::runtime_error.
std::vector<std::uint32_t> read_bitmask(const std::string &path, std::int64_t row,
                                        std::int64_t num_words);

}  // namespace explain

#endif  // EXPLAIN_ROW_FILE_H
