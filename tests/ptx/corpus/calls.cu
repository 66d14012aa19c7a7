// Functions that are called: recursion, pointers, virtual members, printf, assert, local arrays, switch tables.
#include <cassert>
#include <cstdio>

struct Shape {
  __device__ virtual float area(float x) const = 0;
};
struct Square : Shape {
  __device__ float area(float x) const override { return x * x; }
};
struct Circle : Shape {
  float pi = 3.0f;
  __device__ float area(float x) const override { return pi * x * x; }
};
struct Big {
  int v[12];
  double d;
};
__noinline__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__noinline__ __device__ Big fill(Big from, int by) {
  for (int i = 0; i < 12; ++i) from.v[i] += by;
  from.d *= 2;
  return from;
}
typedef int (*Operation)(int, int);
__device__ int plus_op(int a, int b) { return a + b; }
__device__ int minus_op(int a, int b) { return a - b; }
__device__ Operation operations[2] = {plus_op, minus_op};
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 3;

extern "C" __global__ void calls(int* out, float* areas, int n) {
  const int i = threadIdx.x;
  out[i] = fibonacci(i % 6) + operations[i & 1](i, n) + counter;
  Big big{};
  big = fill(big, i);
  int local[32];
  for (int k = 0; k < 32; ++k) local[k] = k * i + big.v[k % 12];
  out[i] += local[n & 31] + int(big.d);
  Square square;
  Circle circle;
  const Shape* shape = i & 1 ? static_cast<const Shape*>(&square) : &circle;
  areas[i] = shape->area(float(i)) + table[i & 3];
  assert(n >= 0);
  if (i == 0) printf("%d %f %s\n", n, areas[0], "text");
}
extern "C" __global__ void machine(const unsigned char* program, int* out, int n) {
  int a = threadIdx.x, b = 1;
  for (int i = 0; i < n; ++i) switch (program[i]) {
      case 0: a += b; break;
      case 1: a -= b; break;
      case 2: b = a * 3; break;
      case 3: a ^= b << 2; break;
      case 4: b = a / (b | 1); break;
      case 5: a = __popc(a); break;
      case 6: a = max(a, b); break;
      case 7: b = b >> 1; break;
      case 8: if (a > 100) return; break;
      default: __trap();
    }
  out[threadIdx.x] = a + b;
}
