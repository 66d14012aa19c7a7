// Implements cudaStream*, cudaEvent* and cudaLaunchHostFunc.
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {

// NOLINTBEGIN(google-runtime-int): types are those of the runtime API.
GPUEMU_RUNTIME_FORWARD(cudaStreamCreate, (Stream * stream), cuStreamCreate, (stream, 0))
GPUEMU_RUNTIME_FORWARD(cudaStreamCreateWithFlags, (Stream * stream, unsigned flags), cuStreamCreate,
                       (stream, flags))
GPUEMU_RUNTIME_FORWARD(cudaStreamCreateWithPriority,
                       (Stream * stream, unsigned flags, int priority), cuStreamCreateWithPriority,
                       (stream, flags, priority))
GPUEMU_RUNTIME_FORWARD(cudaStreamDestroy, (Stream stream), cuStreamDestroy_v2, (stream))
GPUEMU_RUNTIME_FORWARD(cudaStreamQuery, (Stream stream), cuStreamQuery, (stream))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamQuery, cudaStreamQuery_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamSynchronize, (Stream stream), cuStreamSynchronize, (stream))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamSynchronize, cudaStreamSynchronize_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamWaitEvent, (Stream stream, Event event, unsigned flags),
                       cuStreamWaitEvent, (stream, event, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamGetPriority, (Stream stream, int* priority), cuStreamGetPriority,
                       (stream, priority))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetPriority, cudaStreamGetPriority_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamGetFlags, (Stream stream, unsigned* flags), cuStreamGetFlags,
                       (stream, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetFlags, cudaStreamGetFlags_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamGetId, (Stream stream, unsigned long long* id), cuStreamGetId,
                       (stream, id))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetId, cudaStreamGetId_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamGetDevice, (Stream stream, int* device), cuStreamGetDevice,
                       (stream, device))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetDevice, cudaStreamGetDevice_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamAddCallback,
                       (Stream stream, void (*callback)(Stream, int, void*), void* data,
                        unsigned flags),
                       cuStreamAddCallback, (stream, callback, data, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamAddCallback, cudaStreamAddCallback_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaLaunchHostFunc, (Stream stream, void (*function)(void*), void* data),
                       cuLaunchHostFunc, (stream, function, data))
GPUEMU_RUNTIME_PER_THREAD(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaStreamSetAttribute, (Stream stream, int attribute, const void* value),
                       cuStreamSetAttribute, (stream, attribute, value))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamSetAttribute, cudaStreamSetAttribute_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamGetAttribute, (Stream stream, int attribute, void* value),
                       cuStreamGetAttribute, (stream, attribute, value))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamGetAttribute, cudaStreamGetAttribute_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamCopyAttributes, (Stream to, Stream from), cuStreamCopyAttributes,
                       (to, from))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamCopyAttributes, cudaStreamCopyAttributes_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamAttachMemAsync,
                       (Stream stream, void* memory, size_t bytes, unsigned flags),
                       cuStreamAttachMemAsync,
                       (stream, reinterpret_cast<Address>(memory), bytes, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaStreamBeginCapture, (Stream stream, int mode), cuStreamBeginCapture_v2,
                       (stream, mode))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamEndCapture, (Stream stream, Graph* graph), cuStreamEndCapture,
                       (stream, graph))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamEndCapture, cudaStreamEndCapture_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaStreamIsCapturing, (Stream stream, int* status), cuStreamIsCapturing,
                       (stream, status))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz)
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaStreamGetCaptureInfo, 3),
                       (Stream stream, int* status, uint64_t* id, Graph* graph,
                        const GraphNode** nodes, const libcuda::EdgeData** edges, size_t* count),
                       cuStreamGetCaptureInfo_v3, (stream, status, id, graph, nodes, edges, count))
GPUEMU_RUNTIME_PER_THREAD(GPUEMU_LATER(cudaStreamGetCaptureInfo, 3),
                          GPUEMU_LATER_PER_THREAD(cudaStreamGetCaptureInfo, 3))
GPUEMU_RUNTIME_FORWARD(cudaStreamBeginCaptureToGraph,
                       (Stream stream, Graph graph, const GraphNode* nodes,
                        const libcuda::EdgeData* edges, size_t count, int mode),
                       cuStreamBeginCaptureToGraph, (stream, graph, nodes, edges, count, mode))
GPUEMU_RUNTIME_PER_THREAD(cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz)
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaStreamUpdateCaptureDependencies, 2),
                       (Stream stream, GraphNode* nodes, const libcuda::EdgeData* edges,
                        size_t count, unsigned flags),
                       cuStreamUpdateCaptureDependencies_v2, (stream, nodes, edges, count, flags))
GPUEMU_RUNTIME_PER_THREAD(GPUEMU_LATER(cudaStreamUpdateCaptureDependencies, 2),
                          GPUEMU_LATER_PER_THREAD(cudaStreamUpdateCaptureDependencies, 2))
GPUEMU_RUNTIME_FORWARD(cudaThreadExchangeStreamCaptureMode, (int* mode),
                       cuThreadExchangeStreamCaptureMode, (mode))

GPUEMU_RUNTIME_FORWARD(cudaEventCreate, (Event * event), cuEventCreate, (event, 0))
GPUEMU_RUNTIME_FORWARD(cudaEventCreateWithFlags, (Event * event, unsigned flags), cuEventCreate,
                       (event, flags))
GPUEMU_RUNTIME_FORWARD(cudaEventRecord, (Event event, Stream stream), cuEventRecord,
                       (event, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaEventRecord, cudaEventRecord_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaEventRecordWithFlags, (Event event, Stream stream, unsigned flags),
                       cuEventRecordWithFlags, (event, stream, flags))
GPUEMU_RUNTIME_PER_THREAD(cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaEventQuery, (Event event), cuEventQuery, (event))
GPUEMU_RUNTIME_FORWARD(cudaEventSynchronize, (Event event), cuEventSynchronize, (event))
GPUEMU_RUNTIME_FORWARD(cudaEventDestroy, (Event event), cuEventDestroy_v2, (event))
GPUEMU_RUNTIME_FORWARD(cudaEventElapsedTime, (float* milliseconds, Event from, Event to),
                       cuEventElapsedTime_v2, (milliseconds, from, to))
// NOLINTEND(google-runtime-int)

}  // namespace gpuemu::libcudart
