// Implements cudaGraph* for nodes of graphs, except those that copy, fill, allocate and free
// memory.
#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/graph_driver.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::EdgeData;
using libcuda::HostNode;
using libcuda::KernelNodeFirst;
using libcuda::NodeType;

/// Calls `work` with the parameters for the driver: the kernel replaces its host function.
template <typename Work>
int with_kernel_node(const KernelNodeFirst* given, const Work& work,
                     const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        if (given == nullptr) return cudaErrorInvalidValue;
        const FoundKernel found = find_kernel(reinterpret_cast<const void*>(given->function));
        if (found.code != cudaSuccess) return found.code;
        KernelNodeFirst what = *given;
        what.function = reinterpret_cast<Function>(found.kernel);
        return work(what);
      },
      call);
}

/// Calls `work` with the parameters of a node for the driver, and returns the members that it fills
/// in.
template <typename Work>
int with_node(NodeParameters* given, const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        if (given == nullptr) return cudaErrorInvalidValue;
        libcuda::NodeParameters what{};
        what.type = given->type;
        switch (given->type) {
          case NodeType::Launch: {
            const FoundKernel found =
                find_kernel(reinterpret_cast<const void*>(given->kernel.function));
            if (found.code != cudaSuccess) return found.code;
            static_cast<KernelNodeFirst&>(what.kernel) = given->kernel;
            what.kernel.function = reinterpret_cast<Function>(found.kernel);
            break;
          }
          case NodeType::Copy: {
            const int code = describe_box(&given->copy.what, what.copy.what);
            if (code != cudaSuccess) return code;
            break;
          }
          case NodeType::Fill:
            what.fill.what = given->fill;
            break;
          case NodeType::Host:
            what.host = given->host;
            break;
          case NodeType::Child:
            what.child.graph = given->child.graph;
            what.child.ownership = given->child.ownership;
            break;
          case NodeType::WaitEvent:
          case NodeType::RecordEvent:
            what.event.event = given->event.event;
            break;
          case NodeType::Alloc:
            what.alloc = given->alloc;
            break;
          case NodeType::Free:
            what.free = given->free;
            break;
          case NodeType::Conditional:
            what.conditional = given->conditional;
            break;
          case NodeType::Empty:
            break;
        }
        const int code = work(what);
        if (given->type == NodeType::Alloc) given->alloc.address = what.alloc.address;
        if (given->type == NodeType::Conditional) {
          given->conditional.bodies = what.conditional.bodies;
        }
        return code;
      },
      call);
}

}  // namespace

GPUEMU_RUNTIME_API int cudaGraphAddKernelNode(GraphNode* added, Graph graph, const GraphNode* after,
                                              size_t count, const KernelNodeFirst* given) {
  return with_kernel_node(given, [&](const KernelNodeFirst& what) {
    return cuGraphAddKernelNode(added, graph, after, count, &what);
  });
}

