// Reads and replaces whole files.
#include "common/base/files.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

// Linux follows as many links.
constexpr int kLinksMax = 40;
// Names that other processes, or a killed process of this id, may already use.
constexpr int kTemporaryNamesMax = 1000;
constexpr mode_t kNewFileMode = 0644;
constexpr mode_t kPermissions = 07777;

Error system_error(const char* verb, const fs::path& path) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT                       ? ErrorCode::NotFound
                         : reason == ENOSPC || reason == EDQUOT ? ErrorCode::ResourceExhausted
                                                                : ErrorCode::Io;
  return error(code, "cannot {} {}: {}", verb, path.string(), std::strerror(reason));
}

Status write_all(int file, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(file, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write", path);
    content.remove_prefix(static_cast<size_t>(put));
  }
  return ok_status();
}

/// Returns the number of an own descriptor to which `path` leads, as /dev/stdout does; else -1.
int own_descriptor(const fs::path& path) {
  std::error_code failed;
  const fs::path folder = fs::canonical(path.parent_path(), failed);
  if (failed || folder != fs::path("/proc") / std::to_string(::getpid()) / "fd") return -1;
  const std::string name = path.filename().string();
  if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::atoi(name.c_str());
}

/// Resolves the links at the end of `path`, whether the target exists or not. Stops at an own
/// descriptor, whose link is not a path.
fs::path without_links(fs::path path) {
  for (int links = 0; links < kLinksMax && own_descriptor(path) < 0; ++links) {
    std::error_code failed;
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

/// Writes into an existing target that cannot be replaced: a pipe, a terminal, or a file in a
/// read-only folder.
Status write_into(const fs::path& path, std::string_view content, int flags) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags));
  if (!file) return system_error("write", path);
  return write_all(file.get(), content, path);
}

struct Temporary {
  fs::path path;
  UniqueFd file;
};

/// Creates a new empty file beside `path`, with a unique name even among threads.
Result<Temporary> temporary_beside(const fs::path& path) {
  for (int number = 0; number < kTemporaryNamesMax; ++number) {
    const fs::path name = fmt::format("{}.tmp{}-{}", path.string(), ::getpid(), number);
    UniqueFd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode));
    if (file) return Temporary{name, std::move(file)};
    if (errno != EEXIST) break;
  }
  return system_error("write", path);
}

/// `mode`: that of the file to replace; 0 if there is none.
Status replace(const fs::path& path, Temporary temporary, std::string_view content, mode_t mode) {
  const int file = temporary.file.get();
  Status done = write_all(file, content, path);
  if (done && mode != 0 && ::fchmod(file, mode & kPermissions) != 0) {
    done = system_error("write", path);
  }
  // Synced before the rename: after a power failure, either the old or all of the new content is
  // there.
  if (done && ::fsync(file) != 0) done = system_error("write", path);
  temporary.file.reset();
  if (done && ::rename(temporary.path.c_str(), path.c_str()) != 0) {
    done = system_error("replace", path);
  }
  if (!done) ::unlink(temporary.path.c_str());
  return done;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("open", path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > bytes_max) {
      return error(ErrorCode::ResourceExhausted, "{} is larger than the limit of {} bytes",
                   path.string(), bytes_max);
    }
  }
}

Status write_file(const fs::path& path, std::string_view content) {
  const fs::path target = without_links(path);
  if (const int descriptor = own_descriptor(target); descriptor >= 0) {
    return write_all(descriptor, content, path);
  }
  struct stat there{};
  const bool exists = ::stat(target.c_str(), &there) == 0;
  if (!exists && errno == ELOOP) return system_error("write", path);
  if (exists && !S_ISREG(there.st_mode)) return write_into(target, content, 0);
  auto temporary = temporary_beside(target);
  if (!temporary) {
    if (!exists || temporary.error().code == ErrorCode::ResourceExhausted) {
      return temporary.error();
    }
    return write_into(target, content, O_TRUNC);
  }
  const Status done = replace(target, *std::move(temporary), content, exists ? there.st_mode : 0);
  // A file that is itself a mount point, as in containers, cannot be replaced.
  if (!done && exists && errno == EBUSY) return write_into(target, content, O_TRUNC);
  return done;
}

bool can_write_file(const fs::path& path) {
  const fs::path target = without_links(path);
  if (own_descriptor(target) >= 0) return true;
  if (::access(target.c_str(), F_OK) == 0) return ::access(target.c_str(), W_OK) == 0;
  const fs::path folder = target.parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace gpuemu
