// Captures work as a graph instead of executing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu::emulator {

/// The threads that may execute a piece of work: the executor, or also a thread that waits for it.
enum class Where : uint8_t { Executor, AnyThread };

/// A piece of work. The stream keeps its error until a synchronize.
struct Work {
  std::function<Status()> run;
  Where where = Where::Executor;
};

struct Graph {
  struct Node {
    Work work;
    std::vector<size_t> after;  ///< Predecessors; their indices are lower.
  };
  std::vector<Node> nodes;
};

/// The last nodes of a stream, which its next node depends on.
using Tips = std::vector<size_t>;

class Capture {
 public:
  explicit Capture(StreamId origin) : origin_(origin) { tips_[origin]; }

  StreamId origin() const { return origin_; }
  const std::map<StreamId, Tips>& streams() const { return tips_; }
  const Tips& tips(StreamId stream) const { return tips_.at(stream); }
  void add(StreamId stream, Work work);
  /// Adds all nodes of another graph.
  void add_graph(StreamId stream, const Graph& graph);
  /// Makes the stream's next node depend on these too. The stream joins the capture if it is not in
  /// it.
  void join(StreamId stream, const Tips& nodes);
  /// Invalidates the capture. The first reason is kept.
  void spoil(const std::string& why);
  /// Returns the graph, or the reason why the capture is invalid.
  Result<Graph> finish() &&;

 private:
  const StreamId origin_;
  Graph graph_;
  std::map<StreamId, Tips> tips_;
  std::string spoilt_;
};

}  // namespace gpuemu::emulator
