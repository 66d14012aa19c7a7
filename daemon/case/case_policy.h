// What the settings of a case permit.
#pragma once

#include <string>

#include "judge/bounds/comparison.h"

namespace gpuemu {

struct CaseRequest;

/// Returns whether gpuemu.toml sets no nan_policy for the output. A policy that it sets always
/// applies, even where NaN and infinity could be explained otherwise.
bool has_policy_by_default(const CaseRequest& request, const std::string& output);
/// Returns whether integers that depend on a NaN or an infinity of another output are compared: if
/// gpuemu.toml sets a nan_policy that accepts no other float there, or if the run is strict.
bool integers_have_to_match(const CaseRequest& request, const std::string& output);
/// Returns whether the inputs are to blame for integers that the output's type cannot hold: if the
/// case draws from the whole type and an integer input has no range. A strict run compares them.
bool may_wrap_integers(const CaseRequest& request);
/// Returns whether errors beyond the bound are never accepted.
bool is_strict(const CaseRequest& request);
/// Returns whether subnormal numbers that came out as zero are a note rather than a finding. The
/// kernel must contain an instruction that flushes: one with .ftz, or a float atomic (".add.f32"
/// after "atom" or "red").
bool may_note_flushing(const CaseRequest& request);
/// Returns the policy for comparing the outputs of two runs: that of the op without its tolerance
/// and invariants.
ValidationPolicy agreement_policy(const CaseRequest& request);

}  // namespace gpuemu
