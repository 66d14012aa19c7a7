// A device on which entries of tapes run: its memory and its kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"
#include "ops/dispatch/dispatcher.h"
#include "runtime/backends/backends.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

class TapeDevice;

/// Bytes of a device, until its end. Keeps the device.
class DeviceBytes {
 public:
  DeviceBytes(std::shared_ptr<TapeDevice> device, uint64_t address, uint64_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  TapeDevice& device() const { return *device_; }
  uint64_t address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  Result<std::vector<std::byte>> download() const;

 private:
  const std::shared_ptr<TapeDevice> device_;
  const uint64_t address_, bytes_;
};
using DeviceCopy = std::shared_ptr<const DeviceBytes>;

/// Any thread.
class TapeDevice : public std::enable_shared_from_this<TapeDevice> {
 public:
  /// `cache_folder`: for compiled kernels; "": none.
  static Result<std::shared_ptr<TapeDevice>> open(const DeviceRequest& request,
                                                  const std::string& cache_folder);

  /// ResourceExhausted where the device is full.
  Result<DeviceCopy> allocate(uint64_t bytes, const std::string& name);
  Result<DeviceCopy> upload(std::span<const std::byte> values, const std::string& name);
  /// A tensor of a call.
  struct Operand {
    Shape shape;
    DType dtype = DType::Float32;
    DeviceCopy memory;
  };
  /// Computes `output` by a built-in op, and waits. Launch where its kernel faults.
  Status run(const tape::Entry& entry, const std::vector<Operand>& inputs, const Operand& output);

  Device& device() const { return *device_; }

 private:
  TapeDevice(std::unique_ptr<Device> device, Streams& streams)
      : device_(std::move(device)), streams_(streams), registry_(OpRegistry::with_builtins()) {}

  const std::unique_ptr<Device> device_;
  Streams& streams_;
  const OpRegistry registry_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace gpuemu
