// A module in executable form.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/ptx/module.h"

namespace gpuemu {
struct ProfilePlaces;  // runtime/device/profile.h
}

namespace gpuemu::emulator {

/// A module ready to run. Owns the parsed text that findings quote.
struct Program {
  ptx::Module module;
  std::deque<Code> functions;  ///< One per function that has a body.
  std::map<std::string, Code*, std::less<>> by_name;
  std::map<std::string, uint64_t, std::less<>> addresses;  ///< Of .global and .const variables.
  std::map<std::string, uint32_t, std::less<>> shared;     ///< Offsets every function shares.
  uint32_t shared_bytes = 0;                               ///< Of those.
  /// The form of it that counts, once somebody asked for a profile; and what that form counts.
  std::unique_ptr<Program> counting_form;
  std::shared_ptr<ProfilePlaces> places;
  bool counting = false;  ///< decode() inserts the counters.
  /// The form in which every instruction stays where it is, once somebody asked for shadows.
  std::unique_ptr<Program> plain_form;
  bool plain = false;                 ///< decode() moves and joins no instructions.
  bool grid_barrier = false;          ///< Reads where the barrier of the grid lies.
  bool reserved_shared = false;       ///< Asks for the system's part of shared memory.
  bool reads_clock = false;           ///< Time alone may let its threads go on.
  bool may_spin = false;              ///< Has instructions that threads wait for each other with.
  uint32_t cached = 1;                ///< The next Ins::cache; 0 is of no access.
  std::vector<const Code*> callable;  ///< Function addresses are indices + 1.
};

}  // namespace gpuemu::emulator
