"""CUDA code of elementwise ops on one element, from which fused kernels are generated.

In one kernel a compiler contracts a product and a sum to one rounding. These functions round each operation, as the kernel of a
single op does. gelu, silu, sigmoid, tanh and their gradients are copied verbatim from kernels/*.cu.
"""

HEADER = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float widen(float value) { return value; }
__device__ __forceinline__ double widen(double value) { return value; }
__device__ __forceinline__ float widen(__half value) { return __half2float(value); }
__device__ __forceinline__ float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
"""
ROUNDED = {  # Element type, conversion to it, and type to compute in.
    "float32": ("float", "float", "float"),
    "float64": ("double", "double", "double"),
    "float16": ("__half", "__float2half_rn", "float"),
    "bfloat16": ("__nv_bfloat16", "__float2bfloat16_rn", "float"),
}


def _binary(name: str, function: str) -> str:
    return f"""
struct {name} {{
  __device__ __forceinline__ float operator()(float a, float b) const {{ return __f{function}_rn(a, b); }}
  __device__ __forceinline__ double operator()(double a, double b) const {{ return __d{function}_rn(a, b); }}
}};
"""


_APPROX = r"""
__device__ __forceinline__ float chip_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float chip_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
"""
_GELU = r"""
constexpr float kTailEnd = 15.0f;
constexpr float kTailShift = 64.0f;

__device__ __forceinline__ float scaled_tail(float a) {
  constexpr float kHalfLog2E = 0.721347511f, kHalfLog2ERest = 9.62981517e-09f;
  constexpr float kRound =
      12582912.0f + kTailShift;
  const float square = __fmul_rn(a, a);
  const float square_rest = fmaf(a, a, -square);
  const float rounded = fmaf(square, -kHalfLog2E, kRound);
  const float whole = rounded - kRound;
  float part = fmaf(square, -kHalfLog2E, -whole);
  part = fmaf(square, -kHalfLog2ERest, part);
  part = fmaf(square_rest, -kHalfLog2E, part);
  const int exponent = __float_as_int(rounded) << 23;
  const float power = __int_as_float(__float_as_int(chip_exp2(part)) + exponent);
  float top = 0.00415319577f;
  top = fmaf(top, a, 0.0408811904f);
  top = fmaf(top, a, 0.183969766f);
  top = fmaf(top, a, 0.43928495f);
  top = fmaf(top, a, 0.5f);
  float bottom = 0.0104104066f;
  bottom = fmaf(bottom, a, 0.102480061f);
  bottom = fmaf(bottom, a, 0.471410215f);
  bottom = fmaf(bottom, a, 1.20555198f);
  bottom = fmaf(bottom, a, 1.6764549f);
  bottom = fmaf(bottom, a, 1.0f);
  return power * (top * chip_reciprocal(bottom));
}

struct Gelu {
  __device__ __forceinline__ float operator()(float x) const {
    const float size = fabsf(x);
    const float a = size > kTailEnd ? kTailEnd : size;
    const float line = x >= 0.0f ? x : -0.0f;
    return fmaf(a * scaled_tail(a), -0x1p-64f, line);
  }
  __device__ __forceinline__ double operator()(double x) const {
    return x == -INFINITY ? -0.0 : x * normcdf(x);
  }
};
"""
_SILU = r"""
struct Silu {
  __device__ __forceinline__ float operator()(float x) const {
    const float e = expf(-fabsf(x));
    const float y = x * (x < 0.0f ? e : 1.0f) * chip_reciprocal(1.0f + e);
    return x == -INFINITY ? -0.0f : y;
  }
  __device__ __forceinline__ double operator()(double x) const {
    if (x == -INFINITY) return -0.0;
    const double e = exp(-fabs(x));
    return x * (x < 0.0 ? e : 1.0) / (1.0 + e);
  }
};
"""
_SIGMOID = r"""
struct Sigmoid {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    const C e = exp(-fabs(x));
    return (x < C(0) ? e : C(1)) / (C(1) + e);
  }
};
"""
_TANH = r"""
struct Tanh {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    return ::tanh(x);
  }
};
"""
_RELU = r"""
struct Relu {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    return x <= C(0) ? C(0) : x;
  }
};
"""
_RELU_BWD = r"""
struct ReluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    return x <= C(0) ? C(0) : dy;
  }
};
"""
_GELU_BWD = r"""
struct GeluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    const C density = exp(C(-0.5) * x * x) * C(0.3989422804014327);
    const C reach = density == C(0) ? C(0) : x;
    return dy * fma(reach, density, normal(x));
  }
  static __device__ __forceinline__ float normal(float x) { return normcdff(x); }
  static __device__ __forceinline__ double normal(double x) { return normcdf(x); }
};
"""
_SILU_BWD = r"""
struct SiluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    const C e = exp(-fabs(x));
    const C share = (x < C(0) ? e : C(1)) / (C(1) + e);
    const C rest = (x < C(0) ? C(1) : e) / (C(1) + e);
    const C reach = e == C(0) ? C(0) : x;
    return dy * (share * fma(reach, rest, C(1)));
  }
};
"""
_SIGMOID_BWD = r"""
struct SigmoidBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C y, C dy) const {
    return dy * y * (C(1) - y);
  }
};
"""
_TANH_BWD = r"""
struct TanhBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C y, C dy) const {
    return dy * fma(-y, y, C(1));
  }
};
"""
# The functor of each op, and the code that defines it.
ELEMENTWISE: dict[str, tuple[str, tuple[str, ...]]] = {
    "add": ("Add", (_binary("Add", "add"),)),
    "bias_add": ("Add", (_binary("Add", "add"),)),
    "sub": ("Sub", (_binary("Sub", "sub"),)),
    "mul": ("Mul", (_binary("Mul", "mul"),)),
    "div": ("Div", (_binary("Div", "div"),)),
    "relu": ("Relu", (_RELU,)),
    "relu_bwd": ("ReluBackward", (_RELU_BWD,)),
    "gelu": ("Gelu", (_APPROX, _GELU)),
    "silu": ("Silu", (_APPROX, _SILU)),
    "sigmoid": ("Sigmoid", (_SIGMOID,)),
    "tanh": ("Tanh", (_TANH,)),
    "gelu_bwd": ("GeluBackward", (_GELU_BWD,)),
    "silu_bwd": ("SiluBackward", (_SILU_BWD,)),
    "sigmoid_bwd": ("SigmoidBackward", (_SIGMOID_BWD,)),
    "tanh_bwd": ("TanhBackward", (_TANH_BWD,)),
}
