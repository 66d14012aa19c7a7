#include "common/base/project_id.h"

#include <filesystem>

#include "common/base/blake2.h"

namespace gpuemu {

std::string canonical_path(const std::string& file) {
  if (file.empty()) return "";
  std::error_code failed;
  const std::filesystem::path found = std::filesystem::weakly_canonical(file, failed);
  return failed ? file : found.string();
}

std::string project_id(std::string_view canonical_file) {
  constexpr size_t kDigits = 16;
  if (canonical_file.empty()) return kNoProject;
  return content_hash({canonical_file}).substr(0, kDigits);
}

}  // namespace gpuemu
