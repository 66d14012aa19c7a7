#include "common/base/private_path.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuemu {
namespace {

Error refused(const std::filesystem::path& path, const std::string& why) {
  return error(ErrorCode::Unavailable, "{} {}", path.native(), why);
}

bool is_trusted(uid_t user) { return user == ::geteuid() || user == 0; }

/// Returns whether it is the private group that some systems create per user, without other
/// members.
bool is_users_own_group(gid_t group) {
  const passwd* const user = ::getpwuid(::geteuid());
  if (user == nullptr) return false;
  const std::string name = user->pw_name;
  const struct group* const entry = ::getgrgid(group);
  if (entry == nullptr || entry->gr_name != name) return false;
  for (char** member = entry->gr_mem; *member != nullptr; ++member) {
    if (*member != name) return false;
  }
  return true;
}

Status check_folder(const std::filesystem::path& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return refused(folder, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refused(folder, "is not a folder; choose another path");
  if (!is_trusted(info.st_uid)) {
    return refused(folder, fmt::format("belongs to user {}, who could change what gpuemu keeps "
                                       "there; choose a folder of your own",
                                       info.st_uid));
  }
  if ((info.st_mode & S_ISVTX) != 0) return ok_status();
  const bool group_writes = (info.st_mode & S_IWGRP) != 0 && !is_users_own_group(info.st_gid);
  if (!group_writes && (info.st_mode & S_IWOTH) == 0) return ok_status();
  return refused(folder, fmt::format("has mode {:04o}: other users could change what gpuemu keeps "
                                     "there; run `chmod go-w {}`",
                                     info.st_mode & 07777, folder.native()));
}

/// Returns 0, or the errno of the failure.
int make_folder(const std::filesystem::path& folder) {
  if (folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || !folder.has_relative_path()) return errno;
  if (const int failed = make_folder(folder.parent_path()); failed != 0) return failed;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

Status make_private_folder(const std::filesystem::path& folder) {
  if (const int failed = make_folder(folder); failed != 0) {
    return error(
        ErrorCode::Io,
        "cannot make {}: {}; choose a place where you may write (GPUEMU_SOCKET, GPUEMU_DB)",
        folder.native(), std::strerror(failed));
  }
  return check_folder(folder.empty() ? "." : folder);
}

Result<UniqueFd> open_private_file(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe planted at the path must not block this process.
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat info{};
  if (!file && errno == ELOOP) {
    return refused(path, "is a link, which gpuemu does not follow; remove it");
  }
  if (!file || ::fstat(file.get(), &info) != 0) {
    return error(ErrorCode::Io, "cannot open {}: {}", path.native(), std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return refused(path, "is not a regular file; remove it");
  if (info.st_uid != ::geteuid()) {
    return refused(
        path, fmt::format("belongs to user {}; remove it, or choose another folder", info.st_uid));
  }
  if (info.st_nlink > 1) {
    return refused(path, "has another name too (a hard link); remove it");
  }
  return file;
}

}  // namespace gpuemu
