// Integer instructions, 64-bit division, calls of every kind, and local arrays.
typedef int (*Step)(int);

extern "C" __global__ void bit_tricks(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i];
  int* o = out + i * 10;
  o[0] = __popc(x);
  o[1] = __clz(x);
  o[2] = __brev(x);
  o[3] = __ffs(x);
  o[4] = __byte_perm(x, y, 0x3715);
  o[5] = __funnelshift_l(x, y, y & 31);
  o[6] = __umulhi(x, y);
  o[7] = __dp4a((int)x, (int)y, 100);
  o[8] = __vabsdiffu4(x, y);
  o[9] = x >> (y & 63) << 1;
}

extern "C" __global__ void divide(const long long* a, const long long* b, long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long d = b[i] == 0 || b[i] == -1 ? 7 : b[i];
  out[2 * i] = a[i] / d;
  out[2 * i + 1] = a[i] % d;
}

__device__ int add_ten(int v) { return v + 10; }
__device__ int triple(int v) { return v * 3; }
__device__ int negate(int v) { return -v; }
__device__ Step steps[3] = {add_ten, triple, negate};
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int choose(int which, int v) {
  switch (which) {
    case 0: return v + 1;
    case 1: return v ^ 0x55;
    case 2: return v / 3;
    case 3: return v % 5;
    case 4: return ~v;
    case 5: return v << 2;
    case 8: return 77;
    default: return 1000;
  }
}

// Every lane may call something else, and recursion ends at different depths.
extern "C" __global__ void dispatch(const int* a, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = a[i] % 1000, which = v < 0 ? -v : v;
  out[i] = steps[which % 3](v) + choose(which % 10, v) + fibonacci(which % 9);
}

// Bubble sort in a local array with a dynamic index.
extern "C" __global__ void local_array(const int* a, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int t[12];
  for (int k = 0; k < 12; ++k) t[k] = (a[i] >> k) & 63;
  for (int k = 0; k < 11; ++k)
    for (int j = 0; j < 11 - k; ++j)
      if (t[j] > t[j + 1]) {
        const int v = t[j];
        t[j] = t[j + 1];
        t[j + 1] = v;
      }
  int hash = 0;
  for (int k = 0; k < 12; ++k) hash = hash * 7 + t[k];
  out[i] = hash + t[a[i] & 7];
}
