#include "daemon/inspect/without_entries.h"

#include <algorithm>
#include <string_view>

namespace gpuemu {
namespace {

constexpr std::string_view kEntry = ".entry ";
/// How compilers end a body; what stands inside is indented or in braces of its own lines.
constexpr std::string_view kBodyEnd = "}";

/// The name of the entry that begins in this line; empty in any other.
std::string_view entry_of(std::string_view line) {
  const size_t at = line.find(kEntry);
  if (at == std::string_view::npos || line.find("//") < at) return {};
  const std::string_view name = line.substr(at + kEntry.size());
  return name.substr(0, name.find_first_of("( \t\r"));
}

}  // namespace

std::string without_entries(std::string ptx, const std::set<std::string>& names) {
  if (names.empty()) return ptx;
  std::string kept;
  bool dropping = false;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string_view with_end = std::string_view(ptx).substr(begin, end - begin);
    const std::string_view line = with_end.substr(0, with_end.find_last_not_of("\r\n") + 1);
    const std::string_view entry = entry_of(line);
    dropping = dropping || (!entry.empty() && names.contains(std::string(entry)));
    if (!dropping) kept += with_end;
    if (line == kBodyEnd) dropping = false;
    begin = end;
  }
  return kept;
}

}  // namespace gpuemu
