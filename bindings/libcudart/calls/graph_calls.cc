// Implements cudaGraph*.
#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/calls/unsupported.h"
#include "bindings/libcudart/graph_driver.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::Copy3d;
using libcuda::EdgeData;
using libcuda::FillNode;
using libcuda::HostNode;
using libcuda::KernelNodeFirst;
using libcuda::NodeType;
using libcuda::UserObject;

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

/// Calls `work` with the copy for the driver, unless `code` is an error or the description is
/// wrong.
template <typename Work>
int with_box(const Copy3dParameters* given, const Work& work,
             const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Copy3d what{};
        const int code = describe_box(given, what);
        return code == cudaSuccess ? work(what) : code;
      },
      call);
}

/// A copy of consecutive bytes. A symbol at one of the ends refers to a part of its variable.
struct Row {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0, offset = 0;
  CopyKind kind = CopyKind::Default;
  const void *to_symbol = nullptr, *from_symbol = nullptr;
};

int resolve_symbol(Row& row) {
  const void* const symbol = row.to_symbol != nullptr ? row.to_symbol : row.from_symbol;
  if (symbol == nullptr) return cudaSuccess;
  const bool is_wrong = row.to_symbol != nullptr ? writes_host(row.kind) : reads_host(row.kind);
  if (is_wrong) return cudaErrorInvalidMemcpyDirection;
  const FoundVariable found = find_variable(symbol);
  if (found.code != cudaSuccess) return found.code;
  if (row.offset > found.bytes || row.bytes > found.bytes - row.offset) {
    return cudaErrorInvalidValue;
  }
  auto* const part = reinterpret_cast<void*>(found.address + row.offset);
  if (row.to_symbol != nullptr) row.to = part;
  if (row.from_symbol != nullptr) row.from = part;
  return cudaSuccess;
}

template <typename Work>
int with_row(Row row, const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Copy3d what{};
        int code = resolve_symbol(row);
        if (code == cudaSuccess) {
          code = describe_row(row.to, row.from, row.bytes, row.kind, what);
        }
        return code == cudaSuccess ? work(what) : code;
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

// NOLINTBEGIN(google-runtime-int): types are those of the runtime API.
GPUEMU_RUNTIME_FORWARD(cudaGraphCreate, (Graph * graph, unsigned flags), cuGraphCreate,
                       (graph, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphDestroy, (Graph graph), cuGraphDestroy, (graph))
GPUEMU_RUNTIME_FORWARD(cudaGraphClone, (Graph * clone, Graph graph), cuGraphClone, (clone, graph))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeFindInClone, (GraphNode * found, GraphNode origin, Graph clone),
                       cuGraphNodeFindInClone, (found, origin, clone))
GPUEMU_RUNTIME_FORWARD(cudaGraphDebugDotPrint, (Graph graph, const char* path, unsigned flags),
                       cuGraphDebugDotPrint, (graph, path, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphGetNodes, (Graph graph, GraphNode* nodes, size_t* count),
                       cuGraphGetNodes, (graph, nodes, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphGetRootNodes, (Graph graph, GraphNode* nodes, size_t* count),
                       cuGraphGetRootNodes, (graph, nodes, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeGetType, (GraphNode node, int* type), cuGraphNodeGetType,
                       (node, type))
GPUEMU_RUNTIME_FORWARD(cudaGraphDestroyNode, (GraphNode node), cuGraphDestroyNode, (node))

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

GPUEMU_RUNTIME_API int cudaGraphAddMemcpyNode(GraphNode* added, Graph graph, const GraphNode* after,
                                              size_t count, const Copy3dParameters* given) {
  return with_box(given, [&](const Copy3d& what) {
    return cuGraphAddMemcpyNode(added, graph, after, count, &what, nullptr);
  });
}

GPUEMU_RUNTIME_API int cudaGraphMemcpyNodeGetParams(GraphNode node, Copy3dParameters* given) {
  return runtime_call([&]() -> int {
    Copy3d what{};
    if (given == nullptr) return cudaErrorInvalidValue;
    const int code = cuGraphMemcpyNodeGetParams(node, &what);
    if (code == cudaSuccess) *given = told_box(what);
    return code;
  });
}

GPUEMU_RUNTIME_API int cudaGraphMemcpyNodeSetParams(GraphNode node, const Copy3dParameters* given) {
  return with_box(given,
                  [&](const Copy3d& what) { return cuGraphMemcpyNodeSetParams(node, &what); });
}

GPUEMU_RUNTIME_API int cudaGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                                        const Copy3dParameters* given) {
  return with_box(given, [&](const Copy3d& what) {
    return cuGraphExecMemcpyNodeSetParams(exec, node, &what, nullptr);
  });
}

/// Defines the three calls for a copy of consecutive bytes: of a new node, a node, and a node of an
/// instantiated graph. `row` has the values of `parameters`.
#define GPUEMU_ROW_NODE(suffix, parameters, ...)                                                  \
  GPUEMU_RUNTIME_API int cudaGraphAddMemcpyNode##suffix(GraphNode* added, Graph graph,            \
                                                        const GraphNode* after, size_t count,     \
                                                        GPUEMU_UNPACKED parameters) {             \
    return with_row(__VA_ARGS__, [&](const Copy3d& what) {                                        \
      return cuGraphAddMemcpyNode(added, graph, after, count, &what, nullptr);                    \
    });                                                                                           \
  }                                                                                               \
  GPUEMU_RUNTIME_API int cudaGraphMemcpyNodeSetParams##suffix(GraphNode node,                     \
                                                              GPUEMU_UNPACKED parameters) {       \
    return with_row(__VA_ARGS__,                                                                  \
                    [&](const Copy3d& what) { return cuGraphMemcpyNodeSetParams(node, &what); }); \
  }                                                                                               \
  GPUEMU_RUNTIME_API int cudaGraphExecMemcpyNodeSetParams##suffix(GraphExec exec, GraphNode node, \
                                                                  GPUEMU_UNPACKED parameters) {   \
    return with_row(__VA_ARGS__, [&](const Copy3d& what) {                                        \
      return cuGraphExecMemcpyNodeSetParams(exec, node, &what, nullptr);                          \
    });                                                                                           \
  }
