// The planted mistakes, one row per kind. Each changes an instruction to what a programmer who made
// that mistake would get.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "judge/mutants/statement.h"

namespace gpuemu {

/// An instruction and its context.
struct MutationSite {
  const ptx::Function& function;
  const ptx::Instruction& instruction;
  const Statement& statement;
};

struct Mutation {
  const char* name;         ///< "drop_barrier"
  const char* description;  ///< One line, human-readable.
  /// Returns replacements of the statement, each a separate mutant; "" removes it.
  std::vector<std::string> (*replacements)(const MutationSite& site);
};

/// Returns all kinds in a fixed order, because the ids of mutants depend on it.
std::span<const Mutation> known_mutations();

}  // namespace gpuemu
