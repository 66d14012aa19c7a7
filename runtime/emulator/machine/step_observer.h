// Who watches every instruction of a launch. The machine knows no more of it; shadow execution is
// one (runtime/emulator/shadow).
#pragma once

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

class Follower {
 public:
  virtual ~Follower() = default;
  /// Before a step, for warp.mask; not for steps without a lane.
  virtual void before(Warp& warp, const Ins& ins) = 0;
};

/// What a follower keeps with the registers of a frame.
struct FollowedRegisters {
  virtual ~FollowedRegisters() = default;
  /// Lanes of another frame of the same function come into this one. `from` has the same class.
  virtual void take_lanes(const FollowedRegisters& from, uint32_t lanes) = 0;
};

}  // namespace gpuemu::emulator
