/* Two kernels of a graph write the same memory: one behind the other, or in two branches. */
#include <string.h>

#include "driver.h"

typedef struct CUgraphNode_st* CUgraphNode;
typedef struct {
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  void** arguments;
  void** extra;
} KernelNode;

CUresult cuGraphCreate(CUgraph* graph, unsigned flags);
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                              size_t count, const KernelNode* what);

int main(int words_count, char** words) {
  const char* mode = words_count > 1 ? words[1] : "";
  CUcontext context = NULL;
  CUmodule module = NULL;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode first = NULL, second = NULL;
  CUdeviceptr a = 0, c = 0;
  int n = 250;
  float zeros[500] = {0};
  CHECK(cuInit(0));
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuMemAlloc_v2(&a, sizeof zeros));
  CHECK(cuMemAlloc_v2(&c, sizeof zeros));
  CHECK(cuMemcpyHtoD_v2(a, zeros, sizeof zeros));
  KernelNode what = {NULL, {1, 1, 1}, {250, 1, 1}, 0, NULL, NULL};
  CHECK(cuModuleLoadData(&module, kAdd));
  CHECK(cuModuleGetFunction(&what.function, module, "add"));
  CUdeviceptr other = strcmp(mode, "halves") == 0 ? c + sizeof zeros / 2 : c;
  void* arguments[] = {&a, &a, &c, &n};
  void* others[] = {&a, &a, &other, &n};
  CHECK(cuGraphCreate(&graph, 0));
  what.arguments = arguments;
  CHECK(cuGraphAddKernelNode(&first, graph, NULL, 0, &what));
  what.arguments = others;
  CHECK(cuGraphAddKernelNode(&second, graph, &first, strcmp(mode, "chain") == 0, &what));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cuGraphLaunch(exec, NULL));
  CHECK(cuCtxSynchronize());
  puts("done");
  return 0;
}
