// What sets the backends apart, by name. Code that differs from one backend to another asks for the
// trait that makes the difference, never for the name.
#pragma once

#include <span>
#include <string_view>

namespace gpuemu {

inline constexpr std::string_view kEmulatorBackend = "emulator";

struct DeviceTraits {
  std::string_view backend;
  /// A chip of its own: it is one worker's, cuBLAS and CUPTI can be called for it, and large
  /// launches are quick. Other backends run kernels on the cores of this machine.
  bool is_gpu = false;
  bool orders_threads = false;  ///< Obeys LaunchConfig::thread_order and in_issue_order.
  /// Gives exact values beside rounded ones (LaunchConfig::shadow), by which failures are
  /// explained.
  bool follows_rounding = false;
  bool survives_faults = false;     ///< A kernel that faults leaves the device usable.
  bool shares_host_memory = false;  ///< Kernels reach all memory of this process.
};

/// The backends whose kernels compute something, the preferred one first.
std::span<const DeviceTraits> computing_backends();

bool is_computing_backend(std::string_view backend);

/// A backend of another name has no trait.
DeviceTraits device_traits(std::string_view backend);

}  // namespace gpuemu
