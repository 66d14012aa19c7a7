// Reads lines from the file in its current state. If it has changed since it was compiled, the
// lines may differ, but the location above them is still right.
#include "cli/findings/source_excerpt.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "cli/findings/one_line.h"
#include "common/base/files.h"
#include "common/base/utf8.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSourceBytesMax = size_t{16} << 20;
constexpr size_t kTabColumns = 4;
/// On a narrower terminal lines are cut as if it were this wide.
constexpr size_t kColumnsMin = 40;
constexpr std::string_view kCut = "...";

/// One line as shown, and the columns that its mark covers.
struct ShownLine {
  std::string text;
  size_t begin = 0, end = 0;  ///< From 0; equal if nothing is marked.
};

bool is_word(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

/// Returns the end of the expression that begins at `at`: a name with the brackets after it, or a
/// single character.
size_t expression_end(std::string_view line, size_t at) {
  size_t end = at;
  while (end < line.size() && is_word(line[end])) ++end;
  while (end > at && end < line.size() && line[end] == '[') {
    const size_t close = line.find(']', end);
    if (close == line.npos) break;
    end = close + 1;
  }
  return std::max(end, at + 1);
}

/// Returns the printable text of the line; `columns[i]` is the column of its byte i.
std::string printable(std::string_view line, std::vector<size_t>& columns) {
  std::string shown;
  size_t column = 0;
  columns.clear();
  while (!line.empty()) {
    const size_t length = utf8_length(line);
    const auto first = static_cast<unsigned char>(line[0]);
    columns.insert(columns.end(), std::max<size_t>(length, 1), column);
    if (line[0] == '\t') {
      const size_t blanks = kTabColumns - column % kTabColumns;
      shown.append(blanks, ' ');
      column += blanks;
    } else {
      const bool control = first < 0x20 || first == 0x7f;
      shown += length == 0 || control ? "?" : std::string(line.substr(0, length));
      ++column;
    }
    line.remove_prefix(std::max<size_t>(length, 1));
  }
  columns.push_back(column);
  return shown;
}

/// Returns the text from column `begin` to column `end`.
std::string columns_between(const std::string& text, size_t begin, size_t end) {
  std::string part;
  size_t column = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts && at > 0) ++column;
    if (column >= begin && column < end) part += text[at];
  }
  return part;
}

/// Cuts the line to `room` columns such that the mark stays visible.
void cut(ShownLine& line, size_t room) {
  const size_t width = columns_of(line.text);
  if (width <= room) return;
  const size_t inner = room - 2 * kCut.size();
  const size_t before = inner / 3;
  const size_t from = line.begin > before + kCut.size()
                          ? std::min(line.begin - before, width - std::min(width, inner))
                          : 0;
  const size_t head = from > 0 ? kCut.size() : 0;
  const size_t kept = room - head;
  const bool tail = width - from > kept;
  const size_t to = from + kept - (tail ? kCut.size() : 0);
  line.text = (head > 0 ? std::string(kCut) : "") + columns_between(line.text, from, to) +
              (tail ? std::string(kCut) : "");
  line.end = head + std::min(line.end, to) - std::min(from, line.end);
  line.begin = head + line.begin - std::min(from, line.begin);
}

ShownLine shown_line(std::string_view line, uint32_t column, size_t room) {
  std::vector<size_t> columns;
  ShownLine made{.text = printable(line, columns)};
  const size_t first = line.find_first_not_of(" \t");
  if (column == 0 && first != line.npos) {
    made.begin = columns[first];
    made.end = columns[line.find_last_not_of(" \t") + 1];
  } else if (column > 0 && column <= line.size()) {
    const size_t at = column - 1;
    made.begin = columns[at];
    made.end = std::max(columns[expression_end(line, at)], made.begin + 1);
  }
  if (room > 0) cut(made, room);
  return made;
}

