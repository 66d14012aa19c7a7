// The frames of Python, where the program is one: by the interpreter's public functions, which are
// looked up in the process and not linked.
#pragma once

#include <vector>

#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

/// Frames of the calling thread, innermost first; empty where no interpreter runs. Takes the
/// interpreter's lock: the caller holds none of ours.
std::vector<RunFrame> python_frames();

}  // namespace gpuemu::libcuda
