// The memory of allocation nodes of graphs: its address is reserved for as long as a node has it.
#pragma once

#include <cstdint>
#include <memory>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// The allocation of a node.
struct GraphMemory {
  /// Reserves an address; 0 if that fails.
  GraphMemory(int on_device, uint64_t size);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// The bytes of the pages that hold the memory.
  uint64_t page_bytes() const;

  const int device;
  const uint64_t bytes;
  uint64_t address = 0;
  Context context = nullptr;
  Pool pool = nullptr;
};

/// Reserves an address for the memory of a node; null if that fails. Thread-safe.
std::shared_ptr<GraphMemory> reserve_graph_memory(int device, Context context, uint64_t bytes);

/// Finds the memory of a node, whether it exists now or not; null if there is none. Thread-safe.
std::shared_ptr<GraphMemory> graph_memory_holding(uint64_t address);

// Defined beside the nodes, in graph_calls/memory_nodes.cc.

/// Turns a call that allocates in a captured stream into a node.
int capture_allocation(Process& driver, const Place& place, uint64_t bytes, Pool pool,
                       const char* call, Address* address);
int capture_free(const Place& place, uint64_t address, const char* call);

}  // namespace gpuemu::libcuda
