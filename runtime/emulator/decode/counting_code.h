// Builds instrumented code for profiles: the same instructions, each executed by the counting
// handler (steps/counting.h).
#pragma once

#include "runtime/emulator/program/program.h"
#include "runtime/profile/profile.h"
#include "runtime/ptx/flow/cfg.h"

namespace gpuemu::emulator {

/// Returns the instrumented form of `program`, built at the first call. It is owned by `program`
/// and shares its variables.
const Program& counting_program(Program& program);

/// Returns the form of `program` that keeps every instruction in place, for step observers.
const Program& plain_program(Program& program);

/// Inserts the counters that determine how often each step of `code` runs, and adds its counting
/// points to the program's. Requires final branch targets.
void insert_counters(Program& program, Code& code, const ptx::ControlFlow& flow);

/// Copies counts to the instructions that have no counter of their own.
void spread_counts(const Program& program, ProfileCounts& counts);

}  // namespace gpuemu::emulator
