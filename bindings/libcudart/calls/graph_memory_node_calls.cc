// Implements cudaGraph* for nodes of graphs that copy, fill, allocate and free memory.
#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/graph_driver.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::Copy3d;
using libcuda::FillNode;

/// Calls `work` with the copy for the driver, unless the description is wrong.
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

}  // namespace

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
/// instantiated graph. The last argument makes a Row of `parameters`.
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

}  // namespace gpuemu::libcudart
