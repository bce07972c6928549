#include "problem.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace gpu_check {

namespace {

struct Function {
  sampler_status (*run)(sampler_t, const Structs &);
  sampler_status (*workspace_size)(sampler_t, const Structs &, size_t *);
};

#define FUNCTION(name)                                                                    \
  {                                                                                       \
    [](sampler_t sampler, const Structs &structs) {                                       \
      return sampler_##name(sampler, &structs.args.name);                                 \
    },                                                                                    \
        [](sampler_t sampler, const Structs &structs, size_t *out_bytes) {                \
          return sampler_##name##_workspace_size(sampler, &structs.args.name, out_bytes); \
        }                                                                                 \
  }
const Function kFunctions[kNumOperations] = {FUNCTION(sample), FUNCTION(filter), FUNCTION(select),
                                             FUNCTION(verify), FUNCTION(residual)};
#undef FUNCTION

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what + ": " + sampler_last_error());
}

}  // namespace

void Problem::bind(const void *base, const void *parameters, Structs *out) const {
  Call::bind(
      [&](const Array &array) {
        const void *memory = array.is_parameter ? parameters : base;
        return static_cast<const unsigned char *>(memory) + array.begin;
      },
      out);
}

size_t Problem::workspace_bytes(sampler_t sampler) const {
  size_t bytes = 0;
  Structs structs;
  bind(memory().data(), memory().data(), &structs);
  const Function &function = kFunctions[source().operation];
  if (function.workspace_size(sampler, structs, &bytes) != SAMPLER_OK) {
    fail("workspace_size of " + description());
  }
  return bytes;
}

void Problem::run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
                  void *workspace, size_t workspace_bytes) const {
  Structs structs;
  bind(base, parameters, &structs);
  // All argument structs begin with their size and `exec`.
  structs.args.sample.exec = {stream, workspace, workspace_bytes};
  if (kFunctions[source().operation].run(sampler, structs) != SAMPLER_OK) fail(description());
}

void Problem::run(sampler_t cpu_sampler) {
  std::vector<unsigned char> workspace(workspace_bytes(cpu_sampler));
  run(cpu_sampler, memory().data(), memory().data(), nullptr,
      workspace.empty() ? nullptr : workspace.data(), workspace.size());
}

namespace {

const unsigned char *row_of(const Problem &problem, const Array &array, int64_t row) {
  return problem.memory().data() + array.begin + size_t(row) * array.stride_bytes;
}

std::string hex(const unsigned char *bytes, size_t at, size_t end) {
  std::string text;
  char digits[4];
  for (size_t i = at / 8 * 8; i < std::min(at / 8 * 8 + 8, end); ++i) {
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

std::optional<std::string> difference(const Problem &expected, const Array &a,
                                      const Problem &actual, const Array &b) {
  int64_t num_bad_rows = 0;
  std::string first;
  for (int64_t row = 0; row < a.num_rows; ++row) {
    const unsigned char *x = row_of(expected, a, row), *y = row_of(actual, b, row);
    if (std::memcmp(x, y, a.row_bytes) == 0) continue;
    if (num_bad_rows++ > 0) continue;
    const size_t at = size_t(std::mismatch(x, x + a.row_bytes, y).first - x);
    first = "row " + std::to_string(row) + " byte " + std::to_string(at) + " of " +
            std::to_string(a.row_bytes) + ": " + hex(y, at, a.row_bytes) + ", expected " +
            hex(x, at, a.row_bytes);
  }
  if (num_bad_rows == 0) return std::nullopt;
  return a.name + " differs in " + std::to_string(num_bad_rows) + " of " +
         std::to_string(a.num_rows) + " rows, first in " + first;
}

bool all_bytes_are(unsigned char value, const unsigned char *begin, const unsigned char *end) {
  return begin >= end ||
         (*begin == value && std::memcmp(begin, begin + 1, size_t(end - begin) - 1) == 0);
}

// Writes outside the arrays, and into the padding of their rows.
std::optional<std::string> overrun(const Problem &problem) {
  const unsigned char *begin = problem.memory().data();
  const unsigned char *gap = begin;
  for (const Array &array : problem.arrays()) {
    if (!all_bytes_are(kInputGap, gap, begin + array.begin)) {
      return "bytes before " + array.name + " were written";
    }
    gap = begin + array.begin + size_t(array.num_rows) * array.stride_bytes;
    const unsigned char fill = array.is_output ? kOutputGap : kInputGap;
    for (int64_t row = 0; row < array.num_rows && array.stride_bytes > array.row_bytes; ++row) {
      const unsigned char *at = row_of(problem, array, row);
      if (!all_bytes_are(fill, at + array.row_bytes, at + array.stride_bytes)) {
        return "padding of row " + std::to_string(row) + " of " + array.name + " was written";
      }
    }
  }
  if (all_bytes_are(kInputGap, gap, begin + problem.memory().size())) return std::nullopt;
  return "bytes after the last array were written";
}

}  // namespace

std::vector<std::string> differences(const Problem &expected, const Problem &actual) {
  std::vector<std::string> result;
  for (size_t i = 0; i < expected.arrays().size(); ++i) {
    const auto line = difference(expected, expected.arrays()[i], actual, actual.arrays()[i]);
    if (line) result.push_back(*line);
  }
  for (const Problem *problem : {&expected, &actual}) {
    const auto line = overrun(*problem);
    if (line) result.push_back(*line);
  }
  return result;
}

}  // namespace gpu_check
