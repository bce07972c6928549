// What the library keeps for each thread that has failed or caught an exception in it.
//
// It is not thread_local: where a library was opened with dlopen, a thread's first access may
// allocate that, and the process ends where there is no memory. initial-exec would not help:
// the CUDA runtime, if linked in, has more thread-local data than fits the static part.
#pragma once

namespace sampler::abi {

// As the Itanium C++ ABI lays it out.
struct CaughtExceptions {
  void *caught;
  unsigned int num_uncaught;
};

struct ThreadState {
  char error_text[256];  // longer than any of the library's own
  CaughtExceptions exceptions;
};

// The calling thread's state, made if it has none. Some hundreds of threads need no memory for it;
// null if there is no memory for one more.
ThreadState *make_thread_state();

// Null: it has none.
ThreadState *thread_state();

}  // namespace sampler::abi
