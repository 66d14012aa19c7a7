// Replaces the folder of a database by another in one step, which a kill leaves either undone or
// complete.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.h"

namespace gpuemu::storage {

/// Returns where the folder that will replace `folder` is built. It contains no database.
std::filesystem::path replacement_of(const std::filesystem::path& folder);

/// Returns "FOLDER.WHAT-20261128-003012", or that with a number appended: a name that is not in
/// use.
std::filesystem::path place_to_keep(const std::filesystem::path& folder, const std::string& what);

/// Moves replacement_of(folder) to `folder` and its previous content to `kept`. No process may have
/// either open. Unavailable if the folder is the root of a mounted disk.
Status replace_folder(const std::filesystem::path& folder, const std::filesystem::path& kept);

/// Completes or removes what a killed repair or restore left beside `folder`.
Status finish_replacing(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
