// A random launch of an operation's device code on fibers, and its outputs beside the reference's.
#pragma once

#include <random>
#include <string>

#include "problem.h"
#include "simt.h"

namespace simt_test {

using namespace test_support;

// "" when the device code gives the reference's bits, otherwise what differs. The requests take
// turns: `which` % kNumRequests. In a unit of its own, as the kernels take long to compile.
std::string difference(std::mt19937_64 &random, const Scale &scale, int which,
                       const simt::Options &options);

}  // namespace simt_test
