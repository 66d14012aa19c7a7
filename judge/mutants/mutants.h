// Every mutant of a kernel: the text with one mistake planted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

struct Mutant {
  uint64_t id = 0;  ///< Its number among all of the text; the same whatever is chosen.
  std::string mutation, entry;
  std::string file;  ///< The source file; "" when not known.
  uint32_t line = 0, ptx_line = 0;
  std::string before, after;  ///< `after` is "" where the instruction is removed.
  size_t begin = 0, end = 0;  ///< In the text.
};

/// The mutants of the entries and of all functions that are not entries. `mutations` empty: all
/// kinds.
/// REQUIRES: `module` was parsed from `ptx`.
std::vector<Mutant> find_mutants(std::string_view ptx, const ptx::Module& module,
                                 const std::vector<std::string>& entries,
                                 const std::vector<std::string>& mutations);

/// The text with the mutant's statement replaced; as many lines as before.
std::string with_mutant(std::string_view ptx, const Mutant& mutant);

/// `count` of them, ascending by id, chosen by the seed evenly over the kinds; all when count is 0
/// or there are no more.
std::vector<Mutant> choose_mutants(std::vector<Mutant> mutants, uint64_t count, uint64_t seed);

/// InvalidArgument naming the first kind that does not exist, and those that do.
Status check_mutations(const std::vector<std::string>& names);

}  // namespace gpuemu
