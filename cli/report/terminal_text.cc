#include "cli/report/terminal_text.h"

#include <algorithm>
#include <vector>

#include "cli/findings/one_line.h"

namespace gpuemu::cli {
namespace {

struct Tag {
  std::string_view word, colour;
  bool leads_name = false;  ///< Whether an aligned name follows it.
};
constexpr Tag kTags[] = {
    {"[PASS]", "\x1b[32m", true}, {"[FAIL]", "\x1b[1;31m", true}, {"[ERROR]", "\x1b[1;31m", true},
    {"[SKIP]", "\x1b[2m", true},  {"[regression]", "\x1b[31m"},   {"[improvement]", "\x1b[32m"},
    {"[warning]", "\x1b[33m"},    {"[change]", "\x1b[33m"},       {"[constant]", "\x1b[33m"},
};
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kError = "\x1b[1;31m", kGutter = "\x1b[36m";
constexpr size_t kTagWidth = 7;  // "[ERROR]"
// A longer name shifts only what follows it on its line.
constexpr size_t kNameMax = 32;
constexpr size_t kIndent = 4;
// On a narrower terminal, wrapping lines is useless.
constexpr size_t kColumnsMin = 40;

const Tag* tag_of(std::string_view line) {
  const auto found = std::ranges::find_if(kTags, [&](const Tag& tag) {
    return line.starts_with(tag.word) && line.substr(tag.word.size()).starts_with(' ');
  });
  return found == std::end(kTags) ? nullptr : &*found;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The parts of "[PASS] name rest"; an empty name for other lines.
struct Named {
  std::string_view tag, name, rest;
};

Named named(std::string_view line) {
  const Tag* tag = tag_of(line);
  if (tag == nullptr || !tag->leads_name) return {};
  const std::string_view behind = line.substr(tag->word.size() + 1);
  const size_t blank = std::min(behind.find(' '), behind.size());
  return {tag->word, behind.substr(0, blank), behind.substr(std::min(blank + 1, behind.size()))};
}

std::string padded(std::string_view text, size_t width) {
  std::string all(text);
  const size_t now = columns_of(text);
  if (now < width) all.append(width - now, ' ');
  return all;
}

std::string aligned(std::string_view line, size_t name_width) {
  const Named parts = named(line);
  if (parts.name.empty()) return std::string(line);
  return padded(parts.tag, kTagWidth) + " " + padded(parts.name, name_width) + " " +
         std::string(parts.rest);
}

/// Returns the byte position after the first `columns` columns of the text.
size_t bytes_of_columns(std::string_view text, size_t columns) {
  size_t at = 0;
  for (size_t seen = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (seen++ == columns) break;
  }
  return at;
}

/// Returns where a line that begins with `from` is wrapped: at the last blank that fits, otherwise
/// at the first one. npos: nowhere.
size_t break_at(std::string_view from, size_t columns) {
  if (columns_of(from) <= columns) return from.npos;
  const size_t room = bytes_of_columns(from, columns);
  const size_t fits = from.rfind(' ', room);
  return fits == from.npos || fits == 0 ? from.find(' ', 1) : fits;
}

/// Wraps at blanks; words longer than a line are not split.
std::string broken(std::string_view line, size_t columns) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string before(begin, ' ');
  const std::string behind(std::min(begin + kIndent, columns / 2), ' ');
  line.remove_prefix(begin);
  std::string all = before;
  size_t room = columns - std::min(begin, columns / 2);
  for (size_t at = break_at(line, room); at != line.npos; at = break_at(line, room)) {
    all += std::string(line.substr(0, at)) + "\n" + behind;
    line.remove_prefix(std::min(line.find_first_not_of(' ', at), line.size()));
    room = columns - behind.size();
  }
  return all + std::string(line);
}

/// The start of a line in a finding's block, and the colour from there to the end of `until`.
struct Opening {
  std::string_view begin, until, colour;
  bool is_indented;
};
constexpr Opening kOpenings[] = {
    {"error[", "]", kError, false},
    {"--> ", "-->", kGutter, true},
    {"::: ", ":::", kGutter, true},
};

/// The coloured part at the start of a line; 0 bytes if nothing is coloured.
struct Part {
  size_t bytes = 0;
  std::string_view colour = {};
};

Part coloured_part(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return {};
  const std::string_view rest = line.substr(begin);
  for (const Opening& one : kOpenings) {
    if (one.is_indented != (begin > 0) || !rest.starts_with(one.begin)) continue;
    const size_t end = rest.find(one.until);
    return end == rest.npos ? Part{} : Part{begin + end + one.until.size(), one.colour};
  }
  // A line of a source excerpt: " 7 | text".
  const size_t bar = begin > 0 ? rest.find_first_not_of("0123456789 ") : rest.npos;
  return bar != rest.npos && rest[bar] == '|' ? Part{begin + bar + 1, kGutter} : Part{};
}

}  // namespace

std::string for_terminal(std::string_view text, const TerminalStyle& style) {
  const std::vector<std::string_view> lines = lines_of(text);
  size_t name_width = 0;
  for (const std::string_view line : lines) {
    const size_t width = columns_of(named(line).name);
    if (width <= kNameMax) name_width = std::max(name_width, width);
  }
  std::string all;
  for (const std::string_view line : lines) {
    std::string shown = aligned(line, name_width);
    if (style.columns >= kColumnsMin) shown = broken(shown, style.columns);
    const Tag* tag = style.colours ? tag_of(line) : nullptr;
    if (tag != nullptr) {
      shown.insert(tag->word.size(), kPlain);
      shown.insert(0, tag->colour);
    }
    const Part part = style.colours ? coloured_part(line) : Part{};
    if (part.bytes > 0) {
      shown.insert(part.bytes, kPlain);
      shown.insert(0, part.colour);
    }
    all += shown + "\n";
  }
  return all;
}

}  // namespace gpuemu::cli
