// A device without hardware: executes parsed PTX, 32 lanes at a time, and checks every access.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device/contraction.h"
#include "runtime/device/device.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/jit/machine_code.h"

namespace gpuemu {

class Debugger;  // runtime/device/debug.h

/// Blocks run at once, at most: more threads than any host has processors only cost memory.
inline constexpr uint32_t kEmulatorThreadsMax = 1024;

struct EmulatorOptions {
  int index = 0;                                    ///< Among the emulated devices.
  int sm = 80;                                      ///< 75 to 120: what the kernels may ask for.
  uint32_t threads = 0;                             ///< Blocks run at once; 0: one per core.
  uint64_t memory_limit_bytes = uint64_t{8} << 30;  ///< For all allocations together.
  std::string name = "gpuemu emulator";
  Contraction contraction = Contraction::Auto;  ///< Auto is Never.
  uint64_t contraction_seed = 0;                ///< For Random: which products are fused.
  /// Not 0: streams go on only when somebody waits, in an order that follows from the seed.
  uint64_t schedule_seed = 0;
  /// Asked when a block may need more registers than a GPU has. Empty: such launches are run.
  RegisterCounter registers;
  /// Not null: asked before every instruction of every launch; outlives the device.
  Debugger* debugger = nullptr;
  /// As on a GPU: a kernel that faults loses the device, and every later call is Unavailable.
  bool sticky_faults = false;
  /// Keeps this many bytes of freed allocations, so that accesses to them are found.
  uint64_t freed_bytes_kept = 0;
  uint64_t red_zone_bytes = 4096;  ///< Between allocations.
  /// The environment's GPUEMU_EMULATOR_JIT goes before it.
  MachineCode machine_code = MachineCode::WhenWorth;
};

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options);

}  // namespace gpuemu
