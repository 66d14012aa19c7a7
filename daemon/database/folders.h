// Moves whole folders durably: the result survives a loss of power.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu::storage {

/// The longest path that is stored in a file.
inline constexpr size_t kPathBytesMax = 4096;

/// Makes the Io error "cannot WHAT PATH", with the reason from errno.
Error io_error(const std::string& what, const std::filesystem::path& path);

/// Returns when the file, or the folder's list of files, is on disk.
Status sync_path(const std::filesystem::path& path);

/// Copies all files of the folder except `left_out` into another; returns when they are on disk.
Status copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                  std::string_view left_out = "");

/// Renames the folder within its file system; returns when that is on disk.
Status move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Returns `folder` with links resolved, so that a link to it survives an exchange.
std::filesystem::path real_folder(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
