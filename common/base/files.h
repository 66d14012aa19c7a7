// Small file helpers with bounded reads, errors that name the path, and atomic replacement.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

/// NotFound when it does not exist, ResourceExhausted above `bytes_max`, Io otherwise.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// A regular file is replaced as a whole, so that readers see the old or the new content; it keeps
/// its permissions, and a link to it stays a link. Anything else (a pipe, a terminal, /dev/stdout)
/// is written into.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Whether write_file has a chance: for commands that shall not work for minutes in vain.
bool can_write_file(const std::filesystem::path& path);

}  // namespace gpuemu