#define GPUEMU_UNPACKED(...) __VA_ARGS__
GPUEMU_ROW_NODE(1D, (void* to, const void* from, size_t bytes, CopyKind kind),
                Row{to, from, bytes, 0, kind})
GPUEMU_ROW_NODE(ToSymbol,
                (const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind),
                Row{nullptr, from, bytes, offset, kind, symbol, nullptr})
GPUEMU_ROW_NODE(FromSymbol,
                (void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind),
                Row{to, nullptr, bytes, offset, kind, nullptr, symbol})
#undef GPUEMU_UNPACKED
#undef GPUEMU_ROW_NODE

GPUEMU_RUNTIME_FORWARD(cudaGraphAddMemsetNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        const FillNode* what),
                       cuGraphAddMemsetNode, (added, graph, after, count, what, nullptr))
GPUEMU_RUNTIME_FORWARD(cudaGraphMemsetNodeGetParams, (GraphNode node, FillNode* what),
                       cuGraphMemsetNodeGetParams, (node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphMemsetNodeSetParams, (GraphNode node, const FillNode* what),
                       cuGraphMemsetNodeSetParams, (node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecMemsetNodeSetParams,
                       (GraphExec exec, GraphNode node, const FillNode* what),
                       cuGraphExecMemsetNodeSetParams, (exec, node, what, nullptr))
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

GPUEMU_RUNTIME_FORWARD(cudaGraphAddMemAllocNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        libcuda::AllocNode* what),
                       cuGraphAddMemAllocNode, (added, graph, after, count, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphMemAllocNodeGetParams, (GraphNode node, libcuda::AllocNode* what),
                       cuGraphMemAllocNodeGetParams, (node, what))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddMemFreeNode,
                       (GraphNode * added, Graph graph, const GraphNode* after, size_t count,
                        void* pointer),
                       cuGraphAddMemFreeNode,
                       (added, graph, after, count, reinterpret_cast<Address>(pointer)))
GPUEMU_RUNTIME_FORWARD(cudaGraphMemFreeNodeGetParams, (GraphNode node, Address* pointer),
                       cuGraphMemFreeNodeGetParams, (node, pointer))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetGraphMemAttribute, (int device, int attribute, void* value),
                       cuDeviceGetGraphMemAttribute, (device, attribute, value))
