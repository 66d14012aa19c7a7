// Bit-exact models of the approximate f32 instructions of an NVIDIA H200, from input to result
// bits.
// The functions named `_ftz` model the function unit alone; the others add the scaling that ptxas
// emits around it.
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

/// Returns the high word of rcp.approx.ftz.f64 or rsqrt.approx.ftz.f64 from the operand's high
/// word; the low word of the result is 0.
uint32_t rcp_high(uint32_t x);
uint32_t rsqrt_high(uint32_t x);

}  // namespace gpuemu::emulator::mufu
