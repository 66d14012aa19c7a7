// Folders and files that belong to one user, by the rules of ssh: others may not be able to change
// them, and nothing that another user has planted is followed.
#pragma once

#include <filesystem>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// Makes the folder, mode 0700, where it is missing, and its parents likewise. One that exists must
/// belong to this user or root, and only they may write to it (the user's own group too). A folder
/// with the sticky bit, as /tmp, will do: what lies in it is checked by open_private_file.
/// Unavailable otherwise; the message says what to do.
Status make_private_folder(const std::filesystem::path& folder);

/// Opens a file for reading and writing, and makes it, mode 0600, where it is missing. Unavailable
/// for a link, for what is not a regular file, for a file of another user and for one with several
/// names: somebody may have planted it.
Result<UniqueFd> open_private_file(const std::filesystem::path& path);

}  // namespace gpuemu
