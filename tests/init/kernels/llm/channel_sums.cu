// A block for each channel of a batch of planes, which only the index shows. No host code.
__global__ void channel_sums(const float* grad, const float* x, const float* mean, float* d_scale, float* d_shift, int N, int C, int HW) {
  int c = blockIdx.x;
  __shared__ float scale[256], shift[256];
  int planes = N * HW;
  float a = 0.0f, b = 0.0f;
  for (int i = threadIdx.x; i < planes; i += blockDim.x) {
    int n = i / HW, p = i % HW;
    size_t at = ((size_t)n * C + c) * HW + p;
    a += grad[at] * (x[at] - mean[c]);
    b += grad[at];
  }
  scale[threadIdx.x] = a;
  shift[threadIdx.x] = b;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      scale[threadIdx.x] += scale[threadIdx.x + half];
      shift[threadIdx.x] += shift[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    d_scale[c] = scale[0];
    d_shift[c] = shift[0];
  }
}
