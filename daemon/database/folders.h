// Moves whole folders so that they survive a loss of power.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu::storage {

/// The longest path that is kept in a file.
inline constexpr size_t kPathBytesMax = 4096;

/// Io: "cannot WHAT PATH", with the reason in errno.
Error io_error(const std::string& what, const std::filesystem::path& path);

/// Returns when the file, or the list of the folder's files, is on disk.
Status sync_path(const std::filesystem::path& path);

/// Copies all files of the folder but `left_out` into another; returns when they are on disk.
Status copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                  std::string_view left_out = "");

/// Gives the folder another name on the same file system; returns when that is on disk.
Status move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// `folder` with links resolved, so that a link to it survives an exchange.
std::filesystem::path real_folder(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
