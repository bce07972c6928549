// Tells a process from those it was forked from, without a system call.
//
// A forked child has the memory of its parent, but neither its threads nor the calls that they were
// in. State that one process set up and another must not rely on is marked with the process's
// generation: children of fork(), _Fork(), clone() and the system calls below them each have one
// that none of their ancestors had, whatever their process ids. Whoever shares memory, as a thread
// or the child of vfork() does, shares the generation.
#pragma once

#include <cstdint>

namespace sampler::cpu {

// Must have succeeded in this process or in one it was forked from before fork_generation() is
// called. Any number of times, from any thread. False: the system has no memory.
bool prepare_fork_generation();

// Never 0.
uint32_t fork_generation();

}  // namespace sampler::cpu
