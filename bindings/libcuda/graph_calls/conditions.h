// Conditions of graphs: values that kernels set, and nodes that run their graphs depending on them.
//
// A condition is a word of device memory; its handle is the address, to which
// cudaGraphSetConditional() writes.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Checks the parameters of a node and creates its graphs, which it also returns in `given`. The
/// caller holds graphs_mutex(), here and below.
int conditional_work(Process& driver, const GraphState& graph, ConditionalNode* given,
                     NodeWork& made);
/// Returns the graphs of a node to the program.
void tell_bodies(Process& driver, Node& node, ConditionalNode& told);
/// Returns true if work after the node depends on a condition, so that the host has to read it.
bool is_step(const Node& node);
// The caller also holds GraphExecState::use. While these functions wait, graphs_mutex() is
// unlocked.

/// Locks the conditions of the graph for one launch. Copies of a graph share them, so their
/// launches follow each other.
std::vector<std::unique_lock<std::mutex>> lock_conditions(const GraphState& graph);
/// Sets the conditions of the graph to their values at the start of a launch.
int set_conditions(const Place& place, const GraphState& graph);
/// Runs the steps in the stream, and waits for conditions.
int run_steps(const Place& place, const std::vector<GraphStep>& steps);

}  // namespace gpuemu::libcuda
