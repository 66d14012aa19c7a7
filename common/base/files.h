// File helpers with bounded reads, errors that name the path, and atomic replacement.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

/// NotFound if the file does not exist, ResourceExhausted above `bytes_max`, Io otherwise.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// Replaces a regular file atomically, so that readers see the old or the new content. Keeps its
/// permissions, and keeps links to it. Other targets (a pipe, a terminal, /dev/stdout) are written
/// into.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Returns whether write_file() is likely to succeed, so that long commands can fail early.
bool can_write_file(const std::filesystem::path& path);

}  // namespace gpuemu
