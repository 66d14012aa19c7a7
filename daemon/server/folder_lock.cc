// Uses flock on a file that is never removed: otherwise two daemons could lock two different files.
#include "daemon/server/folder_lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/file_lock.h"
#include "common/base/private_path.h"
#include "common/base/service_limits.h"

namespace gpuemu {
namespace {

constexpr int kLookAgainMilliseconds = 20;
/// A daemon writes its process id as soon as it holds the lock.
constexpr std::chrono::milliseconds kNumberPatience{1000};
constexpr std::string_view kServes = " serves ";

std::string read_all(int file) {
  char text[512] = {};
  const ssize_t got = ::pread(file, text, sizeof text - 1, 0);
  return got > 0 ? std::string(text, static_cast<size_t>(got)) : std::string();
}

Error taken(const std::filesystem::path& folder, const std::string& holder) {
  const size_t serves = holder.find(kServes);
  const std::string who = serves == std::string::npos
                              ? fmt::format("process {}, which does not answer yet",
                                            holder.empty() ? "unknown" : holder)
                              : fmt::format("process {}, at {}", holder.substr(0, serves),
                                            holder.substr(serves + kServes.size()));
  return error(ErrorCode::Unavailable,
               "another daemon ({}) uses {}; stop it with `gpuemu daemon stop` or set GPUEMU_DB "
               "and GPUEMU_SOCKET to other paths",
               who, folder.string());
}

/// Returns the process that holds the lock, if it is not the daemon that the file names.
std::optional<pid_t> foreign_holder(int file, const std::string& text) {
  const auto holder = holder_of_lock(file);
  if (!holder || text == std::to_string(*holder)) return std::nullopt;
  if (text.starts_with(std::to_string(*holder) + std::string(kServes))) return std::nullopt;
  return holder;
}

Error locked(const std::filesystem::path& path, pid_t holder) {
  return error(ErrorCode::Unavailable,
               "{} is locked by {}, which is not a daemon of gpuemu; end it, or set GPUEMU_DB to "
               "another path",
               path.string(), name_of_process(holder));
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  Status made = make_private_folder(folder.parent_path());
  if (made) made = make_private_folder(folder);
  if (!made) return Error(made.error()).with_context("database " + folder.string());
  const std::filesystem::path path = folder.string() + ".lock";
  auto opened = open_private_file(path);
  if (!opened && opened.error().code == ErrorCode::Io) {
    return error(ErrorCode::Io, "{}; set GPUEMU_DB to a folder that can be written",
                 opened.error().message);
  }
  UniqueFd file = GPUEMU_TRY(std::move(opened));
  const auto start = std::chrono::steady_clock::now(), deadline = start + kDaemonStartMax / 2;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = read_all(file.get());
    const auto foreign = foreign_holder(file.get(), holder);
    if (foreign && std::chrono::steady_clock::now() > start + kNumberPatience) {
      return locked(path, *foreign);
    }
    const bool serves = holder.find(kServes) != std::string::npos;
    if ((serves && !foreign) || std::chrono::steady_clock::now() > deadline) {
      return taken(folder, holder);
    }
    ::poll(nullptr, 0, kLookAgainMilliseconds);
  }
  FolderLock lock(std::move(file), path);
  GPUEMU_TRY(lock.write(std::to_string(::getpid())));
  return lock;
}

Status FolderLock::serves(const std::string& socket_path) {
  return write(fmt::format("{}{}{}", ::getpid(), kServes, socket_path));
}

Status FolderLock::write(const std::string& text) {
  if (::ftruncate(file_.get(), 0) == 0 &&
      ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return ok_status();
  }
  return error(ErrorCode::Io,
               "cannot write {}: {}; make room there, or set GPUEMU_DB to a folder "
               "on another disk",
               path_.string(), std::strerror(errno));
}

}  // namespace gpuemu
