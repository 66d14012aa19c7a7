// Declares the functions of the driver API that the runtime library calls.
#pragma once

#include "bindings/libcudart/abi.h"

extern "C" {
// NOLINTBEGIN(google-runtime-int): types are those of the driver's interface.
using gpuemu::libcudart::Address;
using gpuemu::libcudart::ArrayHandle;
using gpuemu::libcudart::Context;
using gpuemu::libcudart::Event;
using gpuemu::libcudart::Function;
using gpuemu::libcudart::Graph;
using gpuemu::libcudart::GraphExec;
using gpuemu::libcudart::GraphNode;
using gpuemu::libcudart::Kernel;
using gpuemu::libcudart::Library;
using gpuemu::libcudart::Linker;
using gpuemu::libcudart::Pool;
using gpuemu::libcudart::Stream;

int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuGetErrorString(int code, const char** text);
int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                        int* status);
int cuGetProcAddress_v2_ptsz(const char* name, void** function, int version, uint64_t flags,
                             int* status);
int cuProfilerStart();
int cuProfilerStop();

int cuDeviceGetCount(int* count);
int cuDeviceGetName(char* name, int bytes, int device);
int cuDeviceGetUuid_v2(gpuemu::libcuda::Uuid* uuid, int device);
int cuDeviceTotalMem_v2(size_t* bytes, int device);
int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceGetPCIBusId(char* id, int bytes, int device);
int cuDeviceGetByPCIBusId(int* device, const char* id);
int cuDeviceCanAccessPeer(int* can, int device, int peer);
int cuDeviceGetP2PAttribute(int* value, int attribute, int from, int to);
int cuDevicePrimaryCtxRetain(Context* context, int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);
int cuCtxSetCurrent(Context context);
int cuCtxGetCurrent(Context* context);
int cuCtxGetDevice(int* device);
int cuCtxSynchronize();
int cuCtxGetLimit(size_t* value, unsigned limit);
int cuCtxSetLimit(unsigned limit, size_t value);
int cuCtxGetCacheConfig(int* config);
int cuCtxSetCacheConfig(int config);
int cuCtxGetStreamPriorityRange(int* least, int* greatest);
int cuCtxEnablePeerAccess(Context peer, unsigned flags);
int cuCtxDisablePeerAccess(Context peer);
int cuCtxResetPersistingL2Cache();

int cuLibraryLoadData(Library* library, const void* code, const int* options, void* const* values,
                      unsigned count, const int* library_options, void* const* library_values,
                      unsigned library_count);
int cuLibraryLoadFromFile(Library* library, const char* path, const int* options,
                          void* const* values, unsigned count, const int* library_options,
                          void* const* library_values, unsigned library_count);
int cuLibraryUnload(Library library);
int cuLibraryGetKernel(Kernel* kernel, Library library, const char* name);
int cuLibraryGetKernelCount(unsigned* count, Library library);
int cuLibraryEnumerateKernels(Kernel* kernels, unsigned count, Library library);
int cuLibraryGetGlobal(Address* address, size_t* bytes, Library library, const char* name);
int cuLibraryGetManaged(Address* address, size_t* bytes, Library library, const char* name);
int cuKernelGetName(const char** name, Kernel kernel);
int cuKernelGetFunction(Function* function, Kernel kernel);
int cuKernelSetAttribute(int attribute, int value, Kernel kernel, int device);
int cuLinkCreate_v2(unsigned count, int* options, void** values, Linker* linker);
int cuLinkComplete(Linker linker, void** image, size_t* bytes);
int cuLinkDestroy(Linker linker);
int cuFuncGetAttribute(int* value, int attribute, Function function);
int cuFuncSetAttribute(Function function, int attribute, int value);
int cuFuncSetCacheConfig(Function function, int config);
int cuFuncGetParamInfo(Function function, size_t index, size_t* offset, size_t* bytes);

int cuMemGetInfo_v2(size_t* free, size_t* total);
int cuMemAlloc_v2(Address* address, size_t bytes);
int cuMemAllocPitch_v2(Address* address, size_t* pitch, size_t width_bytes, size_t height,
                       unsigned element_bytes);
