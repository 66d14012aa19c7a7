// Finds the function and the source line of a return address.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// Returns "add(float*)" for "_Z3addPf", without ABI tags, and any other name unchanged.
/// Thread-safe.
std::string demangled(const std::string& name);

/// Describes the call that returns to this address. Empty when no module covers it or when it
/// belongs to the C library's start-up code. Without symbols `file` is the path of the module.
/// Thread-safe.
RunFrame frame_at(uintptr_t return_address);

}  // namespace gpuemu::libcuda
