/* Adds two vectors of 1000 floats, right or wrong in one of the ways that main() lists. */
#include "driver.h"
#include <string.h>

enum { N = 1000, THREADS = 256 };

static CUfunction add;
static CUdeviceptr a, b, c;
static float host[N];

static CUresult launch(int n, CUstream stream) {
  void* arguments[] = {&a, &b, &c, &n};
  return cuLaunchKernel(add, (unsigned)(n + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, stream, arguments, NULL);
}

static CUdeviceptr make(void) {
  CUdeviceptr made = 0;
  CHECK(cuMemAlloc_v2(&made, sizeof host));
  CHECK(cuMemcpyHtoD_v2(made, host, sizeof host));
  return made;
}

static void prepare(void) {
  CUcontext context = NULL;
  CUmodule module = NULL;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuModuleLoadData(&module, kAdd));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  for (int i = 0; i < N; ++i) host[i] = (float)i;
  a = make();
  b = make();
  c = make();
}

static int count_wrong(void) {
  int wrong = 0;
  CHECK(cuMemcpyDtoH_v2(host, c, sizeof host));
  for (int i = 0; i < N; ++i) wrong += host[i] != 2.0f * (float)i;
  return wrong;
}

static int right(void) {
  CHECK(launch(N, NULL));
  printf("%d wrong\n", count_wrong());
  CHECK(cuMemFree_v2(a));
  CHECK(cuMemFree_v2(b));
  CHECK(cuMemFree_v2(c));
  return 0;
}

/* The kernel reads and writes 24 elements past the end. */
static int outside(void) {
  CHECK(launch(N + 24, NULL));
  const int first = cuCtxSynchronize();
  printf("synchronize gives %d, then %d\n", first, cuCtxSynchronize());
  printf("%d wrong\n", count_wrong());
  return 0;
}

/* Calls the driver once more after the fault was returned. */
static int later(void) {
  CHECK(launch(N + 24, NULL));
  cuCtxSynchronize();
  printf("allocate gives %d\n", cuMemAlloc_v2(&a, sizeof host));
  return 0;
}

static int twice(void) {
  CHECK(cuMemFree_v2(a));
  printf("free gives %d\n", cuMemFree_v2(a));
  return 0;
}

static int in_stream(void) {
  CUstream stream = NULL;
  CUevent from = NULL, to = NULL;
  float milliseconds = -1;
  CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuEventCreate(&from, 0));
  CHECK(cuEventCreate(&to, 0));
  CHECK(cuEventRecord(from, stream));
  CHECK(launch(N, stream));
  CHECK(cuEventRecord(to, stream));
  CHECK(cuEventSynchronize(to));
  CHECK(cuEventElapsedTime(&milliseconds, from, to));
  printf("%d wrong, took time: %d\n", count_wrong(), milliseconds >= 0);
  return 0;
}

static int in_graph(void) {
  CUstream stream = NULL;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuStreamBeginCapture_v2(stream, 0));
  CHECK(launch(N, stream));
  printf("synchronize while capturing gives %d\n", cuStreamSynchronize(stream));
  printf("end gives %d\n", cuStreamEndCapture(stream, &graph));
  CHECK(cuStreamBeginCapture_v2(stream, 0));
  CHECK(launch(N, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  printf("%d wrong\n", count_wrong());
  return 0;
}

static int wrong_calls(void) {
  CUfunction none = NULL;
  char handle[64];
  printf("block %d\n", cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL));
  printf("grid %d\n", cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  printf("handle %d\n", cuLaunchKernel((CUfunction)&none, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  printf("name %d\n", cuModuleGetFunction(&none, NULL, "add"));
  printf("copy %d\n", cuMemcpyDtoH_v2(host, a, sizeof host + 4));
  printf("ipc %d\n", cuIpcGetMemHandle(handle, a));
  printf("ipc %d\n", cuIpcGetMemHandle(handle, a));
  return 0;
}

static int many(void) {
  for (int i = 0; i < 1000; ++i) CHECK(launch(N, NULL));
  CHECK(cuCtxSynchronize());
  return 0;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "right";
  if (strcmp(mode, "too_early") == 0) {
    printf("before cuInit %d\n", cuMemAlloc_v2(&a, 4));
    CHECK(cuInit(0));
    printf("without context %d\n", cuMemAlloc_v2(&a, 4));
    return 0;
  }
  prepare();
  if (strcmp(mode, "outside") == 0) return outside();
  if (strcmp(mode, "later") == 0) return later();
  if (strcmp(mode, "twice") == 0) return twice();
  if (strcmp(mode, "stream") == 0) return in_stream();
  if (strcmp(mode, "graph") == 0) return in_graph();
  if (strcmp(mode, "wrong") == 0) return wrong_calls();
  if (strcmp(mode, "many") == 0) return many();
  if (strcmp(mode, "crash") == 0) {
    launch(N + 24, NULL);
    cuCtxSynchronize();
    abort();
  }
  if (strcmp(mode, "seven") == 0) return 7;
  return right();
}
