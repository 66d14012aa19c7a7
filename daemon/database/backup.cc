// A checkpoint of hard links beside the database freezes what is copied; the copy gets its final
// name when it is complete.
#include "daemon/database/backup.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "daemon/database/folders.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

/// A file in the checkpoint that says where its copy is being written.
constexpr char kDestinationName[] = "DESTINATION";
constexpr std::string_view kUnfinished = ".unfinished";

fs::path checkpoint_of(const fs::path& folder) { return folder.native() + ".backing-up"; }

/// Opens the copy once, so that it gets a ledger, and compares the ledger's counts.
Status finish_copy(const fs::path& copy, const RecordCounts& wanted) {
  {
    const auto opened = Database::open(copy);
    if (!opened) return opened.error();
  }
  const auto ledger = GPUEMU_TRY(read_ledger(copy));
  if (!ledger || ledger->records != wanted) {
    return error(ErrorCode::Internal, "the copy does not have all records; please report this");
  }
  return sync_path(copy);
}

Status rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    const bool unknown = errno == EINVAL || errno == ENOSYS;
    std::error_code ignored;
    const bool taken = unknown && fs::exists(to, ignored);
    if (!unknown || taken || std::rename(from.c_str(), to.c_str()) != 0) {
      return io_error("make", to);
    }
  }
  return sync_path(to.parent_path());
}

/// Returns whether `place` is in `folder`: files in the folder of a database are taken for its own.
bool is_inside(const fs::path& place, const fs::path& folder) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(place, failed), above = fs::canonical(folder, failed);
  return !failed && std::ranges::mismatch(above, real).in1 == above.end();
}

Status check_destination(const fs::path& place, const fs::path& folder) {
  std::error_code failed;
  if (!place.is_absolute() || !place.has_filename()) {
    return error(ErrorCode::InvalidArgument,
                 "a backup cannot be written to '{}': expected an absolute path", place.native());
  }
  if (fs::symlink_status(place, failed).type() != fs::file_type::not_found) {
    return error(ErrorCode::InvalidArgument, "{} exists; a backup needs a new place",
                 place.native());
  }
  if (!fs::is_directory(place.parent_path(), failed)) {
    return error(ErrorCode::InvalidArgument, "the folder {} does not exist; make it first",
                 place.parent_path().native());
  }
  if (is_inside(place, folder)) {
    return error(ErrorCode::InvalidArgument,
                 "{} lies inside of the database {}; a backup needs a place outside of it",
                 place.native(), folder.native());
  }
  return ok_status();
}

Status copy_checkpoint(const fs::path& checkpoint, const fs::path& copy, const fs::path& place,
                       const RecordCounts& counts) {
  GPUEMU_TRY(copy_files(checkpoint, copy, kDestinationName));
  GPUEMU_TRY(finish_copy(copy, counts));
  return rename_to_new(copy, place);
}

}  // namespace

Status back_up(Database& database, const fs::path& place) {
  GPUEMU_TRY(check_destination(place, database.folder()));
  const fs::path checkpoint = checkpoint_of(database.folder());
  const fs::path copy = place.native() + std::string(kUnfinished);
  GPUEMU_TRY(remove_unfinished_backup(database.folder()));
  const auto counts = database.checkpoint(checkpoint);
  std::error_code ignored;
  if (!counts) {
    fs::remove_all(checkpoint, ignored);
    return counts.error();
  }
  std::ofstream(checkpoint / kDestinationName) << copy.native();
  Status copied = ok_status();
  if (::mkdir(copy.c_str(), 0700) != 0) {
    copied = io_error("make", copy);
  } else {
    copied = copy_checkpoint(checkpoint, copy, place, *counts);
    if (!copied) fs::remove_all(copy, ignored);
  }
  fs::remove_all(checkpoint, ignored);
  return copied;
}

Status remove_unfinished_backup(const fs::path& folder) {
  const fs::path checkpoint = checkpoint_of(folder);
  std::error_code failed;
  if (!fs::exists(checkpoint, failed)) return ok_status();
  const auto destination = read_file(checkpoint / kDestinationName, kPathBytesMax);
  if (destination && destination->ends_with(kUnfinished)) fs::remove_all(*destination, failed);
  fs::remove_all(checkpoint, failed);
  if (!failed) return ok_status();
  return error(ErrorCode::Io, "cannot remove {}, left by a killed backup: {}", checkpoint.native(),
               failed.message());
}

}  // namespace gpuemu::storage
