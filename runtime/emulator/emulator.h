// A device without hardware: executes parsed PTX for 32 lanes at a time, and checks every access.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/limits.h"
#include "runtime/device/contraction.h"
#include "runtime/device/device.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/jit/machine_code.h"

namespace gpuemu {

class Debugger;  // runtime/device/debug.h

/// Largest number of blocks run at once: more threads than a host has cores only use memory.
inline constexpr uint32_t kEmulatorThreadsMax = 1024;

struct EmulatorOptions {
  int index = 0;                                    ///< Index among the emulated devices.
  int sm = 80;                                      ///< Architecture, 75 to 120.
  uint32_t threads = 0;                             ///< Blocks run at once; 0: one per core.
  uint64_t memory_limit_bytes = uint64_t{8} << 30;  ///< Limit for all allocations together.
  std::string name = "gpuemu emulator";
  Contraction contraction = Contraction::Auto;  ///< Auto means Never.
  uint64_t contraction_seed = 0;                ///< For Random: selects the products to fuse.
  /// If not 0, streams only make progress while a thread waits, in an order drawn from this seed.
  uint64_t schedule_seed = 0;
  /// Called when a block may need more registers than a GPU has. Empty: such launches are run.
  RegisterCounter registers;
  /// If set, called before every instruction of every launch. Must outlive the device.
  Debugger* debugger = nullptr;
  /// As on a GPU, a kernel's fault loses the device, and every later call fails with Unavailable.
  bool sticky_faults = false;
  /// Bytes of freed allocations to keep, so that accesses to them are detected.
  uint64_t freed_bytes_kept = 0;
  uint64_t red_zone_bytes = 4096;  ///< Between allocations.
  /// Memory for records of accesses, by which races are found.
  uint64_t race_history_bytes_max = kRaceHistoryBytesMax;
  /// Barriers and fences of warps in one launch, behind which races of global memory are not looked
  /// for; 0: as many as the records tell apart.
  uint32_t race_segments_max = 0;
  /// GPUEMU_EMULATOR_JIT takes precedence.
  MachineCode machine_code = MachineCode::WhenWorth;
};

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options);

}  // namespace gpuemu
