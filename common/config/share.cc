#include "common/config/share.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#include "common/base/files.h"
#include "common/base/text.h"

namespace gpuemu {
namespace {

constexpr size_t kTokenBytesMax = 4096;

Error no_token(const std::string& why) {
  return error(ErrorCode::InvalidArgument, "daemon.share.token_file: {}", why);
}

}  // namespace

Result<std::string> read_token(const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) {
    return no_token(fmt::format("{}: {}", file, std::strerror(errno)));
  }
  constexpr mode_t kEverybody = 0007, kPermissions = 07777;
  if ((info.st_mode & kEverybody) != 0) {
    return no_token(fmt::format("everybody may use {} (mode {:04o}); run `chmod o= {}`", file,
                                info.st_mode & kPermissions, file));
  }
  const auto text = read_file(file, kTokenBytesMax);
  if (!text) return no_token(text.error().message);
  std::string token(trimmed(*text));  // Editors end a file with a newline.
  if (!token.empty()) return token;
  return no_token(
      fmt::format("{} is empty; `openssl rand -hex 32 > {}` makes a token", file, file));
}

}  // namespace gpuemu
