// Replaces a database by a backup.
#pragma once

#include <filesystem>

#include "common/base/result.h"

namespace gpuemu::storage {

/// Copies `backup`, which must be intact, to the place of `folder`. Returns where the previous
/// content is kept; "" if there was none. No process may have either open.
Result<std::filesystem::path> restore(const std::filesystem::path& folder,
                                      const std::filesystem::path& backup);

}  // namespace gpuemu::storage
