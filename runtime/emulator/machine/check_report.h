// How checks report what they find, and how messages name instructions and shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/device_finding.h"
#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// A finding of one step, before the launch folds it with equal ones.
struct CheckReport {
  DeviceFindingKind kind;
  std::string message = {};
  uint32_t lane = 0;
  std::string tensor = {};
  int64_t byte_offset = 0;
  uint64_t count = 1;
  const ptx::Instruction* other = nullptr;  ///< The second instruction of a pair, such as a race.
  const ptx::Instruction* at = nullptr;     ///< The instruction to name; null: that of the step.
  const Code* code = nullptr;  ///< The function of the step; null: the warp's current one.
};
/// Adds a finding of `step` to the launch, folded with earlier ones of the same kind and pair of
/// instructions. Stops the launch if its kind does or the list is full.
void report_check(Warp& warp, const Step& step, CheckReport check);
/// Adds an UndefinedStore to the launch, folded in the same way. Returns its number, or 0.
uint32_t note_undefined_store(Warp& warp, const Step& step, CheckReport check);

/// "ld.shared.f32 %f1, [%r2] at reduce.cu:11".
std::string describe(const ptx::Module& module, const ptx::Instruction& instruction);
/// "offset 12 ('tile'[3])" of shared memory, counting elements of `element` bytes.
std::string shared_place(const Warp& warp, uint64_t offset, uint32_t element);
/// Bytes of one element that a load, store or atomic accesses.
uint32_t element_bytes(const ptx::Instruction& instruction);
/// The PTX instruction that `step` is a part of.
const ptx::Instruction& instruction_of(Warp& warp, const Step& step);

}  // namespace gpuemu::emulator
