// Distinguishes a process from its ancestors without a system call.
//
// A forked child has its parent's memory, but not its threads or the calls they were in. State that
// belongs to one process is marked with its generation. Children of fork(), _Fork(), clone() and
// the underlying system calls have a generation that no ancestor had, whatever their process ids.
// Threads and children of vfork() share memory, and so the generation.
#pragma once

#include <cstdint>

namespace sampler::cpu {

// Must succeed in this process or an ancestor before fork_generation() is called. May be called
// repeatedly, from any thread. False: out of memory.
bool prepare_fork_generation();

// Never 0.
uint32_t fork_generation();

}  // namespace sampler::cpu
