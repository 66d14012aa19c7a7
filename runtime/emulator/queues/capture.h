// Work that is written down instead of done: a graph, and how streams add to it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu::emulator {

/// One piece of work. Its error stays with the stream until somebody synchronizes.
using Work = std::function<Status()>;

struct Graph {
  struct Node {
    Work work;
    std::vector<size_t> after;  ///< Nodes with smaller numbers.
  };
  std::vector<Node> nodes;
};

/// The last nodes of a stream: what its next one comes after.
using Tips = std::vector<size_t>;

class Capture {
 public:
  explicit Capture(StreamId origin) : origin_(origin) { tips_[origin]; }

  StreamId origin() const { return origin_; }
  const std::map<StreamId, Tips>& streams() const { return tips_; }
  const Tips& tips(StreamId stream) const { return tips_.at(stream); }
  void add(StreamId stream, Work work);
  /// All of another graph.
  void add_graph(StreamId stream, const Graph& graph);
  /// The stream's next node also comes after these; it joins if it is not there yet.
  void join(StreamId stream, const Tips& nodes);
  /// The first reason stays.
  void spoil(const std::string& why);
  /// The graph, or why there is none.
  Result<Graph> finish() &&;

 private:
  const StreamId origin_;
  Graph graph_;
  std::map<StreamId, Tips> tips_;
  std::string spoilt_;
};

}  // namespace gpuemu::emulator
