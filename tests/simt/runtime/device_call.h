// The calls of tests/capi with their arrays in a device's memory.
#pragma once

#include <map>
#include <string>

#include "call.h"

namespace simt_test {

using capi_test::Call;
using capi_test::Sampler;
using capi_test::Spec;

// Device memory that ends where the array ends.
class DeviceArray {
 public:
  DeviceArray(int device, std::size_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  unsigned char *data() const { return data_; }
  void write(const void *from);
  void read(void *to) const;

 private:
  std::size_t bytes_;
  void *memory_;
  unsigned char *data_;
};

class DeviceCall {
 public:
  DeviceCall(const Spec &spec, int device);

  // Inputs as they are there, sentinels for outputs, onto the device.
  Call &host() { return call_; }
  void upload();

  sampler_status run(sampler_t sampler) { return call_.run(sampler); }

  // The bytes of all outputs, from the device.
  std::string output();

 private:
  Call call_;
  std::map<std::string, DeviceArray> arrays_;
};

// On device number `device`, with room for calls of max_rows and max_cols, or none.
sampler_options device_options(int device, std::int64_t max_rows = 0, std::int64_t max_cols = 0);

// The outputs of the same call on the CPU.
std::string cpu_output(const Spec &spec);

}  // namespace simt_test
