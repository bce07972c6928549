// The entry points of decoding sessions.
#include <cinttypes>
#include <new>

#include "abi/cuda_errors.h"
#include "abi/init.h"
#include "decoding/ngram/ngram_calls.h"
#include "decoding/session/engine_host.h"
#include "decoding/session/session_arguments.h"

struct sampler_session {
  sampler::abi::Allocator allocator;
  sampler::abi::Log log;
  sampler::abi::Owner owner;
  size_t bytes;                 // size of the block that begins here
  void *device_memory;          // of a CUDA handle
  bool is_interrupted = false;  // the process was forked during a call
  sampler::decoding::SessionConfig config;
  sampler::decoding::EngineHost host;
  sampler::decoding::Session contents;

  sampler_session(const sampler::decoding::SessionConfig &given, sampler_handle *handle,
                  const sampler::abi::Block &block, void *device_block,
                  sampler::decoding::SessionArrays *arrays)
      : allocator(handle->allocator),
        log(handle->log),
        bytes(block.bytes),
        device_memory(device_block),
        config(given),
        host(config, arrays),
        contents(config, handle, &host, arrays) {
    config.options.params = nullptr;
    config.options.pipeline = nullptr;
  }

  void forget_unfinished() { is_interrupted = true; }
};

namespace sampler::decoding {

namespace {

using abi::Allocator;

// Bytes of a session: a host block, a device block on a CUDA handle, and a state. The workspace is
// at the end of the last block.
struct Sizes {
  size_t session_bytes = 0, device_bytes = 0, workspace_bytes = 0, state_bytes = 0;
  bool on_device = false;

  size_t block_bytes() const {
    return sizeof(sampler_session) + session_bytes + (on_device ? 0 : workspace_bytes);
  }
  size_t device_block_bytes() const { return on_device ? device_bytes + workspace_bytes : 0; }
  // False on overflow.
  bool sum(size_t *out) const {
    return !__builtin_add_overflow(block_bytes(), state_bytes, out) &&
           !__builtin_add_overflow(*out, device_block_bytes(), out) &&
           block_bytes() <= size_t(PTRDIFF_MAX) && device_block_bytes() <= size_t(PTRDIFF_MAX);
  }
};

void measure(Check &check, sampler_handle *handle, const Session::Config &config, Sizes *out) {
  if (!check.ok()) return;
  Arena host(nullptr), device(nullptr);
  SessionArrays arrays(&host, handle->on_cuda ? &device : &host);
  EngineHost engine(config, &arrays);
  const Session session(config, handle, &engine, &arrays);
  auto options = abi::sized<sampler_state_options>();
  options.num_slots = config.options.max_sequences;
  options.max_tokens = config.options.max_context;
  if (host.is_too_large() || device.is_too_large()) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "the session does not fit the address space");
    return;
  }
  out->on_device = handle->on_cuda;
  out->session_bytes = host.bytes();
  out->device_bytes = device.bytes();
  sampler_status status = check.entry().call_host(
      [&] { return sampler_state_size(handle, &options, &out->state_bytes); });
  if (status == SAMPLER_OK) status = session.ask_workspace(check.entry(), &out->workspace_bytes);
  size_t all;
  if (status != SAMPLER_OK) {
    check.adopt(status);
  } else if (!out->sum(&all)) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "the session does not fit the address space");
  }
}

Session::Config read_config(Check &check, sampler_handle *handle,
                            const sampler_session_options *user_options, Sizes *out_sizes) {
  Session::Config config = {};
  read_options(check, user_options, &config);
  measure(check, handle, config, out_sizes);
  return config;
}

// Allocates a block of the device; none for 0 bytes.
void allocate_on_device(Check &check, const sampler_handle &handle, size_t bytes, void **out) {
  *out = nullptr;
  if (!check.ok() || bytes == 0) return;
  check.adopt(abi::cuda_status(check.entry(), cuda::allocate(handle.device, bytes, out)));
}

void destroy(Entry &entry, sampler_session *session) {
  session->contents.stop(entry);
  if (session->device_memory) {
    cuda::release(session->contents.handle().device, session->device_memory);
  }
  const Allocator allocator = session->allocator;
  abi::Block block = {session, session->bytes};
  abi::release(entry, allocator, &block);
}

sampler_status create(Entry &entry, sampler_handle *handle,
                      const sampler_session_options *user_options, sampler_session_t *out_session) {
  abi::prepare_unwinder();
  Check check(entry);
  check.required("out_session", out_session);
  if (check.ok()) *out_session = nullptr;
  Sizes sizes;
  const Session::Config config = read_config(check, handle, user_options, &sizes);
  const Allocator allocator = handle->allocator;
  abi::Block block;
  if (!abi::prepare_owners(check) ||
      !abi::allocate(check, allocator, "session", sizes.block_bytes(), &block)) {
    return check.status();
  }
  void *device_memory;
  allocate_on_device(check, *handle, sizes.device_block_bytes(), &device_memory);
  if (!check.ok()) {
    abi::release(entry, allocator, &block);
    return check.status();
  }
  Arena host(static_cast<char *>(block.data) + sizeof(sampler_session)), on_device(device_memory);
  Arena *const device = device_memory ? &on_device : &host;
  SessionArrays arrays(&host, device);
  auto *const session =
      new (block.data) sampler_session(config, handle, block, device_memory, &arrays);
  void *const workspace = device->take<char>(int64_t(sizes.workspace_bytes));
  check.adopt(session->contents.start(entry, workspace, sizes.workspace_bytes));
  if (check.ok()) check.adopt(session->contents.check_params(entry, config.params));
  if (check.ok()) {
    *out_session = session;
  } else {
    destroy(entry, session);
  }
  return check.status();
}

