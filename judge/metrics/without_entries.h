// A text of several kernels as the compiler would have made it for fewer.
#pragma once

#include <set>
#include <string>

namespace gpuemu {

/// The PTX that a compiler wrote, without the entries of these names. Everything outside of them
/// stays.
std::string without_entries(std::string ptx, const std::set<std::string>& names);

/// The PTX that a compiler wrote, with no other entries than these. As it is where what stays names
/// one of the others: a kernel may launch another one.
std::string only_entries(std::string ptx, const std::set<std::string>& names);

}  // namespace gpuemu
