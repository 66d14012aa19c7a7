// Makes a database of what can be read of a damaged one.
#pragma once

#include <filesystem>

#include "common/base/result.h"
#include "common/protocol/replies.h"

namespace gpuemu::storage {

/// Puts a database of all that can be read in the place of `folder`, which is kept under another
/// name. `found` is what verifying it said, and says damaged. With `dry_run` nothing is replaced;
/// the reply says what would be lost. No process may have the database open.
Result<StorageReportReply> repair(const std::filesystem::path& folder, StorageReportReply found,
                                  bool dry_run);

}  // namespace gpuemu::storage
