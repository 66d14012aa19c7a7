// Reports the work of a launched graph to the race watch.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Called before the launch. Returns whether the host must wait for the graph before it continues:
/// kernels or copies may access memory that the host uses, and none of them may wait for the host.
/// graphs_mutex() is held.
bool tell_races(Process& driver, const Place& place, const GraphExecState& exec);

}  // namespace gpuemu::libcuda
