#include "daemon/database/replace.h"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/files.h"
#include "daemon/database/folders.h"
#include "daemon/database/rocks.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

/// A file in the new folder that holds the place of the old one, until that has its final name.
constexpr char kMarkerName[] = "REPLACES";

Status remove_marker(const fs::path& folder) {
  std::error_code failed;
  fs::remove(folder / kMarkerName, failed);
  return sync_path(folder);
}

Status write_marker(const fs::path& fresh, const fs::path& kept) {
  const fs::path marker = fresh / kMarkerName;
  GPUEMU_TRY(write_file(marker, kept.native()));
  GPUEMU_TRY(sync_path(marker));
  return sync_path(fresh);
}

Error not_replaced(const fs::path& folder) {
  if (errno != EBUSY) return io_error("replace", folder);
  return error(ErrorCode::Unavailable,
               "{} is the root of a mounted disk, so no other folder can take its place; nothing "
               "was changed; move its files into a folder on that disk and set GPUEMU_DB to it",
               folder.native());
}

}  // namespace

fs::path replacement_of(const fs::path& folder) {
  return real_folder(folder).native() + ".replacing";
}

fs::path place_to_keep(const fs::path& folder, const std::string& what) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char time[32] = {};
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &parts);
  const std::string wanted = fmt::format("{}.{}-{}", real_folder(folder).native(), what, time);
  fs::path place = wanted;
  std::error_code ignored;
  for (int number = 2; fs::exists(fs::symlink_status(place, ignored)); ++number) {
    place = fmt::format("{}-{}", wanted, number);
  }
  return place;
}

Status replace_folder(const fs::path& named, const fs::path& kept) {
  const fs::path folder = real_folder(named), fresh = replacement_of(named);
  GPUEMU_TRY(write_marker(fresh, kept));
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    GPUEMU_TRY(sync_path(folder.parent_path()));
    GPUEMU_TRY(move_folder(fresh, kept));
    return remove_marker(folder);
  }
  // File systems that cannot exchange two names need two moves.
  const bool is_missing = errno == ENOENT;
  if (!is_missing && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
    return not_replaced(folder);
  }
  std::error_code ignored;
  if (fs::exists(folder, ignored)) GPUEMU_TRY(move_folder(folder, kept));
  GPUEMU_TRY(move_folder(fresh, folder));
  return remove_marker(folder);
}

Status finish_replacing(const fs::path& named) {
  const fs::path folder = real_folder(named), left = replacement_of(named);
  std::error_code failed;
  fs::remove_all(folder.native() + kTablesSuffix, failed);
  const auto kept = read_file(folder / kMarkerName, kPathBytesMax);
  if (kept) {  // The old folder has its final name.
    if (fs::exists(left, failed)) GPUEMU_TRY(move_folder(left, *kept));
    return remove_marker(folder);
  }
  if (!fs::exists(left, failed)) return ok_status();
  const bool is_whole = fs::exists(left / kMarkerName, failed);
  if (is_whole && !fs::exists(folder, failed)) {  // The second of two moves is missing.
    GPUEMU_TRY(move_folder(left, folder));
    return remove_marker(folder);
  }
  fs::remove_all(left, failed);
  if (!failed) return ok_status();
  return error(ErrorCode::Io, "cannot remove {}, left by a killed repair or restore: {}",
               left.native(), failed.message());
}

}  // namespace gpuemu::storage
