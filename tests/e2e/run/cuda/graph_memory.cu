// A graph whose nodes allocate and free memory: made node by node, and from a captured stream.
#include <cstdint>

#include "program.h"

__global__ void fill(int* x, int value) { x[threadIdx.x] = value + static_cast<int>(threadIdx.x); }
__global__ void add(const int* x, int* sum) { atomicAdd(sum, x[threadIdx.x]); }

cudaGraphNode_t kernel_node(cudaGraph_t graph, cudaGraphNode_t after, void* function,
                            void** arguments) {
  cudaKernelNodeParams launch{};
  launch.func = function;
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(32);
  launch.kernelParams = arguments;
  cudaGraphNode_t made;
  CHECK(cudaGraphAddKernelNode(&made, graph, &after, 1, &launch));
  return made;
}

uint64_t used() {
  uint64_t bytes = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
  return bytes;
}

cudaMemAllocNodeParams memory_of(size_t bytes) {
  cudaMemAllocNodeParams memory{};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location = {cudaMemLocationTypeDevice, 0};
  memory.bytesize = bytes;
  return memory;
}

void node_by_node(int* sum) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams memory = memory_of(128);
  cudaGraphNode_t alloc, freed;
  CHECK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &memory));
  auto* x = static_cast<int*>(memory.dptr);
  int value = 1;
  void* filled[] = {&x, &value};
  void* added[] = {&x, &sum};
  cudaGraphNode_t last = kernel_node(graph, alloc, reinterpret_cast<void*>(fill), filled);
  last = kernel_node(graph, last, reinterpret_cast<void*>(add), added);
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &last, 1, x));
  cudaGraphNode_t again;
  EXPECT(cudaGraphAddMemFreeNode(&again, graph, &last, 1, x) == cudaErrorInvalidValue);
  EXPECT(cudaGraphAddMemFreeNode(&again, graph, &last, 1, sum) == cudaErrorInvalidValue);

  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(alloc, &type));
  EXPECT(type == cudaGraphNodeTypeMemAlloc);
  cudaMemAllocNodeParams told{};
  CHECK(cudaGraphMemAllocNodeGetParams(alloc, &told));
  EXPECT(told.dptr == x && told.bytesize == 128);
  void* address = nullptr;
  CHECK(cudaGraphMemFreeNodeGetParams(freed, &address));
  EXPECT(address == x);

  cudaGraphExec_t exec, second;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT(cudaGraphInstantiate(&second, graph, 0) != cudaSuccess);
  cudaGraph_t copy;
  EXPECT(cudaGraphClone(&copy, graph) != cudaSuccess);
  EXPECT(cudaGraphDestroyNode(freed) != cudaSuccess);
  CHECK(cudaMemset(sum, 0, sizeof(int)));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  int host = 0;
  CHECK(cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host == 3 * (32 * 31 / 2 + 32));
  EXPECT(used() == 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// A launch gets all of its memory or none.
void more_than_there_is() {
  size_t free_bytes, all_bytes;
  CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  for (const size_t bytes : {size_t{128}, all_bytes + 1}) {
    cudaMemAllocNodeParams memory = memory_of(bytes);
    cudaGraphNode_t alloc, freed;
    CHECK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &memory));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &alloc, 1, memory.dptr));
  }
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    EXPECT(cudaGraphLaunch(exec, cudaStreamPerThread) == cudaErrorMemoryAllocation);
    EXPECT(used() == 0);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// A launch that cannot begin leaves no memory behind.
void wait_for_an_event_that_is_gone() {
  cudaGraph_t graph;
  cudaEvent_t gone, event;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaEventCreate(&gone));
  CHECK(cudaEventCreate(&event));
  cudaGraphNode_t wait, alloc, freed;
  CHECK(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, gone));
  cudaMemAllocNodeParams memory = memory_of(128);
  CHECK(cudaGraphAddMemAllocNode(&alloc, graph, &wait, 1, &memory));
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &alloc, 1, memory.dptr));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaEventDestroy(gone));
  EXPECT(cudaGraphLaunch(exec, cudaStreamPerThread) != cudaSuccess);
  EXPECT(used() == 0);
  CHECK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, event));
  CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT(used() == 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(event));
}

// The memory outlives the graph's work until the program frees it.
void from_a_capture(unsigned flags) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  int *x, *scratch, host[32];
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&x, sizeof host, stream));
  CHECK(cudaMallocAsync(&scratch, sizeof host, stream));
  fill<<<1, 32, 0, stream>>>(scratch, 7);
  CHECK(cudaMemcpyAsync(x, scratch, sizeof host, cudaMemcpyDefault, stream));
  // A stream that joined the capture may go before it ends.
  cudaStream_t other;
  cudaEvent_t copied, freed;
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreate(&copied));
  CHECK(cudaEventCreate(&freed));
  CHECK(cudaEventRecord(copied, stream));
  CHECK(cudaStreamWaitEvent(other, copied, 0));
  CHECK(cudaFreeAsync(scratch, other));
  CHECK(cudaEventRecord(freed, other));
  CHECK(cudaStreamWaitEvent(stream, freed, 0));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaEventDestroy(copied));
  CHECK(cudaEventDestroy(freed));
  EXPECT(cudaStreamEndCapture(stream, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, flags));
  CHECK(cudaGraphLaunch(exec, stream));
  EXPECT(used() == sizeof host);
  const bool frees_itself = flags == cudaGraphInstantiateFlagAutoFreeOnLaunch;
  EXPECT(cudaGraphLaunch(exec, stream) == (frees_itself ? cudaSuccess : cudaErrorInvalidValue));
  CHECK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
#ifdef FAULTY
  CHECK(cudaMemcpyAsync(host, scratch, sizeof host, cudaMemcpyDeviceToHost, stream));  // fault
#endif
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(host[0] == 7 && host[31] == 38 && used() == 0);
  uint64_t high = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &high));
  EXPECT(high == 2 * sizeof host);
  CHECK(cudaDeviceGraphMemTrim(0));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  int* sum;
  CHECK(cudaMalloc(&sum, sizeof(int)));
  node_by_node(sum);
  more_than_there_is();
  wait_for_an_event_that_is_gone();
  from_a_capture(0);
  from_a_capture(cudaGraphInstantiateFlagAutoFreeOnLaunch);
  CHECK(cudaFree(sum));
  return passed();
}
