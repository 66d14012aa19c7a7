// The interface of what observes every step of a launch: shadow execution
// (runtime/emulator/shadow), the debugger.
#pragma once

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// Called before a step with the lanes warp.masks.running; not if there are none.
  virtual void before(Warp& warp, const Step& step) = 0;
};

/// State that an observer keeps with the registers of a frame.
struct ObservedRegisters {
  virtual ~ObservedRegisters() = default;
  /// Lanes of another frame of the same function come into this one. `from` has the same class.
  virtual void take_lanes(const ObservedRegisters& from, uint32_t lanes) = 0;
};

}  // namespace gpuemu::emulator
