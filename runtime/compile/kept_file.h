// Cache files on disk with a checksum, and the parts of a cache key that make one out of date.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"

namespace gpuemu::compile {

/// Returns the text passed to write_kept(). Corruption if the file was truncated, changed, or read
/// while it was being written; Io if it does not exist.
Result<std::string> read_kept(const std::filesystem::path& file);

/// Writes a file, and creates its folder. Errors are ignored: an unwritable cache only costs time.
void write_kept(const std::filesystem::path& file, std::string text);

/// Returns a part of the cache key that changes when the program at this path is replaced.
std::string program_identity(const std::string& path);

}  // namespace gpuemu::compile
