// Where the devices of a tape are: in workers, or in this process.
#pragma once

#include <functional>
#include <memory>

#include "daemon/tapes/tape_device.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// Any thread.
class TapeHosts {
 public:
  virtual ~TapeHosts() = default;
  /// How many devices a tape has that begins now; at least 1.
  virtual size_t count() const = 0;
  /// What each device can do.
  virtual Result<DeviceProperties> properties() const = 0;
  /// Opens the device at this place, or another one once that is lost. Waits until there is a
  /// worker for it where there has to be one. Cancelled when `ended()` is true before.
  virtual Result<std::shared_ptr<TapeDevice>> open(size_t place,
                                                   const std::function<bool()>& ended) = 0;
  /// Whether the device is in this process only until a worker comes, and one has come.
  virtual bool has_better(const TapeDevice& device) const = 0;
};

}  // namespace gpuemu
