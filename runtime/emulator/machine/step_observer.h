// The interface for code that observes every step of a launch: shadow execution
// (runtime/emulator/shadow) and the debugger.
#pragma once

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// Called before each step that is executed by at least one lane (warp.masks.running).
  virtual void before(Warp& warp, const Step& step) = 0;
};

/// State that an observer keeps for the registers of a frame.
struct ObservedRegisters {
  virtual ~ObservedRegisters() = default;
  /// Copies the state of `lanes` from another frame of the same function. `from` has the same
  /// class.
  virtual void take_lanes(const ObservedRegisters& from, uint32_t lanes) = 0;
};

}  // namespace gpuemu::emulator
