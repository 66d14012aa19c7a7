/* The program itself reads and writes memory that work of streams uses: behind that work, or beside
 * it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "driver.h"

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data);
CUresult cuMemAllocHost_v2(void** memory, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void* memory);
CUresult cuEventQuery(CUevent event);
CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void* memory);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);

enum { N = 1000, BYTES = N * sizeof(float), GLOBAL = 1, NON_BLOCKING = 1 };

static CUfunction add, say, hear;
static CUdeviceptr a, b, c;
static CUstream one, two;
static CUevent event;
static float *managed, *pinned;
static float sum;

/* `say` writes x[0] and then tells it by x[1], `hear` waits for x[2]. */
static const char kSpeak[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry say(.param .u64 x) {\n  .reg .b64 %rd; ld.param.u64 %rd, [x];\n"
    "  st.global.u32 [%rd], 7; fence.acq_rel.sys; st.volatile.global.u32 [%rd+4], 1; ret;\n}\n"
    ".visible .entry hear(.param .u64 x) {\n  .reg .b64 %rd; .reg .b32 %r; .reg .pred %p; "
    "ld.param.u64 %rd, [x];\n"
    "AGAIN: ld.volatile.global.u32 %r, [%rd+8]; setp.eq.u32 %p, %r, 0; @%p bra AGAIN; ret;\n}\n";

static void launch(CUdeviceptr to, int n, CUstream stream) {
  void* arguments[] = {&a, &b, &to, &n};
  CHECK(cuLaunchKernel(add, 4, 1, 1, 250, 1, 1, 0, stream, arguments, NULL));
}

static void launch_speak(CUfunction function, CUstream stream) {
  CUdeviceptr to = (CUdeviceptr)managed;
  void* arguments[] = {&to};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void prepare(void) {
  CUcontext context = NULL;
  CUmodule module = NULL;
  float ones[N];
  for (int i = 0; i < N; ++i) ones[i] = 1;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuModuleLoadData(&module, kAdd));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuModuleLoadData(&module, kSpeak));
  CHECK(cuModuleGetFunction(&say, module, "say"));
  CHECK(cuModuleGetFunction(&hear, module, "hear"));
  CHECK(cuMemAlloc_v2(&a, BYTES));
  CHECK(cuMemAlloc_v2(&b, BYTES));
  CHECK(cuMemcpyHtoD_v2(a, ones, BYTES));
  CHECK(cuMemcpyHtoD_v2(b, ones, BYTES));
  CHECK(cuMemAllocManaged(&c, BYTES, GLOBAL));
  managed = (float*)c;
  CHECK(cuMemAllocHost_v2((void**)&pinned, BYTES));
  memset(managed, 0, BYTES);
  memset(pinned, 0, BYTES);
  CHECK(cuStreamCreate(&one, NON_BLOCKING));
  CHECK(cuStreamCreate(&two, NON_BLOCKING));
  CHECK(cuEventCreate(&event, 0));
}

static void read_pinned(void* ignored) {
  (void)ignored;
  sum += pinned[3];
}

static void leave(int signal) {
  (void)signal;
  puts("done");
  fflush(stdout);
  _Exit(0);
}

int main(int words_count, char** words) {
  const char* mode = words_count > 1 ? words[1] : "";
#define MODE(name) else if (strcmp(mode, name) == 0)
  prepare();
  if (mode[0] == '\0') return 2;
  MODE("managed read") {
    launch(c, N, one);
    sum = managed[3];
  }
  MODE("managed write") {
    launch(c, N, one);
    managed[3] = 1;
  }
  MODE("default stream") {
    launch(c, N, NULL);
    sum = managed[3];
  }
  MODE("pinned read") {
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, one));
    sum = pinned[3];
  }
  MODE("pinned write") {
    CHECK(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, one));
    memset(pinned, 1, BYTES);
  }
  MODE("wrong stream") {
    launch(c, N, one);
    CHECK(cuStreamSynchronize(two));
    sum = managed[3];
  }
  MODE("host function") {
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, one));
    CHECK(cuLaunchHostFunc(two, read_pinned, NULL));
  }
  MODE("graph") {
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CHECK(cuStreamBeginCapture_v2(one, 0));
    launch(c, N, one);
    CHECK(cuStreamEndCapture(one, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, one));
    sum = managed[3];
  }
  MODE("synchronized") {
    launch(c, N, one);
    CHECK(cuStreamSynchronize(one));
    sum = managed[3];
    CHECK(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, one));
    CHECK(cuCtxSynchronize());
    memset(pinned, 1, BYTES);
  }
  MODE("event") {
    launch(c, N, one);
    CHECK(cuEventRecord(event, one));
    CHECK(cuEventSynchronize(event));
    sum = managed[3];
  }
  MODE("query") {
    launch(c, N, one);
    CHECK(cuEventRecord(event, one));
    while (cuEventQuery(event) != 0) continue;
    sum = managed[3];
  }
  MODE("other bytes") { /* Of the same page. */
    launch(c, N / 2, one);
    managed[N / 2] = 1;
    sum = managed[N - 1];
  }
  MODE("system call") { /* It fills the rest of a page whose beginning a copy is still to read. */
    enum { LARGE = 3 * 4096, HALF = LARGE / 2 };
    char* staging = NULL;
    CUdeviceptr large = 0;
    int ends[2];
    CHECK(cuMemAllocHost_v2((void**)&staging, LARGE));
    CHECK(cuMemAlloc_v2(&large, LARGE));
    memset(staging, 0, LARGE);
    CHECK(cuMemcpyHtoDAsync_v2(large, staging, HALF, one));
    if (pipe(ends) != 0 || write(ends[1], "ab", 2) != 2 || read(ends[0], staging + HALF, 2) != 2)
      return 5;
    if (staging[HALF + 1] != 'b') return 6;
  }
  MODE("source") { /* Both only read. */
    CHECK(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, one));
    sum = pinned[3];
  }
  MODE("ordered function") {
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, one));
    CHECK(cuEventRecord(event, one));
    CHECK(cuStreamWaitEvent(two, event, 0));
    CHECK(cuLaunchHostFunc(two, read_pinned, NULL));
  }
  MODE("told") { /* The kernel says when the host may go on. */
    launch_speak(say, one);
    while (((volatile int*)managed)[1] == 0) continue;
    sum = managed[0];
  }
  MODE("telling") { /* The host says when the kernel may. */
    launch_speak(hear, one);
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, one));
    ((volatile int*)managed)[2] = 1;
  }
  MODE("freed") {
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, one));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemAllocHost_v2((void**)&pinned, BYTES));
    sum = pinned[3];
  }
  MODE("own handler") { /* A fault of the program's own is none of pages in use. */
    signal(SIGSEGV, leave);
    launch(c, N, one);
    volatile int* nowhere = (volatile int*)16;
    return *nowhere;
  }
  MODE("crash") {
    launch(c, N, one);
    volatile int* nowhere = (volatile int*)16;
    return *nowhere;
  }
  MODE("registered read") { /* Memory of the C library; the last page is not the kernel's alone. */
    enum { MANY = 4 * 4096 / sizeof(float) };
    float* own = NULL;
    if (posix_memalign((void**)&own, 4096, MANY * sizeof(float)) != 0) return 5;
    memset(own, 0, MANY * sizeof(float));
    CHECK(cuMemHostRegister_v2(own, MANY * sizeof(float), 0));
    CHECK(cuMemsetD32Async((CUdeviceptr)own, 7, MANY - 8, one));
    own[MANY - 1] = 2;
    sum = own[3];
    CHECK(cuCtxSynchronize());
    CHECK(cuMemHostUnregister(own));
    if (own[3] == 0) return 6;
    free(own);
  }
  MODE("device read") {
    launch(c, N, one);
    CHECK(cuCtxSynchronize());
    sum = ((float*)a)[3];
  }
  MODE("device write") { ((float*)b)[1] = 1; }
  MODE("device after free") {
    CHECK(cuMemFree_v2(b));
    ((float*)b)[1] = 1;
  }
  MODE("device handler") { /* The program's own, which it sets after memory was allocated. */
    signal(SIGSEGV, leave);
    launch(c, N, one);
    CHECK(cuCtxSynchronize());
    sum = ((float*)a)[3];
  }
  MODE("device system call") {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], (void*)a, 4) != -1) return 5;
  }
  MODE("no more data") { /* The system does not give back what the device's memory needs. */
    launch(c, N, one);
    CHECK(cuCtxSynchronize());
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0) return 5;
    limit.rlim_cur = 4096;
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return 5;
    CHECK(cuMemcpyDtoH_v2(&sum, a, sizeof sum));
  }
  else return 3;
  CHECK(cuCtxSynchronize());
  puts("done");
  return 0;
}