/// The lines of source files, each read once.
class Sources {
 public:
  /// Returns nothing if the file or the line does not exist. Valid as long as this object.
  std::optional<std::string_view> line(const std::string& file, uint32_t number) {
    const std::string& text = text_of(file);
    size_t begin = 0;
    for (uint32_t at = 1; at < number && begin != text.npos; ++at) {
      begin = text.find('\n', begin);
      if (begin != text.npos) ++begin;
    }
    if (number == 0 || begin == text.npos || begin >= text.size()) return std::nullopt;
    std::string_view line =
        std::string_view(text).substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

 private:
  const std::string& text_of(const std::string& file) {
    const auto [found, fresh] = texts_.try_emplace(file);
    std::error_code failed;
    // Reading a pipe would block.
    if (fresh && fs::is_regular_file(file, failed)) {
      auto text = read_file(file, kSourceBytesMax);
      if (text) found->second = *std::move(text);
    }
    return found->second;
  }

  std::map<std::string, std::string> texts_;
};

struct MarkedLine {
  const SourceMark* mark = nullptr;
  std::string_view text;
  char sign = '^';
};

std::string gutter_text(const std::string& number, size_t width) {
  return fmt::format(" {:>{}} |", number, width);
}

void add_line(const MarkedLine& marked, size_t gutter, const ExcerptStyle& style,
              std::string& all) {
  const std::string bare = gutter_text("", gutter);
  const size_t columns = style.columns == 0 ? 0 : std::max(style.columns, kColumnsMin);
  const size_t room = columns == 0 ? 0 : columns - bare.size() - 1;
  const SourceMark& mark = *marked.mark;
  const ShownLine line = shown_line(marked.text, mark.column, room);
  all += gutter_text(std::to_string(mark.line), gutter) + " " + line.text + "\n";
  if (line.begin == line.end) {
    if (!mark.label.empty()) all += wrapped(bare + " ", mark.label, columns);
    return;
  }
  const std::string under =
      bare + " " + std::string(line.begin, ' ') + std::string(line.end - line.begin, marked.sign);
  const size_t needed = columns_of(under) + 1 + columns_of(mark.label);
  if (mark.label.empty() || columns == 0 || needed <= columns) {
    all += under + (mark.label.empty() ? "" : " " + mark.label) + "\n";
    return;
  }
  all += under + "\n" + wrapped(bare + " ", mark.label, columns);
}

std::string wrapped_gutter(std::string text, const std::string& bare) {
  // Continuation lines of a label begin with the gutter too.
  const std::string blank = "\n" + std::string(bare.size() + 1, ' ');
  for (size_t at = text.find(blank); at != text.npos; at = text.find(blank, at + 1)) {
    text.replace(at, blank.size(), "\n" + bare + " ");
  }
  return text;
}

std::string of_one_file(const std::vector<const SourceMark*>& marks, bool is_first,
                        const ExcerptStyle& style, Sources& sources, size_t gutter) {
  std::string all = std::string(gutter + 1, ' ') + (is_first ? "--> " : "::: ") +
                    place_text(*marks.front(), style) + "\n";
  std::vector<MarkedLine> lines;
  for (const SourceMark* mark : marks) {
    const auto text = sources.line(mark->file, mark->line);
    if (!text) continue;
    lines.push_back({mark, *text, is_first && mark == marks.front() ? '^' : '-'});
  }
  if (lines.empty()) return all;
  std::ranges::stable_sort(lines, {}, [](const MarkedLine& one) { return one.mark->line; });
  const std::string bare = gutter_text("", gutter);
  all += bare + "\n";
  uint32_t last = lines.front().mark->line;
  for (const MarkedLine& line : lines) {
    if (line.mark->line > last + 1) all += std::string(gutter + 1, ' ') + "...\n";
    std::string text;
    add_line(line, gutter, style, text);
    all += wrapped_gutter(std::move(text), bare);
    last = line.mark->line;
  }
  return all;
}

}  // namespace

std::string place_text(const SourceMark& mark, const ExcerptStyle& style) {
  std::string file = mark.file;
  const std::string below = style.folder + "/";
  if (!style.folder.empty() && file.starts_with(below)) file = file.substr(below.size());
  std::string text = one_line(file);
  if (mark.line > 0) text += fmt::format(":{}", mark.line);
  if (mark.line > 0 && mark.column > 0) text += fmt::format(":{}", mark.column);
  return text;
}

std::string source_excerpt(const std::vector<SourceMark>& marks, const ExcerptStyle& style,
                           size_t& gutter) {
  uint32_t largest = 0;
  for (const SourceMark& mark : marks) largest = std::max(largest, mark.line);
  gutter = std::to_string(largest).size();
  Sources sources;
  std::string all;
  std::vector<const SourceMark*> left;
  for (const SourceMark& mark : marks) {
    if (!mark.file.empty()) left.push_back(&mark);
  }
  bool is_first = true;
  while (!left.empty()) {
    std::vector<const SourceMark*> here;
    const std::string file = left.front()->file;
    std::ranges::copy_if(left, std::back_inserter(here),
                         [&](const SourceMark* mark) { return mark->file == file; });
    std::erase_if(left, [&](const SourceMark* mark) { return mark->file == file; });
    all += of_one_file(here, is_first, style, sources, gutter);
    is_first = false;
  }
  return all;
}

std::vector<SourceLine> source_lines(const std::string& file, uint32_t line, uint32_t around) {
  constexpr size_t kColumnsMax = 200;
  Sources sources;
  std::vector<SourceLine> lines;
  if (!sources.line(file, line)) return lines;
  for (uint32_t number = line - std::min(around, line - 1); number <= line + around; ++number) {
    const auto text = sources.line(file, number);
    if (!text) break;
    std::vector<size_t> columns;
    const std::string shown = printable(*text, columns);
    const bool fits = columns_of(shown) <= kColumnsMax;
    lines.push_back({number, fits ? shown : columns_between(shown, 0, kColumnsMax) + "..."});
  }
  return lines;
}

}  // namespace gpuemu::cli
