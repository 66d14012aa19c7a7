#include "runtime/emulator/queues/capture.h"

#include <algorithm>
#include <utility>

namespace gpuemu::emulator {

void Capture::add(StreamId stream, Work work) {
  Tips& tips = tips_.at(stream);
  graph_.nodes.push_back({std::move(work), std::exchange(tips, {graph_.nodes.size()})});
}

void Capture::add_graph(StreamId stream, const Graph& graph) {
  if (graph.nodes.empty()) return;
  Tips& tips = tips_.at(stream);
  const size_t first = graph_.nodes.size();
  std::vector<bool> last(graph.nodes.size(), true);
  for (const Graph::Node& node : graph.nodes) {
    Graph::Node copy{node.work, {}};
    if (node.after.empty()) copy.after = tips;
    for (const size_t before : node.after) {
      last[before] = false;
      copy.after.push_back(first + before);
    }
    graph_.nodes.push_back(std::move(copy));
  }
  tips.clear();
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i]) tips.push_back(first + i);
  }
}

void Capture::join(StreamId stream, const Tips& nodes) {
  Tips& tips = tips_[stream];
  for (const size_t node : nodes) {
    if (std::ranges::find(tips, node) == tips.end()) tips.push_back(node);
  }
}

void Capture::spoil(const std::string& why) {
  if (spoilt_.empty()) spoilt_ = why;
}

Result<Graph> Capture::finish() && {
  if (!spoilt_.empty()) {
    return error(ErrorCode::InvalidArgument, "the capture was invalidated: {}; start a new capture",
                 spoilt_);
  }
  std::vector<bool> reached(graph_.nodes.size());
  for (const size_t tip : tips_.at(origin_)) reached[tip] = true;
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (!reached[i]) {
      return error(ErrorCode::InvalidArgument,
                   "a stream that joined the capture has work that the first one did not wait for; "
                   "record an event there and let the first stream wait for it before the end");
    }
    for (const size_t before : graph_.nodes[i].after) reached[before] = true;
  }
  return std::move(graph_);
}

}  // namespace gpuemu::emulator
