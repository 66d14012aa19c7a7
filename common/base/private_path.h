// Private folders and files of one user, by the rules of ssh: other users must not be able to
// change them, and nothing that another user may have planted is followed.
#pragma once

#include <filesystem>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// Creates the folder and its parents with mode 0700 if they are missing. An existing folder must
/// belong to this user or root, and be writable only by them (and by the user's private group). A
/// folder with the sticky bit, such as /tmp, is accepted: open_private_file() checks the files in
/// it. Otherwise Unavailable; the message says what to do.
Status make_private_folder(const std::filesystem::path& folder);

/// Opens a file for reading and writing; creates it with mode 0600 if it is missing. Unavailable
/// for a link, something that is not a regular file, a file of another user, and a file with
/// several hard links, because another user may have planted it.
Result<UniqueFd> open_private_file(const std::filesystem::path& path);

}  // namespace gpuemu
