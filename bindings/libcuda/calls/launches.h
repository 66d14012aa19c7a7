// Kernel nodes of graphs: stores their arguments and launches them.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// The arguments of a launch: an array with the address of each, or `extra` with one buffer.
struct LaunchArguments {
  void** each = nullptr;
  void** extra = nullptr;
};

/// Checks the function and shape of `work` as a launch does, and keeps a copy of the arguments.
int make_kernel_work(Process& driver, const Place& place, KernelWork& work, LaunchArguments given);
/// Returns true if an argument contains an address in memory that the host uses, too.
bool may_use_host(Process& driver, const KernelWork& work);
/// Issues the launch of a kernel node to a stream that the device captures. `tag` is that of the
/// node's launches; 0 requests a new one.
int launch_in_graph(Process& driver, const Place& place, const Node& node, uint64_t& tag);

}  // namespace gpuemu::libcuda
