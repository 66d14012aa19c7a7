// Implements cuGraphDebugDotPrint: a graph as text in the language of Graphviz.
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/memory/graph_memory.h"
#include "bindings/libcuda/modules.h"

namespace gpuemu::libcuda {
namespace {

/// The CUgraphDebugDot_flags that affect the text.
constexpr unsigned kVerbose = 1, kKernels = 4, kCopies = 8, kFills = 16, kHosts = 32,
                   kHandles = 1024, kFlagsAll = (1U << 16) - 1;

std::string text_of(const Dim3& size) { return fmt::format("({},{},{})", size.x, size.y, size.z); }

struct Label {
  Process& driver;
  unsigned flags;

  bool tells(unsigned flag) const { return (flags & (flag | kVerbose)) != 0; }

  std::string operator()(const KernelWork& work) const {
    const Resolved found = resolve(driver, work.function);
    std::string text = found.function == nullptr ? "kernel" : demangled(found.function->info.name);
    if (tells(kKernels)) {
      text += fmt::format("\\ngrid {}, block {}, {} bytes of dynamic shared memory",
                          text_of(work.shape.grid), text_of(work.shape.block),
                          work.shape.dynamic_shared_bytes);
    }
    return text;
  }
  std::string operator()(const CopyWork& work) const {
    if (!tells(kCopies)) return "MEMCPY";
    return fmt::format("MEMCPY\\n{} x {} x {}", work.what.width_bytes, work.what.height,
                       work.what.depth);
  }
  std::string operator()(const FillWork& work) const {
    if (!tells(kFills)) return "MEMSET";
    return fmt::format("MEMSET\\n{} x {} of {} bytes, value {:#x}, at {:#x}", work.what.width,
                       work.what.height, work.what.element_bytes, work.what.value,
                       work.what.address);
  }
  std::string operator()(const HostWork& work) const {
    if (!tells(kHosts)) return "HOST";
    return fmt::format("HOST\\n{:#x}", reinterpret_cast<uintptr_t>(work.what.function));
  }
  std::string operator()(const ChildWork& work) const {
    return fmt::format("GRAPH\\n{} nodes", work.graph->nodes().size());
  }
  std::string operator()(const EmptyWork&) const { return "EMPTY"; }
  std::string operator()(const WaitWork&) const { return "EVENT_WAIT"; }
  std::string operator()(const RecordWork&) const { return "EVENT_RECORD"; }
  std::string operator()(const AllocWork& work) const {
    return fmt::format("MEM_ALLOC\\n{} bytes at {:#x}", work.memory->bytes, work.memory->address);
  }
  std::string operator()(const FreeWork& work) const {
    return fmt::format("MEM_FREE\\n{:#x}", work.address);
  }
  std::string operator()(const ConditionalWork& work) const {
    constexpr const char* kNames[] = {"IF", "WHILE", "SWITCH"};
    return fmt::format("CONDITIONAL\\n{}, {} graphs", kNames[static_cast<size_t>(work.type)],
                       work.bodies.size());
  }
};

std::string in_quotes(const std::string& text) {
  std::string made = "\"";
  for (const char one : text) {
    if (one == '"') made += '\\';
    made += one;
  }
  return made + '"';
}

template <typename... Values>
void append_line(std::string& out, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
}

/// Writes the nodes and edges; graphs inside nodes are separate clusters. `prefix` makes the names
/// of nodes unique.
void write(std::string& out, const Label& label, const GraphState& graph,
           const std::string& prefix) {
  const auto name = [&](const Node& node) {
    return in_quotes(fmt::format("{}_node_{}", prefix, graph.index_of(node)));
  };
  for (const auto& node : graph.nodes()) {
    std::string text = fmt::format("{}\\n{}", graph.index_of(*node), std::visit(label, node->work));
    if (label.tells(kHandles)) {
      text += fmt::format("\\nnode handle {:#x}", reinterpret_cast<uintptr_t>(node->handle));
    }
    append_line(out, "{}[shape=\"rectangle\" label={}];\n", name(*node), in_quotes(text));
    for (const Node* const before : node->after) {
      append_line(out, "{} -> {};\n", name(*before), name(*node));
    }
    const auto graphs = graphs_inside(node->work);
    for (size_t i = 0; i < graphs.size(); ++i) {
      std::string inside = fmt::format("{}_{}", prefix, graph.index_of(*node));
      if (i > 0) inside += fmt::format("_{}", i);
      append_line(out, "subgraph \"cluster_{}\" {{\nlabel=\"{}\";\n", inside, inside);
      write(out, label, *graphs[i], inside);
      out += "}\n";
    }
  }
}

}  // namespace

GPUEMU_DRIVER_API int cuGraphDebugDotPrint(Graph graph, const char* path, unsigned flags) {
  return with_graph(graph, [&](Process& driver, const GraphState& state) -> int {
    if (path == nullptr || (flags & ~kFlagsAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    std::string text =
        "digraph dot {\nsubgraph \"cluster_graph\" {\nlabel=\"graph\" graph[style=\"dashed\"];\n";
    write(text, {driver, flags}, state, "graph");
    text += "}\n}\n";
    std::FILE* const file = std::fopen(path, "we");
    if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !is_written) return CUDA_ERROR_OPERATING_SYSTEM;
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
