#include "common/tls/secret_file.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/text.h"

namespace gpuemu {
namespace {

constexpr size_t kSecretBytesMax = 64 << 10;
constexpr mode_t kOthers = 0077, kPermissions = 07777;

}  // namespace

Result<std::string> read_secret(const std::string& option, const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) {
    return error(ErrorCode::InvalidArgument, "{}: {}: {}", option, file, std::strerror(errno));
  }
  if ((info.st_mode & kOthers) != 0) {
    return error(ErrorCode::InvalidArgument,
                 "{}: others may use {} (mode {:04o}); run `chmod go= {}`", option, file,
                 info.st_mode & kPermissions, file);
  }
  const auto text = read_file(file, kSecretBytesMax);
  if (!text) return error(ErrorCode::InvalidArgument, "{}: {}", option, text.error().message);
  std::string secret(trimmed(*text));  // Editors end a file with a newline.
  if (!secret.empty()) return secret;
  return error(ErrorCode::InvalidArgument, "{}: {} is empty", option, file);
}

bool is_same_secret(const std::string& secret, const std::string& given) {
  const std::string left = content_hash({secret}), right = content_hash({given});
  unsigned differs = 0;
  for (size_t i = 0; i < left.size(); ++i) differs |= static_cast<unsigned>(left[i] ^ right[i]);
  return differs == 0;
}

}  // namespace gpuemu
