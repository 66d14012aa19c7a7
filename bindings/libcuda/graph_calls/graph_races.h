// Tells the watch for races what a graph does that is launched.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Before the launch. Returns whether the host is to wait for the graph before it goes on: kernels
/// or copies may touch memory that it uses, too, and none of them may wait for the host.
/// graphs_mutex() is held.
bool tell_races(Process& driver, const Place& place, const GraphExecState& exec);

}  // namespace gpuemu::libcuda
