// Puts another folder in the place of a database, in one step that a kill leaves undone or done.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"

namespace gpuemu::storage {

/// Where the folder that is to take the place of `folder` is built. No database is there.
std::filesystem::path replacement_of(const std::filesystem::path& folder);

/// "FOLDER.WHAT-20261128-003012", or one with a number behind it: a name that is not taken.
std::filesystem::path place_to_keep(const std::filesystem::path& folder, const std::string& what);

/// Moves replacement_of(folder) to `folder` and what was there to `kept`. No process may have
/// either open. Unavailable for the root of a mounted disk.
Status replace_folder(const std::filesystem::path& folder, const std::filesystem::path& kept);

/// Finishes or removes what a killed repair or restore left beside `folder`.
Status finish_replacing(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
