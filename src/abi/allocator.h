// The memory hooks of options.
#pragma once

#include <cstddef>

#include "abi/check.h"
#include "sampler/handle.h"

namespace sampler::abi {

using Allocator = sampler_allocator;

// A block from the allocator; data null: none.
struct Block {
  void *data = nullptr;
  size_t bytes = 0;
};

// Both hooks or neither must be set.
void check_hooks(Check &check, const sampler_allocator &hooks);

// Hooks null: the C library's memory.
Allocator make_allocator(const sampler_allocator &hooks);

// The hooks must not throw. One that does has not allocated, or has released. Blocks are aligned to
// 64 bytes.
void *call_allocate(Entry &entry, const Allocator &allocator, size_t bytes) noexcept;
void call_deallocate(Entry &entry, const Allocator &allocator, void *memory, size_t bytes) noexcept;

// False, and an error: the allocator returned null. For no bytes there is no block.
bool allocate(Check &check, const Allocator &allocator, const char *what, size_t bytes, Block *out);
void release(Entry &entry, const Allocator &allocator, Block *block);

// Called by each function that creates a handle, so that what a callback throws can be caught.
void prepare_unwinder();

}  // namespace sampler::abi
