// The mistakes that are planted: one row per kind. Each turns an instruction into what somebody who
// made that mistake would have got.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "judge/mutants/statement.h"

namespace gpuemu {

/// An instruction in its surroundings.
struct MutationSite {
  const ptx::Function& function;
  const ptx::Instruction& instruction;
  const Statement& statement;
};

struct Mutation {
  const char* name;         ///< "drop_barrier"
  const char* description;  ///< For people, one line.
  /// What may stand in place of the statement, each another mutant; "" removes it.
  std::vector<std::string> (*replacements)(const MutationSite& site);
};

/// All of them, in a fixed order: identifiers of mutants follow from it.
std::span<const Mutation> known_mutations();

}  // namespace gpuemu
