// Shadow execution: a launch also computes every float value without any rounding, and bounds the
// effect of rounding on it. Defines its configuration and its report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/launch_shape.h"

namespace gpuemu {

/// Floats in device memory whose shadows are returned after the launch.
struct ShadowRegion {
  uint64_t address = 0;
  uint64_t count = 0;
  uint32_t element_bytes = 4;  ///< 2, 4 or 8.
};

/// A float whose history is returned: the block that stored it last records every value.
struct ShadowTarget {
  uint64_t address = 0;
  uint32_t element_bytes = 4;
  uint64_t block = 0;  ///< ShadowElement::block, from an earlier launch with the same inputs.
};

/// Selects the errors that the bounds include.
enum class ShadowErrors : uint8_t {
  All,
  /// Only the absolute error of rounding small results to a multiple of the smallest subnormal
  /// number; no relative errors.
  Underflow,
  UnderflowOrFlush,  ///< Underflow, and the flushing by .ftz.
  /// Only the rounding of products that a compiler may fuse into the sums that use them.
  Fusable,
};

struct ShadowConfig {
  std::vector<ShadowRegion> regions;
  std::optional<ShadowTarget> target;
  ShadowErrors errors = ShadowErrors::All;
  /// If not 0: moves rounded constants, and values that all lanes of a warp subtract from loaded
  /// ones, by one unit in the last place, up or down depending on this number.
  uint64_t nudge = 0;
};

/// The shadow of one float in memory.
struct ShadowElement {
  bool known = false;  ///< False: not computed by a float instruction; the other members are then
                       ///< meaningless.
  double high = 0, low = 0;  ///< Their sum is the value without any rounding.
  double bound = 0;          ///< Largest distance from it that rounding can explain.
  uint64_t block = 0;        ///< Linear index of the block that stored it last.
};

/// A value that an instruction read or wrote.
struct ShadowValue {
  std::string name;  ///< "%f12"
  double computed = 0, exact = 0, bound = 0;
};

/// One execution of an instruction, in one lane.
struct ShadowStep {
  enum class Kind : uint8_t {
    Compute,
    Load,  ///< Reads memory that the kernel did not write itself.
    Store,
    Cancels,    ///< Subtracts nearly equal values, so that their errors dominate.
    Absorbs,    ///< Adds to a value so large that most of the addend is rounded away.
    Overflows,  ///< Finite operands, non-finite result.
    Coarse,     ///< Rounds to a format with less precision than its operands.
    Amplifies,  ///< Any other instruction whose result is much less exact than its operands.
    Grows,      ///< Accumulates many small roundings, none of them large.
  };
  Kind kind = Kind::Compute;
  std::string instruction;  ///< PTX
  std::string file;         ///< From .loc; "" without -lineinfo.
  uint32_t line = 0, ptx_line = 0;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  uint64_t visit = 1;  ///< Number of this execution of the instruction by the thread, from 1.
  uint64_t count = 1;  ///< Values in the history that the instruction computed, over all threads.
  ShadowValue result;
  std::vector<ShadowValue> operands;
};

struct ShadowReport {
  std::vector<std::vector<ShadowElement>> regions;  ///< As in ShadowConfig::regions.
  /// The first result in execution order that is much less exact than its operands.
  std::optional<ShadowStep> divergence;
  /// The first result in the target's history with a good part of its error.
  std::optional<ShadowStep> origin;
  /// The instructions that the target's value depends on: the store first, loads last.
  std::vector<ShadowStep> slice;
  /// Comparisons and conversions to integers that the exact values would decide differently.
  uint64_t other_decisions = 0;
  /// Roundings to whole numbers whose result would differ for the exact value, or for one with
  /// other last digits, because it is close to a tie. With Underflow and UnderflowOrFlush, only
  /// those that the bound explains; with Fusable, also those that the bound may change.
  uint64_t close_roundings = 0;
  /// With Underflow and UnderflowOrFlush: comparisons whose result changes, as the bound explains.
  /// For example, a scale that became 0 is no longer above 0.
  uint64_t lost_comparisons = 0;
  std::optional<ShadowStep> first_other_decision;
  bool complete = true;  ///< False if memory for shadows or the history ran out.
};

}  // namespace gpuemu
