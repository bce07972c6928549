#include "abi/thread_state.h"

#include <pthread.h>

#include <new>

#include "abi/static_pool.h"

namespace sampler::abi {

namespace {

StaticPool<ThreadState, 256> states;

// Made when the library is loaded. Where another library has made more than 30 before, the C
// library may need memory to set one.
class Key {
 public:
  Key() : exists_(pthread_key_create(&key_, &thread_ends) == 0) {}

  ThreadState *get() const {
    return exists_ ? static_cast<ThreadState *>(pthread_getspecific(key_)) : nullptr;
  }
  bool set(ThreadState *state) const { return exists_ && pthread_setspecific(key_, state) == 0; }

 private:
  static void thread_ends(void *state) { states.give_back(state); }

  pthread_key_t key_;
  bool exists_;
};

const Key key;

}  // namespace

ThreadState *thread_state() {
  return key.get();
}

ThreadState *make_thread_state() {
  if (ThreadState *const state = key.get()) return state;
  void *const memory = states.take(sizeof(ThreadState));
  if (!memory) return nullptr;
  auto *const state = new (memory) ThreadState{};
  if (key.set(state)) return state;
  states.give_back(state);
  return nullptr;
}

}  // namespace sampler::abi
