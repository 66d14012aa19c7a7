// Tests order, copies and captures of graphs.
#include <gtest/gtest.h>

#include "bindings/libcuda/graphs/capture.h"

namespace gpuemu::libcuda {
namespace {

Node& add(GraphState& graph, std::vector<Node*> after = {}) {
  return graph.add(EmptyWork{}, std::move(after), nullptr);
}

TEST(Graphs, EachNodeStandsBehindThoseThatComeBeforeIt) {
  GraphState graph(0);
  Node &last = add(graph), &first = add(graph), &middle = add(graph, {&first});
  last.after = {&middle, &first};
  const auto order = graph.in_order();
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<Node*>{&first, &middle, &last}));
}

TEST(Graphs, ACircleHasNoOrder) {
  GraphState graph(0);
  Node &one = add(graph), &two = add(graph, {&one});
  one.after = {&two};
  EXPECT_FALSE(graph.in_order());
}

TEST(Graphs, ARemovedNodeIsGoneFromTheOthersAndIsNotFound) {
  GraphState graph(0);
  Node &one = add(graph), &two = add(graph, {&one});
  const GraphNode handle = one.handle;
  EXPECT_EQ(find_node(handle), &one);
  graph.remove(one);
  EXPECT_EQ(find_node(handle), nullptr);
  EXPECT_TRUE(two.after.empty());
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST(Graphs, ACopyHasItsOwnNodesAndChildrenAndKnowsWhatTheyCopy) {
  GraphState graph(0);
  auto child = std::make_shared<GraphState>(0);
  add(*child);
  Node& one = add(graph);
  Node& two = graph.add(ChildWork{child}, {&one}, nullptr);
  const auto copy = graph.clone();
  Node* const copied = copy->copy_of(two.handle);
  ASSERT_NE(copied, nullptr);
  EXPECT_EQ(copied->after, std::vector<Node*>{copy->copy_of(one.handle)});
  const auto& inner = std::get<ChildWork>(copied->work).graph;
  EXPECT_NE(inner, child);
  EXPECT_EQ(inner->nodes().size(), 1u);
}

TEST(Graphs, WorkOfAStreamThatNobodyWaitedForIsNotJoined) {
  auto capture = std::make_shared<Capture>();
  capture->graph = std::make_shared<GraphState>(0);
  Captured first{capture, true, {}, {}}, second{capture, false, {}, {}};
  add_node(first, EmptyWork{}, nullptr);
  join(second, first.tips);
  EXPECT_TRUE(is_joined(first));
  add_node(second, EmptyWork{}, nullptr);
  EXPECT_FALSE(is_joined(first));
  join(first, second.tips);
  EXPECT_TRUE(is_joined(first));
}

}  // namespace
}  // namespace gpuemu::libcuda
