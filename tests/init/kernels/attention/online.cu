// Attention of one head per block with tiles whose number and size the host computes.
__global__ void online_attention(const float* q, const float* k, const float* v, float* out, int length, int width, int tiles, int tile, float scale) {
  extern __shared__ float shared[];
  float* keys = shared;
  float* values = shared + tile * width;
  const long head = (long)blockIdx.x * length * width;
  for (int own = 0; own < tiles; ++own) {
    const int row = own * tile + threadIdx.x;
    float most = -1e30f, sum = 0.0f;
    for (int c = 0; c < width; ++c) out[head + row * width + c] = 0.0f;
    for (int other = 0; other < tiles; ++other) {
      __syncthreads();
      for (int c = 0; c < width; ++c) {
        keys[threadIdx.x * width + c] = k[head + (other * tile + threadIdx.x) * width + c];
        values[threadIdx.x * width + c] = v[head + (other * tile + threadIdx.x) * width + c];
      }
      __syncthreads();
      for (int j = 0; j < tile; ++j) {
        float score = 0.0f;
        for (int c = 0; c < width; ++c) score += q[head + row * width + c] * keys[j * width + c];
        score *= scale;
        const float higher = fmaxf(most, score), keep = expf(most - higher), weight = expf(score - higher);
        sum = sum * keep + weight;
        most = higher;
        for (int c = 0; c < width; ++c) {
          out[head + row * width + c] = out[head + row * width + c] * keep + weight * values[j * width + c];
        }
      }
    }
    for (int c = 0; c < width; ++c) out[head + row * width + c] /= sum;
  }
}

void attend(const float* q, const float* k, const float* v, float* out, int heads, int length, int width) {
  const int tile = 16;
  const int tiles = length / tile;
  const size_t bytes = 2 * tile * width * sizeof(float);
  online_attention<<<heads, tile, bytes>>>(q, k, v, out, length, width, tiles, tile, rsqrtf(width));
}