int cuMemFree_v2(Address address);
int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags);
int cuMemFreeHost(void* memory);
int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned flags);
int cuMemHostGetFlags(unsigned* flags, void* memory);
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemAllocManaged(Address* address, size_t bytes, unsigned flags);
int cuMemPrefetchAsync_v2(Address address, size_t bytes, gpuemu::libcuda::Location location,
                          unsigned flags, Stream stream);
int cuMemAdvise_v2(Address address, size_t bytes, int advice, gpuemu::libcuda::Location location);
int cuMemRangeGetAttribute(void* data, size_t data_bytes, int attribute, Address address,
                           size_t bytes);
int cuMemRangeGetAttributes(void** data, size_t* data_bytes, int* attributes, size_t count,
                            Address address, size_t bytes);
int cuPointerGetAttribute(void* data, int attribute, Address address);
int cuMemcpy(Address to, Address from, size_t bytes);
int cuMemcpyAsync(Address to, Address from, size_t bytes, Stream stream);
int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes);
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream);
int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes);
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream);
int cuMemcpyDtoD_v2(Address to, Address from, size_t bytes);
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream);
int cuMemcpyPeer(Address to, Context to_context, Address from, Context from_context, size_t bytes);
int cuMemcpyPeerAsync(Address to, Context to_context, Address from, Context from_context,
                      size_t bytes, Stream stream);
int cuMemcpy2DUnaligned_v2(const gpuemu::libcuda::Copy2d* what);
int cuMemcpy2DAsync_v2(const gpuemu::libcuda::Copy2d* what, Stream stream);
int cuMemcpy3D_v2(const gpuemu::libcuda::Copy3d* what);
int cuMemcpy3DAsync_v2(const gpuemu::libcuda::Copy3d* what, Stream stream);
int cuArray3DCreate_v2(ArrayHandle* array, const gpuemu::libcuda::ArrayDescription* what);
int cuArrayDestroy(ArrayHandle array);
int cuArray3DGetDescriptor_v2(gpuemu::libcuda::ArrayDescription* told, ArrayHandle array);
int cuTexObjectCreate(uint64_t* texture, const gpuemu::libcuda::ResourceDescription* resource,
                      const gpuemu::libcuda::TextureDescription* reading,
                      const gpuemu::libcuda::ViewDescription* view);
int cuTexObjectDestroy(uint64_t texture);
int cuTexObjectGetResourceDesc(gpuemu::libcuda::ResourceDescription* told, uint64_t texture);
int cuTexObjectGetTextureDesc(gpuemu::libcuda::TextureDescription* told, uint64_t texture);
int cuTexObjectGetResourceViewDesc(gpuemu::libcuda::ViewDescription* told, uint64_t texture);
int cuMipmappedArrayCreate(gpuemu::libcuda::MipmapHandle* mipmap,
                           const gpuemu::libcuda::ArrayDescription* what, unsigned levels);
int cuMipmappedArrayGetLevel(ArrayHandle* array, gpuemu::libcuda::MipmapHandle mipmap,
                             unsigned level);
int cuMipmappedArrayDestroy(gpuemu::libcuda::MipmapHandle mipmap);
int cuSurfObjectCreate(uint64_t* surface, const gpuemu::libcuda::ResourceDescription* resource);
int cuSurfObjectDestroy(uint64_t surface);
int cuSurfObjectGetResourceDesc(gpuemu::libcuda::ResourceDescription* told, uint64_t surface);
int cuMemcpy3DPeer(const gpuemu::libcuda::Copy3d* what);
int cuMemcpy3DPeerAsync(const gpuemu::libcuda::Copy3d* what, Stream stream);
int cuMemsetD8_v2(Address address, unsigned char value, size_t count);
int cuMemsetD8Async(Address address, unsigned char value, size_t count, Stream stream);
int cuMemsetD2D8_v2(Address address, size_t pitch, unsigned char value, size_t width,
                    size_t height);
int cuMemsetD2D8Async(Address address, size_t pitch, unsigned char value, size_t width,
                      size_t height, Stream stream);

