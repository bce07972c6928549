// Small kernels, in a unit of their own: uploads, list packing, state slots, unmasking.
#include "launch/launch.h"

#include "machine/cuda_context.cuh"
#include "operations/unmask.cuh"
#include "stages/state.cuh"

namespace sampler::kernels {

namespace {

template <int kWords>
__global__ void __launch_bounds__(kBlockThreads)
    upload_kernel(const __grid_constant__ Upload<kWords> upload) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, nullptr);
  run_upload(ctx, upload);
}

__global__ void __launch_bounds__(kBlockThreads)
    pack_kernel(const __grid_constant__ PackRequest request) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, nullptr);
  run_pack(ctx, request);
}

// One block per multiprocessor, here and below: for more the compiler would spill registers.
__global__ void __launch_bounds__(kBlockThreads, 1)
    unmask_kernel(const __grid_constant__ contract::UnmaskRequest request) {
  using Context = CudaContext<kBlockThreads, false>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, dynamic_shared);
  run_unmask(ctx, request);
}

template <class Request>
__global__ void __launch_bounds__(kBlockThreads, 1)
    state_kernel(const __grid_constant__ Request request) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, nullptr);
  run_state(ctx, request);
}

}  // namespace

template <class Request>
const void *state_kernel_address() {
  return reinterpret_cast<const void *>(&state_kernel<Request>);
}
template const void *state_kernel_address<contract::AppendRequest>();
template const void *state_kernel_address<contract::AcceptRequest>();
template const void *state_kernel_address<contract::TruncateRequest>();
template const void *state_kernel_address<contract::CopyRequest>();
template const void *state_kernel_address<contract::ResetRequest>();
template const void *state_kernel_address<contract::ReadRequest>();

const void *pack_kernel_address() {
  return reinterpret_cast<const void *>(&pack_kernel);
}

const void *unmask_kernel_address() {
  return reinterpret_cast<const void *>(&unmask_kernel);
}

const void *upload_kernel_address() {
  return reinterpret_cast<const void *>(&upload_kernel<kUploadWords>);
}

const void *small_upload_kernel_address() {
  return reinterpret_cast<const void *>(&upload_kernel<kSmallUploadWords>);
}

}  // namespace sampler::kernels
