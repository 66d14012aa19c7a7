// For tests of this folder: the store of one project, whichever.
#pragma once

#include <filesystem>
#include <memory>

#include "common/base/project_id.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {

/// The database is closed with the last store of it.
inline Result<std::shared_ptr<Store>> open_store(const std::filesystem::path& folder) {
  const auto stores = GPUEMU_TRY(open_stores(folder, {.id = kNoProject, .ops = {}, .kernels = {}}));
  return stores->of(kNoProject);
}

}  // namespace gpuemu
