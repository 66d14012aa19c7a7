// Implements cudaGraph* and cudaUserObject* for whole graphs: making, reading, connecting,
// instantiating and launching them.
#include "bindings/libcudart/graph_driver.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::EdgeData;
using libcuda::UserObject;

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

GPUEMU_RUNTIME_FORWARD(cudaDeviceGetGraphMemAttribute, (int device, int attribute, void* value),
                       cuDeviceGetGraphMemAttribute, (device, attribute, value))
GPUEMU_RUNTIME_FORWARD(cudaDeviceSetGraphMemAttribute, (int device, int attribute, void* value),
                       cuDeviceSetGraphMemAttribute, (device, attribute, value))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim, (device))

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
