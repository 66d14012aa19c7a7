// Which registers hold nothing that anybody reads any more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// Steps [begin, end) of Code::ins.
struct StepRange {
  uint32_t begin = 0, end = 0;
};

/// Built once per function. A register counts as mentioned by every step of a PTX instruction that
/// names it, which may be more than those that access it.
class Lifetimes {
 public:
  explicit Lifetimes(const Code& code);

  /// Whether the register at this offset of the frame begins and ends inside of `stretch` and no
  /// step after `step` mentions it. Of what is no register of the function it is not known: false.
  bool is_dead_after(uint32_t offset, uint32_t step, StepRange stretch) const;
  /// The first step from `step` on that mentions it; kNone if there is none.
  uint32_t next_mention(uint32_t offset, uint32_t step) const;

 private:
  struct Mentions {
    std::vector<uint32_t> steps;  ///< Ascending.
    bool elsewhere = false;       ///< An instruction without steps names it, too.
    bool begins_written = false;  ///< The first of them writes all of it and reads nothing of it.
  };
  std::unordered_map<uint32_t, Mentions> of_;
};

}  // namespace gpuemu::emulator
