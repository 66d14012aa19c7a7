// Names of functions, and the lines of return addresses.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// "_Z3addPf" -> "add(float*)"; a name that is not mangled stays as it is.
std::string demangled(const std::string& name);

/// The call that returns to this address. Empty for what no symbol and no module
/// covers, and for what starts programs. Without symbols the file is the module.
RunFrame frame_at(uintptr_t return_address);

}  // namespace gpuemu::libcuda
