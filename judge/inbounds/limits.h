// Numbers that bound a proof: what lies beyond them is "not proved".
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu::inbounds {

/// Addresses that people write have a dozen terms; products of them grow fast.
inline constexpr size_t kPolyTermsMax = 96;
inline constexpr size_t kPolyDegreeMax = 8;
/// Substitutions one after the other on the way from a goal to a number.
inline constexpr uint32_t kProofDepthMax = 18;
/// Inequalities looked at on one way to a goal, for one goal, and for one launch of a kernel: the
/// last is a few seconds.
inline constexpr uint32_t kDerivationStepsMax = 100;
inline constexpr uint32_t kProofStepsMax = 1000;
inline constexpr uint32_t kLaunchStepsMax = 120'000;
/// Distinctions of cases one within the other: a nest of three loops and two selections.
inline constexpr uint32_t kCaseDepthMax = 5;
/// Ways in which one condition may hold.
inline constexpr size_t kAlternativesMax = 4;
/// Rounds in which assumptions that do not hold are dropped; then nothing is assumed any more.
inline constexpr uint32_t kRoundsMax = 12;
/// Instructions of a kernel: three times the most that we have seen from compilers.
inline constexpr size_t kInstructionsMax = 60'000;
/// Combinations of an op's whole attrs that are looked at one by one.
inline constexpr size_t kAttrCombinationsMax = 16;

}  // namespace gpuemu::inbounds
