// Implements the calls that add nodes to graphs, and that read and change their parameters.
#include <cstring>

#include "bindings/libcuda/graph_calls/conditions.h"
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/graph_calls/memory_nodes.h"
#include "bindings/libcuda/graph_calls/node_work.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

struct After {
  const GraphNode* nodes;
  size_t count;
};

struct TellNothing {
  void operator()(Process&, Node&) const {}
};

/// Adds a node with the work that `make` creates, and calls `tell` with it.
template <typename Make, typename Tell = TellNothing>
int add(GraphNode* added, Graph graph, After after, const Make& make, const Tell& tell = {},
        const char* call = __builtin_FUNCTION()) {
  return with_graph(
      graph,
      [&](Process& driver, GraphState& state) -> int {
        std::vector<Node*> before;
        if (added == nullptr || !find_nodes(state, after.nodes, after.count, before)) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        NodeWork work = EmptyWork{};
        if (const int code = make(driver, state, work); code != CUDA_SUCCESS) return code;
        Node& node = state.add(std::move(work), std::move(before), call_site(call));
        *added = node.handle;
        tell(driver, node);
        return CUDA_SUCCESS;
      },
      call);
}

/// Calls `work` with the work of a node of this type.
template <typename Kind, typename Work>
int with_work(GraphNode node, const Work& work, const char* call = __builtin_FUNCTION()) {
  return with_node(
      node,
      [&](Process& driver, Node& state) -> int {
        return std::holds_alternative<Kind>(state.work)
                   ? work(driver, state, std::get<Kind>(state.work))
                   : static_cast<int>(CUDA_ERROR_INVALID_VALUE);
      },
      call);
}

KernelNodeFirst told_kernel(Process& driver, Node& node, const KernelWork& work) {
  KernelNodeFirst told{};
  const bool is_kernel = driver.kernels.find(reinterpret_cast<Kernel>(work.function)) != nullptr;
  told.function = is_kernel ? nullptr : work.function;
  const auto copy = [](const Dim3& from, unsigned* to) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
  };
  copy(work.shape.grid, told.grid);
  copy(work.shape.block, told.block);
  told.shared_bytes = work.shape.dynamic_shared_bytes;
  node.told.clear();
  for (const auto& one : work.arguments) {
    node.told.push_back(const_cast<std::byte*>(one.data()));
  }
  told.arguments = node.told.data();
  return told;
}

/// Reads or writes an attribute of a kernel node, which has the number and value of a launch
/// attribute.
int kernel_attribute(KernelWork& work, unsigned attribute, unsigned* value, bool writes) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Dim3& cluster = work.shape.cluster;
  switch (attribute) {
    case kAttributeCooperative:
      if (writes) work.is_cooperative = value[0] != 0;
      value[0] = work.is_cooperative ? 1 : 0;
      return CUDA_SUCCESS;
    case kAttributeCluster:
      if (writes) cluster = {value[0], value[1], value[2]};
      value[0] = cluster.x;
      value[1] = cluster.y;
      value[2] = cluster.z;
      return CUDA_SUCCESS;
    case kAttributePriority:
      if (writes) work.priority = static_cast<int>(value[0]);
      value[0] = static_cast<unsigned>(work.priority);
      return CUDA_SUCCESS;
    default:
      return unsupported_call("cuGraphKernelNodeAttribute of this number");
  }
}

}  // namespace

