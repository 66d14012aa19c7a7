// Records where the program called the driver.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// The stack of the calling thread, innermost frame first. Only addresses are kept; functions and
/// lines are looked up when a finding needs them.
struct CallSite {
  static constexpr size_t kFramesMax = 24;
  const char* call = "";  ///< "cuLaunchKernel"; a string literal.
  uint32_t count = 0;
  std::array<uintptr_t, kFramesMax> addresses{};
  std::vector<RunFrame> python;  ///< The Python stack; `addresses` is empty when this is not.
  std::string test;              ///< The pytest test that runs; "" outside of pytest.
};

/// The `call` of launches that Triton makes.
inline constexpr const char* kTritonLaunch = "kernel[grid](...)";

/// Captures the stack of this thread. `call` must live as long as the process. Never null.
std::shared_ptr<const CallSite> call_site(const char* call);
/// Resolves the frames of a call site to functions and lines, without those of this library.
std::vector<RunFrame> frames_of(const CallSite& site);

}  // namespace gpuemu::libcuda
