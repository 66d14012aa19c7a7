// Arithmetic on the shadows of 32 floats at once, by vectors of the best instruction set that
// runtime/emulator/handlers chose. It gives what compute() gives (arithmetic.h), bit for bit, where
// nothing is infinite or not a number; where something is, it says so.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// Where the values of an operand lie. DoubleDouble: `low` and `bound` are zero and not looked at.
struct PairView {
  const double *high = nullptr, *low = nullptr, *bound = nullptr;
  bool exact = true;
};
using PairViews = std::array<PairView, 3>;

/// False where a result or bound of any lane is, on the way or in the end, infinite or not a
/// number; then all of them mean nothing.
using PairFunction = bool (*)(const PairViews& in, const Operation& by, Lanes& out);

enum class LaneShape : uint8_t { Row, Same, Apart };

struct PairFunctions {
  void (*widen)(const uint32_t* bits, double* to);
  /// Lanes in which the plane holds the f32 that these are the bits of.
  uint32_t (*live)(const uint32_t* bits, const Plane& plane);
  /// Lanes in which it holds anything but f32s.
  uint32_t (*others)(const Plane& plane);
  /// Makes it hold nothing in the lanes `mask`.
  void (*clear)(uint32_t mask, Plane& plane);
  /// How the lanes `mask` lie whose addresses these are, of elements of so many bytes.
  LaneShape (*shape)(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
  /// The plane's values in the lanes `live`, the others as they are.
  void (*mix)(const uint32_t* bits, const Plane& plane, uint32_t live, Lanes& to);
  /// Puts results into the plane's lanes `mask`, of f32s with these bits. Their nodes are none.
  void (*keep)(const Lanes& results, const uint32_t* bits, uint32_t mask, Plane& plane);
  /// Everything of the lanes `mask`.
  void (*assign)(const Plane& from, uint32_t mask, Plane& to);
  /// Lanes whose f32 is so much less exact than `least` allows: far_off() of arithmetic.h.
  uint32_t (*far_off)(const uint32_t* bits, const Lanes& results, double least);
  /// Lanes in which the exact values may lie in another order than the computed ones.
  uint32_t (*reordered)(const uint32_t* a_bits, const uint32_t* b_bits, const PairView& a,
                        const PairView& b);
  PairFunction add, subtract, multiply, fuse, divide, invert, least, greatest, negate, absolute;
};

const PairFunctions& pair_functions();
/// What computes the operation; nullptr: nothing does.
PairFunction pair_function(const PairFunctions& all, Meaning meaning);

}  // namespace gpuemu::emulator
