// Exclusive scan of one block, which does twice as many elements as it has threads; n is a power of two.
__global__ void scan_block(float* g_out, const float* g_in, int n) {
  extern __shared__ float temp[];
  int t = threadIdx.x, offset = 1;
  temp[2 * t] = g_in[2 * t];
  temp[2 * t + 1] = g_in[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) temp[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      float keep = temp[a];
      temp[a] = temp[b];
      temp[b] += keep;
    }
  }
  __syncthreads();
  g_out[2 * t] = temp[2 * t];
  g_out[2 * t + 1] = temp[2 * t + 1];
}
void scan(float* out, const float* in, int n) { scan_block<<<1, n / 2, n * sizeof(float)>>>(out, in, n); }
