// Creates a graph of the device from a graph of the program, by capturing separate streams.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Rebuilds `exec.steps` if they are not current. Returns CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE if
/// the graph has a cycle, or the error of a node. The caller holds graphs_mutex().
int make_current(Process& driver, GraphExecState& exec);
/// Frees the steps.
void drop_steps(Process& driver, GraphExecState& exec);

}  // namespace gpuemu::libcuda
