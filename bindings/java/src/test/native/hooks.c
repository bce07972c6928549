/* An allocator that counts, and a parallel_for that runs tasks from the last to the first: see
 * Hooks.java. */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  int64_t bytes, calls;
} counts;

static void *allocate(void *user, size_t bytes, size_t alignment) {
  counts *const c = user;
  void *memory = NULL;
  if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes)) {
    return NULL;
  }
  c->bytes += (int64_t)bytes;
  ++c->calls;
  return memory;
}

static void deallocate(void *user, void *memory, size_t bytes, size_t alignment) {
  (void)alignment;
  ((counts *)user)->bytes -= (int64_t)bytes;
  free(memory);
}

static void parallel_for(void *user, int64_t num_tasks, void (*task)(void *, int64_t),
                         void *task_user) {
  ++((counts *)user)->calls;
  while (num_tasks > 0) task(task_user, --num_tasks);
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_allocate(JNIEnv *env, jclass hooks) {
  (void)env, (void)hooks;
  return (jlong)(intptr_t)allocate;
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_deallocate(JNIEnv *env, jclass hooks) {
  (void)env, (void)hooks;
  return (jlong)(intptr_t)deallocate;
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_parallelFor(JNIEnv *env, jclass hooks) {
  (void)env, (void)hooks;
  return (jlong)(intptr_t)parallel_for;
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_newCounts(JNIEnv *env, jclass hooks) {
  (void)env, (void)hooks;
  return (jlong)(intptr_t)calloc(1, sizeof(counts));
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_bytes(JNIEnv *env, jclass hooks,
                                                              jlong address) {
  (void)env, (void)hooks;
  return ((counts *)(intptr_t)address)->bytes;
}

JNIEXPORT jlong JNICALL Java_io_github_libsampler_Hooks_calls(JNIEnv *env, jclass hooks,
                                                              jlong address) {
  (void)env, (void)hooks;
  return ((counts *)(intptr_t)address)->calls;
}
