// Lists the mutants of a kernel: its text with one planted mistake.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

struct Mutant {
  uint64_t id = 0;  ///< Number among all mutants of the text, independent of which are chosen.
  std::string mutation, entry;
  std::string file;  ///< The source file; "" if unknown.
  uint32_t line = 0, ptx_line = 0;
  std::string before, after;  ///< `after` is "" if the instruction is removed.
  size_t begin = 0, end = 0;  ///< Range in the text.
};

/// Returns the mutants of the entries and of all functions that are not entries. Empty `mutations`:
/// all kinds. Requires `module` to be parsed from `ptx`.
std::vector<Mutant> find_mutants(std::string_view ptx, const ptx::Module& module,
                                 const std::vector<std::string>& entries,
                                 const std::vector<std::string>& mutations);

/// Returns the text with the mutant's statement replaced. Keeps the number of lines.
std::string with_mutant(std::string_view ptx, const Mutant& mutant);

/// Chooses `count` mutants evenly over the kinds by the seed, ascending by id; all if count is 0 or
/// not less than their number.
std::vector<Mutant> choose_mutants(std::vector<Mutant> mutants, uint64_t count, uint64_t seed);

/// InvalidArgument names the first unknown kind, and the existing ones.
Status check_mutations(const std::vector<std::string>& names);

}  // namespace gpuemu
