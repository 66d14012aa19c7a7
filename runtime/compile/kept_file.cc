#include "runtime/compile/kept_file.h"

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

/// Starts the last line, which holds the hash of everything before it.
constexpr std::string_view kHashMark = "// gpuemu-hash\t";

}  // namespace

Result<std::string> read_kept(const fs::path& file) {
  std::string text = GPUEMU_TRY(read_file(file, kSourceBytesMax));
  const size_t mark = text.rfind(kHashMark);
  const std::string_view all = text;
  if (mark == std::string::npos ||
      all.substr(mark + kHashMark.size()) != content_hash({all.substr(0, mark)}) + "\n") {
    return error(ErrorCode::Corruption,
                 "cache entry {} is damaged (checksum mismatch); it is made again", file.string());
  }
  text.resize(mark);
  return text;
}

void write_kept(const fs::path& file, std::string text) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  text += fmt::format("{}{}\n", kHashMark, content_hash({text}));
  if (!failed) (void)write_file(file, text).ok();
}

std::string program_identity(const std::string& path) {
  std::error_code ignored;
  const fs::path real = fs::canonical(path, ignored);
  const auto written = fs::last_write_time(real, ignored).time_since_epoch().count();
  return fmt::format("{} {}", real.string(), written);
}

}  // namespace gpuemu::compile
