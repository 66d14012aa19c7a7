// Times of this process's kernels on the emulator, for the summary of pytest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gpuemu::libcuda {

/// Thread-safe.
class KernelTimes {
 public:
  /// Counts a launch of the kernel with the PTX name `entry`.
  void add(const std::string& entry, uint64_t elapsed_ns);
  /// Returns a line "NAME\tLAUNCHES\tNANOSECONDS\n" per kernel, the slowest first.
  std::string text() const;

 private:
  struct Sum {
    uint64_t launches = 0, elapsed_ns = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Sum> by_entry_;
};

}  // namespace gpuemu::libcuda

/// Writes KernelTimes::text() of this process to `text`, truncated to `bytes` with a final zero,
/// and returns the bytes that the whole text needs. Thread-safe.
extern "C" size_t gpuemu_kernel_times(char* text, size_t bytes);
