// Captures work of a stream into a graph and launches it several times.
#include "program.h"

__global__ void increment(int* x) { x[threadIdx.x] += 1; }

int main() {
  int* x;
  CHECK(cudaMalloc(&x, 32 * sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(x, 0, 32 * sizeof(int), stream));
  for (int i = 0; i < 3; ++i) increment<<<1, 32, 0, stream>>>(x);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t work;
  CHECK(cudaGraphInstantiate(&work, graph, 0));
  int values[32];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaGraphLaunch(work, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT(values[31] == 3);
  }
  CHECK(cudaGraphExecDestroy(work));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(x));
  return passed();
}
