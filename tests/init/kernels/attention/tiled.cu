#include <torch/extension.h>
#include <cublas_v2.h>
// A tile of keys after the other; the maximum and the sum of each row go through memory. A launch says how large the tiles are.
__global__ void tiled_attention(const float* Q, const float* K, const float* V, const int length, const int width, const int key_tiles,
                                const int row_tiles, const int keys, const int rows, const float scale, float* sums, float* tops, float* out) {
  extern __shared__ float memory[];
  float *k = memory, *v = k + keys * width, *q = v + keys * width, *scores = q + rows * width;
  const int head = blockIdx.x * gridDim.y + blockIdx.y, t = threadIdx.x;
  const float* query = Q + head * length * width;
  for (int tile = 0; tile < key_tiles; ++tile) {
    for (int c = 0; c < width; ++c) {
      k[t * width + c] = K[(head * length + tile * keys + t) * width + c];
      v[t * width + c] = V[(head * length + tile * keys + t) * width + c];
    }
    __syncthreads();
    for (int r = 0; r < row_tiles; ++r) {
      const int row = r * rows + t;
      float top = -INFINITY, sum = 0.0f;
      for (int c = 0; c < width; ++c) q[t * width + c] = query[row * width + c];
      for (int j = 0; j < keys; ++j) {
        float dot = 0.0f;
        for (int c = 0; c < width; ++c) dot += q[t * width + c] * k[j * width + c];
        scores[t * keys + j] = dot * scale;
        top = fmaxf(top, dot * scale);
      }
      for (int j = 0; j < keys; ++j) sum += scores[t * keys + j] = expf(scores[t * keys + j] - top);
      const float old = tops[head * length + row], before = sums[head * length + row];
      const float now = fmaxf(old, top), all = expf(old - now) * before + expf(top - now) * sum;
      for (int c = 0; c < width; ++c) {
        float mixed = 0.0f;
        for (int j = 0; j < keys; ++j) mixed += scores[t * keys + j] * v[j * width + c];
        float* o = out + (head * length + row) * width + c;
        *o = (before * expf(old - now) * *o + expf(top - now) * mixed) / all;
      }
      tops[head * length + row] = now;
      sums[head * length + row] = all;
    }
    __syncthreads();
  }
}
torch::Tensor attention(torch::Tensor Q, torch::Tensor K, torch::Tensor V) {
  const int keys = 16; const int rows = 16;
  const int batch = Q.size(0); const int heads = Q.size(1); const int length = Q.size(2); const int width = Q.size(3);
  const int key_tiles = ceil((float)length / keys), row_tiles = ceil((float)length / rows);
  auto out = torch::zeros_like(Q);
  auto sums = torch::zeros({batch, heads, length});
  auto tops = torch::full({batch, heads, length}, -INFINITY);
  const int bytes = 3 * keys * width * sizeof(float) + keys * rows * sizeof(float);
  tiled_attention<<<dim3(batch, heads), keys, bytes>>>(Q.data_ptr<float>(), K.data_ptr<float>(), V.data_ptr<float>(), length, width, key_tiles,
                                                       row_tiles, keys, rows, 1.0f / sqrt(width), sums.data_ptr<float>(), tops.data_ptr<float>(),
                                                       out.data_ptr<float>());
  return out;
}
