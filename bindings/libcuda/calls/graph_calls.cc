// Implements cuGraph* for graphs that were captured from a stream.
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {
namespace {

/// CUDA_GRAPH_INSTANTIATE_PARAMS.
struct InstantiateParameters {
  uint64_t flags;
  Stream upload_stream;
  void* error_node;
  int result;
};

DeviceSlot& slot_of(Process& driver, int device) {
  return *driver.devices[static_cast<size_t>(device)];
}

int instantiate(GraphExec* made, Graph graph, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.graphs.find(graph);
    if (state == nullptr || made == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto exec = slot_of(driver, state->device).streams->instantiate(state->id);
    if (!exec) return code_of(exec.error());
    *made = driver.graph_execs.add(
        std::make_shared<GraphExecState>(GraphExecState{state->device, *exec}));
    return CUDA_SUCCESS;
  });
}

}  // namespace

// NOLINTNEXTLINE(google-runtime-int): as the header has it.
GPUEMU_DRIVER_API int cuGraphInstantiateWithFlags(GraphExec* made, Graph graph,
                                                  unsigned long long) {
  return instantiate(made, graph);
}

GPUEMU_DRIVER_API int cuGraphInstantiate(GraphExec* made, Graph graph, void** node, char* log,
                                         size_t bytes) {
  if (node != nullptr) *node = nullptr;
  if (log != nullptr && bytes != 0) *log = '\0';
  return instantiate(made, graph);
}

GPUEMU_DRIVER_API int cuGraphInstantiate_v2(GraphExec* made, Graph graph, void** node, char* log,
                                            size_t bytes) {
  return cuGraphInstantiate(made, graph, node, log, bytes);
}

GPUEMU_DRIVER_API int cuGraphInstantiateWithParams(GraphExec* made, Graph graph,
                                                   InstantiateParameters* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int code = instantiate(made, graph);
  parameters->error_node = nullptr;
  parameters->result = code == CUDA_SUCCESS ? 0 : 1;
  return code;
}
GPUEMU_PER_THREAD(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz)

GPUEMU_DRIVER_API int cuGraphLaunch(GraphExec exec, Stream stream) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.graph_execs.find(exec);
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (place.device != state->device) return CUDA_ERROR_INVALID_VALUE;
    if (!is_captured(place)) driver.races.other_work(line_of(place));
    return code_in_stream(driver, place,
                          place.slot->streams->launch_graph(state->id, place.stream));
  });
}
GPUEMU_PER_THREAD(cuGraphLaunch, cuGraphLaunch_ptsz)

/// Checks its arguments only: an emulated graph needs no upload.
GPUEMU_DRIVER_API int cuGraphUpload(GraphExec exec, Stream stream) {
  return driver_call([&](Process& driver) -> int {
    if (driver.graph_execs.find(exec) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return place_of(stream).code;
  });
}
GPUEMU_PER_THREAD(cuGraphUpload, cuGraphUpload_ptsz)

GPUEMU_DRIVER_API int cuGraphDestroy(Graph graph) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.graphs.remove(graph);
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return code_of(slot_of(driver, state->device).streams->free_graph(state->id));
  });
}

GPUEMU_DRIVER_API int cuGraphExecDestroy(GraphExec exec) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.graph_execs.remove(exec);
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return code_of(slot_of(driver, state->device).streams->free_graph_exec(state->id));
  });
}

}  // namespace gpuemu::libcuda
