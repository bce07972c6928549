#include "device_call.h"

#include <cstdlib>
#include <tuple>
#include <vector>

#include "runtime.h"

namespace simt_test {

namespace runtime = simt::runtime;

namespace {
constexpr std::size_t kAlignment = 256;  // of what the device's memory begins with and ends with
}

DeviceArray::DeviceArray(int device, std::size_t bytes) : bytes_(bytes) {
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  memory_ = runtime::allocate(device, whole);
  data_ = static_cast<unsigned char *>(memory_) + (whole - bytes);
}

DeviceArray::~DeviceArray() {
  runtime::release(memory_);
}

void DeviceArray::write(const void *from) {
  runtime::copy_to_device(data_, from, bytes_);
}

void DeviceArray::read(void *to) const {
  runtime::copy_to_host(to, data_, bytes_);
}

DeviceCall::DeviceCall(const Spec &spec, int device) : call_(spec) {
  for (const auto &[member, layout] : spec.op().members) {
    if (!call_.has_array(member)) continue;
    const auto [entry, is_new] =
        arrays_.emplace(std::piecewise_construct, std::forward_as_tuple(member),
                        std::forward_as_tuple(device, call_.buffer(member).size()));
    call_.args().set<void *>(member, entry->second.data());
  }
  upload();
}

void DeviceCall::upload() {
  call_.reset_outputs();
  for (auto &[member, array] : arrays_) array.write(call_.buffer(member).data());
}

std::string DeviceCall::output() {
  for (const std::string &member : call_.outputs()) {
    arrays_.at(member).read(call_.buffer(member).data());
  }
  return call_.output();
}

sampler_options device_options(int device, std::int64_t max_rows, std::int64_t max_cols) {
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.device_id = device;
  options.max_rows = max_rows;
  options.max_cols = max_cols;
  return options;
}

std::string cpu_output(const Spec &spec) {
  Call call(spec);
  const Sampler sampler = capi_test::make_sampler(sampler_options_default());
  std::size_t bytes = 0;
  if (spec.op().workspace_size(sampler.get(), call.args().data(), &bytes)) std::abort();
  std::vector<unsigned char> workspace(bytes);
  call.args().set<void *>("exec.workspace", workspace.data());
  call.args().set("exec.workspace_bytes", bytes);
  call.reset_outputs();
  if (call.run(sampler.get())) std::abort();
  return call.output();
}

}  // namespace simt_test
