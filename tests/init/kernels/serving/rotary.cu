#include <cstdint>
namespace serving {
template <typename scalar_t>
inline __device__ void turn(scalar_t* head, const scalar_t* cos_row, const scalar_t* sin_row, int at, int half) {
  const scalar_t x = head[at], y = head[at + half];
  head[at] = x * cos_row[at] - y * sin_row[at];
  head[at + half] = y * cos_row[at] + x * sin_row[at];
}
template <typename scalar_t>
__global__ void rotary_kernel(const int64_t* __restrict__ positions, scalar_t* __restrict__ query,
                              const scalar_t* __restrict__ cos_sin_cache, const int64_t query_stride, const int num_heads,
                              const int head_size) {
  const int token = blockIdx.x;
  const int half = head_size / 2;
  const scalar_t* cache = cos_sin_cache + positions[token] * head_size;
  for (int i = threadIdx.x; i < num_heads * half; i += blockDim.x) {
    turn(query + token * query_stride + (i / half) * head_size, cache, cache + half, i % half, half);
  }
}
}  // namespace serving
void rotary(const int64_t* positions, float* query, const float* cache, int64_t query_stride, int num_tokens, int num_heads,
            int head_size) {
  serving::rotary_kernel<float><<<num_tokens, 128>>>(positions, query, cache, query_stride, num_heads, head_size);
}
