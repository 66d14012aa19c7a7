// Declares the functions of the driver API for graphs that the runtime library calls.
#pragma once

#include "bindings/libcudart/driver.h"

extern "C" {
// NOLINTBEGIN(google-runtime-int): types are those of the driver's interface.
int cuGraphCreate(Graph* graph, unsigned flags);
int cuGraphDestroy(Graph graph);
int cuGraphClone(Graph* clone, Graph graph);
int cuGraphNodeFindInClone(GraphNode* found, GraphNode origin, Graph clone);
int cuGraphDebugDotPrint(Graph graph, const char* path, unsigned flags);
int cuGraphGetNodes(Graph graph, GraphNode* nodes, size_t* count);
int cuGraphGetRootNodes(Graph graph, GraphNode* nodes, size_t* count);
int cuGraphGetEdges_v2(Graph graph, GraphNode* from, GraphNode* to,
                       gpuemu::libcuda::EdgeData* edges, size_t* count);
int cuGraphNodeGetDependencies_v2(GraphNode node, GraphNode* nodes,
                                  gpuemu::libcuda::EdgeData* edges, size_t* count);
int cuGraphNodeGetDependentNodes_v2(GraphNode node, GraphNode* nodes,
                                    gpuemu::libcuda::EdgeData* edges, size_t* count);
int cuGraphAddDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                              const gpuemu::libcuda::EdgeData* edges, size_t count);
int cuGraphRemoveDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                                 const gpuemu::libcuda::EdgeData* edges, size_t count);
int cuGraphNodeGetType(GraphNode node, int* type);
int cuGraphDestroyNode(GraphNode node);

int cuGraphAddKernelNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                         const gpuemu::libcuda::KernelNodeFirst* what);
int cuGraphAddMemcpyNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                         const gpuemu::libcuda::Copy3d* what, Context context);
int cuGraphAddMemsetNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                         const gpuemu::libcuda::FillNode* what, Context context);
int cuGraphAddHostNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                       const gpuemu::libcuda::HostNode* what);
int cuGraphAddChildGraphNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                             Graph child);
int cuGraphAddEmptyNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count);
int cuGraphAddEventRecordNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                              Event event);
int cuGraphAddEventWaitNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                            Event event);
int cuGraphAddNode_v2(GraphNode* added, Graph graph, const GraphNode* after,
                      const gpuemu::libcuda::EdgeData* edges, size_t count,
                      gpuemu::libcuda::NodeParameters* what);
int cuGraphAddMemAllocNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                           gpuemu::libcuda::AllocNode* what);
int cuGraphAddMemFreeNode(GraphNode* added, Graph graph, const GraphNode* after, size_t count,
                          Address address);
int cuGraphMemAllocNodeGetParams(GraphNode node, gpuemu::libcuda::AllocNode* what);
int cuGraphMemFreeNodeGetParams(GraphNode node, Address* address);
int cuDeviceGetGraphMemAttribute(int device, int attribute, void* value);
int cuDeviceSetGraphMemAttribute(int device, int attribute, void* value);
int cuDeviceGraphMemTrim(int device);
int cuGraphConditionalHandleCreate(uint64_t* handle, Graph graph, Context context,
                                   unsigned at_launch, unsigned flags);
int cuGraphKernelNodeGetParams(GraphNode node, gpuemu::libcuda::KernelNodeFirst* what);
int cuGraphKernelNodeSetParams(GraphNode node, const gpuemu::libcuda::KernelNodeFirst* what);
int cuGraphKernelNodeGetAttribute(GraphNode node, unsigned attribute, unsigned* value);
int cuGraphKernelNodeSetAttribute(GraphNode node, unsigned attribute, const unsigned* value);
int cuGraphKernelNodeCopyAttributes(GraphNode to, GraphNode from);
int cuGraphMemcpyNodeGetParams(GraphNode node, gpuemu::libcuda::Copy3d* what);
int cuGraphMemcpyNodeSetParams(GraphNode node, const gpuemu::libcuda::Copy3d* what);
int cuGraphMemsetNodeGetParams(GraphNode node, gpuemu::libcuda::FillNode* what);
int cuGraphMemsetNodeSetParams(GraphNode node, const gpuemu::libcuda::FillNode* what);
int cuGraphHostNodeGetParams(GraphNode node, gpuemu::libcuda::HostNode* what);
int cuGraphHostNodeSetParams(GraphNode node, const gpuemu::libcuda::HostNode* what);
int cuGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph);
int cuGraphEventRecordNodeGetEvent(GraphNode node, Event* event);
int cuGraphEventRecordNodeSetEvent(GraphNode node, Event event);
int cuGraphEventWaitNodeGetEvent(GraphNode node, Event* event);
int cuGraphEventWaitNodeSetEvent(GraphNode node, Event event);
int cuGraphNodeSetParams(GraphNode node, gpuemu::libcuda::NodeParameters* what);

int cuGraphInstantiateWithFlags(GraphExec* made, Graph graph, unsigned long long flags);
int cuGraphInstantiateWithParams(GraphExec* made, Graph graph,
                                 gpuemu::libcuda::InstantiateParameters* parameters);
int cuGraphLaunch(GraphExec exec, Stream stream);
int cuGraphUpload(GraphExec exec, Stream stream);
int cuGraphExecDestroy(GraphExec exec);
int cuGraphExecGetFlags(GraphExec exec, uint64_t* flags);
int cuGraphExecUpdate_v2(GraphExec exec, Graph graph, gpuemu::libcuda::UpdateResult* result);
int cuGraphNodeSetEnabled(GraphExec exec, GraphNode node, unsigned enabled);
int cuGraphNodeGetEnabled(GraphExec exec, GraphNode node, unsigned* enabled);
int cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node,
                                   const gpuemu::libcuda::KernelNodeFirst* what);
int cuGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                   const gpuemu::libcuda::Copy3d* what, Context context);
int cuGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node,
                                   const gpuemu::libcuda::FillNode* what, Context context);
int cuGraphExecHostNodeSetParams(GraphExec exec, GraphNode node,
                                 const gpuemu::libcuda::HostNode* what);
int cuGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node, Graph child);
int cuGraphExecEventRecordNodeSetEvent(GraphExec exec, GraphNode node, Event event);
int cuGraphExecEventWaitNodeSetEvent(GraphExec exec, GraphNode node, Event event);
int cuGraphExecNodeSetParams(GraphExec exec, GraphNode node, gpuemu::libcuda::NodeParameters* what);

int cuUserObjectCreate(gpuemu::libcuda::UserObject* made, void* data, void (*end)(void*),
                       unsigned count, unsigned flags);
int cuUserObjectRetain(gpuemu::libcuda::UserObject object, unsigned count);
int cuUserObjectRelease(gpuemu::libcuda::UserObject object, unsigned count);
int cuGraphRetainUserObject(Graph graph, gpuemu::libcuda::UserObject object, unsigned count,
                            unsigned flags);
int cuGraphReleaseUserObject(Graph graph, gpuemu::libcuda::UserObject object, unsigned count);
// NOLINTEND(google-runtime-int)
}
