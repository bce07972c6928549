// Creating and destroying samplers, and what can be asked without one.
#include "sampler/handle.h"

#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "abi/check.h"
#include "abi/handle_impl.h"
#include "abi/init.h"
#include "abi/structs.h"
#include "capi/operations.h"
#include "contract/request.h"
#include "cpu/operations.h"
#include "cpu/places.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/passes.h"

namespace sampler::capi {

using namespace abi;

namespace {

void check_device(Check &check, const sampler_options &options) {
  if (options.device_type != SAMPLER_DEVICE_CUDA) {
    check.zero("device_id", options.device_id);
  } else if (!cuda::is_compiled()) {
    check.fail(SAMPLER_ERROR_UNSUPPORTED,
               "device_type is SAMPLER_DEVICE_CUDA; this build has no CUDA");
  } else if (const int num_devices = cuda::num_devices(); num_devices == 0) {
    check.fail(SAMPLER_ERROR_UNSUPPORTED,
               "device_type is SAMPLER_DEVICE_CUDA; this machine has no CUDA device or no driver");
  } else {
    check.range("device_id", options.device_id, 0, num_devices);
  }
}

void check_options(Check &check, const sampler_options &options) {
  if (options.abi_version != SAMPLER_ABI_VERSION) {
    check.fail(SAMPLER_ERROR_ABI_MISMATCH, "abi_version is %" PRIu32 "; this library has %d",
               options.abi_version, SAMPLER_ABI_VERSION);
  }
  check.enumeration("device_type", options.device_type, 2);
  check_device(check, options);
  check.range("num_threads", options.num_threads, 0, cpu::kMaxThreads + 1);
  check.range("max_rows", options.max_rows, 0, int64_t(1) << 31);
  check.range("max_cols", options.max_cols, 0, contract::kMaxVocabulary);
  if ((options.max_rows == 0) != (options.max_cols == 0)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "max_rows is %" PRId64 " and max_cols %" PRId64 "; both or neither must be 0",
               options.max_rows, options.max_cols);
  }
  check_hooks(check, options.allocator);
  check.enumeration("use_fallback_token", options.use_fallback_token, 2);
  if (options.use_fallback_token) {
    check.range("fallback_token_id", options.fallback_token_id, 0, contract::kMaxVocabulary);
  }
  check.enumeration("host_parameters", options.host_parameters, 2);
  check.enumeration("check_pointers", options.check_pointers, 2);
  check.zero("reserved", options.reserved);
}

// The most that any operation needs on max_rows rows of max_cols columns, of candidates or not as
// `kinds` has it: outputs that share rows, which are sorted by row, and chains.
size_t largest_workspace(int64_t max_rows, int64_t max_cols, int num_threads,
                         std::initializer_list<bool> kinds) {
  if (max_rows == 0) return 0;
  size_t result = 0;
  for (const bool candidates : kinds) {
    contract::Rows rows;
    rows.values = &rows;  // whether pointers are null is all that counts
    rows.ids = candidates ? &rows : nullptr;
    rows.num_rows = max_rows;
    rows.num_cols = max_cols;

    contract::SampleRequest sample;
    sample.input = rows;
    sample.num_rows = max_rows;
    sample.row_indices = reinterpret_cast<const int32_t *>(&rows);
    contract::VerifyRequest chain;
    chain.target = chain.draft = rows;
    chain.num_rows = max_rows;
    result = std::max({result, cpu::workspace_bytes(sample, num_threads),
                       cpu::workspace_bytes(chain, num_threads)});
  }
  return result;
}

void build_on_cuda(Check &check, const sampler_options &options, sampler_handle *handle) {
  handle->on_cuda = true;
  handle->check_pointers = options.check_pointers != 0;
  const cuda::Error opened =
      cuda::open(options.device_id, options.host_parameters != 0, &handle->device);
  if (opened) {
    check.fail(SAMPLER_ERROR_CUDA, "%s: %s", opened.call, opened.reason);
    return;
  }
  handle->workspace.bytes =
      cuda::largest_workspace_bytes(options.max_rows, options.max_cols, handle->device);
  if (handle->workspace.bytes == 0) return;
  const cuda::Error allocated =
      cuda::allocate(handle->device, handle->workspace.bytes, &handle->workspace.data);
  if (allocated) {
    check.fail(allocated.is_out_of_memory ? SAMPLER_ERROR_OUT_OF_MEMORY : SAMPLER_ERROR_CUDA,
               "%s: %s; the workspace has %zu bytes", allocated.call, allocated.reason,
               handle->workspace.bytes);
  }
}

static_assert(cpu::kIsaScalar == SAMPLER_ISA_SCALAR && cpu::kIsaAvx2 == SAMPLER_ISA_AVX2 &&
              cpu::kIsaAvx512 == SAMPLER_ISA_AVX512 && cpu::kIsaNeon == SAMPLER_ISA_NEON);

cpu::IsaChoice choose_isa() {
  return cpu::choose_isa(getenv("SAMPLER_ISA"));
}

void build_on_cpu(Check &check, const sampler_options &options, sampler_handle *handle) {
  const cpu::IsaChoice isa = choose_isa();
  if (!isa.valid) {
    char usable[64];
    cpu::write_isa_names(cpu::usable_isas(), usable, sizeof usable);
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "the environment variable SAMPLER_ISA is %.32s; it must be one of %s, or unset",
               getenv("SAMPLER_ISA"), usable);
    return;
  }
  cpu::Executor &executor = handle->executor;
  executor.passes = isa.passes;
  executor.places_key = cpu::unpredictable_places_key(handle);
  executor.num_threads = std::max(options.num_threads, 1);
  executor.parallel_for = options.parallel_for;
  executor.parallel_for_user = options.parallel_for_user;

