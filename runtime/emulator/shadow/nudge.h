// What a kernel cannot know better than its types do, moved by the last place of them: how far the
// exact result moves then is what no formula with these constants and sums could better.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// What rounding may have made of a constant's decimal text; 0 of one that is meant as it is, for
/// it is whole or takes few bits. What is left of 1 has the last place of what was taken away:
/// `1 - 0.999f` is a whole multiple of 2^-24.
double uncertainty_of_constant(double value, Format format);

/// The constant, that much up or down: the same way wherever it stands, by chance of `draw`.
double nudged_constant(double value, Format format, uint64_t draw);

/// Moves the results of a subtraction as the last place of the operand would that all lanes of
/// `mask` share and that was rounded, where the other one is each lane's own, as in x - mean: no
/// register holds a mean better. The same way wherever the operand is the same, by chance of
/// `draw`. The same of float32 where every lane has a mean of its own, as of a row per thread, and
/// the other operand was read, and where every lane takes the whole part of a rounded value from
/// it: no register holds the coordinate of a point between two pixels better. False, and nothing
/// moved, where there is no such operand.
///
/// A difference of two values of one kind is left alone: that they cancel, as E[x^2] - mean^2 does,
/// is the formula's choice. One lane has no other to share with.
bool nudge_shared(const std::array<Lanes, 3>& operands, Format format, uint32_t mask, uint64_t draw,
                  Lanes& out);

/// Moves the products of a factor of float32 that all lanes of the warp share and that was rounded,
/// as the mean of a row, with numbers that each lane has read: no register holds the factor better.
/// All lanes are asked, not those of `mask` alone: what one column is multiplied by, the whole warp
/// has summed. Terms that cancel, as in `g - x * mean(g * x)`, then move by as much.
void nudge_factor(const std::array<Lanes, 3>& operands, uint32_t mask, uint64_t draw, Lanes& out);

}  // namespace gpuemu::emulator
