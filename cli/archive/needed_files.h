// The files that a project needs to run: those that gpuemu.toml names, and those that they refer to
// in turn.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu::cli {

/// Returns whether the name has the suffix of a source, a reference or small data.
bool is_source_name(const std::string& path);

/// Returns the sources, references and op scripts that gpuemu.toml names, as absolute paths.
std::set<std::string> named_files(const Config& config);

/// Returns the headers that the CUDA source of each kernel includes, by the kernel's name.
std::map<std::string, std::vector<std::string>> headers_by_kernel(const Config& config);

/// Returns everything that a project needs: named_files(), headers that sources include, Python
/// modules that references and op scripts import, and small data files that a string in one of them
/// names. Absolute paths. Headers and modules that are not found belong to the compiler or to
/// Python.
std::set<std::string> needed_files(const Config& config);

}  // namespace gpuemu::cli
