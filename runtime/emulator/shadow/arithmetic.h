// Computes operations on exact values, lane by lane: the result without rounding, and a first-order
// bound of what the operands' errors and the operation's own rounding add up to.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// Smallest part of a divisor that counts as nonzero if its error may be all of it: the quotient
/// may then be anything.
inline constexpr double kLeastLeft = 0x1p-53;

/// Derivatives of a result by each operand, for the history.
using Slopes = std::array<std::array<double, kLanes>, 3>;

/// Computes the exact result of `operation` and its error bound, from up to three operands.
void compute(const Operation& operation, const std::array<Lanes, 3>& operands, Lanes& result);
/// Computes the derivatives at the exact operands.
void differentiate(const Operation& operation, const std::array<Lanes, 3>& operands,
                   const Lanes& result, Slopes& slopes);

/// Reads the shadow of a register from its plane. Lanes whose shadow is void take the computed
/// value.
void fetch_floats(const uint32_t* bits, const Plane* plane, Lanes& to);
void fetch_doubles(const uint64_t* bits, const Plane* plane, Lanes& to);
/// Clamps the results of a saturating operation.
void clamp(Lanes& results);
/// Returns the relative error from which a result is examined: it has lost all but its first eight
/// bits, or nearly all bits of its format.
double least_far(Format format);
/// Returns the lanes of `mask` whose relative error is above `least`.
uint32_t far_off(const Lanes& result, double least, uint32_t mask);

}  // namespace gpuemu::emulator
