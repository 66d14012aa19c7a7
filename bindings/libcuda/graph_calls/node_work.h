// Creates the work of nodes from the parameters that programs pass.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Each function checks the parameters for a node of `graph` and fills `made`. Errors are those of
/// the call that does the same immediately. The caller holds graphs_mutex().
int kernel_work(Process& driver, const GraphState& graph, const KernelNodeFirst* given,
                NodeWork& made);
/// Reads the members of newer versions too.
int kernel_work_v2(Process& driver, const GraphState& graph, const KernelNode* given,
                   NodeWork& made);
int copy_work(Process& driver, const GraphState& graph, const Copy3d* given, Context context,
              NodeWork& made);
int fill_work(Process& driver, const GraphState& graph, const FillNode* given, Context context,
              NodeWork& made);
int host_work(const HostNode* given, NodeWork& made);
int child_work(Process& driver, const GraphState& graph, Graph child, NodeWork& made);
/// A node that waits for an event, or records it.
int event_work(Process& driver, const GraphState& graph, Event event, NodeType type,
               NodeWork& made);
/// Creates work of the type in the parameters. Fills members that are results.
int any_work(Process& driver, const GraphState& graph, NodeParameters* given, NodeWork& made);

}  // namespace gpuemu::libcuda