  const size_t workspace =
      largest_workspace(options.max_rows, options.max_cols, executor.num_threads, {false, true});
  if (!allocate(check, handle->allocator, "workspace", workspace, &handle->workspace)) return;

  const int num_workers = executor.num_threads - 1;
  if (num_workers == 0 || options.parallel_for) return;
  if (!allocate(check, handle->allocator, "threads", cpu::thread_pool_bytes(num_workers),
                &handle->pool)) {
    return;
  }
  executor.pool = cpu::start_thread_pool(handle->pool.data, num_workers);
  if (!executor.pool) {
    check.fail(SAMPLER_ERROR_SYSTEM, "num_threads is %d; the system refused to start so many",
               executor.num_threads);
  }
}

// Everything that can fail. What was made until then is in *handle and released by the caller.
void build(Check &check, const sampler_options &options, sampler_handle *handle) {
  if (options.device_type == SAMPLER_DEVICE_CUDA) {
    build_on_cuda(check, options, handle);
  } else {
    build_on_cpu(check, options, handle);
  }
}

void destroy(Entry &entry, sampler_handle *handle) {
  cpu::stop_thread_pool(handle->executor.pool);
  const Allocator allocator = handle->allocator;
  release(entry, allocator, &handle->pool);
  if (handle->on_cuda) {
    if (handle->workspace.data) cuda::release(handle->device, handle->workspace.data);
    cuda::close(&handle->device);
  } else {
    release(entry, allocator, &handle->workspace);
  }
  handle->~sampler_handle();
  call_deallocate(entry, allocator, handle, sizeof *handle);
}

void log_created(Entry &entry, const sampler_handle &handle) {
  const cpu::Passes *passes = handle.executor.passes;
  char text[64];
  std::snprintf(text, sizeof text, "sampler created on %s%s",
                handle.on_cuda ? "a CUDA device" : "the CPU, rows by ",
                handle.on_cuda ? ""
                : passes       ? passes->name
                               : "the scalar reference");
  entry.log(SAMPLER_LOG_INFO, text);
}

