// Files of a cache on disk that show by themselves whether they are whole, and what makes one of
// them out of date.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"

namespace gpuemu::compile {

/// What write_kept() was given. Corruption for a file that was cut, changed or read while it was
/// written; Io where there is none.
Result<std::string> read_kept(const std::filesystem::path& file);

/// Makes the folder as well. A cache that cannot be written costs time, not the result: no errors.
void write_kept(const std::filesystem::path& file, std::string text);

/// A part of a key: changes when another program lies at this path.
std::string program_identity(const std::string& path);

}  // namespace gpuemu::compile
