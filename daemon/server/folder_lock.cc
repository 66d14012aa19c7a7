// flock on a file that is never removed: removing it would let two daemons lock two files.
#include "daemon/server/folder_lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/service_limits.h"

namespace gpuemu {
namespace {

constexpr int kLookAgainMilliseconds = 20;
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

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return error(ErrorCode::Io, "cannot make {}: {}", folder.string(), failed.message());
  }
  const std::filesystem::path path = folder.string() + ".lock";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) {
    return error(ErrorCode::Io, "cannot open {}: {}; set GPUEMU_DB to a folder that can be written",
                 path.string(), std::strerror(errno));
  }
  const auto deadline = std::chrono::steady_clock::now() + kDaemonStartMax / 2;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = read_all(file.get());
    const bool serves = holder.find(kServes) != std::string::npos;
    if (serves || std::chrono::steady_clock::now() > deadline) return taken(folder, holder);
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
