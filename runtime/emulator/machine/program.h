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
  std::map<std::string, uint32_t, std::less<>>
      shared;                 ///< Offsets of .shared variables, the same in every function.
  uint32_t shared_bytes = 0;  ///< Size of all .shared variables.
  /// The form of the program that counts, and the places it counts; null until a profile is
  /// requested.
  std::unique_ptr<Program> counting_form;
  std::shared_ptr<ProfilePlaces> places;
  bool counting = false;  ///< decode() inserts the counters.
  /// The form in which every instruction stays in its place; null until shadows are requested.
  std::unique_ptr<Program> plain_form;
  bool plain = false;                 ///< decode() moves and joins no instructions.
  bool grid_barrier = false;          ///< Reads the address of the grid barrier.
  bool reserved_shared = false;       ///< Uses the part of shared memory that the system reserves.
  bool reads_clock = false;           ///< Its threads may wait for time to pass.
  bool may_spin = false;              ///< Has instructions with which threads wait for each other.
  uint32_t cached = 1;                ///< The next Step::cache; 0 means no access.
  std::vector<const Code*> callable;  ///< Function addresses are indices + 1.
};

}  // namespace gpuemu::emulator