GPUEMU_RUNTIME_FORWARD(cudaDeviceSetGraphMemAttribute, (int device, int attribute, void* value),
                       cuDeviceSetGraphMemAttribute, (device, attribute, value))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim, (device))
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

GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaGraphGetEdges, 2),
                       (Graph graph, GraphNode* from, GraphNode* to, EdgeData* edges,
                        size_t* count),
                       cuGraphGetEdges_v2, (graph, from, to, edges, count))
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaGraphNodeGetDependencies, 2),
                       (GraphNode node, GraphNode* nodes, EdgeData* edges, size_t* count),
                       cuGraphNodeGetDependencies_v2, (node, nodes, edges, count))
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaGraphNodeGetDependentNodes, 2),
                       (GraphNode node, GraphNode* nodes, EdgeData* edges, size_t* count),
                       cuGraphNodeGetDependentNodes_v2, (node, nodes, edges, count))
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaGraphAddDependencies, 2),
                       (Graph graph, const GraphNode* from, const GraphNode* to,
                        const EdgeData* edges, size_t count),
                       cuGraphAddDependencies_v2, (graph, from, to, edges, count))
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaGraphRemoveDependencies, 2),
                       (Graph graph, const GraphNode* from, const GraphNode* to,
                        const EdgeData* edges, size_t count),
                       cuGraphRemoveDependencies_v2, (graph, from, to, edges, count))

GPUEMU_RUNTIME_FORWARD(cudaGraphInstantiate,
                       (GraphExec * made, Graph graph, unsigned long long flags),
                       cuGraphInstantiateWithFlags, (made, graph, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphInstantiateWithFlags,
                       (GraphExec * made, Graph graph, unsigned long long flags),
                       cuGraphInstantiateWithFlags, (made, graph, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphInstantiateWithParams,
                       (GraphExec * made, Graph graph, libcuda::InstantiateParameters* parameters),
                       cuGraphInstantiateWithParams, (made, graph, parameters))
GPUEMU_RUNTIME_PER_THREAD(cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaGraphLaunch, (GraphExec exec, Stream stream), cuGraphLaunch,
                       (exec, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaGraphLaunch, cudaGraphLaunch_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaGraphUpload, (GraphExec exec, Stream stream), cuGraphUpload,
                       (exec, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaGraphUpload, cudaGraphUpload_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaGraphExecDestroy, (GraphExec exec), cuGraphExecDestroy, (exec))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecGetFlags, (GraphExec exec, uint64_t* flags),
                       cuGraphExecGetFlags, (exec, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphExecUpdate,
                       (GraphExec exec, Graph graph, libcuda::UpdateResult* result),
                       cuGraphExecUpdate_v2, (exec, graph, result))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeSetEnabled, (GraphExec exec, GraphNode node, unsigned enabled),
                       cuGraphNodeSetEnabled, (exec, node, enabled))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeGetEnabled, (GraphExec exec, GraphNode node, unsigned* enabled),
                       cuGraphNodeGetEnabled, (exec, node, enabled))

GPUEMU_RUNTIME_FORWARD(cudaUserObjectCreate,
                       (UserObject * made, void* data, void (*end)(void*), unsigned count,
                        unsigned flags),
                       cuUserObjectCreate, (made, data, end, count, flags))
GPUEMU_RUNTIME_FORWARD(cudaUserObjectRetain, (UserObject object, unsigned count),
                       cuUserObjectRetain, (object, count))
GPUEMU_RUNTIME_FORWARD(cudaUserObjectRelease, (UserObject object, unsigned count),
                       cuUserObjectRelease, (object, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphRetainUserObject,
                       (Graph graph, UserObject object, unsigned count, unsigned flags),
                       cuGraphRetainUserObject, (graph, object, count, flags))
GPUEMU_RUNTIME_FORWARD(cudaGraphReleaseUserObject, (Graph graph, UserObject object, unsigned count),
                       cuGraphReleaseUserObject, (graph, object, count))
// NOLINTEND(google-runtime-int)

}  // namespace gpuemu::libcudart