int cuMemAllocAsync(Address* address, size_t bytes, Stream stream);
int cuMemAllocFromPoolAsync(Address* address, size_t bytes, Pool pool, Stream stream);
int cuMemFreeAsync(Address address, Stream stream);
int cuMemPoolCreate(Pool* pool, const gpuemu::libcuda::PoolProperties* properties);
int cuMemPoolDestroy(Pool pool);
int cuMemPoolSetAttribute(Pool pool, int attribute, void* value);
int cuMemPoolGetAttribute(Pool pool, int attribute, void* value);
int cuMemPoolTrimTo(Pool pool, size_t bytes);
int cuMemPoolSetAccess(Pool pool, const gpuemu::libcuda::AccessDescription* all, size_t count);
int cuMemPoolGetAccess(int* flags, Pool pool, const gpuemu::libcuda::Location* location);
int cuMemGetDefaultMemPool(Pool* pool, const gpuemu::libcuda::Location* location, int type);
int cuMemGetMemPool(Pool* pool, const gpuemu::libcuda::Location* location, int type);
int cuMemSetMemPool(const gpuemu::libcuda::Location* location, int type, Pool pool);
int cuDeviceGetDefaultMemPool(Pool* pool, int device);
int cuDeviceGetMemPool(Pool* pool, int device);
int cuDeviceSetMemPool(int device, Pool pool);

int cuStreamCreate(Stream* stream, unsigned flags);
int cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority);
int cuStreamDestroy_v2(Stream stream);
int cuStreamQuery(Stream stream);
int cuStreamSynchronize(Stream stream);
int cuStreamWaitEvent(Stream stream, Event event, unsigned flags);
int cuStreamGetPriority(Stream stream, int* priority);
int cuStreamGetFlags(Stream stream, unsigned* flags);
int cuStreamGetId(Stream stream, unsigned long long* id);
int cuStreamGetDevice(Stream stream, int* device);
int cuStreamAddCallback(Stream stream, void (*callback)(Stream, int, void*), void* data,
                        unsigned flags);
int cuStreamSetAttribute(Stream stream, int attribute, const void* value);
int cuStreamGetAttribute(Stream stream, int attribute, void* value);
int cuStreamCopyAttributes(Stream to, Stream from);
int cuStreamAttachMemAsync(Stream stream, Address address, size_t bytes, unsigned flags);
int cuLaunchHostFunc(Stream stream, void (*function)(void*), void* data);
int cuStreamIsCapturing(Stream stream, int* status);
int cuStreamGetCaptureInfo_v3(Stream stream, int* status, uint64_t* id, Graph* graph,
                              const GraphNode** nodes, const gpuemu::libcuda::EdgeData** edges,
                              size_t* count);
int cuStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* nodes,
                                const gpuemu::libcuda::EdgeData* edges, size_t count, int mode);
int cuStreamUpdateCaptureDependencies_v2(Stream stream, GraphNode* nodes,
                                         const gpuemu::libcuda::EdgeData* edges, size_t count,
                                         unsigned flags);
int cuStreamBeginCapture_v2(Stream stream, int mode);
int cuStreamEndCapture(Stream stream, Graph* graph);
int cuThreadExchangeStreamCaptureMode(int* mode);
int cuEventCreate(Event* event, unsigned flags);
int cuEventRecord(Event event, Stream stream);
int cuEventRecordWithFlags(Event event, Stream stream, unsigned flags);
int cuEventQuery(Event event);
int cuEventSynchronize(Event event);
int cuEventDestroy_v2(Event event);
int cuEventElapsedTime_v2(float* milliseconds, Event from, Event to);

int cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Stream stream, void** arguments, void** extra);
int cuLaunchKernelEx(const gpuemu::libcuda::LaunchParameters* what, Function function,
                     void** arguments, void** extra);
int cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, Stream stream, void** arguments);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function function,
                                                         int threads, size_t dynamic_shared_bytes,
                                                         unsigned flags);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, Function function, int blocks,
                                            int threads);
int cuOccupancyMaxPotentialClusterSize(int* blocks, Function function,
                                       const gpuemu::libcuda::LaunchParameters* what);
int cuOccupancyMaxActiveClusters(int* clusters, Function function,
                                 const gpuemu::libcuda::LaunchParameters* what);
// NOLINTEND(google-runtime-int)
}
