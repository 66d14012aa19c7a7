// Where the first NaN and the first infinity of a launch come from: an instruction whose operands
// are finite and whose result is not.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

class Warp;

class Nonfinite {
 public:
  /// Before the first step of a PTX instruction: looks at the result of the one before and at the
  /// operands of this one.
  void before(Warp& warp, const Ins& ins);
  void clear() { ins_ = nullptr; }

 private:
  void finish(Warp& warp);

  const Ins* ins_ = nullptr;
  const Code* code_ = nullptr;
  uint32_t lanes_ = 0;  ///< That executed it with finite operands.
};

}  // namespace gpuemu::emulator
