// Removes kernels from a PTX text, as if the compiler had been given fewer.
#pragma once

#include <set>
#include <string>

namespace gpuemu {

/// Returns a compiler's PTX without the entries of these names. Everything outside them stays.
std::string without_entries(std::string ptx, const std::set<std::string>& names);

/// Returns a compiler's PTX with only these entries. Unchanged if the rest refers to one of the
/// others, because a kernel may launch another one.
std::string only_entries(std::string ptx, const std::set<std::string>& names);

}  // namespace gpuemu
