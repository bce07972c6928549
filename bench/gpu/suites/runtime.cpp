// tests/simt/runtime/runtime.h on a real device, of which there is one, as it is.
#include "runtime.h"

#include <stdexcept>

#include "cuda.h"

namespace gpu_suites {
namespace {

std::vector<simt::runtime::Launch> noted;

}  // namespace

void note_launch(const void *kernel, std::int64_t num_blocks, int cluster_size,
                 std::size_t shared_bytes) {
  simt::runtime::Launch launch;
  launch.kernel = kernel;
  launch.num_teams = num_blocks / cluster_size;
  launch.team_size = cluster_size;
  launch.shared_bytes = shared_bytes;
  noted.push_back(launch);
}

}  // namespace gpu_suites

namespace simt::runtime {

void reset(const std::vector<Device> &) {
  forget_calls();
}
Kernel &kernel_at(const void *) {
  static Kernel unused;  // what is left to a kernel is computed
  return unused;
}
void set_block_threads(int) {}
int block_threads() {
  return 256;
}

std::map<std::string, int> calls() {
  return {};
}
void forget_calls() {
  gpu_suites::noted.clear();
}

void *allocate(int, std::size_t bytes) {
  return gpu_suites::allocate(bytes);
}
void release(void *memory) {
  gpu_suites::release(memory);
}
void copy_to_device(void *to, const void *from, std::size_t bytes) {
  gpu_suites::copy(to, from, bytes);
}
void copy_to_host(void *to, const void *from, std::size_t bytes) {
  gpu_suites::copy(to, from, bytes);
}
int num_allocations() {
  return 0;
}
void adopt_host_memory(int) {}

const std::vector<Launch> &launches() {
  return gpu_suites::noted;
}

// Tests that record are left out (main.cpp).
Recording::Recording() {
  throw std::logic_error("a real device records by its own means");
}
Recording::~Recording() = default;
void Recording::replay() const {}

}  // namespace simt::runtime
