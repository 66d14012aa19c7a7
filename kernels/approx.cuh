// The two functions that the chip computes in one instruction, for kernels that would otherwise
// spend their time in branches for arguments that cannot occur. The emulator gives the same bits.
#pragma once

namespace gpuemu_kernels {

/// 2^x within 2 ulp. REQUIRES: -126 <= x < 128; a subnormal x counts as 0.
__device__ __forceinline__ float chip_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x within 1 ulp. REQUIRES: 2^-126 <= |x| < 2^126, or NaN.
__device__ __forceinline__ float chip_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace gpuemu_kernels
