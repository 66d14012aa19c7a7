#include "daemon/database/restore.h"

#include <sys/stat.h>

#include "daemon/database/folders.h"
#include "daemon/database/replace.h"

namespace gpuemu::storage {

namespace fs = std::filesystem;

Result<fs::path> restore(const fs::path& folder, const fs::path& backup) {
  GPUEMU_TRY(finish_replacing(folder));
  const fs::path fresh = replacement_of(folder);
  if (::mkdir(fresh.c_str(), 0700) != 0) return io_error("make", fresh);
  const Status copied = copy_files(backup, fresh);
  std::error_code ignored;
  if (!copied) {
    fs::remove_all(fresh, ignored);
    return copied.error();
  }
  const bool has_old = fs::exists(folder, ignored) && !fs::is_empty(folder, ignored);
  const fs::path kept = place_to_keep(folder, "before");
  GPUEMU_TRY(replace_folder(folder, kept));
  if (has_old) return kept;
  fs::remove(kept, ignored);  // It is empty.
  return fs::path();
}

}  // namespace gpuemu::storage
