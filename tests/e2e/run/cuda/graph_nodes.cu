// Makes a graph node by node: fills, kernels, copies, a host function and a child graph.
#include "program.h"

__global__ void add(int* x, int what, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULTY
  if (i <= n) x[i] += what;  // fault
#else
  if (i < n) x[i] += what;
#endif
}

void CUDART_CB count(void* calls) { ++*static_cast<int*>(calls); }

int main() {
  int n = 96, calls = 0, *x, host[96];
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));

  cudaMemsetParams zeros{};
  zeros.dst = x;
  zeros.elementSize = 4;
  zeros.width = n;
  zeros.height = 1;
  cudaGraphNode_t fill, kernel, inner, nested, copy, told, join;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));

  int what = 2;
  void* arguments[] = {&x, &what, &n};
  cudaKernelNodeParams launch{};
  launch.func = reinterpret_cast<void*>(add);
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  what = 5;  // The node has a copy of its arguments.
  CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &launch));
  CHECK(cudaGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &nested, 1, host, x, sizeof host,
                                 cudaMemcpyDeviceToHost));
  cudaHostNodeParams function{count, &calls};
  CHECK(cudaGraphAddHostNode(&told, graph, &kernel, 1, &function));
  cudaGraphNode_t both[] = {copy, told};
  CHECK(cudaGraphAddEmptyNode(&join, graph, both, 2));

  size_t nodes = 0, edges = 0, roots = 1;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  cudaGraphNode_t root;
  CHECK(cudaGraphGetRootNodes(graph, &root, &roots));
  EXPECT(nodes == 6 && edges == 6 && roots == 1 && root == fill);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(nested, &type));
  EXPECT(type == cudaGraphNodeTypeGraph);
  cudaKernelNodeParams known{};
  CHECK(cudaGraphKernelNodeGetParams(kernel, &known));
  EXPECT(known.func == launch.func && known.blockDim.x == 128);
  EXPECT(*static_cast<int*>(known.kernelParams[1]) == 2);

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
#ifdef FAULTY
  (void)cudaStreamSynchronize(cudaStreamPerThread);
#endif
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT(calls == 3 && host[0] == 7 && host[95] == 7);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(x));
  return passed();
}
