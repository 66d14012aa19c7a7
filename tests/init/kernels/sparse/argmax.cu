// One warp for one row; the first of equal values wins.
__global__ void argmax_rows(const float* x, int* out, int rows, int cols) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x & 31;
  if (warp >= rows) return;
  float best = -1.0f / 0.0f;
  int at = 0x7fffffff;
  for (int c = lane; c < cols; c += 32) {
    float v = x[warp * cols + c];
    if (v > best || at == 0x7fffffff) { best = v; at = c; }
  }
  for (int s = 16; s > 0; s >>= 1) {
    float other = __shfl_down_sync(0xffffffff, best, s);
    int where = __shfl_down_sync(0xffffffff, at, s);
    if (where != 0x7fffffff && (at == 0x7fffffff || other > best || (other == best && where < at))) { best = other; at = where; }
  }
  if (lane == 0) out[warp] = at;
}
