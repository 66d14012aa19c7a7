#include <torch/types.h>
#define PACK(x) (reinterpret_cast<float4*>(&(x))[0])
// Eight halves at a time, and the last ones alone. Its header is one that PyTorch brings; a macro launches it.
__global__ void add_halves(half* a, half* b, half* c, int N) {
  int tid = threadIdx.x;
  int idx = (blockIdx.x * blockDim.x + tid) * 8;
  if ((idx + 7) < N) {
    alignas(16) half left[8], right[8], sum[8];
    PACK(left[0]) = PACK(a[idx]);
    PACK(right[0]) = PACK(b[idx]);
    for (int i = 0; i < 8; ++i) sum[i] = __hadd(left[i], right[i]);
    PACK(c[idx]) = PACK(sum[0]);
  } else {
    for (int i = idx; i < N; ++i) c[i] = __hadd(a[i], b[i]);
  }
}
#define BIND(name, each)                                      \
  void run_##name(torch::Tensor a, torch::Tensor b, torch::Tensor c) { \
    name<<<(a.numel() + 255) / 256, 256 / each>>>(reinterpret_cast<half*>(a.data_ptr()), reinterpret_cast<half*>(b.data_ptr()), \
                                                  reinterpret_cast<half*>(c.data_ptr()), a.numel()); }
BIND(add_halves, 8)
