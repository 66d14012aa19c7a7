// A PTX module in executable form.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/ptx/module.h"

namespace gpuemu {
struct ProfilePlaces;  // runtime/profile/profile.h
}

namespace gpuemu::emulator {

/// A module ready to run. Owns the parsed text that findings quote.
struct Program {
  ptx::Module module;
  std::deque<Code> functions;  ///< One per function that has a body.
  std::map<std::string, Code*, std::less<>> by_name;
  std::map<std::string, uint64_t, std::less<>>
      addresses;  ///< Addresses of .global and .const variables.
  /// Offsets of the .shared variables that functions use, the same in every kernel.
  std::map<std::string, uint32_t, std::less<>> shared;
  uint32_t shared_bytes = 0;  ///< Size of those.
  /// Alignment of dynamic shared memory.
  static constexpr uint32_t kDynamicSharedAlign = 128;
  /// Where it begins in functions that name it, and in all kernels that may call one.
  uint32_t dynamic_offset = 0;
  struct KernelShared {
    uint32_t of_functions = 0;  ///< It needs so many of the `shared_bytes`.
    std::vector<size_t> own;    ///< Variables of the module that no function uses.
    std::vector<size_t> used;   ///< Variables of functions that it may call.
    bool shares_dynamic = false;
  };
  std::map<std::string, KernelShared, std::less<>> shared_of_kernels;
  /// The instrumented form of the program, and its counting points; null until a profile is
  /// requested.
  std::unique_ptr<Program> counting_form;
  std::shared_ptr<ProfilePlaces> places;
  bool counting = false;  ///< decode() inserts counters.
  /// The form that keeps every instruction in place; null until shadow execution is requested.
  std::unique_ptr<Program> plain_form;
  bool plain = false;            ///< decode() neither moves nor merges instructions.
  bool grid_barrier = false;     ///< Uses the grid barrier.
  bool reserved_shared = false;  ///< Uses the reserved part of shared memory.
  bool reads_clock = false;      ///< Reads a clock, so threads may wait for time to pass.
  bool may_spin = false;         ///< Has instructions by which threads can wait for each other.
  bool awaits = false;           ///< Reads flags or counters (ptx::awaited_reads).
  uint32_t cached = 1;           ///< The next free Step::cache; 0 stands for "no access".
  std::vector<const Code*> callable;  ///< A function's address is its index + 1.
};

/// Creates a Code for every function of the module that has a body.
void list_functions(Program& program);
/// Allocates the module's variables and sets their initial values.
Status place_variables(Program& program, Memory& memory);
void release_variables(Program& program, Memory& memory);
/// Sets grid_barrier, reserved_shared, reads_clock and may_spin from the module's instructions.
void find_uses(Program& program);

}  // namespace gpuemu::emulator
