// Integer division by zero: its result is undefined and tracked like a value of uninitialised
// memory, because compiled code also divides in lanes whose result it discards.
#include <bit>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {

void check_divisor(Warp& warp, const Step& step, const DivisorOperands& division) {
  if (!warp.launch->inputs.checks.division) return;
  const uint64_t kept =
      division.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * division.bytes) - 1;
  uint32_t zero = 0;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t value =
        division.bytes == 8 ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    if ((value & kept) == 0) zero |= uint32_t{1} << lane;
  }
  if (zero != 0) {
    warp.tracking.definedness.note(
        warp, step, division.quotient, zero,
        {DeviceFindingKind::DivisionByZero, "divides an integer by zero"});
  }
}

}  // namespace gpuemu::emulator::steps
