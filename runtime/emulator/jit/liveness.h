// Finds registers whose values are not read any more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// The steps [begin, end) of Code::steps.
struct StepRange {
  uint32_t begin = 0, end = 0;
};

/// Built once per function. A register counts as mentioned by every step of a PTX instruction that
/// names it, even by steps that do not access it.
class Liveness {
 public:
  explicit Liveness(const Code& code);

  /// Returns whether the register at this frame offset is written first and used last within
  /// `straight_line`, and no step after `step` mentions it. False for anything but a register of
  /// the function.
  bool is_dead_after(uint32_t offset, uint32_t step, StepRange straight_line) const;
  /// Returns the first step from `step` on that mentions it; kNone if there is none.
  uint32_t next_mention(uint32_t offset, uint32_t step) const;

 private:
  struct Mentions {
    std::vector<uint32_t> steps;  ///< Ascending.
    bool elsewhere = false;       ///< An instruction without steps names it too.
    bool begins_written = false;  ///< The first mention overwrites all of it and reads none of it.
  };
  std::unordered_map<uint32_t, Mentions> of_;
};

}  // namespace gpuemu::emulator
