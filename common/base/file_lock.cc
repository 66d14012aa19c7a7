#include "common/base/file_lock.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/base/files.h"

namespace gpuemu {

std::string name_of_process(pid_t process) {
  constexpr size_t kNameBytesMax = 64;
  auto name = read_file(fmt::format("/proc/{}/comm", process), kNameBytesMax);
  if (!name) return fmt::format("process {}", process);
  while (!name->empty() && name->back() == '\n') name->pop_back();
  return fmt::format("process {} ({})", process, *name);
}

/// Parses a line of /proc/locks: "3: FLOCK  ADVISORY  WRITE 4711 08:01:262148 0 EOF".
std::optional<pid_t> holder_of_lock(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return std::nullopt;
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, advisory, mode, where;
    pid_t process = 0;
    words >> number >> type >> advisory >> mode >> process >> where;
    if (type == "FLOCK" && where == wanted && process > 0) return process;
  }
  return std::nullopt;
}

Status lock_file(int file, const std::filesystem::path& path, std::chrono::milliseconds patience) {
  constexpr int kLookAgainMilliseconds = 20;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return error(ErrorCode::Io, "cannot lock {}: {}", path.native(), std::strerror(errno));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      const auto holder = holder_of_lock(file);
      return error(ErrorCode::Unavailable, "{} is locked by {}; end it, or choose another path",
                   path.native(), holder ? name_of_process(*holder) : "another process");
    }
    ::poll(nullptr, 0, kLookAgainMilliseconds);
  }
  return ok_status();
}

}  // namespace gpuemu
