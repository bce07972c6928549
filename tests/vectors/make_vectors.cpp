// Records the calls of tests/vectors as the scalar reference answers them.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "cases.h"

namespace {

const char *const kUsage =
    "usage: make_vectors tests/vectors           writes the files\n"
    "       make_vectors --check tests/vectors   compares only; status 1 when one is not current\n";

bool is_current(const std::string &path, const std::string &text) {
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  if (found == text) return true;
  std::fprintf(stderr, "%s is not what make_vectors gives\n", path.c_str());
  return false;
}

bool write(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (file) return true;
  std::fprintf(stderr, "%s cannot be written\n", path.c_str());
  return false;
}

}  // namespace

int main(int argc, char **argv) {
  const bool only_check = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 2 && !only_check) return std::fputs(kUsage, stderr), 2;
  setenv("SAMPLER_ISA", "scalar", 1);
  const std::string folder = std::string(argv[argc - 1]) + "/";
  bool is_ok = true;
  const auto record = [&](const std::string &path, const std::string &text) {
    is_ok = (only_check ? is_current(path, text) : write(path, text)) && is_ok;
  };
  for (const capi_test::Operation &operation : vectors_test::RecordedOperations()) {
    record(folder + vectors_test::file_name(operation),
           vectors_test::to_text(operation, vectors_test::make_cases(operation)));
  }
  record(folder + "state.json", vectors_test::to_text(vectors_test::make_state_cases()));
  return is_ok ? 0 : 1;
}
