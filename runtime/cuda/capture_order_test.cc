#include "runtime/cuda/capture_order.h"

#include <array>

#include <gtest/gtest.h>

namespace gpuemu::cuda {
namespace {

using Node = CaptureOrder::Node;
using Nodes = std::vector<Node>;

MemoryAccess reads(uint64_t begin, uint64_t end) { return {begin, end, false}; }
MemoryAccess writes(uint64_t begin, uint64_t end) { return {begin, end, true}; }

/// Distinct handles that are never dereferenced.
std::array<char, 4096> places;
Node node(size_t number) { return &places[number]; }

/// The stream's next node always waits for everything.
class Capture {
 public:
  explicit Capture(Nodes base = {}) : all_(std::move(base)) { order_.begin(1, all_); }
  Nodes launch(Node made, const std::vector<MemoryAccess>& accesses) {
    order_.begin(1, all_);
    Nodes before = order_.before(accesses);
    order_.add(made, accesses);
    all_.push_back(made);
    return before;
  }
  /// A copy or a fill, which waits for all and is waited for by all.
  void other(Node made) { all_ = {made}; }
  const CaptureOrder& order() const { return order_; }

 private:
  CaptureOrder order_;
  Nodes all_;
};

TEST(CaptureOrder, WaitsForWhoWritesWhatIsReadAndForNobodyElse) {
  Capture capture;
  EXPECT_EQ(capture.launch(node(1), {writes(0, 8)}), Nodes{});
  EXPECT_EQ(capture.launch(node(2), {writes(8, 16)}), Nodes{});
  EXPECT_EQ(capture.launch(node(3), {reads(4, 6), writes(32, 40)}), Nodes{node(1)});
  EXPECT_EQ(capture.launch(node(4), {reads(0, 16), writes(48, 56)}), (Nodes{node(2), node(1)}));
}

TEST(CaptureOrder, WritesWaitForReadersAndWriters) {
  Capture capture;
  capture.launch(node(1), {writes(0, 8)});
  EXPECT_EQ(capture.launch(node(2), {reads(0, 8)}), Nodes{node(1)});
  EXPECT_EQ(capture.launch(node(3), {reads(0, 4)}), Nodes{node(1)}) << "readers run side by side";
  EXPECT_EQ(capture.launch(node(4), {writes(0, 8)}), (Nodes{node(3), node(2)}));
  EXPECT_EQ(capture.launch(node(5), {writes(7, 9)}), Nodes{node(4)});
}

TEST(CaptureOrder, LeavesOutWhoIsWaitedForAlready) {
  Capture capture;
  capture.launch(node(1), {writes(0, 8)});
  capture.launch(node(2), {reads(0, 8), writes(8, 16)});
  capture.launch(node(3), {reads(8, 16), writes(16, 24)});
  EXPECT_EQ(capture.launch(node(4), {reads(0, 24)}), Nodes{node(3)});
}

TEST(CaptureOrder, TouchingIsNotOverlapping) {
  Capture capture;
  capture.launch(node(1), {writes(0, 8)});
  EXPECT_EQ(capture.launch(node(2), {writes(8, 16)}), Nodes{});
}

TEST(CaptureOrder, FollowsWhatWasCapturedBeforeAndBetween) {
  Capture capture({node(1)});
  EXPECT_EQ(capture.launch(node(2), {writes(0, 8)}), Nodes{node(1)});
  EXPECT_EQ(capture.launch(node(3), {writes(8, 16)}), Nodes{node(1)});
  capture.other(node(4));
  EXPECT_EQ(capture.launch(node(5), {writes(16, 24)}), Nodes{node(4)});
  EXPECT_EQ(capture.launch(node(6), {reads(0, 8)}), Nodes{node(4)}) << "which waits for 2 and 3";
}

TEST(CaptureOrder, BeginsAnewInAnotherCapture) {
  CaptureOrder order;
  order.begin(1, {});
  const std::vector<MemoryAccess> all = {writes(0, 8)};
  order.add(node(1), all);
  order.begin(2, {});
  EXPECT_EQ(order.before(all), Nodes{}) << "a handle of the other graph";
}

TEST(CaptureOrder, JoinsNodesOfAnotherStream) {
  CaptureOrder order;
  order.begin(1, {});
  const std::vector<MemoryAccess> all = {writes(0, 8)};
  order.add(node(1), all);
  const Nodes joined = {node(1), node(2)};  // An event of another stream is waited for.
  order.begin(1, joined);
  EXPECT_EQ(order.before(all), joined);
}

TEST(CaptureOrder, IsFullAfterManyLaunches) {
  Capture capture;
  size_t made = 0;
  while (!capture.order().is_full() && made < places.size()) {
    capture.launch(node(made), {writes(made, made + 1)});
    ++made;
  }
  EXPECT_LT(made, places.size());
}

}  // namespace
}  // namespace gpuemu::cuda
