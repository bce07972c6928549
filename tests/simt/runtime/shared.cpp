// The first thing that the shared library does: its first device reaches the memory of the program
// that opened it, whose arrays stand for the device's.
#include "runtime.h"

namespace {

[[maybe_unused]] const bool adopted = [] {
  simt::runtime::adopt_host_memory(0);
  return true;
}();

}  // namespace
