// Makes a graph of the device from a graph of the program, by a capture of streams of its own.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Makes `exec.steps` again when they are not current. Returns CUDA_SUCCESS,
/// CUDA_ERROR_INVALID_VALUE when nodes come before themselves, or the error of a node. The caller
/// holds graphs_mutex().
int make_current(Process& driver, GraphExecState& exec);
/// Frees the steps.
void drop_steps(Process& driver, GraphExecState& exec);

}  // namespace gpuemu::libcuda
