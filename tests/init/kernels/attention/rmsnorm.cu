// Four channels at a time; hidden is a multiple of 4.
template <int THREADS>
__global__ void rmsnorm_vec4(const float4* x, const float4* gain, float4* y, int hidden, float eps) {
  __shared__ float sums[THREADS / 32];
  const int quads = hidden / 4;
  const float4* row = x + (size_t)blockIdx.x * quads;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < quads; i += THREADS) {
    float4 v = row[i];
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0.0f;
  for (int w = 0; w < THREADS / 32; ++w) total += sums[w];
  const float scale = rsqrtf(total / hidden + eps);
  for (int i = threadIdx.x; i < quads; i += THREADS) {
    float4 v = row[i], g = gain[i];
    y[(size_t)blockIdx.x * quads + i] = make_float4(v.x * scale * g.x, v.y * scale * g.y, v.z * scale * g.z, v.w * scale * g.w);
  }
}
void rmsnorm(const float4* x, const float4* gain, float4* y, int rows, int hidden) {
  rmsnorm_vec4<128><<<rows, 128>>>(x, gain, y, hidden, 1e-6f);
}
