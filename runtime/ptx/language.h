// Detects the language that a module was compiled from, so that messages use its terms.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Cpp means CUDA C++, and every module that is not recognised.
enum class Language : uint8_t { Cpp, Triton, Numba };

Language language_of(const Module& module);
/// Returns whether Triton compiled the module. Other Python compilers let programs use threads.
bool is_made_by_triton(const Module& module, std::string_view text);

}  // namespace gpuemu::ptx
