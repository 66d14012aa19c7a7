// Sources of the limits: CUDA C++ Programming Guide 13.0, "Compute Capabilities", tables "Technical
// Specifications" (warps, blocks, registers, shared memory per multiprocessor and per block) and
// the text on shared memory of each capability (1 KiB is reserved per block since 8.0). Allocation
// units: CUDA's occupancy calculator, documented in its header cuda_occupancy.h.
#include "judge/metrics/occupancy.h"

#include <algorithm>
#include <array>

namespace gpuemu {
namespace {

struct ArchLimits {
  std::string_view arch;
  uint32_t warps, blocks;     // Per multiprocessor.
  uint32_t shared_kib;        // Per multiprocessor.
  uint32_t block_shared_kib;  // Per block, with opt-in.
  uint32_t shared_unit;       // Allocation granularity of shared memory, in bytes.
  uint32_t reserved;          // Bytes per block reserved by the system.
};
constexpr auto kArchs = std::to_array<ArchLimits>({
    {"sm_75", 32, 16, 64, 64, 256, 0},
    {"sm_80", 64, 32, 164, 163, 128, 1024},
    {"sm_86", 48, 16, 100, 99, 128, 1024},
    {"sm_89", 48, 24, 100, 99, 128, 1024},
    {"sm_90", 64, 32, 228, 227, 128, 1024},
});
// Limits that all architectures share.
constexpr uint32_t kRegisters = 65536;      // Per multiprocessor, and the maximum per block.
constexpr uint32_t kRegisterUnit = 256;     // Allocation granularity of registers per warp.
constexpr uint32_t kPartitions = 4;         // Each has a quarter of the registers.
constexpr uint32_t kThreadRegisters = 255;  // Maximum.
constexpr uint32_t kWarp = 32;
constexpr uint32_t kBlockThreads = 1024;

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Code for "sm_90a" runs on the same hardware as code for sm_90.
std::string_view base_of(std::string_view arch) {
  while (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  return arch;
}

uint32_t blocks_by_registers(uint32_t registers, uint32_t warps) {
  if (registers == 0) return UINT32_MAX;
  const uint64_t per_warp = rounded_up(uint64_t{registers} * kWarp, kRegisterUnit);
  if (per_warp * rounded_up(warps, kPartitions) > kRegisters) return 0;
  const uint64_t warps_resident = kRegisters / kPartitions / per_warp * kPartitions;
  return static_cast<uint32_t>(warps_resident / warps);
}

}  // namespace

Result<Occupancy> occupancy_of(const CompiledMetrics& kernel, const LaunchFootprint& launch) {
  const auto limits = std::ranges::find(kArchs, base_of(kernel.arch), &ArchLimits::arch);
  if (limits == kArchs.end()) {
    return error(ErrorCode::Unsupported,
                 "the limits of {} are not known; occupancy is computed for sm_75, sm_80, sm_86, "
                 "sm_89 and sm_90",
                 kernel.arch);
  }
  if (launch.threads == 0 || launch.threads > kBlockThreads) {
    return error(ErrorCode::InvalidArgument, "{} threads per block, expected 1 to {}",
                 launch.threads, kBlockThreads);
  }
  const uint64_t shared = kernel.shared_bytes + launch.dynamic_shared_bytes;
  if (shared > uint64_t{limits->block_shared_kib} << 10) {
    return error(ErrorCode::InvalidArgument,
                 "{} bytes of shared memory per block, {} has at most {}", shared, kernel.arch,
                 limits->block_shared_kib << 10);
  }
  if (kernel.registers > kThreadRegisters) {
    return error(ErrorCode::InvalidArgument, "{} registers per thread, expected at most {}",
                 kernel.registers, kThreadRegisters);
  }
  const uint32_t warps = (launch.threads + kWarp - 1) / kWarp;
  const uint64_t block_shared = rounded_up(shared + limits->reserved, limits->shared_unit);
  const struct {
    OccupancyLimiter limiter;
    uint32_t blocks;
  } bounds[] = {
      {OccupancyLimiter::Warps, limits->warps / warps},
      {OccupancyLimiter::Blocks, limits->blocks},
      {OccupancyLimiter::Registers, blocks_by_registers(kernel.registers, warps)},
      {OccupancyLimiter::SharedMemory,
       block_shared == 0
           ? UINT32_MAX
           : static_cast<uint32_t>((uint64_t{limits->shared_kib} << 10) / block_shared)},
  };
  Occupancy found;
  found.threads = launch.threads;
  found.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  found.blocks = UINT32_MAX;
  for (const auto& bound : bounds) {
    if (bound.blocks >= found.blocks) continue;
    found.blocks = bound.blocks;
    found.limiter = bound.limiter;
  }
  found.warps_max = limits->warps;
  found.warps = found.blocks * warps;
  found.fraction = static_cast<double>(found.warps) / limits->warps;
  return found;
}

}  // namespace gpuemu
