#include "bindings/libcuda/graph_calls/node_work.h"

#include <string>

#include "bindings/libcuda/calls/launches.h"
#include "bindings/libcuda/graph_calls/conditions.h"
#include "bindings/libcuda/graph_calls/memory_nodes.h"
#include "bindings/libcuda/memory_calls/copies.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// Returns where the work of a node belongs; a null context means the current one.
Place place_for(Process& driver, const GraphState& graph, Context context) {
  Place place;
  place.context = context == nullptr ? current_context() : context;
  const auto state = driver.contexts.find(place.context);
  if (state == nullptr) {
    place.code = CUDA_ERROR_INVALID_CONTEXT;
  } else if (state->device != graph.device()) {
    place.code = CUDA_ERROR_INVALID_VALUE;
  }
  place.device = graph.device();
  place.slot = driver.devices[static_cast<size_t>(place.device)].get();
  place.is_of_graph = true;
  return place;
}

int kernel_work_in(Process& driver, const GraphState& graph, const KernelNodeFirst& given,
                   Context context, NodeWork& made) {
  const Place place = place_for(driver, graph, context);
  if (place.code != CUDA_SUCCESS) return place.code;
  KernelWork work;
  // Attributes of a node are kept when its parameters change.
  if (const auto* const known = std::get_if<KernelWork>(&made)) work = *known;
  work.function = given.function;
  work.shape.grid = {given.grid[0], given.grid[1], given.grid[2]};
  work.shape.block = {given.block[0], given.block[1], given.block[2]};
  work.shape.dynamic_shared_bytes = given.shared_bytes;
  const int code = make_kernel_work(driver, place, work, {given.arguments, given.extra});
  if (code == CUDA_SUCCESS) made = std::move(work);
  return code;
}

}  // namespace

int kernel_work(Process& driver, const GraphState& graph, const KernelNodeFirst* given,
                NodeWork& made) {
  return given == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_VALUE)
                          : kernel_work_in(driver, graph, *given, nullptr, made);
}

int kernel_work_v2(Process& driver, const GraphState& graph, const KernelNode* given,
                   NodeWork& made) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelNodeFirst first = *given;
  if (first.function == nullptr) first.function = reinterpret_cast<Function>(given->kernel);
  return kernel_work_in(driver, graph, first, given->context, made);
}

int copy_work(Process& driver, const GraphState& graph, const Copy3d* given, Context context,
              NodeWork& made) {
  const Place place = place_for(driver, graph, context);
  if (place.code != CUDA_SUCCESS) return place.code;
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int code = check_copy_3d(*given); code != CUDA_SUCCESS) return code;
  made = CopyWork{*given, place.context};
  return CUDA_SUCCESS;
}

int fill_work(Process& driver, const GraphState& graph, const FillNode* given, Context context,
              NodeWork& made) {
  const Place place = place_for(driver, graph, context);
  if (place.code != CUDA_SUCCESS) return place.code;
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const unsigned bytes = given->element_bytes;
  const bool is_element = bytes == 1 || bytes == 2 || bytes == 4;
  if (!is_element || given->width == 0 || given->height == 0 || given->address % bytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  made = FillWork{*given, place.context};
  return CUDA_SUCCESS;
}

int host_work(const HostNode* given, NodeWork& made) {
  if (given == nullptr || given->function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  made = HostWork{*given};
  return CUDA_SUCCESS;
}

int child_work(Process& driver, const GraphState& graph, Graph child, NodeWork& made) {
  const auto state = driver.graphs.find(child);
  if (state == nullptr || state.get() == &graph || state->device() != graph.device()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (uses_memory(*state)) return CUDA_ERROR_NOT_SUPPORTED;  // It cannot be copied.
  made = ChildWork{state->clone()};
  return CUDA_SUCCESS;
}

int event_work(Process& driver, const GraphState& graph, Event event, NodeType type,
               NodeWork& made) {
  const auto state = driver.events.find(event);
  if (state == nullptr || state->device != graph.device()) return CUDA_ERROR_INVALID_VALUE;
  if (type == NodeType::WaitEvent) {
    made = WaitWork{event};
  } else {
    made = RecordWork{event};
  }
  return CUDA_SUCCESS;
}

int any_work(Process& driver, const GraphState& graph, NodeParameters* given, NodeWork& made) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr int kClone = 0;
  switch (given->type) {
    case NodeType::Launch:
      return kernel_work_v2(driver, graph, &given->kernel, made);
    case NodeType::Copy:
      return copy_work(driver, graph, &given->copy.what, given->copy.context, made);
    case NodeType::Fill:
      return fill_work(driver, graph, &given->fill.what, given->fill.context, made);
    case NodeType::Host:
      return host_work(&given->host, made);
    case NodeType::Child:
      if (given->child.ownership != kClone) {
        return unsupported_call("cuGraphAddNode with a child graph that moves");
      }
      return child_work(driver, graph, given->child.graph, made);
    case NodeType::Empty:
      made = EmptyWork{};
      return CUDA_SUCCESS;
    case NodeType::WaitEvent:
    case NodeType::RecordEvent:
      return event_work(driver, graph, given->event.event, given->type, made);
    case NodeType::Alloc:
      return alloc_work(driver, graph, &given->alloc, made);
    case NodeType::Free:
      return free_work(graph, given->free.address, made);
    case NodeType::Conditional:
      return conditional_work(driver, graph, &given->conditional, made);
  }
  return unsupported_call("cuGraphAddNode of this type");
}

}  // namespace gpuemu::libcuda
