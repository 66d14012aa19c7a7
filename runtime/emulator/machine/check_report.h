// Reports findings of the checks, and describes instructions and shared memory in messages.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/device_finding.h"
#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

struct Program;

/// A finding of one step, before the launch merges it with equal ones.
struct CheckReport {
  DeviceFindingKind kind;
  std::string message = {};
  uint32_t lane = 0;
  std::string tensor = {};
  int64_t byte_offset = 0;
  uint64_t count = 1;
  /// The second instruction of a pair, such as in a race.
  const ptx::Instruction* other = nullptr;
  const ptx::Instruction* at = nullptr;  ///< The instruction to name; null: the one of the step.
  const Code* code = nullptr;  ///< The function of the step; null: the warp's current one.
};
/// Adds a finding of `step` to the launch, merged with earlier ones of the same kind and pair of
/// instructions. Stops the launch if the kind requires it or the list is full.
void report_check(Warp& warp, const Step& step, CheckReport check);
/// Adds an UndefinedStore to the launch, merged in the same way. Returns its number; 0 if the list
/// is full.
uint32_t note_undefined_store(Warp& warp, const Step& step, CheckReport check);

/// Returns for example "ld.shared.f32 %f1, [%r2] at reduce.cu:11".
std::string describe(const ptx::Module& module, const ptx::Instruction& instruction);
/// Returns for example "offset 12 ('tile'[3])", counting elements of `element` bytes.
std::string shared_place(const Warp& warp, uint64_t offset, uint32_t element);
/// Returns the bytes of one element that a load, store or atomic accesses.
uint32_t element_bytes(const ptx::Instruction& instruction);
/// Returns the instruction whose accesses carry `site` (Step::cache); null if there is none.
const ptx::Instruction* instruction_at(const Program& program, uint32_t site);
/// Returns the PTX instruction that `step` belongs to.
const ptx::Instruction& instruction_of(Warp& warp, const Step& step);

}  // namespace gpuemu::emulator
