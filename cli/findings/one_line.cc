#include "cli/findings/one_line.h"

#include <algorithm>

#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

// Text with less room than this beside its indentation is not wrapped.
constexpr size_t kRoomMin = 20;

}  // namespace

std::string one_line(const std::string& text) {
  std::string clean;
  for (const char letter : text) {
    const bool control = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
    if (control && !clean.empty() && clean.back() == ' ') continue;
    clean += control ? ' ' : letter;
  }
  if (clean.size() > kMessageCharsMax) {
    clean = clean.substr(0, kMessageCharsMax / 2) + " ... " +
            clean.substr(clean.size() - kMessageCharsMax / 2);
  }
  return clean;
}

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xc0) != 0x80; }));
}

std::string wrapped(const std::string& first, std::string_view text, size_t columns) {
  const size_t indent = columns_of(first);
  std::string all = first;
  if (columns < indent + kRoomMin) return all.append(text) + "\n";
  size_t used = indent;
  bool empty = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t width = columns_of(word);
    if (!empty && used + 1 + width > columns) {
      all += "\n" + std::string(indent, ' ');
      used = indent;
      empty = true;
    }
    if (!empty) all += ' ';
    used += width + (empty ? 0 : 1);
    all += word;
    empty = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all + "\n";
}

}  // namespace gpuemu::cli
