/* Work of two streams on the same memory: with an order between the two, or without one. */
#include "driver.h"
#include <string.h>

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data);
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream);
CUresult cuMemAllocHost_v2(void** memory, size_t bytes);
CUresult cuStreamQuery(CUstream stream);

enum { N = 1000, THREADS = 250, BYTES = N * sizeof(float), NON_BLOCKING = 1 };

static CUfunction add, count;
static CUdeviceptr a, b, c, d;
static CUstream one, two;
static CUevent event;
static float host[N];

static const char kCount[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count(.param .u64 x) {\n"
    "  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [x];\n  red.global.add.u32 [%rd1], 1;\n  ret;\n}\n";

/* to[i] = a[i] + b[i] for `n` elements. */
static void launch(CUdeviceptr to, int n, CUstream stream) {
  void* arguments[] = {&a, &b, &to, &n};
  CHECK(cuLaunchKernel(add, 4, 1, 1, THREADS, 1, 1, 0, stream, arguments, NULL));
}

static void launch_count(CUstream stream) {
  void* arguments[] = {&c};
  CHECK(cuLaunchKernel(count, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
}

static CUdeviceptr make(void) {
  CUdeviceptr made = 0;
  CHECK(cuMemAlloc_v2(&made, BYTES));
  CHECK(cuMemcpyHtoD_v2(made, host, BYTES));
  return made;
}

static void prepare(unsigned flags) {
  CUcontext context = NULL;
  CUmodule module = NULL;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuModuleLoadData(&module, kAdd));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuModuleLoadData(&module, kCount));
  CHECK(cuModuleGetFunction(&count, module, "count"));
  a = make(), b = make(), c = make(), d = make();
  CHECK(cuStreamCreate(&one, flags));
  CHECK(cuStreamCreate(&two, flags));
  CHECK(cuEventCreate(&event, 0));
}

static void* pinned(void) {
  void* made = NULL;
  CHECK(cuMemAllocHost_v2(&made, BYTES));
  return made;
}

static volatile int said;
static void say(void* nothing) {
  (void)nothing;
  said = 1;
}

int main(int words_count, char** words) {
  const char* mode = words_count > 1 ? words[1] : "";
#define MODE(name) else if (strcmp(mode, name) == 0)
  prepare(strncmp(mode, "blocking", 8) == 0 ? 0 : NON_BLOCKING);
  if (mode[0] == '\0') return 2;
  MODE("writes") {
    launch(c, N, one);
    launch(c, N, two);
  }
  MODE("event") {
    launch(c, N, one);
    CHECK(cuEventRecord(event, one));
    CHECK(cuStreamWaitEvent(two, event, 0));
    launch(c, N, two);
  }
  MODE("early event") { /* Recorded before the work that it should cover. */
    CHECK(cuEventRecord(event, one));
    launch(c, N, one);
    CHECK(cuStreamWaitEvent(two, event, 0));
    launch(c, N, two);
  }
  MODE("synchronize") {
    launch(c, N, one);
    CHECK(cuStreamSynchronize(one));
    launch(c, N, two);
  }
  MODE("wrong synchronize") {
    launch(c, N, one);
    CHECK(cuStreamSynchronize(two));
    launch(c, N, two);
  }
  MODE("query") {
    launch(c, N, one);
    while (cuStreamQuery(one) != 0) continue;
    launch(c, N, two);
  }
  MODE("host function") {
    launch(c, N, one);
    CHECK(cuLaunchHostFunc(one, say, NULL));
    while (!said) continue;
    launch(c, N, two);
  }
  MODE("halves") { launch(c, N / 2, one), a += BYTES / 2, b += BYTES / 2, launch(c + BYTES / 2, N / 2, two); }
  MODE("reads") { launch(c, N, one), launch(d, N, two); }
  MODE("atomics") { launch_count(one), launch_count(two); }
  MODE("atomics beside a copy") {
    launch_count(one);
    CHECK(cuMemcpyDtoHAsync_v2(pinned(), c, 4, two));
  }
  MODE("copy") {
    launch(c, N, one);
    CHECK(cuMemcpyDtoHAsync_v2(pinned(), c, BYTES, two));
  }
  MODE("copy first") {
    CHECK(cuMemcpyDtoHAsync_v2(pinned(), c, BYTES, two));
    launch(c, N, one);
  }
  MODE("pinned") {
    float* to = pinned();
    CHECK(cuMemcpyDtoHAsync_v2(to, a, BYTES, one));
    CHECK(cuMemcpyDtoHAsync_v2(to, b, BYTES, two));
  }
  MODE("fill") {
    launch(c, N, one);
    CHECK(cuMemsetD8Async(c + 40, 0, 8, two));
  }
  MODE("fill beside") { /* Rows of 8 bytes between the bytes that the kernel writes. */
    launch(c, 2, one);
    CHECK(cuMemsetD2D8Async(c + 8, 16, 0, 8, 60, two));
  }
  MODE("default") { launch(c, N, one), launch(c, N, NULL); }
  MODE("blocking default") { launch(c, N, one), launch(c, N, NULL), launch(c, N, two); }
  MODE("blocking writes") { launch(c, N, one), launch(c, N, two); }
  MODE("many") {
    for (int i = 0; i < 2000; ++i) launch(c, N, one), launch(d, N, two);
  }
  MODE("reused") { /* The same addresses, but other memory. */
    launch(c, N, one);
    CHECK(cuMemFree_v2(c));
    for (int i = 0; i < 3; ++i) launch(d, N, two);
  }
  else return 3;
  CHECK(cuCtxSynchronize());
  puts("done");
  return 0;
}
