// Puts a backup in the place of a database.
#pragma once

#include <filesystem>

#include "common/base/result.h"

namespace gpuemu::storage {

/// Copies `backup`, which is whole, to the place of `folder`. Returns where what was there is kept;
/// "" where there was nothing. No process may have either open.
Result<std::filesystem::path> restore(const std::filesystem::path& folder,
                                      const std::filesystem::path& backup);

}  // namespace gpuemu::storage