sampler_status create(Entry &entry, const sampler_options *user_options, sampler_t *out_sampler) {
  prepare_unwinder();
  Check argument_check(entry);
  sampler_options options = StructTraits<sampler_options>::defaults();
  argument_check.required("out_sampler", out_sampler);
  if (argument_check.ok()) *out_sampler = nullptr;
  if (user_options) argument_check.read("options", user_options, &options);
  if (!argument_check.ok()) return argument_check.status();

  const Log log = {options.log, options.log_user};
  entry.set_log(log);
  Check check(entry);
  check_options(check, options);
  if (!check.ok()) return check.status();

  const Allocator allocator = make_allocator(options.allocator);
  Block memory;
  if (!prepare_owners(check) ||
      !allocate(check, allocator, "handle", sizeof(sampler_handle), &memory)) {
    return check.status();
  }
  auto *handle = new (memory.data) sampler_handle{};
  handle->allocator = allocator;
  handle->log = log;
  handle->fallback_token_id = options.use_fallback_token ? options.fallback_token_id : -1;
  build(check, options, handle);
  if (!check.ok()) {
    destroy(entry, handle);
    return check.status();
  }
  log_created(entry, *handle);
  *out_sampler = handle;
  return SAMPLER_OK;
}

uint32_t num_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
  return uint32_t(std::max(CPU_COUNT(&processors), 1));
}

sampler_status get_capabilities(Entry &entry, sampler_capabilities *out) {
  Check check(entry);
  sampler_capabilities result;
  if (!check.read("out_capabilities", out, &result)) return check.status();
  result.version = SAMPLER_VERSION;
  result.abi_version = SAMPLER_ABI_VERSION;
  result.isa_compiled = cpu::compiled_isas();
  result.isa_usable = cpu::usable_isas();
  result.isa_active = choose_isa().isa;
  result.cuda_compiled = cuda::is_compiled();
  result.num_cuda_devices = uint32_t(cuda::num_devices());
  result.num_processors = num_processors();
  write_struct(result, out);
  return SAMPLER_OK;
}

}  // namespace

size_t largest_workspace(const sampler_handle &handle, int64_t max_rows, int64_t max_cols) {
  return handle.on_cuda
             ? cuda::largest_workspace_bytes(max_rows, max_cols, handle.device)
             : largest_workspace(max_rows, max_cols, handle.executor.num_threads, {false});
}

}  // namespace sampler::capi

using namespace sampler::capi;

extern "C" {

sampler_status sampler_create(const sampler_options *options, sampler_t *out_sampler) {
  return enter(Log{}, [&](Entry &entry) { return create(entry, options, out_sampler); });
}

void sampler_destroy(sampler_t sampler) {
  enter(Log{}, [&](Entry &entry) {
    if (sampler) destroy(entry, sampler);
    return SAMPLER_OK;
  });
}

sampler_status sampler_get_capabilities(sampler_capabilities *out_capabilities) {
  return enter(Log{}, [&](Entry &entry) { return get_capabilities(entry, out_capabilities); });
}

sampler_status sampler_options_init(sampler_options *options, size_t struct_size) {
  return enter_init("options", options, struct_size);
}

uint32_t sampler_version(void) {
  return SAMPLER_VERSION;
}

uint32_t sampler_abi_version(void) {
  return SAMPLER_ABI_VERSION;
}

#define SAMPLER_TEXT_(number) #number
#define SAMPLER_TEXT(number) SAMPLER_TEXT_(number)
#if SAMPLER_VERSION_CANDIDATE
#define SAMPLER_CANDIDATE_TEXT "-rc" SAMPLER_TEXT(SAMPLER_VERSION_CANDIDATE)
#else
#define SAMPLER_CANDIDATE_TEXT ""
#endif
const char *sampler_version_string(void) {
  return SAMPLER_TEXT(SAMPLER_VERSION_MAJOR) "." SAMPLER_TEXT(
      SAMPLER_VERSION_MINOR) "." SAMPLER_TEXT(SAMPLER_VERSION_PATCH) SAMPLER_CANDIDATE_TEXT;
}

}  // extern "C"
