// Opens a store for tests of this folder.
#pragma once

#include <filesystem>
#include <memory>

#include "common/base/project_id.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {

/// The store of kNoProject. It owns the database, which closes with the last copy of the pointer.
inline Result<std::shared_ptr<Store>> open_store(const std::filesystem::path& folder) {
  const auto stores = GPUEMU_TRY(open_stores(folder, {.id = kNoProject, .ops = {}, .kernels = {}}));
  return stores->of(kNoProject);
}

}  // namespace gpuemu
