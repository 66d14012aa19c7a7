// Captures two streams that fork from one and join it again, and an event of the graph.
#include "program.h"

__global__ void set(int* x, int value) { x[threadIdx.x] = value; }
__global__ void sum(const int* a, const int* b, int* c) {
  int i = threadIdx.x;
#ifdef FAULTY
  i += c[i] != 0;  // fault
#endif
  c[i] = a[i] + b[i];
}

int main() {
  const int n = 64;
  int *a, *b, *c;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMalloc(&c, (n + 1) * sizeof(int)));
  cudaStream_t main_stream, side;
  CHECK(cudaStreamCreate(&main_stream));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t fork, join, done;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  set<<<1, n, 0, main_stream>>>(a, 4);
  set<<<1, n, 0, side>>>(b, 5);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
  sum<<<1, n, 0, main_stream>>>(a, b, c);
  CHECK(cudaEventRecordWithFlags(done, main_stream, cudaEventRecordExternal));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(main_stream, &graph));
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  size_t nodes = 0, edges = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT(nodes == 4 && edges == 3);

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, main_stream));
  CHECK(cudaEventSynchronize(done));
  std::vector<int> host(n);
  CHECK(cudaMemcpy(host.data(), c, n * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 9 && host[n - 1] == 9);

  // A stream that does not join makes the capture fail.
  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  set<<<1, n, 0, side>>>(b, 5);
  cudaGraph_t lost;
  EXPECT(cudaStreamEndCapture(main_stream, &lost) == cudaErrorStreamCaptureUnjoined);
  // So does work of the default stream, which would have to wait for the captured one.
  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaGraphLaunch(exec, 0) == cudaErrorStreamCaptureImplicit);
  EXPECT(cudaStreamEndCapture(main_stream, &lost) == cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();

  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  for (cudaEvent_t one : {fork, join, done}) CHECK(cudaEventDestroy(one));
  CHECK(cudaStreamDestroy(main_stream));
  CHECK(cudaStreamDestroy(side));
  for (int* one : {a, b, c}) CHECK(cudaFree(one));
  return passed();
}
