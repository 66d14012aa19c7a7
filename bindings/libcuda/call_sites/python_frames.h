// Reads the Python stack of the calling thread, through public functions of the interpreter that
// are looked up in the process at run time.
#pragma once

#include <vector>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// Returns the frames, innermost first; empty when the process runs no Python. Takes the GIL, so
/// the caller must hold no lock of this library.
std::vector<RunFrame> python_frames();

}  // namespace gpuemu::libcuda
