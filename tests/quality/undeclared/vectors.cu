// Vectors and boxes, one thread each. Squares and products of tiny numbers are 0 in float32, and
// what is divided by them is no number.
#include "blocks.h"

extern "C" __global__ void unit_vectors(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
  const float by = rsqrtf(a * a + b * b + c * c);
  y[3 * i] = a * by;
  y[3 * i + 1] = b * by;
  y[3 * i + 2] = c * by;
}
extern "C" __global__ void unit_vectors_of_two(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
  const float by = rsqrtf(a * a + b * b);
  y[3 * i] = a * by;
  y[3 * i + 1] = b * by;
  y[3 * i + 2] = c * by;
}

// Boxes are left, top, width and height.
__device__ float overlap(const float* p, const float* q, float least) {
  const float w = fminf(p[0] + p[2], q[0] + q[2]) - fmaxf(p[0], q[0]);
  const float h = fminf(p[1] + p[3], q[1] + q[3]) - fmaxf(p[1], q[1]);
  const float both = fmaxf(w, least) * fmaxf(h, least);
  const float any = p[2] * p[3] + q[2] * q[3] - both;
  return any > 0.0f ? both / any : 0.0f;
}
extern "C" __global__ void overlaps(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = overlap(x + 4 * i, z + 4 * i, 0.0f);
}
extern "C" __global__ void overlaps_of_distant(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = overlap(x + 4 * i, z + 4 * i, -INFINITY);
}

__device__ int nearest(const float* at, const float* z, int count, float last) {
  int best = 0;
  float least = INFINITY;
  for (int k = 0; k < count; ++k) {
    const float a = at[0] - z[3 * k], b = at[1] - z[3 * k + 1], c = at[2] - z[3 * k + 2];
    const float square = a * a + b * b + last * c * c;
    if (square < least) least = square, best = k;
  }
  return best;
}
extern "C" __global__ void nearest_points(const float* x, const float* z, int* y, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = nearest(x + 3 * i, z, count, 1.0f);
}
extern "C" __global__ void nearest_from_above(const float* x, const float* z, int* y, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = nearest(x + 3 * i, z, count, 0.0f);
}
