// Changes what an instantiated graph does: parameters of nodes, nodes that are switched off, and
// the update from a second capture. An object of the program lives as long as a graph holds it.
#include "program.h"

__global__ void multiply(float* x, float by) { x[threadIdx.x] *= by; }  // fault

cudaGraph_t captured(cudaStream_t stream, float* x, float first, float second) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  multiply<<<1, 64, 0, stream>>>(x, first);
  cudaGraph_t so_far;
  const cudaGraphNode_t* last;
  size_t count;
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &so_far, &last, nullptr, &count));
  EXPECT(status == cudaStreamCaptureStatusActive && count == 1);
  multiply<<<1, 64, 0, stream>>>(x, second);
  CHECK(cudaStreamEndCapture(stream, &graph));
  EXPECT(graph == so_far);
  return graph;
}

float value(cudaGraphExec_t exec, cudaStream_t stream, float* x) {
  std::vector<float> host(64, 1.0f);
  CHECK(cudaMemcpy(x, host.data(), 64 * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host.data(), x, 64 * sizeof(float), cudaMemcpyDeviceToHost));
  return host[63];
}

void end_object(void* ended) { ++*static_cast<int*>(ended); }

void hold_object(cudaGraph_t graph) {
  int ended = 0;
  cudaUserObject_t object;
  cudaGraph_t copy;
  cudaGraphExec_t exec;
  CHECK(cudaUserObjectCreate(&object, &ended, end_object, 2, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphClone(&copy, graph));
  CHECK(cudaGraphRetainUserObject(copy, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaGraphRetainUserObject(copy, object, 1));
  CHECK(cudaGraphReleaseUserObject(copy, object, 1));
  EXPECT(cudaGraphReleaseUserObject(copy, object, 2) == cudaErrorInvalidValue);
  CHECK(cudaGraphInstantiate(&exec, copy, 0));
  CHECK(cudaUserObjectRelease(object, 1));
  CHECK(cudaGraphDestroy(copy));
  EXPECT(ended == 0);
  CHECK(cudaGraphExecDestroy(exec));
  EXPECT(ended == 1 && cudaUserObjectRelease(object, 1) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

int main() {
  float* x;
  CHECK(cudaMalloc(&x, 64 * sizeof(float)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph = captured(stream, x, 2, 3), other = captured(stream, x, 5, 7), copy;
  hold_object(graph);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT(value(exec, stream, x) == 6);

  cudaGraphNode_t nodes[2];
  size_t count = 2;
  CHECK(cudaGraphGetNodes(graph, nodes, &count));
  float by = 11;
  void* arguments[] = {&x, &by};
  cudaKernelNodeParams launch{};
  CHECK(cudaGraphKernelNodeGetParams(nodes[1], &launch));
  launch.kernelParams = arguments;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &launch));
  EXPECT(value(exec, stream, x) == 22);
  CHECK(cudaGraphNodeSetEnabled(exec, nodes[0], 0));
  EXPECT(value(exec, stream, x) == 11);
  CHECK(cudaGraphNodeSetEnabled(exec, nodes[0], 1));

  cudaGraphExecUpdateResultInfo result;
  CHECK(cudaGraphExecUpdate(exec, other, &result));
  EXPECT(result.result == cudaGraphExecUpdateSuccess && value(exec, stream, x) == 35);
  CHECK(cudaGraphClone(&copy, other));
  cudaGraphNode_t found;
  CHECK(cudaGraphGetNodes(other, nodes, &count));
  CHECK(cudaGraphNodeFindInClone(&found, nodes[1], copy));
  CHECK(cudaGraphDestroyNode(found));
  EXPECT(cudaGraphExecUpdate(exec, copy, &result) == cudaErrorGraphExecUpdateFailure);
  EXPECT(result.result == cudaGraphExecUpdateErrorTopologyChanged);
  (void)cudaGetLastError();

#ifdef FAULTY
  CHECK(cudaFree(x));
  CHECK(cudaGraphLaunch(exec, stream));
  (void)cudaStreamSynchronize(stream);
#else
  CHECK(cudaFree(x));
#endif
  CHECK(cudaGraphExecDestroy(exec));
  for (cudaGraph_t one : {graph, other, copy}) CHECK(cudaGraphDestroy(one));
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
