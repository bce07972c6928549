/* A host that knows libsampler only at run time: opens it with dlopen, checks that it is the one it
 * was compiled for, samples, closes it and opens it again.
 *
 *   plugin_host [PATH]     PATH of the library, "libsampler.so.1" by default */
#include <dlfcn.h>
#include <sampler/sampler.h>
#include <stdio.h>

typedef struct sampler_library {
  void *handle;
  uint32_t (*abi_version)(void);
  const char *(*last_error)(void);
  sampler_status (*create)(const sampler_options *, sampler_t *);
  void (*destroy)(sampler_t);
  sampler_status (*min_p)(sampler_t, const sampler_rows *, float, float, uint64_t, uint64_t,
                          int32_t *, sampler_stream);
} sampler_library;

/* C has no conversion from dlsym's object pointer to a function pointer; POSIX says it works. */
static int load_function(void *handle, const char *name, void *out_function) {
  void *symbol = dlsym(handle, name);
  if (!symbol) fprintf(stderr, "%s\n", dlerror());
  *(void **)out_function = symbol;
  return symbol != NULL;
}

static int open_library(const char *path, sampler_library *out) {
  out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!out->handle) return fprintf(stderr, "%s\n", dlerror()), 0;
  if (!load_function(out->handle, "sampler_abi_version", &out->abi_version)) return 0;
  if (out->abi_version() != SAMPLER_ABI_VERSION) {
    fprintf(stderr, "%s has ABI %u, this program was compiled for %d\n", path, out->abi_version(),
            SAMPLER_ABI_VERSION);
    return 0;
  }
  return load_function(out->handle, "sampler_last_error", &out->last_error) &&
         load_function(out->handle, "sampler_create", &out->create) &&
         load_function(out->handle, "sampler_destroy", &out->destroy) &&
         load_function(out->handle, "sampler_min_p", &out->min_p);
}

static int sample_once(const sampler_library *library, int32_t *out_token_id) {
  const float values[4] = {0.0f, 2.0f, 1.0f, -1.0f};
  const sampler_rows logits = {.values = values, .num_rows = 1, .num_cols = 4};
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = 4;
  sampler_t sampler;
  if (library->create(&options, &sampler) != SAMPLER_OK) return 0;

  const sampler_status status =
      library->min_p(sampler, &logits, 0.1f, 1.0f, 7, 0, out_token_id, NULL);
  library->destroy(sampler);
  return status == SAMPLER_OK;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "libsampler.so.1";
  int32_t token_ids[2];
  for (int round = 0; round < 2; ++round) {
    sampler_library library;
    if (!open_library(path, &library)) return 1;
    if (!sample_once(&library, &token_ids[round])) {
      return fprintf(stderr, "%s\n", library.last_error()), 1;
    }
    dlclose(library.handle);
    printf("round %d: token %d\n", round, token_ids[round]);
  }
  return token_ids[0] == token_ids[1] ? 0 : 1;
}
