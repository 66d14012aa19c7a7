// Reading and replacing whole files.
#include "common/base/files.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu {
namespace {

Error system_error(const char* verb, const std::filesystem::path& path) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT                       ? ErrorCode::NotFound
                         : reason == ENOSPC || reason == EDQUOT ? ErrorCode::ResourceExhausted
                                                                : ErrorCode::Io;
  return error(code, "cannot {} {}: {}", verb, path.string(), std::strerror(reason));
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max) {
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

Status write_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path beside = path.string() + ".tmp" + std::to_string(::getpid());
  UniqueFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return system_error("write", path);
  while (!content.empty()) {
    const ssize_t put = ::write(fd.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const Error failure = system_error("write", path);
      ::unlink(beside.c_str());
      return failure;
    }
    content.remove_prefix(static_cast<size_t>(put));
  }
  fd.reset();
  if (::rename(beside.c_str(), path.c_str()) != 0) return system_error("replace", path);
  return ok_status();
}

}  // namespace gpuemu
