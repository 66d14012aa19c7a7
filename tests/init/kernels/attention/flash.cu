#include <cuda_runtime.h>
#include <math.h>
// Online softmax over tiles of keys; one block for one head of one sequence, one thread for one query row of a tile.
template <int Br, int Bc, int D>
__global__ void flash_forward(const float* Q, const float* K, const float* V, float* O, float* L, int seq_len, float scale) {
  extern __shared__ float tiles[];
  float* Kt = tiles;
  float* Vt = tiles + Bc * D;
  const long long base = (long long)blockIdx.y * seq_len * D;
  const int q = blockIdx.x * Br + threadIdx.x;
  float acc[D], query[D];
  for (int d = 0; d < D; ++d) {
    acc[d] = 0.0f;
    query[d] = q < seq_len ? Q[base + q * D + d] : 0.0f;
  }
  float highest = -INFINITY, total = 0.0f;
  for (int begin = 0; begin < seq_len; begin += Bc) {
    for (int i = threadIdx.x; i < Bc * D; i += Br) {
      const int k = begin + i / D;
      Kt[i] = k < seq_len ? K[base + k * D + i % D] : 0.0f;
      Vt[i] = k < seq_len ? V[base + k * D + i % D] : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < Bc && begin + j < seq_len; ++j) {
      float s = 0.0f;
      for (int d = 0; d < D; ++d) s += query[d] * Kt[j * D + d];
      s *= scale;
      const float above = fmaxf(highest, s);
      const float old = __expf(highest - above), now = __expf(s - above);
      for (int d = 0; d < D; ++d) acc[d] = acc[d] * old + now * Vt[j * D + d];
      total = total * old + now;
      highest = above;
    }
    __syncthreads();
  }
  if (q >= seq_len) return;
  for (int d = 0; d < D; ++d) O[base + q * D + d] = acc[d] / total;
  L[blockIdx.y * seq_len + q] = highest + logf(total);
}
void attention(const float* Q, const float* K, const float* V, float* O, float* L, int batch, int heads, int seq_len) {
  constexpr int Br = 32, Bc = 32, D = 16;
  dim3 grid((seq_len + Br - 1) / Br, batch * heads);
  flash_forward<Br, Bc, D><<<grid, Br, 2 * Bc * D * sizeof(float)>>>(Q, K, V, O, L, seq_len, 1.0f / sqrtf((float)D));
}
