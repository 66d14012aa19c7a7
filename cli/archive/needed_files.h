// What a project needs to run: files that gpuemu.toml names, and those that these name in turn.
#pragma once

#include <set>
#include <string>

#include "common/config/config.h"

namespace gpuemu::cli {

/// Whether the name ends like that of a source, a reference or small data.
bool is_source_name(const std::string& path);

/// What gpuemu.toml names: sources, references and op scripts. Absolute paths.
std::set<std::string> named_files(const Config& config);

/// All that a project needs: named_files(), headers that sources include, Python modules that
/// references and op scripts import, and small data that a text in one of them names.
/// Absolute paths. Headers and modules that are found nowhere belong to compiler and Python.
std::set<std::string> needed_files(const Config& config);

}  // namespace gpuemu::cli
