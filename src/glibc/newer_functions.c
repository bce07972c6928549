// Functions that libgcc.a and libstdc++.a of newer systems need, for older C libraries that lack
// them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

// Nonzero would let libstdc++ count references without atomic operations. 0 is always safe.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// Since glibc 2.38 strtol and its family are compiled to __isoc23_ names, which accept binary
// numbers.
#define SAMPLER_OLD_STRTO(type, name)                                                     \
  type old_##name(const char *, char **, int) __asm__(#name);                             \
  __attribute__((visibility("hidden"))) type __isoc23_##name(const char *, char **, int); \
  type __isoc23_##name(const char *text, char **end, int base) {                          \
    return old_##name(text, end, base);                                                   \
  }
SAMPLER_OLD_STRTO(long, strtol)
SAMPLER_OLD_STRTO(long long, strtoll)
SAMPLER_OLD_STRTO(unsigned long, strtoul)
SAMPLER_OLD_STRTO(unsigned long long, strtoull)

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35: the unwinder uses only this function

struct Search {
  uintptr_t address;
  struct dl_find_object *found;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *data) {
  struct Search *const search = data;
  const ElfW(Phdr) *frames = NULL;
  int has_address = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *const part = &object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
    if (part->p_type != PT_LOAD || search->address - begin >= part->p_memsz) continue;
    has_address = 1;
    search->found->dlfo_map_start = (void *)begin;
    search->found->dlfo_map_end = (void *)(begin + part->p_memsz);
  }
  if (!has_address || !frames) return 0;
  search->found->dlfo_eh_frame = (void *)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

// Finds the object that contains `address`, and its unwind tables. -1: none.
__attribute__((visibility("hidden"))) int _dl_find_object(void *address,
                                                          struct dl_find_object *found) {
  struct Search search = {(uintptr_t)address, found};
  const struct dl_find_object none = {0};
  *found = none;
  return dl_iterate_phdr(look_at, &search) ? 0 : -1;
}

#endif
