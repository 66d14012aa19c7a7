// A device on which entries of tapes run, and what it holds. Where it is, others decide.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

class TapeDevice;

/// A tensor's bytes on a device, until its end. Keeps the device.
class DeviceBytes {
 public:
  virtual ~DeviceBytes() = default;
  DeviceBytes() = default;
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  virtual TapeDevice& device() const = 0;
  /// Unavailable where the device is lost.
  virtual Result<std::vector<std::byte>> download() const = 0;
};
using DeviceCopy = std::shared_ptr<const DeviceBytes>;

/// Any thread. Once it is lost, with all that it holds, its calls are Unavailable. Timeout is a
/// request that took longer than any may: the device is lost then, too.
class TapeDevice {
 public:
  /// A tensor of a call.
  struct Operand {
    Shape shape;
    DType dtype = DType::Float32;
    DeviceCopy memory;
  };

  virtual ~TapeDevice() = default;
  /// ResourceExhausted where the device is full.
  virtual Result<DeviceCopy> upload(std::span<const std::byte> values, const std::string& name) = 0;
  /// Makes the tensor of an entry, and waits: a leaf's, with `seed` where it is random, or that of
  /// a built-in op. Launch where its kernel faults. REQUIRES: the inputs are this device's.
  virtual Result<DeviceCopy> run(const tape::Entry& entry, uint64_t seed,
                                 const std::vector<Operand>& inputs) = 0;
  /// Gives back at once what was freed.
  virtual void flush() {}
  virtual bool is_lost() { return false; }
  /// Whether it was lost while it had a request of the calling thread: that may be why.
  virtual bool was_lost_by_caller() const { return false; }
  /// Whether it is in this process.
  virtual bool is_here() const { return false; }
  /// As traces name it.
  virtual std::string worker_id() const = 0;
};

}  // namespace gpuemu
