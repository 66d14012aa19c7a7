// What the settings of a case accept.
#pragma once

#include <string>

#include "judge/bounds/comparison.h"

namespace gpuemu {

struct CaseRequest;

/// Whether gpuemu.toml sets no nan_policy for the output. A policy that it sets always holds, even
/// where there is an explanation for NaN and infinity.
bool has_policy_by_default(const CaseRequest& request, const std::string& output);
/// Whether integers that belong to a NaN or an infinity of another output are compared: where
/// gpuemu.toml writes a nan_policy that accepts no other float there, and where the run is strict.
bool integers_have_to_match(const CaseRequest& request, const std::string& output);
/// Whether integers that the output's type cannot hold are the inputs' fault: where the case draws
/// from the whole type and an input of integers has no range. A strict run compares them.
bool may_wrap_integers(const CaseRequest& request);
/// Whether nothing beyond the bound passes.
bool is_strict(const CaseRequest& request);
/// Whether subnormal numbers that came out as zero are a note and no finding. The kernel must have
/// an instruction that flushes: one with .ftz, or a float atomic (".add.f32" behind "atom" or
/// "red").
bool may_note_flushing(const CaseRequest& request);
/// How outputs of two runs are compared: all of the op but its tolerance and invariants.
ValidationPolicy agreement_policy(const CaseRequest& request);

}  // namespace gpuemu
