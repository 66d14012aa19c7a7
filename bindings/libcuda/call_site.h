// Where in the program a call was made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// Return addresses of the calling thread, innermost first, as they were; what stands there is
/// looked up when a finding needs it.
struct CallSite {
  static constexpr size_t kFramesMax = 24;
  const char* call = "";  ///< "cuLaunchKernel"; static.
  uint32_t count = 0;
  std::array<uintptr_t, kFramesMax> addresses{};
  std::vector<RunFrame> python;  ///< In a Python program: its frames alone.
};

/// Where the call was made that this thread is in.
std::shared_ptr<const CallSite> call_site(const char* call);
/// The frames without those of this library.
std::vector<RunFrame> frames_of(const CallSite& site);

}  // namespace gpuemu::libcuda
