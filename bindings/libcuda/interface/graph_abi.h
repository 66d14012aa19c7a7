// Declares the types of the published driver API for graphs and their nodes.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// CUuserObject
using UserObject = struct OpaqueUserObject*;

/// CUgraphNodeType: the supported types.
enum class NodeType : int {
  Launch,
  Copy,
  Fill,
  Host,
  Child,
  Empty,
  WaitEvent,
  RecordEvent,
  Alloc = 10,
  Free = 11,
  Conditional = 13,
};

/// CUDA_KERNEL_NODE_PARAMS_v1 has the members up to `extra`; _v2 and _v3 have all.
struct KernelNodeFirst {
  Function function;
  unsigned grid[3], block[3], shared_bytes;
  void **arguments, **extra;
};
static_assert(sizeof(KernelNodeFirst) == 56);
struct KernelNode : KernelNodeFirst {
  Kernel kernel;
  Context context;
};
static_assert(sizeof(KernelNode) == 72);

/// CUDA_MEMSET_NODE_PARAMS
struct FillNode {
  Address address;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
};
static_assert(sizeof(FillNode) == 40);

/// CUDA_HOST_NODE_PARAMS
struct HostNode {
  void (*function)(void*);
  void* data;
};

/// CUDA_MEM_ALLOC_NODE_PARAMS
struct AllocNode {
  PoolProperties pool;
  const AccessDescription* access;
  size_t access_count, bytes;
  Address address;  ///< Result.
};
static_assert(sizeof(AllocNode) == 120);
struct FreeNode {
  Address address;
};

/// CUDA_CONDITIONAL_NODE_PARAMS
enum class ConditionType : int { If, While, Switch };
struct ConditionalNode {
  uint64_t condition;
  ConditionType type;
  unsigned size;
  Graph* bodies;  ///< Result: an array of `size` graphs.
  Context context;
};
static_assert(sizeof(ConditionalNode) == 32);

/// Members of NodeParameters.
struct CopyNodeInContext {
  int flags, reserved;
  Context context;
  Copy3d what;
};
struct FillNodeInContext {
  FillNode what;
  Context context;
};
struct ChildNode {
  Graph graph;
  int ownership;
};
struct EventNode {
  Event event;
};

/// CUgraphNodeParams
struct NodeParameters {
  NodeType type;
  int reserved_0[3];
  union {
    int64_t reserved_1[29];
    KernelNode kernel;
    CopyNodeInContext copy;
    FillNodeInContext fill;
    HostNode host;
    ChildNode child;
    EventNode event;
    AllocNode alloc;
    FreeNode free;
    ConditionalNode conditional;
  };
  int64_t reserved_2;
};
static_assert(sizeof(NodeParameters) == 256);

/// CUgraphEdgeData
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
static_assert(sizeof(EdgeData) == 8);

/// CUgraphExecUpdateResultInfo
struct UpdateResult {
  int result;
  GraphNode node, from;
};

/// CUDA_GRAPH_INSTANTIATE_PARAMS
struct InstantiateParameters {
  uint64_t flags;
  Stream upload_stream;
  GraphNode error_node;
  int result;
};

}  // namespace gpuemu::libcuda
