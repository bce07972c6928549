// Package hooks has C functions for the tests, whose files may have none: an allocator that counts
// and a parallel_for that runs tasks from the last to the first.
package hooks

/*
#include <stdint.h>
#include <stdlib.h>

typedef struct { int64_t bytes, calls; } counts;

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

static void parallel_for(void *user, int64_t num_tasks, void (*task)(void *, int64_t), void *task_user) {
  ++((counts *)user)->calls;
  while (num_tasks > 0) task(task_user, --num_tasks);
}

static counts *new_counts(void) { return calloc(1, sizeof(counts)); }
static uintptr_t address_of_allocate(void) { return (uintptr_t)allocate; }
static uintptr_t address_of_deallocate(void) { return (uintptr_t)deallocate; }
static uintptr_t address_of_parallel_for(void) { return (uintptr_t)parallel_for; }
*/
import "C"

import "unsafe"

// Addresses of the functions.
var (
	Allocate    = uintptr(C.address_of_allocate())
	Deallocate  = uintptr(C.address_of_deallocate())
	ParallelFor = uintptr(C.address_of_parallel_for())
)

// Counts are what the functions count.
type Counts struct {
	c *C.counts
}

// NewCounts are at 0.
func NewCounts() Counts { return Counts{C.new_counts()} }

// User is what the functions get.
func (counts Counts) User() uintptr { return uintptr(unsafe.Pointer(counts.c)) }

// Bytes is how many are allocated now.
func (counts Counts) Bytes() int { return int(counts.c.bytes) }

// Calls is how often memory was allocated, or tasks were run.
func (counts Counts) Calls() int { return int(counts.c.calls) }

// Free ends it.
func (counts Counts) Free() { C.free(unsafe.Pointer(counts.c)) }
