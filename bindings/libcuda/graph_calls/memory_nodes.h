// Nodes of graphs that allocate and free memory.
//
// The node's address is reserved when the node is created. The memory exists from the launch of its
// graph on, before the first node begins, until it is freed: by a node, when its graph has ended,
// or by a call.
#pragma once

#include <cstdint>

#include "bindings/libcuda/memory/graph_memory.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Checks the parameters and reserves the address, which it also returns in `given`.
int alloc_work(Process& driver, const GraphState& graph, AllocNode* given, NodeWork& made);
int free_work(const GraphState& graph, uint64_t address, NodeWork& made);

// The caller holds the graph's GraphExecState::use and graphs_mutex(). While these functions wait,
// the second is unlocked.

/// Allocates the memory of the graph's nodes. CUDA_ERROR_INVALID_VALUE if some of it has not been
/// freed since an earlier launch, unless the graph frees it automatically. Allocates nothing if it
/// fails.
int begin_memory(Process& driver, const Place& place, const GraphExecState& exec);
/// Frees what begin_memory() allocated, when the launch fails before its first node begins.
void take_back_memory(Process& driver, const GraphExecState& exec);
/// Waits for the graph and frees what its nodes free.
int end_memory(Process& driver, const Place& place, const GraphExecState& exec);

}  // namespace gpuemu::libcuda
