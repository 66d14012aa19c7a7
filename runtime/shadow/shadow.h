// Shadow execution: a launch that also computes every float value as if nothing were ever rounded,
// and bounds what rounding may have done to it. What it is asked for and what it tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/launch_shape.h"

namespace gpuemu {

/// Floats in device memory whose shadows are wanted when the launch has ended.
struct ShadowRegion {
  uint64_t address = 0;
  uint64_t count = 0;
  uint32_t element_bytes = 4;  ///< 2, 4 or 8.
};

/// One float whose history is wanted: the block that stored it last is followed value by value.
struct ShadowTarget {
  uint64_t address = 0;
  uint32_t element_bytes = 4;
  uint64_t block = 0;  ///< ShadowElement::block of an earlier launch with the same inputs.
};

/// What the bounds of shadows are made of.
enum class ShadowErrors : uint8_t {
  All,
  /// What rounding to a multiple of the smallest subnormal number adds, where results are small:
  /// relative errors count as none.
  Underflow,
  UnderflowOrFlush,  ///< Underflow, and what .ftz makes of it.
  /// What rounds products that a compiler may fuse with the sums that use them.
  Fusable,
};

struct ShadowConfig {
  std::vector<ShadowRegion> regions;
  std::optional<ShadowTarget> target;
  ShadowErrors errors = ShadowErrors::All;
  /// Not 0: constants that were rounded, and results that all lanes of a warp subtract from what
  /// each has loaded, lie one unit in the last place away, up or down by chance of this number.
  uint64_t nudge = 0;
};

/// What is known of one float in memory.
struct ShadowElement {
  bool known = false;        ///< False: no float instruction made it; the others mean nothing then.
  double high = 0, low = 0;  ///< Their sum is the value without any rounding.
  double bound = 0;          ///< How far from it rounding may have taken the computed one.
  uint64_t block = 0;        ///< Linear index of the block that stored it last.
};

/// A value as an instruction read or wrote it.
struct ShadowValue {
  std::string name;  ///< "%f12"
  double computed = 0, exact = 0, bound = 0;
};

/// One instruction at work, in one lane.
struct ShadowStep {
  enum class Kind : uint8_t {
    Compute,
    Load,  ///< Reads memory that the kernel did not write itself.
    Store,
    Cancels,    ///< Subtracts nearly equal values: their errors remain.
    Absorbs,    ///< Adds to a value so large that most of the addend is rounded away.
    Overflows,  ///< Finite operands, a result that is not.
    Coarse,     ///< Rounds to a format that holds less than its operands.
    Amplifies,  ///< Any other instruction whose result is much less exact than its operands.
    Grows,      ///< Many small roundings; none stands out.
  };
  Kind kind = Kind::Compute;
  std::string instruction;  ///< PTX
  std::string file;         ///< From .loc, "" without -lineinfo.
  uint32_t line = 0, ptx_line = 0;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  uint64_t visit = 1;  ///< How often the thread had come to the instruction, this time included.
  uint64_t count = 1;  ///< Values of the history that the instruction made, over all threads.
  ShadowValue result;
  std::vector<ShadowValue> operands;
};

struct ShadowReport {
  std::vector<std::vector<ShadowElement>> regions;  ///< As ShadowConfig::regions.
  /// The first result, in the order of execution, that is much less exact than its operands.
  std::optional<ShadowStep> divergence;
  /// The first result of the target's history that has a good part of its error.
  std::optional<ShadowStep> origin;
  /// The instructions that the target's value comes from, the store first, loads last.
  std::vector<ShadowStep> slice;
  /// Comparisons and conversions to integers that the exact values decide differently.
  uint64_t other_decisions = 0;
  /// Roundings to whole numbers that came out otherwise, or would where the last digits of the
  /// exact value are others: it lies between two results. Of Underflow and UnderflowOrFlush only
  /// those that the bound explains; of Fusable also those that it may change.
  uint64_t close_roundings = 0;
  /// Comparisons of Underflow and UnderflowOrFlush that come out otherwise as the bound explains.
  /// A scale that became 0 is not above 0.
  uint64_t lost_comparisons = 0;
  std::optional<ShadowStep> first_other_decision;
  bool complete = true;  ///< False where memory for shadows or the history ran out.
};

}  // namespace gpuemu
