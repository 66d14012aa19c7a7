// What an op made beside the output of its entry: a tape has an entry for each output, one behind
// the other, and the op runs once for all of them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/tapes/tape_device.h"

namespace gpuemu {

/// The other outputs of the last call of a device. Thread-safe.
class SiblingOutputs {
 public:
  /// Null where the last call was another one, or that output was taken already. `call`: equal for
  /// the entries of one call.
  DeviceCopy take(const std::string& call, const std::vector<TapeDevice::Operand>& inputs,
                  size_t output);
  /// Forgets those of before. `outputs`: all of the call, null for those that nobody may take.
  void keep(std::string call, const std::vector<TapeDevice::Operand>& inputs,
            std::vector<DeviceCopy> outputs);
  void clear();
  /// An input was freed: no further entry can have it. Called while the input is destroyed.
  void forget_reader_of(const DeviceBytes* input);

 private:
  struct Kept {
    std::string call;
    // Not shared: an input that nobody else has is freed. It is compared alone.
    std::vector<const DeviceBytes*> inputs;
    std::vector<DeviceCopy> outputs;
  };
  std::mutex mutex_;
  Kept kept_;  ///< Guarded by mutex_. What it lets go is destroyed without the lock.
};

}  // namespace gpuemu
