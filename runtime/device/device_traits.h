// The properties in which backends differ. Code that depends on such a difference queries the trait
// and never compares the backend's name.
#pragma once

#include <span>
#include <string_view>

namespace gpuemu {

inline constexpr std::string_view kEmulatorBackend = "emulator";

struct DeviceTraits {
  std::string_view backend;
  /// Has a chip of its own: one worker owns it, cuBLAS and CUPTI work on it, and large launches are
  /// fast. Other backends run kernels on the host's cores.
  bool is_gpu = false;
  bool orders_threads = false;  ///< Supports LaunchConfig::thread_order and in_issue_order.
  /// Supports LaunchConfig::shadow, which explains failures by exact values beside rounded ones.
  bool follows_rounding = false;
  bool survives_faults = false;     ///< The device stays usable after a kernel faults.
  bool shares_host_memory = false;  ///< Kernels can access all memory of this process.
};

/// Returns the backends that execute kernels, the preferred one first.
std::span<const DeviceTraits> computing_backends();

bool is_computing_backend(std::string_view backend);

/// Returns the traits of a backend; for an unknown name, one without any trait.
DeviceTraits device_traits(std::string_view backend);

}  // namespace gpuemu
