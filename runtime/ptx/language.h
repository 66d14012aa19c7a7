// The language that a module was compiled from. Messages name its own functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Cpp stands for CUDA C++ and everything that is not recognised.
enum class Language : uint8_t { Cpp, Triton, Numba };

Language language_of(const Module& module);
/// Whether Triton made the module: other compilers of Python let a programmer write threads.
bool is_made_by_triton(const Module& module, std::string_view text);

}  // namespace gpuemu::ptx
