#include "bindings/libcuda/graph_calls/memory_nodes.h"

#include <algorithm>

#include <sys/mman.h>

#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/transfer.h"

namespace gpuemu::libcuda {
namespace {

bool is_there(Process& driver, const GraphMemory& memory) {
  return driver.allocations.at(memory.address) != nullptr;
}

/// Registers the memory of a node as an allocation.
int make_live(Process& driver, const GraphMemory& memory, std::shared_ptr<const CallSite> site) {
  Place place;
  place.context = memory.context;
  place.device = memory.device;
  place.slot = driver.device(memory.device);
  const auto known = place.slot->device->memory();
  if (!known) return code_of(known.error());
  const uint64_t used = place.slot->graph_bytes;
  if (used > known->free_bytes || memory.bytes > known->free_bytes - used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* const at = mmap(reinterpret_cast<void*>(memory.address), memory.page_bytes(),
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const int code =
      adopt_memory(place, MemoryKind::OfGraph, memory.address, memory.bytes, std::move(site));
  if (code != CUDA_SUCCESS) return code;
  const uint64_t now = place.slot->graph_bytes += memory.bytes;
  uint64_t high = place.slot->graph_bytes_high;
  while (high < now && !place.slot->graph_bytes_high.compare_exchange_weak(high, now)) {
  }
  return CUDA_SUCCESS;
}

/// Calls `work` for the nodes of one kind, including those in inner graphs, until one fails.
template <typename Kind, typename Work>
int each(const GraphState& graph, const Work& work) {
  int code = CUDA_SUCCESS;
  (void)any_node(graph, [&](const Node& node) {
    if (const auto* const kind = std::get_if<Kind>(&node.work)) code = work(node, *kind);
    return code != CUDA_SUCCESS;
  });
  return code;
}

int wait_ignoring_faults(const Place& place) {
  const GraphsUnlocked unlocked;
  const Status waited = place.slot->streams->synchronize(place.stream);
  return !waited && waited.error().code != ErrorCode::Launch ? code_of(waited) : CUDA_SUCCESS;
}

}  // namespace

int alloc_work(Process& driver, const GraphState& graph, AllocNode* given, NodeWork& made) {
  constexpr int kPinned = 1, kOfDevice = 1;
  if (given == nullptr || given->bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (given->pool.handle_types != 0 || given->pool.allocation_type != kPinned ||
      given->pool.location.type != kOfDevice) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (driver.device(given->pool.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (given->pool.location.id != graph.device() || given->access_count > 1) {
    return unsupported_call("cuGraphAddMemAllocNode for several devices");
  }
  auto memory = reserve_graph_memory(graph.device(), current_context(), given->bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  given->address = memory->address;
  made = AllocWork{std::move(memory)};
  return CUDA_SUCCESS;
}

int free_work(const GraphState& graph, uint64_t address, NodeWork& made) {
  const auto memory = graph_memory_holding(address);
  if (memory == nullptr || memory->address != address || memory->device != graph.device()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_freed = any_node(graph, [&](const Node& node) {
    const auto* const work = std::get_if<FreeWork>(&node.work);
    return work != nullptr && work->address == address;
  });
  if (is_freed) return CUDA_ERROR_INVALID_VALUE;
  made = FreeWork{address};
  return CUDA_SUCCESS;
}

int capture_allocation(Process& driver, const Place& place, uint64_t bytes, Pool pool,
                       const char* call, Address* address) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto from = driver.pools.find(pool);
  if (from != nullptr && (from->device != place.device || from->host != PoolHost::None)) {
    return unsupported_call("allocations of another device or of the host in a captured stream");
  }
  auto memory = reserve_graph_memory(place.device, place.context, bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->pool = pool;
  *address = memory->address;
  return capture_work(place, AllocWork{std::move(memory)}, call);
}

int capture_free(const Place& place, uint64_t address, const char* call) {
  NodeWork work = EmptyWork{};
  {
    const std::lock_guard lock(graphs_mutex());
    const auto& capture = place.state->captured.capture;
    if (capture == nullptr || capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (const int code = free_work(*capture->graph, address, work); code != CUDA_SUCCESS) {
      return code;
    }
  }
  return capture_work(place, std::move(work), call);
}

int begin_memory(Process& driver, const Place& place, const GraphExecState& exec) {
  constexpr uint64_t kFreesItself = 1;
  bool is_waited_for = false;
  const int freed = each<AllocWork>(*exec.graph, [&](const Node&, const AllocWork& work) -> int {
    if (!is_there(driver, *work.memory)) return CUDA_SUCCESS;
    if ((exec.flags & kFreesItself) == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!std::exchange(is_waited_for, true)) {
      if (const int code = wait_ignoring_faults(place); code != CUDA_SUCCESS) return code;
    }
    release_memory(driver, work.memory->address, "cuGraphLaunch");
    return CUDA_SUCCESS;
  });
  if (freed != CUDA_SUCCESS) return freed;
  const int code = each<AllocWork>(*exec.graph, [&](const Node& node, const AllocWork& work) {
    return make_live(driver, *work.memory, node.site);
  });
  if (code != CUDA_SUCCESS) take_back_memory(driver, exec);
  return code;
}

void take_back_memory(Process& driver, const GraphExecState& exec) {
  (void)each<AllocWork>(*exec.graph, [&](const Node&, const AllocWork& work) -> int {
    if (is_there(driver, *work.memory)) {
      release_memory(driver, work.memory->address, "cuGraphLaunch");
    }
    return CUDA_SUCCESS;
  });
}

int end_memory(Process& driver, const Place& place, const GraphExecState& exec) {
  const bool frees =
      any_node(*exec.graph, [](const Node& node) { return node.type() == NodeType::Free; });
  if (!frees) return CUDA_SUCCESS;
  if (const int code = wait_ignoring_faults(place); code != CUDA_SUCCESS) return code;
  return each<FreeWork>(*exec.graph, [&](const Node& node, const FreeWork& work) {
    return free_memory(driver, work.address, FreedBy::Free, node.site->call);
  });
}

// The graph memory of a device.
namespace {

/// CUgraphMem_attribute. Only used memory is reserved.
enum MemoryAttribute { kUsed, kUsedHigh, kReserved, kReservedHigh };

}  // namespace

GPUEMU_DRIVER_API int cuDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (value == nullptr || attribute < kUsed || attribute > kReservedHigh) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const bool is_high = attribute == kUsedHigh || attribute == kReservedHigh;
    *static_cast<uint64_t*>(value) = is_high ? slot.graph_bytes_high : slot.graph_bytes;
    return CUDA_SUCCESS;
  });
}

/// High-water marks can only be reset to 0.
GPUEMU_DRIVER_API int cuDeviceSetGraphMemAttribute(int device, int attribute, void* value) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    const bool is_high = attribute == kUsedHigh || attribute == kReservedHigh;
    if (value == nullptr || !is_high || *static_cast<const uint64_t*>(value) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    slot.graph_bytes_high = slot.graph_bytes.load();
    return CUDA_SUCCESS;
  });
}

/// Does nothing: no memory is cached.
GPUEMU_DRIVER_API int cuDeviceGraphMemTrim(int device) {
  return with_device(device, [](Process&, DeviceSlot&) -> int { return CUDA_SUCCESS; });
}

}  // namespace gpuemu::libcuda
