// Bit-exact models of the approximate f32 instructions of an NVIDIA H200, from input to result
// bits.
// `_ftz` is the bare function unit; the others add the scaling that the assembler puts around it.
#pragma once

#include <cstdint>

namespace gpuemu::emulator::mufu {

uint32_t rcp_ftz(uint32_t x);
uint32_t rsqrt_ftz(uint32_t x);
uint32_t sqrt_ftz(uint32_t x);
uint32_t lg2_ftz(uint32_t x);
uint32_t ex2_ftz(uint32_t x);
uint32_t tanh(uint32_t x);
uint32_t rcp(uint32_t x);
uint32_t rsqrt(uint32_t x);
uint32_t sqrt(uint32_t x);
uint32_t lg2(uint32_t x);
uint32_t ex2(uint32_t x);
uint32_t sin(uint32_t x);
uint32_t cos(uint32_t x);

/// High words of rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 from the operand's; the low one is 0.
uint32_t rcp_high(uint32_t x);
uint32_t rsqrt_high(uint32_t x);

}  // namespace gpuemu::emulator::mufu
