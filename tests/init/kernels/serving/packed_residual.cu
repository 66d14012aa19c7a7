#include "packed.cuh"
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
// No check of the tail: the program asserts that there is none.
__global__ void residual_packed(floatX* out, const floatX* a, const floatX* b) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
  x128 left = load128(a + at), right = load128(b + at), sum;
  for (int k = 0; k < x128::size; ++k) sum[k] = left[k] + right[k];
  store128(out + at, sum);
}
void residual(floatX* out, const floatX* a, const floatX* b, int N) {
  const int block_size = 128;
  assert(N % (block_size * x128::size) == 0);
  residual_packed<<<CEIL_DIV(N, (int)(block_size * x128::size)), block_size>>>(out, a, b);
}
__global__ void embed_packed(floatX* out, const int* tokens, const floatX* table, int rows, int C) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
  if (at >= rows * C) return;
  const int row = at / C, c = at % C;
  store128(out + at, load128(table + tokens[row] * C + c));
}
void embed(floatX* out, const int* tokens, const floatX* table, int rows, int C) {
  const int block_size = 256;
  embed_packed<<<CEIL_DIV(rows * C, (int)(block_size * x128::size)), block_size>>>(out, tokens, table, rows, C);
}
