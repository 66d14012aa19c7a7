// Limits of the proof search. Beyond them the result is "not proved".
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu::inbounds {

/// Handwritten addresses have about a dozen terms; their products grow fast.
inline constexpr size_t kPolyTermsMax = 96;
inline constexpr size_t kPolyDegreeMax = 8;
/// Depth of substitutions between a goal and a number.
inline constexpr uint32_t kProofDepthMax = 18;
/// Limits of the inequalities examined in one derivation, for one goal, and for one launch of a
/// kernel. The last amounts to a few seconds.
inline constexpr uint32_t kDerivationStepsMax = 100;
inline constexpr uint32_t kProofStepsMax = 1000;
inline constexpr uint32_t kLaunchStepsMax = 120'000;
/// Nested case distinctions: enough for three nested loops and two selections.
inline constexpr uint32_t kCaseDepthMax = 5;
/// Alternatives in which one condition may hold.
inline constexpr size_t kAlternativesMax = 4;
/// Rounds in which invalid assumptions are dropped; after that nothing is assumed.
inline constexpr uint32_t kRoundsMax = 12;
/// Instructions of a kernel: three times the largest number seen from compilers.
inline constexpr size_t kInstructionsMax = 60'000;
/// Combinations of an op's whole attrs that are analysed one by one.
inline constexpr size_t kAttrCombinationsMax = 16;

}  // namespace gpuemu::inbounds
