// Reads the limits of control groups: version 2 has a memory.max at each level of the tree, version
// 1 a single file.
// https://docs.kernel.org/admin-guide/cgroup-v2.html
#include "common/base/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <unistd.h>

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

/// Returns the number in a file; nothing for "max", other text, or a missing file.
std::optional<uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text)) return std::nullopt;
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the path of this process's version 2 control group, such as "/user.slice"; "" if there
/// is none.
std::string control_group() {
  std::ifstream in("/proc/self/cgroup");
  constexpr std::string_view kVersion2 = "0::";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
  }
  return "";
}

}  // namespace

uint64_t machine_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGE_SIZE);
  uint64_t smallest = pages <= 0 || bytes <= 0
                          ? UINT64_MAX
                          : static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes);
  const auto take = [&](const fs::path& file) {
    if (const auto limit = number_in(file)) smallest = std::min(smallest, *limit);
  };
  const fs::path root = "/sys/fs/cgroup";
  take(root / "memory.max");
  take(root / "memory" / "memory.limit_in_bytes");
  fs::path level = root;
  for (const fs::path& part : fs::path(control_group()).relative_path()) {
    level /= part;
    take(level / "memory.max");
  }
  return smallest == UINT64_MAX ? 0 : smallest;
}

}  // namespace gpuemu
