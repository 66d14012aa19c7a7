// The floating-point mode that the emulator computes in.
#pragma once

#include <xmmintrin.h>

namespace gpuemu::emulator {

/// Sets the default mode for its lifetime: to nearest, subnormals kept, no traps. A program may
/// have set another for the thread that waits for a launch, which must not change results.
class FloatMode {
 public:
  FloatMode() { _mm_setcsr(kDefault); }
  ~FloatMode() { _mm_setcsr(before_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  static constexpr unsigned int kDefault = 0x1f80;  // MXCSR after a reset of the processor.
  const unsigned int before_ = _mm_getcsr();
};

}  // namespace gpuemu::emulator
