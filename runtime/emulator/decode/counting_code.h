// Makes code that counts: the same instructions, each run by the counting handler
// (steps/counting.h).
#pragma once

#include "runtime/emulator/machine/program.h"
#include "runtime/profile/profile.h"
#include "runtime/ptx/flow/cfg.h"

namespace gpuemu::emulator {

/// The form of `program` that counts, made at the first call. It shares the variables of `program`,
/// which owns it.
const Program& counting_program(Program& program);

/// The form of `program` in which every instruction stays in its place, for step observers.
const Program& plain_program(Program& program);

/// Puts counters around what decides how often the steps of `code` run; its targets are final. Adds
/// its places to those of the program.
void insert_counters(Program& program, Code& code, const ptx::ControlFlow& flow);

/// Gives instructions without a counter of their own the counts of the one that counts for them.
void spread_counts(const Program& program, ProfileCounts& counts);

}  // namespace gpuemu::emulator
