// Random values, the same bits as common/rng/fill.h gives: element i is made of outputs 2i and 2i +
// 1 of the xorshift128+ stream that starts with state[0] and state[1]. Each thread jumps to its
// first element and fills `run` neighbours. Any one-dimensional grid and block.
#include "kernels/convert.cuh"
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

using Bits = unsigned long long;

/// A state of the generator, or a polynomial over GF(2) of degree below 128.
struct Pair {
  Bits low, high;
};

/// A step is linear. Its characteristic polynomial is x^128 + kCharacteristic; n steps are the sum
/// of the states that the terms of x^n modulo it name, the k-th being k steps ahead.
constexpr Pair kCharacteristic{0x024f06fae9e61dafull, 0x2844c5d42caf7db0ull};

constexpr Pair times_x(Pair p) {
  const Bits carry = p.high >> 63;
  Pair next{p.low << 1, (p.high << 1) | (p.low >> 63)};
  if (carry != 0) next = {next.low ^ kCharacteristic.low, next.high ^ kCharacteristic.high};
  return next;
}

constexpr Pair product(Pair a, Pair b) {
  Pair sum{0, 0};
  for (int i = 0; i < 128; ++i) {
    if (((i < 64 ? b.low >> i : b.high >> (i - 64)) & 1) != 0) {
      sum = {sum.low ^ a.low, sum.high ^ a.high};
    }
    a = times_x(a);
  }
  return sum;
}

constexpr int kDigits = 9;  ///< Base-16 digits of an element's number: tensors up to 2^36.

/// x^(2 d 16^k): what takes the generator past d 16^k elements.
struct Jumps {
  Pair by[kDigits][16];

  constexpr Jumps() : by{} {
    Pair one{4, 0};
    for (int k = 0; k < kDigits; ++k) {
      by[k][0] = {1, 0};
      for (int d = 1; d < 16; ++d) by[k][d] = product(by[k][d - 1], one);
      one = product(by[k][15], one);
    }
  }
};
__device__ constexpr Jumps kJumps;

__device__ __forceinline__ Bits next_output(Pair& state) {
  Bits x = state.low;
  const Bits y = state.high;
  x ^= x << 23;
  const Bits output = state.low + y;
  state = {y, x ^ y ^ (x >> 18) ^ (y >> 5)};
  return output;
}

/// The state in which element number `element` begins.
__device__ __forceinline__ Pair jump(Pair state, Bits element) {
  for (int k = 0; element != 0; ++k, element >>= 4) {
    const unsigned digit = static_cast<unsigned>(element % 16);
    if (digit == 0u) continue;
    Pair terms = kJumps.by[k][digit];
    Pair sum{0, 0};
    while ((terms.low | terms.high) != 0) {
      const Bits counts = 0 - (terms.low & 1);
      sum = {sum.low ^ (state.low & counts), sum.high ^ (state.high & counts)};
      next_output(state);
      terms = {(terms.low >> 1) | (terms.high << 63), terms.high >> 1};
    }
    state = sum;
  }
  return state;
}

enum RandomKind { kUniform, kNormal, kLogUniform, kInteger };

struct RandomValues {
  int kind;
  double a, b;
  long long lo, hi;

  /// In float64, each product and each sum rounded on its own.
  __device__ __forceinline__ double of(Bits first, Bits second) const {
    if (kind == kUniform) return __dadd_rn(a, __dmul_rn(unit(first), __dadd_rn(b, -a)));
    if (kind == kNormal) {
      const double bits = static_cast<double>(__popcll(first) - 32);
      const double around = __dadd_rn(__dadd_rn(bits, unit(second)), -0.5);
      return __dadd_rn(a, __dmul_rn(b, around / 4.0));
    }
    if (kind == kLogUniform) return log_uniform(first, second);
    const Bits count = static_cast<Bits>(hi) - static_cast<Bits>(lo) + 1;
    const Bits offset = count == 0 ? first : __umul64hi(first, count);
    return static_cast<double>(static_cast<long long>(static_cast<Bits>(lo) + offset));
  }

 private:
  static __device__ __forceinline__ double unit(Bits output) {
    return static_cast<double>(output >> 11) * 0x1p-53;
  }
  static __device__ __forceinline__ double power_of_two(long long exponent) {
    return __longlong_as_double((exponent + 1023) << 52);
  }
  __device__ __forceinline__ double log_uniform(Bits first, Bits second) const {
    const Bits count = static_cast<Bits>(hi - lo + 1);
    const long long exponent = lo + static_cast<long long>(__umul64hi(second << 1, count));
    const long long normal = exponent < -1022 ? -1022 : exponent;
    const Bits mantissa = (second & (1ull << 63)) | (1023ull << 52) | (first >> 12);
    return __longlong_as_double(static_cast<long long>(mantissa)) * power_of_two(normal) *
           power_of_two(exponent - normal);
  }
};

/// Neighbours that are stored at once.
template <typename T>
struct alignas(sizeof(T) == 8 ? 16 : 4 * sizeof(T)) Stored {
  static constexpr int kCount = sizeof(T) == 8 ? 2 : 4;
  T at[kCount];
};

template <typename T>
__device__ void random_fill_body(const Bits* state, T* y, long long n, int run,
                                 const RandomValues& values) {
  constexpr int kCount = Stored<T>::kCount;
  const bool whole = phase_of(y) % sizeof(Stored<T>) == 0u && run % kCount == 0;
  for (long long first = thread_index() * run; first < n; first += thread_count() * run) {
    Pair at = jump({state[0], state[1]}, static_cast<Bits>(first));
    const long long end = min(first + run, n);
    long long i = first;
    for (; whole && i + kCount <= end; i += kCount) {
      Stored<T> together;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const Bits a = next_output(at), b = next_output(at);
        together.at[j] = convert<T>(values.of(a, b));
      }
      *reinterpret_cast<Stored<T>*>(y + i) = together;
    }
    for (; i < end; ++i) {
      const Bits a = next_output(at), b = next_output(at);
      y[i] = convert<T>(values.of(a, b));
    }
  }
}

#define GPUEMU_RANDOM_FILL(dtype, type)                                                      \
  GPUEMU_ENTRY(random_fill, dtype, type,                                                     \
               (const Bits* state, T* y, long long n, int run, int kind, double a, double b, \
                long long lo, long long hi),                                                 \
               (state, y, n, run, RandomValues{kind, a, b, lo, hi}))

GPUEMU_RANDOM_FILL(float32, float)
GPUEMU_RANDOM_FILL(float64, double)
GPUEMU_RANDOM_FILL(float16, __half)
GPUEMU_RANDOM_FILL(bfloat16, __nv_bfloat16)
GPUEMU_RANDOM_FILL(int8, signed char)
GPUEMU_RANDOM_FILL(int16, short)
GPUEMU_RANDOM_FILL(int32, int)
GPUEMU_RANDOM_FILL(int64, long long)
GPUEMU_RANDOM_FILL(uint8, unsigned char)
GPUEMU_RANDOM_FILL(uint16, unsigned short)
GPUEMU_RANDOM_FILL(uint32, unsigned)
GPUEMU_RANDOM_FILL(uint64, unsigned long long)
GPUEMU_RANDOM_FILL(bool, bool)

}  // namespace gpuemu_kernels
