// NVIDIA GPUs through the driver API, which is loaded at run time, so no toolkit is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/contraction.h"
#include "runtime/device/device.h"

namespace gpuemu {

struct CudaOptions {
  uint32_t index = 0;
  uint64_t memory_limit_bytes = uint64_t{8} << 30;  ///< Limit for all allocations together.
  /// Never: un-suffixed add, sub and mul become .rn before the driver compiles them.
  Contraction contraction = Contraction::Auto;
};

/// Fails with Unavailable if there is no driver or no such device; the message says what to choose
/// instead.
Result<std::unique_ptr<Device>> make_cuda_device(const CudaOptions& options);

/// Lists the devices that answer, at most 16; none without a driver. Creates no context.
std::vector<DeviceProperties> cuda_devices();
uint32_t cuda_device_count();

}  // namespace gpuemu
