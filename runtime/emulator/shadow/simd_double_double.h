// Arithmetic on the shadows of 32 floats at once, with vectors of the instruction set that
// runtime/emulator/handlers selected. Gives bit for bit the same as compute() (arithmetic.h) if no
// value is infinite or NaN; otherwise reports failure.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// Where the values of an operand are. With DoubleDouble, `low` and `bound` are zero and not read.
struct PairView {
  const double *high = nullptr, *low = nullptr, *bound = nullptr;
  bool exact = true;
};
using PairViews = std::array<PairView, 3>;

/// Returns false if any intermediate or final value or bound is infinite or NaN; all results are
/// invalid then.
using PairFunction = bool (*)(const PairViews& in, const Operation& by, Lanes& out);

enum class LaneShape : uint8_t { Row, Same, Apart };

struct PairFunctions {
  void (*widen)(const uint32_t* bits, double* to);
  /// Returns the lanes in which the plane's shadow belongs to these f32 bits.
  uint32_t (*live)(const uint32_t* bits, const Plane& plane);
  /// Returns the lanes in which the plane holds something other than an f32.
  uint32_t (*others)(const Plane& plane);
  /// Clears the plane in the lanes `mask`.
  void (*clear)(uint32_t mask, Plane& plane);
  /// Classifies the addresses of the lanes `mask`, for elements of `bytes` bytes.
  LaneShape (*shape)(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
  /// Returns the plane's values in the lanes `live`, and the computed ones in the others.
  void (*mix)(const uint32_t* bits, const Plane& plane, uint32_t live, Lanes& to);
  /// Stores results for f32 values with these bits to the plane's lanes `mask`, without history
  /// nodes.
  void (*keep)(const Lanes& results, const uint32_t* bits, uint32_t mask, Plane& plane);
  /// Copies everything in the lanes `mask`.
  void (*assign)(const Plane& from, uint32_t mask, Plane& to);
  /// Returns the lanes whose f32 has a relative error above `least`, like far_off() of
  /// arithmetic.h.
  uint32_t (*far_off)(const uint32_t* bits, const Lanes& results, double least);
  /// Returns the lanes in which the exact values may be ordered differently from the computed ones.
  uint32_t (*reordered)(const uint32_t* a_bits, const uint32_t* b_bits, const PairView& a,
                        const PairView& b);
  PairFunction add, subtract, multiply, fuse, divide, invert, least, greatest, negate, absolute;
};

const PairFunctions& pair_functions();
/// Returns the function for the operation; null if there is none.
PairFunction pair_function(const PairFunctions& all, Meaning meaning);

}  // namespace gpuemu::emulator
