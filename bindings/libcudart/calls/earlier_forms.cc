// Implements functions that only the runtime API of CUDA 12 has: earlier forms of functions of CUDA
// 13, and functions that CUDA 13 removed.
#include "bindings/libcudart/calls/unsupported.h"
#include "bindings/libcudart/graph_driver.h"
#include "bindings/libcudart/runtime.h"

static_assert(gpuemu::libcudart::kIsRuntime12);

extern "C" {
int cuMemPrefetchAsync(Address address, size_t bytes, int device, Stream stream);
int cuMemAdvise(Address address, size_t bytes, int advice, int device);
int cuStreamGetCaptureInfo(Stream stream, int* status, uint64_t* id);
int cuStreamGetCaptureInfo_v2(Stream stream, int* status, uint64_t* id, Graph* graph,
                              const GraphNode** nodes, size_t* count);
int cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes, size_t count,
                                      unsigned flags);
int cuGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to, size_t* count);
int cuGraphNodeGetDependencies(GraphNode node, GraphNode* nodes, size_t* count);
int cuGraphNodeGetDependentNodes(GraphNode node, GraphNode* nodes, size_t* count);
int cuGraphAddDependencies(Graph graph, const GraphNode* from, const GraphNode* to, size_t count);
int cuGraphRemoveDependencies(Graph graph, const GraphNode* from, const GraphNode* to,
                              size_t count);
}

namespace gpuemu::libcudart {
GPUEMU_RUNTIME_FORWARD(cudaMemPrefetchAsync,
                       (const void* pointer, size_t bytes, int device, Stream stream),
                       cuMemPrefetchAsync, (address_of(pointer), bytes, device, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemAdvise, (const void* pointer, size_t bytes, int advice, int device),
                       cuMemAdvise, (address_of(pointer), bytes, advice, device))

GPUEMU_RUNTIME_FORWARD(cudaStreamGetCaptureInfo_v2,
                       (Stream stream, int* status, uint64_t* id, Graph* graph,
                        const GraphNode** nodes, size_t* count),
                       cuStreamGetCaptureInfo_v2, (stream, status, id, graph, nodes, count))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamUpdateCaptureDependencies,
                       (Stream stream, GraphNode* nodes, size_t count, unsigned flags),
                       cuStreamUpdateCaptureDependencies, (stream, nodes, count, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamUpdateCaptureDependencies,
                          cudaStreamUpdateCaptureDependencies_ptsz)

/// The form of CUDA 11; the headers declare only the per-thread function.
static int cudaStreamGetCaptureInfo(Stream stream, int* status, uint64_t* id) {
  return runtime_call([&] { return cuStreamGetCaptureInfo(stream, status, id); });
}
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaGraphGetEdges,
                       (Graph graph, GraphNode* from, GraphNode* to, size_t* count),
                       cuGraphGetEdges, (graph, from, to, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeGetDependencies,
                       (GraphNode node, GraphNode* nodes, size_t* count),
                       cuGraphNodeGetDependencies, (node, nodes, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphNodeGetDependentNodes,
                       (GraphNode node, GraphNode* nodes, size_t* count),
                       cuGraphNodeGetDependentNodes, (node, nodes, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphAddDependencies,
                       (Graph graph, const GraphNode* from, const GraphNode* to, size_t count),
                       cuGraphAddDependencies, (graph, from, to, count))
GPUEMU_RUNTIME_FORWARD(cudaGraphRemoveDependencies,
                       (Graph graph, const GraphNode* from, const GraphNode* to, size_t count),
                       cuGraphRemoveDependencies, (graph, from, to, count))

GPUEMU_RUNTIME_FORWARD(cudaEventElapsedTime_v2, (float* milliseconds, Event from, Event to),
                       cuEventElapsedTime_v2, (milliseconds, from, to))

GPUEMU_RUNTIME_API int cudaDeviceReset();
GPUEMU_RUNTIME_API int cudaThreadExit() { return cudaDeviceReset(); }
GPUEMU_RUNTIME_FORWARD(cudaThreadSynchronize, (), cuCtxSynchronize, ())
GPUEMU_RUNTIME_FORWARD(cudaThreadSetLimit, (unsigned limit, size_t value), cuCtxSetLimit,
                       (limit, value))
GPUEMU_RUNTIME_FORWARD(cudaThreadGetLimit, (size_t* value, unsigned limit), cuCtxGetLimit,
                       (value, limit))
GPUEMU_RUNTIME_FORWARD(cudaThreadSetCacheConfig, (int config), cuCtxSetCacheConfig, (config))
GPUEMU_RUNTIME_FORWARD(cudaThreadGetCacheConfig, (int* config), cuCtxGetCacheConfig, (config))

/// Every device has doubles: there is nothing to convert.
GPUEMU_RUNTIME_API int cudaSetDoubleForDevice(double* value) {
  return finish(value == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
GPUEMU_RUNTIME_API int cudaSetDoubleForHost(double* value) {
  return finish(value == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

// Texture and surface references, which kernels of CUDA 12 cannot use. A program built by an older
// compiler registers them before main() begins; the report says that they have no effect.
GPUEMU_RUNTIME_API void __cudaRegisterTexture(void**, const void*, const void**, const char*, int,
                                              int, int) {
  (void)unsupported_call("__cudaRegisterTexture");
}
GPUEMU_RUNTIME_API void __cudaRegisterSurface(void**, const void*, const void**, const char*, int,
                                              int) {
  (void)unsupported_call("__cudaRegisterSurface");
}

}  // namespace gpuemu::libcudart