GPUEMU_DRIVER_API int cuGraphAddKernelNode(GraphNode* added, Graph graph, const GraphNode* after,
                                           size_t count, const KernelNodeFirst* what) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return kernel_work(driver, state, what, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddKernelNode_v2(GraphNode* added, Graph graph, const GraphNode* after,
                                              size_t count, const KernelNode* what) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return kernel_work_v2(driver, state, what, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddMemcpyNode(GraphNode* added, Graph graph, const GraphNode* after,
                                           size_t count, const Copy3d* what, Context context) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return copy_work(driver, state, what, context, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddMemsetNode(GraphNode* added, Graph graph, const GraphNode* after,
                                           size_t count, const FillNode* what, Context context) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return fill_work(driver, state, what, context, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddHostNode(GraphNode* added, Graph graph, const GraphNode* after,
                                         size_t count, const HostNode* what) {
  return add(added, graph, {after, count},
             [&](Process&, GraphState&, NodeWork& made) { return host_work(what, made); });
}

GPUEMU_DRIVER_API int cuGraphAddChildGraphNode(GraphNode* added, Graph graph,
                                               const GraphNode* after, size_t count, Graph child) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return child_work(driver, state, child, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddEmptyNode(GraphNode* added, Graph graph, const GraphNode* after,
                                          size_t count) {
  return add(added, graph, {after, count},
             [](Process&, GraphState&, NodeWork&) -> int { return CUDA_SUCCESS; });
}

GPUEMU_DRIVER_API int cuGraphAddEventRecordNode(GraphNode* added, Graph graph,
                                                const GraphNode* after, size_t count, Event event) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return event_work(driver, state, event, NodeType::RecordEvent, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddEventWaitNode(GraphNode* added, Graph graph, const GraphNode* after,
                                              size_t count, Event event) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return event_work(driver, state, event, NodeType::WaitEvent, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddMemAllocNode(GraphNode* added, Graph graph, const GraphNode* after,
                                             size_t count, AllocNode* what) {
  return add(added, graph, {after, count}, [&](Process& driver, GraphState& state, NodeWork& made) {
    return alloc_work(driver, state, what, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddMemFreeNode(GraphNode* added, Graph graph, const GraphNode* after,
                                            size_t count, Address address) {
  return add(added, graph, {after, count}, [&](Process&, GraphState& state, NodeWork& made) {
    return free_work(state, address, made);
  });
}

GPUEMU_DRIVER_API int cuGraphAddNode_v2(GraphNode* added, Graph graph, const GraphNode* after,
                                        const EdgeData* edges, size_t count, NodeParameters* what) {
  return add(
      added, graph, {after, count},
      [&](Process& driver, GraphState& state, NodeWork& made) -> int {
        if (!are_plain(edges, count)) {
          return unsupported_call("cuGraph with programmatic edges");
        }
        return any_work(driver, state, what, made);
      },
      [&](Process& driver, Node& node) {
        if (node.type() == NodeType::Conditional) {
          tell_bodies(driver, node, what->conditional);
        }
      });
}

GPUEMU_DRIVER_API int cuGraphAddNode(GraphNode* added, Graph graph, const GraphNode* after,
                                     size_t count, NodeParameters* what) {
  return cuGraphAddNode_v2(added, graph, after, nullptr, count, what);
}

GPUEMU_DRIVER_API int cuGraphKernelNodeGetParams(GraphNode node, KernelNodeFirst* what) {
  return with_work<KernelWork>(node, [&](Process& driver, Node& state, KernelWork& work) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *what = told_kernel(driver, state, work);
    // This version has one member for both kinds of handles.
    what->function = work.function;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeGetParams_v2(GraphNode node, KernelNode* what) {
  return with_work<KernelWork>(node, [&](Process& driver, Node& state, KernelWork& work) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    static_cast<KernelNodeFirst&>(*what) = told_kernel(driver, state, work);
    what->kernel =
        what->function == nullptr ? reinterpret_cast<Kernel>(work.function) : Kernel{nullptr};
    what->context = work.context;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeSetParams(GraphNode node, const KernelNodeFirst* what) {
  return with_work<KernelWork>(node, [&](Process& driver, Node& state, KernelWork&) {
    return kernel_work(driver, *state.graph, what, state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeSetParams_v2(GraphNode node, const KernelNode* what) {
  return with_work<KernelWork>(node, [&](Process& driver, Node& state, KernelWork&) {
    return kernel_work_v2(driver, *state.graph, what, state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeGetAttribute(GraphNode node, unsigned attribute,
                                                    unsigned* value) {
  return with_work<KernelWork>(node, [&](Process&, Node&, KernelWork& work) {
    return kernel_attribute(work, attribute, value, false);
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeSetAttribute(GraphNode node, unsigned attribute,
                                                    const unsigned* value) {
  return with_work<KernelWork>(node, [&](Process&, Node&, KernelWork& work) -> int {
    unsigned given[3] = {};
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(given, value, sizeof given);
    return kernel_attribute(work, attribute, given, true);
  });
}

GPUEMU_DRIVER_API int cuGraphKernelNodeCopyAttributes(GraphNode to, GraphNode from) {
  return with_work<KernelWork>(to, [&](Process&, Node&, KernelWork& work) -> int {
    const Node* const source = find_node(from);
    const auto* const known = source == nullptr ? nullptr : std::get_if<KernelWork>(&source->work);
    if (known == nullptr) return CUDA_ERROR_INVALID_VALUE;
    work.is_cooperative = known->is_cooperative;
    work.priority = known->priority;
    work.shape.cluster = known->shape.cluster;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphMemcpyNodeGetParams(GraphNode node, Copy3d* what) {
  return with_work<CopyWork>(node, [&](Process&, Node&, const CopyWork& work) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *what = work.what;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphMemcpyNodeSetParams(GraphNode node, const Copy3d* what) {
  return with_work<CopyWork>(node, [&](Process& driver, Node& state, const CopyWork& work) {
    return copy_work(driver, *state.graph, what, work.context, state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphMemsetNodeGetParams(GraphNode node, FillNode* what) {
  return with_work<FillWork>(node, [&](Process&, Node&, const FillWork& work) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *what = work.what;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphMemsetNodeSetParams(GraphNode node, const FillNode* what) {
  return with_work<FillWork>(node, [&](Process& driver, Node& state, const FillWork& work) {
    return fill_work(driver, *state.graph, what, work.context, state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphHostNodeGetParams(GraphNode node, HostNode* what) {
  return with_work<HostWork>(node, [&](Process&, Node&, const HostWork& work) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *what = work.what;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphHostNodeSetParams(GraphNode node, const HostNode* what) {
  return with_work<HostWork>(
      node, [&](Process&, Node& state, const HostWork&) { return host_work(what, state.work); });
}

/// The returned graph belongs to the node, and may be changed.
GPUEMU_DRIVER_API int cuGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph) {
  return with_work<ChildWork>(node, [&](Process& driver, Node&, const ChildWork& work) -> int {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto known =
        driver.graphs.which([&](const GraphState& one) { return &one == work.graph.get(); });
    *graph = known.empty() ? driver.graphs.add(work.graph) : known.front();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphEventRecordNodeGetEvent(GraphNode node, Event* event) {
  return with_work<RecordWork>(node, [&](Process&, Node&, const RecordWork& work) -> int {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = work.event;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphEventRecordNodeSetEvent(GraphNode node, Event event) {
  return with_work<RecordWork>(node, [&](Process& driver, Node& state, const RecordWork&) {
    return event_work(driver, *state.graph, event, state.type(), state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphEventWaitNodeGetEvent(GraphNode node, Event* event) {
  return with_work<WaitWork>(node, [&](Process&, Node&, const WaitWork& work) -> int {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = work.event;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphEventWaitNodeSetEvent(GraphNode node, Event event) {
  return with_work<WaitWork>(node, [&](Process& driver, Node& state, const WaitWork&) {
    return event_work(driver, *state.graph, event, state.type(), state.work);
  });
}

GPUEMU_DRIVER_API int cuGraphMemAllocNodeGetParams(GraphNode node, AllocNode* what) {
  return with_work<AllocWork>(node, [&](Process&, Node&, const AllocWork& work) -> int {
    constexpr int kPinned = 1, kOfDevice = 1;
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *what = {};
    what->pool.allocation_type = kPinned;
    what->pool.location = {kOfDevice, work.memory->device};
    what->bytes = work.memory->bytes;
    what->address = work.memory->address;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphMemFreeNodeGetParams(GraphNode node, Address* address) {
  return with_work<FreeWork>(node, [&](Process&, Node&, const FreeWork& work) -> int {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *address = work.address;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphNodeSetParams(GraphNode node, NodeParameters* what) {
  return with_node(node, [&](Process& driver, Node& state) -> int {
    if (what == nullptr || what->type != state.type() || what->type >= NodeType::Alloc) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return any_work(driver, *state.graph, what, state.work);
  });
}

}  // namespace gpuemu::libcuda
