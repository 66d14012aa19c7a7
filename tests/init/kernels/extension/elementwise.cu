// An operation chosen by an enumerator.
enum class Op { Add, Mul, Max };
template <Op op, typename T>
__global__ void binary_kernel(const T* lambda, const T* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if constexpr (op == Op::Add) out[i] = lambda[i] + in[i];
  if constexpr (op == Op::Mul) out[i] = lambda[i] * in[i];
  if constexpr (op == Op::Max) out[i] = lambda[i] > in[i] ? lambda[i] : in[i];
}
void binary(Op op, const float* a, const float* b, float* out, int n) {
  const int blocks = (n + 127) / 128;
  if (op == Op::Add) binary_kernel<Op::Add, float><<<blocks, 128>>>(a, b, out, n);
  if (op == Op::Mul) binary_kernel<Op::Mul, float><<<blocks, 128>>>(a, b, out, n);
  if (op == Op::Max) binary_kernel<Op::Max, float><<<blocks, 128>>>(a, b, out, n);
}
