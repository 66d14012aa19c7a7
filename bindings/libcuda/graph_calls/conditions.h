// Conditions of graphs: values that kernels set, and nodes that do their graphs or not.
//
// A condition is a word of device memory; its handle is the address, to which
// cudaGraphSetConditional() writes.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Checks the parameters of a node and makes its graphs, which it also tells. The caller holds
/// graphs_mutex(), here and below.
int conditional_work(Process& driver, const GraphState& graph, ConditionalNode* given,
                     NodeWork& made);
/// Tells the program the graphs of a node.
void tell_bodies(Process& driver, Node& node, ConditionalNode& told);
/// Whether what follows a node depends on a condition, so that the host has to look at it.
bool is_step(const Node& node);
/// Gives the conditions of the graph the values that they have when a launch begins.
int set_conditions(const Place& place, const GraphState& graph);
/// Does the steps in the stream, and waits where there are conditions.
int run_steps(const Place& place, const std::vector<GraphStep>& steps);

}  // namespace gpuemu::libcuda