GPUEMU_RUNTIME_API int cudaGraphKernelNodeGetParams(GraphNode node, KernelNodeFirst* what) {
  return runtime_call([&]() -> int {
    const int code = cuGraphKernelNodeGetParams(node, what);
    if (code != cudaSuccess) return code;
    const void* const host = host_function_of(reinterpret_cast<Kernel>(what->function));
    if (host != nullptr) what->function = static_cast<Function>(const_cast<void*>(host));
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaGraphKernelNodeSetParams(GraphNode node, const KernelNodeFirst* given) {
  return with_kernel_node(
      given, [&](const KernelNodeFirst& what) { return cuGraphKernelNodeSetParams(node, &what); });
}

GPUEMU_RUNTIME_API int cudaGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node,
                                                        const KernelNodeFirst* given) {
  return with_kernel_node(given, [&](const KernelNodeFirst& what) {
    return cuGraphExecKernelNodeSetParams(exec, node, &what);
  });
}

GPUEMU_RUNTIME_FORWARD(cudaGraphKernelNodeCopyAttributes, (GraphNode to, GraphNode from),
                       cuGraphKernelNodeCopyAttributes, (to, from))
GPUEMU_RUNTIME_FORWARD(cudaGraphKernelNodeGetAttribute,
                       (GraphNode node, unsigned attribute, unsigned* value),
                       cuGraphKernelNodeGetAttribute, (node, attribute, value))
GPUEMU_RUNTIME_FORWARD(cudaGraphKernelNodeSetAttribute,
                       (GraphNode node, unsigned attribute, const unsigned* value),
                       cuGraphKernelNodeSetAttribute, (node, attribute, value))

GPUEMU_RUNTIME_FORWARD(cudaGraphAddHostNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        const HostNode* what),
                       cuGraphAddHostNode, (added, graph, after, count, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphHostNodeGetParams, (GraphNode node, HostNode* what),
                       cuGraphHostNodeGetParams, (node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphHostNodeSetParams, (GraphNode node, const HostNode* what),
                       cuGraphHostNodeSetParams, (node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecHostNodeSetParams,
                       (GraphExec exec, GraphNode node, const HostNode* what),
                       cuGraphExecHostNodeSetParams, (exec, node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddChildGraphNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        Graph child),
                       cuGraphAddChildGraphNode, (added, graph, after, count, child))
GPUEMU_RUNTIME_FORWARD(cudaGraphChildGraphNodeGetGraph, (GraphNode node, Graph* graph),
                       cuGraphChildGraphNodeGetGraph, (node, graph))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecChildGraphNodeSetParams,
                       (GraphExec exec, GraphNode node, Graph child),
                       cuGraphExecChildGraphNodeSetParams, (exec, node, child))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddEmptyNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count),
                       cuGraphAddEmptyNode, (added, graph, after, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddEventRecordNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        Event event),
                       cuGraphAddEventRecordNode, (added, graph, after, count, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphEventRecordNodeGetEvent, (GraphNode node, Event* event),
                       cuGraphEventRecordNodeGetEvent, (node, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphEventRecordNodeSetEvent, (GraphNode node, Event event),
                       cuGraphEventRecordNodeSetEvent, (node, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecEventRecordNodeSetEvent,
                       (GraphExec exec, GraphNode node, Event event),
                       cuGraphExecEventRecordNodeSetEvent, (exec, node, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddEventWaitNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        Event event),
                       cuGraphAddEventWaitNode, (added, graph, after, count, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphEventWaitNodeGetEvent, (GraphNode node, Event* event),
                       cuGraphEventWaitNodeGetEvent, (node, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphEventWaitNodeSetEvent, (GraphNode node, Event event),
                       cuGraphEventWaitNodeSetEvent, (node, event))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecEventWaitNodeSetEvent,
                       (GraphExec exec, GraphNode node, Event event),
                       cuGraphExecEventWaitNodeSetEvent, (exec, node, event))

GPUEMU_RUNTIME_FORWARD(cudaGraphConditionalHandleCreate,
                       (uint64_t* handle, Graph graph, unsigned at_launch, unsigned flags),
                       cuGraphConditionalHandleCreate, (handle, graph, nullptr, at_launch, flags))

GPUEMU_RUNTIME_API int cudaGraphNodeSetParams(GraphNode node, NodeParameters* given) {
  return with_node(
      given, [&](libcuda::NodeParameters& what) { return cuGraphNodeSetParams(node, &what); });
}

GPUEMU_RUNTIME_API int cudaGraphExecNodeSetParams(GraphExec exec, GraphNode node,
                                                  NodeParameters* given) {
  return with_node(given, [&](libcuda::NodeParameters& what) {
    return cuGraphExecNodeSetParams(exec, node, &what);
  });
}

GPUEMU_RUNTIME_API int GPUEMU_LATER(cudaGraphAddNode,
                                    2)(GraphNode* added, Graph graph, const GraphNode* after,
                                       const EdgeData* edges, size_t count, NodeParameters* given) {
  return with_node(given, [&](libcuda::NodeParameters& what) {
    return cuGraphAddNode_v2(added, graph, after, edges, count, &what);
  });
}

#if GPUEMU_RUNTIME_MAJOR == 12
GPUEMU_RUNTIME_API int cudaGraphAddNode(GraphNode* added, Graph graph, const GraphNode* after,
                                        size_t count, NodeParameters* given) {
  return cudaGraphAddNode_v2(added, graph, after, nullptr, count, given);
}
#endif

GPUEMU_RUNTIME_FORWARD(cudaGraphNodeSetEnabled, (GraphExec exec, GraphNode node, unsigned enabled),
                       cuGraphNodeSetEnabled, (exec, node, enabled))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeGetEnabled, (GraphExec exec, GraphNode node, unsigned* enabled),
                       cuGraphNodeGetEnabled, (exec, node, enabled))

}  // namespace gpuemu::libcudart
