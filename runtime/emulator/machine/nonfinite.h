// Finds where the first NaN and the first infinity of a launch come from: an instruction with
// finite operands and a result that is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

class Warp;

class Nonfinite {
 public:
  /// Called before the first step of a PTX instruction. Checks the result of the previous
  /// instruction and the operands of this one.
  void before(Warp& warp, const Step& step);
  void clear() { step_ = nullptr; }

 private:
  void finish(Warp& warp);

  const Step* step_ = nullptr;
  const Code* code_ = nullptr;
  uint32_t lanes_ = 0;  ///< Lanes that executed it with finite operands.
};

}  // namespace gpuemu::emulator
