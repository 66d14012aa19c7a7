#include "daemon/database/folders.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu::storage {

namespace fs = std::filesystem;

Error io_error(const std::string& what, const fs::path& path) {
  return error(ErrorCode::Io, "cannot {} {}: {}", what, path.native(), std::strerror(errno));
}

Status sync_path(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file && ::fsync(file.get()) == 0) return ok_status();
  return io_error("write", path);
}

Status copy_files(const fs::path& from, const fs::path& to, std::string_view left_out) {
  std::error_code failed;
  for (fs::directory_iterator at(from, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path name = at->path().filename();
    if (name == left_out) continue;
    fs::copy_file(at->path(), to / name, failed);
    if (failed) {
      return error(ErrorCode::Io, "cannot write {}: {}", (to / name).native(), failed.message());
    }
    GPUEMU_TRY(sync_path(to / name));
  }
  if (failed) return error(ErrorCode::Io, "cannot read {}: {}", from.native(), failed.message());
  return sync_path(to);
}

Status move_folder(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return io_error("move to " + to.native() + " the folder", from);
  }
  return sync_path(to.parent_path());
}

fs::path real_folder(const fs::path& folder) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  return failed ? folder : real;
}

}  // namespace gpuemu::storage
