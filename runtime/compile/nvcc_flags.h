// Options of nvcc that say nothing about device code, and that NVRTC therefore does not know.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::compile {

/// Returns the flags without those that concern the host's compiler, nvcc's own steps, or code that
/// NVRTC accepts anyway.
std::vector<std::string> flags_for_nvrtc(const std::vector<std::string>& flags);

/// Returns whether nvcc lets device code call functions that are only `constexpr`.
bool relaxes_constexpr(const std::vector<std::string>& flags);

}  // namespace gpuemu::compile
