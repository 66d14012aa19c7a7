// What an operation does to exact values, lane by lane: the result without rounding, and the first
// order of what the operands' errors and its own rounding may add up to.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// Part of a divisor that is left where its error may be all of it: what it divides may be
/// anything.
inline constexpr double kLeastLeft = 0x1p-53;

/// How much a result moves with each operand, for the history.
using Slopes = std::array<std::array<double, kLanes>, 3>;

/// The exact result of `operation` and its bound. `operands` as many as it has, up to three.
void compute(const Operation& operation, const std::array<Lanes, 3>& operands, Lanes& result);
/// The derivatives at the exact operands.
void differentiate(const Operation& operation, const std::array<Lanes, 3>& operands,
                   const Lanes& result, Slopes& slopes);

/// Reads a register whose plane says what it holds; void lanes stand for themselves.
void fetch_floats(const uint32_t* bits, const Plane* plane, Lanes& to);
void fetch_doubles(const uint64_t* bits, const Plane* plane, Lanes& to);
/// What a saturating operation does with them.
void clamp(Lanes& results);
/// A result is looked at when it lost all but its first eight bits, or nearly all of its format's.
double least_far(Format format);
/// Lanes of `mask` whose result is so much less exact than `least` allows.
uint32_t far_off(const Lanes& result, double least, uint32_t mask);

}  // namespace gpuemu::emulator
