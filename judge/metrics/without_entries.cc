#include "judge/metrics/without_entries.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>

namespace gpuemu {
namespace {

constexpr std::string_view kEntry = ".entry ";

/// Returns the name of the entry that begins on this line; empty for other lines.
std::string_view entry_of(std::string_view line) {
  const size_t at = line.find(kEntry);
  if (at == std::string_view::npos || line.find("//") < at) return {};
  const std::string_view name = line.substr(at + kEntry.size());
  return name.substr(0, name.find_first_of("( \t\r"));
}

/// Returns the line without its line end.
std::string_view without_end(std::string_view line) {
  return line.substr(0, line.find_last_not_of("\r\n") + 1);
}

/// Adds the braces of a line that open and close to `depth`, apart from those in comments and
/// texts.
void count_braces(std::string_view line, int& depth) {
  bool quoted = false;
  for (size_t i = 0; i < line.size() && (quoted || !line.substr(i).starts_with("//")); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (!quoted) depth += (line[i] == '{' ? 1 : 0) - (line[i] == '}' ? 1 : 0);
  }
}

std::set<std::string> entries_of(const std::string& ptx) {
  std::set<std::string> names;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string_view line = std::string_view(ptx).substr(begin, end - begin);
    const std::string_view entry = entry_of(without_end(line));
    if (!entry.empty()) names.emplace(entry);
    begin = end;
  }
  return names;
}

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

/// Returns whether a word of the text outside comments is one of `names`.
bool has_word(std::string_view text, const std::set<std::string, std::less<>>& names) {
  for (size_t begin = 0; begin < text.size();) {
    if (text.substr(begin).starts_with("//")) {  // Compilers write "// .globl NAME".
      begin = std::min(text.find('\n', begin), text.size());
      continue;
    }
    size_t end = begin;
    while (end < text.size() && is_of_a_name(text[end])) ++end;
    if (end > begin && names.contains(text.substr(begin, end - begin))) return true;
    begin = std::max(end, begin + 1);
  }
  return false;
}

}  // namespace

std::string only_entries(std::string ptx, const std::set<std::string>& names) {
  std::set<std::string> others = entries_of(ptx);
  for (const std::string& name : names) others.erase(name);
  if (others.empty()) return ptx;
  std::string kept = without_entries(ptx, others);
  return has_word(kept, {others.begin(), others.end()}) ? ptx : kept;
}

std::string without_entries(std::string ptx, const std::set<std::string>& names) {
  if (names.empty()) return ptx;
  std::string kept;
  bool dropping = false;
  int depth = 0;  // Open braces. Inline assembly has some at the beginning of a line, too.
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string_view with_end = std::string_view(ptx).substr(begin, end - begin);
    const std::string_view line = without_end(with_end);
    const std::string_view entry = entry_of(line);
    if (!dropping && !entry.empty() && names.contains(std::string(entry))) {
      dropping = true;
      depth = 0;
    }
    if (dropping) {
      const bool was_inside = depth > 0;
      count_braces(line, depth);
      const bool has_brace = line.find('{') != std::string_view::npos;
      dropping = depth > 0 || !(was_inside || has_brace);
    } else {
      kept += with_end;
    }
    begin = end;
  }
  return kept;
}

}  // namespace gpuemu
