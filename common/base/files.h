// Small file helpers with bounded reads, errors that name the path, and atomic replacement.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

/// NotFound when it does not exist, ResourceExhausted above `bytes_max`, Io otherwise.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

/// Writes beside and renames over, so that readers see the old or the new content.
Status write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace gpuemu
