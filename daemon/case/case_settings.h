// How a case runs, and what it returns besides its verdict.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "judge/explain/shadow_options.h"
#include "runtime/device/thread_order.h"

namespace gpuemu {

class ReachSet;

/// What a case can return besides its verdict.
enum class Extra : uint8_t {
  Tensors,        ///< Its inputs and outputs.
  LineProfile,    ///< The counts of each source line, on a device that counts.
  ErrorMap,       ///< Where the errors lie in the output with the largest one.
  Evidence,       ///< The trivial outputs that would have passed as well.
  ErrorRange,     ///< How large the errors of all float outputs are.
  Coverage,       ///< The parts of the kernel that were reached, on a device that counts.
  CoverageLines,  ///< Coverage with source lines, for which the kernel runs slower.
  Shadows,        ///< Every float as it would be without rounding, on the emulator.
  Export,         ///< What is needed to run the case without gpuemu.
  Code,           ///< The PTX and its launches.
  Reproduction,   ///< repro_info for a passing case too, without its inputs.
};

class ExtraSet {
 public:
  ExtraSet() = default;
  ExtraSet(Extra extra) { add(extra); }  // NOLINT(google-explicit-constructor): a set of one.
  ExtraSet(std::initializer_list<Extra> extras) {
    for (const Extra extra : extras) add(extra);
  }
  void add(Extra extra) { bits_ |= 1U << static_cast<uint32_t>(extra); }
  bool has(Extra extra) const { return (bits_ >> static_cast<uint32_t>(extra) & 1) != 0; }

 private:
  uint32_t bits_ = 0;
};

struct CaseSettings {
  ExtraSet extras = {};
  /// With Extra::Coverage: coverage is returned only if the case reached something that is not in
  /// this set.
  std::shared_ptr<const ReachSet> known_reached = nullptr;
  ShadowOptions shadow = {};                 ///< The element whose history Extra::Shadows has.
  ThreadOrder order = ThreadOrder::InOrder;  ///< The order of the threads in the first run.
};

}  // namespace gpuemu
