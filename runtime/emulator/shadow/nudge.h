// Moves values that a kernel cannot represent more exactly by their last place. The resulting
// change of the exact result is an error that no formula with these constants and sums can avoid.
#pragma once

#include "runtime/emulator/shadow/plan.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// Returns by how much rounding may have changed a constant's decimal text; 0 for a constant that
/// is exact, because it is whole or has few bits. A constant computed as 1 minus something has the
/// last place of that: `1 - 0.999f` is a whole multiple of 2^-24.
double uncertainty_of_constant(double value, Format format);

/// Moves the constant by that much, up or down: in the same direction wherever it is used, by
/// `draw`.
double nudged_constant(double value, Format format, uint64_t draw);

/// Moves the results of a subtraction by the last place of one operand, if that operand was rounded
/// and is shared by all lanes of `mask` while the other is different per lane, as in x - mean: no
/// register holds the mean more exactly. The direction is the same wherever the operand is the
/// same, and depends on `draw`. Does the same for float32 if every lane has a mean of its own (a
/// row per thread) and the other operand was read, and if every lane subtracts the whole part of a
/// rounded value from it (the coordinate of a point between two pixels). Returns false, without a
/// change, if there is no such operand.
///
/// A difference of two values of one kind is not moved: if they cancel, as in E[x^2] - mean^2, that
/// is due to the formula. A single lane shares with no other.
bool nudge_shared(const std::array<Lanes, 3>& operands, Format format, uint32_t mask, uint64_t draw,
                  Lanes& out);

/// Moves products of a rounded float32 factor that all lanes of the warp share, such as the mean of
/// a row, with numbers that each lane has read: no register holds the factor more exactly.
/// Considers all lanes, not only those of `mask`, because the whole warp has summed what one column
/// is multiplied by. Terms that cancel, as in `g - x * mean(g * x)`, then move by as much.
void nudge_factor(const std::array<Lanes, 3>& operands, uint32_t mask, uint64_t draw, Lanes& out);

}  // namespace gpuemu::emulator