sampler_status size(Entry &entry, sampler_handle *handle,
                    const sampler_session_options *user_options, size_t *out_bytes) {
  Check check(entry);
  check.required("out_bytes", out_bytes);
  Sizes sizes;
  read_config(check, handle, user_options, &sizes);
  if (check.ok()) sizes.sum(out_bytes);
  return check.status();
}

// body(check, contents), while no other call of the session runs.
template <class Body>
sampler_status enter_session(sampler_session *session, const Body &body) noexcept {
  return abi::enter(session ? session->log : abi::Log{}, [&](Entry &entry) {
    Check check(entry);
    const Taken<sampler_session> taken(check, "session", session);
    if (!taken) return check.status();
    if (session->is_interrupted) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "session was in use when this process was forked; it may only be destroyed");
      return check.status();
    }
    body(check, session->contents);
    return check.status();
  });
}

void add(Check &check, Session *session, const sampler_session_add_args *user_args,
         int32_t *out_sequence) {
  check.required("out_sequence", out_sequence);
  AddArguments own = {};
  read_arguments(check, session, user_args, &own);
  if (check.ok()) check.adopt(session->add(check.entry(), own.args, own.params, out_sequence));
}

void fork(Check &check, Session *session, const sampler_session_fork_args *user_args,
          int32_t *out_sequence) {
  check.required("out_sequence", out_sequence);
  sampler_session_fork_args args;
  if (!check.read("args", user_args, &args)) return;
  check.zero("reserved", args.reserved);
  const SessionSequence *const source = check_sequence(check, *session, "source", args.source);
  if (!source) return;
  if (session->is_full()) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "the session has %" PRId64 " sequences; it has room for max_sequences, %" PRId64,
               session->options().max_sequences, session->options().max_sequences);
  }
  sampler_params params;
  if (args.params) read_params(check, session, args.params, &params);
  if (check.ok() && args.params && source->block.is_used()) check_params_of_blocks(check, params);
  if (!check.ok()) return;
  check.adopt(session->fork(check.entry(), args.source, args.seed, args.params ? &params : nullptr,
                            out_sequence));
}

void get(Check &check, const Session &session, int32_t sequence,
         sampler_session_sequence *out_sequence) {
  sampler_session_sequence ignored;
  if (!check.read("out_sequence", out_sequence, &ignored)) return;
  const SessionSequence *const own = check_sequence(check, session, "sequence", sequence);
  if (!own) return;
  auto result = abi::sized<sampler_session_sequence>();
  result.token_ids = session.text(sequence);
  own->describe(&result);
  abi::write_struct(result, out_sequence);
}

}  // namespace

}  // namespace sampler::decoding

using namespace sampler::decoding;

extern "C" {

sampler_status sampler_session_create(sampler_t sampler, const sampler_session_options *options,
                                      sampler_session_t *out_session) {
  return sampler::abi::enter(
      sampler, [&](Entry &entry) { return create(entry, sampler, options, out_session); });
}

sampler_status sampler_session_size(sampler_t sampler, const sampler_session_options *options,
                                    size_t *out_bytes) {
  return sampler::abi::enter(
      sampler, [&](Entry &entry) { return size(entry, sampler, options, out_bytes); });
}

void sampler_session_destroy(sampler_session_t session) {
  if (!session) return;
  sampler::abi::enter(session->log, [&](Entry &entry) {
    destroy(entry, session);
    return SAMPLER_OK;
  });
}

sampler_status sampler_session_add(sampler_session_t session, const sampler_session_add_args *args,
                                   int32_t *out_sequence) {
  return enter_session(
      session, [&](Check &check, Session &contents) { add(check, &contents, args, out_sequence); });
}

sampler_status sampler_session_fork(sampler_session_t session,
                                    const sampler_session_fork_args *args, int32_t *out_sequence) {
  return enter_session(session, [&](Check &check, Session &contents) {
    fork(check, &contents, args, out_sequence);
  });
}

sampler_status sampler_session_remove(sampler_session_t session, int32_t sequence) {
  return enter_session(session, [&](Check &check, Session &contents) {
    if (check_sequence(check, contents, "sequence", sequence)) contents.remove(sequence);
  });
}

sampler_status sampler_session_get(sampler_session_t session, int32_t sequence,
                                   sampler_session_sequence *out_sequence) {
  return enter_session(session, [&](Check &check, Session &contents) {
    get(check, contents, sequence, out_sequence);
  });
}

sampler_status sampler_session_plan(sampler_session_t session,
                                    const sampler_session_plan_args *args) {
  return enter_session(session, [&](Check &check, Session &contents) {
    sampler_session_plan_args own;
    read_arguments(check, &contents, args, &own);
    if (check.ok()) contents.plan(check.entry(), own);
  });
}

sampler_status sampler_session_advance(sampler_session_t session,
                                       const sampler_session_advance_args *args) {
  return enter_session(session, [&](Check &check, Session &contents) {
    sampler_session_advance_args own;
    sampler_report_args reports;
    read_arguments(check, &contents, args, &reports, &own);
    if (check.ok()) check.adopt(contents.advance(check.entry(), own));
  });
}

}  // extern "C"
