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
  std::vector<RunFrame> python;  ///< The Python stack; if it is not empty, `addresses` is.
  std::string test;              ///< The pytest test that runs; "" outside of pytest.
};

/// The `call` of launches that Triton makes.
inline constexpr const char* kTritonLaunch = "kernel[grid](...)";

/// The `call` of launches that Numba makes.
inline constexpr const char* kNumbaLaunch = "kernel[grid, block](...)";
/// The `call` of launches by the <<<>>> statement of CUDA C++.
inline constexpr const char* kStatementLaunch = "<<<>>>";
/// The `call` for an access to memory by the program itself.
inline constexpr const char* kHostAccess = "access of the host";

/// Captures the stack of this thread. `call` must live as long as the process. Never null. While a
/// function of the runtime library runs in this thread, its name takes the place of `call`.
std::shared_ptr<const CallSite> call_site(const char* call);
/// Returns the name of the function that the program called: that of the runtime library's function
/// which runs in this thread, else `call`.
const char* called(const char* call);

/// Sets the runtime function that runs in the calling thread. `name` must live as long as the
/// process; null when the function returns.
void set_runtime_call(const char* name);
/// Makes call_site() in this thread return `site`, until called with null.
void set_launch_site(std::shared_ptr<const CallSite> site);
/// Leaves frames of the library that contains this address out of stacks.
void add_own_library(const void* inside);

/// Resolves the frames of a call site to functions and lines, without those of this library.
std::vector<RunFrame> frames_of(const CallSite& site);

}  // namespace gpuemu::libcuda
