// Rebuilds a database from what can be read of a damaged one.
#pragma once

#include <filesystem>

#include "common/base/result.h"
#include "common/protocol/storage.gen.h"

namespace gpuemu::storage {

/// Replaces `folder` by a database of everything that can be read; the old folder is kept under
/// another name. `found` is the result of the verification, which reported damage. With `dry_run`
/// nothing is replaced; the reply lists what would be lost. No process may have the database open.
Result<StorageReportReply> repair(const std::filesystem::path& folder, StorageReportReply found,
                                  bool dry_run);

}  // namespace gpuemu::storage
