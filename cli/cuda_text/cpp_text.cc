#include "cli/cuda_text/cpp_text.h"

#include <algorithm>
#include <cctype>

#include <re2/re2.h>

#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// Returns the name of the namespace that the brace at `brace` opens, followed by "::"; "" for any
/// other brace and for an unnamed namespace.
std::string namespace_at(std::string_view text, size_t brace) {
  size_t begin = text.find_last_of(";{}", brace == 0 ? 0 : brace - 1);
  begin = begin == text.npos || begin >= brace ? 0 : begin + 1;
  static const RE2 kNamespace(R"((?s)(?:^|\s)namespace\s+([\w:]+)\s*$)");
  std::string name;
  const re2::StringPiece head(text.data() + begin, brace - begin);
  return RE2::PartialMatch(head, kNamespace, &name) ? name + "::" : "";
}

}  // namespace

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

std::string trimmed(std::string_view text) { return std::string(gpuemu::trimmed(text)); }

std::string without_comments(std::string_view text) {
  std::string clean(text);
  const auto blank = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, clean.size()); ++i) {
      if (clean[i] != '\n') clean[i] = ' ';
    }
  };
  for (size_t at = 0; at < clean.size();) {
    if (clean.compare(at, 2, "//") == 0) {
      const size_t end = std::min(clean.find('\n', at), clean.size());
      blank(at, end);
      at = end;
    } else if (clean.compare(at, 2, "/*") == 0) {
      const size_t end = clean.find("*/", at + 2);
      const size_t behind = end == std::string::npos ? clean.size() : end + 2;
      blank(at, behind);
      at = behind;
    } else if (clean[at] == '"') {
      size_t end = at + 1;
      while (end < clean.size() && clean[end] != '"' && clean[end] != '\n') {
        end += clean[end] == '\\' ? 2 : 1;
      }
      blank(at + 1, end);
      at = end + 1;
    } else {
      ++at;
    }
  }
  return clean;
}

size_t behind_bracket(std::string_view text, size_t open) {
  const char left = text[open];
  const char right = left == '(' ? ')' : left == '{' ? '}' : left == '[' ? ']' : '>';
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == left) ++depth;
    if (text[at] == right && --depth == 0) return at + 1;
  }
  return text.npos;
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    const char letter = at < list.size() ? list[at] : ',';
    if (std::string_view("(<[{").find(letter) != std::string_view::npos) ++depth;
    if (std::string_view(")>]}").find(letter) != std::string_view::npos) --depth;
    if (letter != ',' || (depth > 0 && at < list.size())) continue;
    std::string part = trimmed(list.substr(begin, at - begin));
    if (!part.empty()) parts.push_back(std::move(part));
    begin = at + 1;
  }
  return parts;
}

std::vector<std::string> qualified_names(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && (is_word(text[at]) || text[at] == ':')) ++at;
    if (at > begin) words.emplace_back(text.substr(begin, at - begin));
    if (at == begin) ++at;
  }
  return words;
}

size_t find_word(std::string_view text, std::string_view word, size_t from) {
  for (size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return at;
    }
  }
  return text.npos;
}

std::vector<Subscript> subscripts_of(std::string_view text, std::string_view name) {
  std::vector<Subscript> all;
  for (size_t at = find_word(text, name); at != text.npos; at = find_word(text, name, at + 1)) {
    const size_t open = text.find_first_not_of(" \t\r\n", at + name.size());
    if (open == text.npos || text[open] != '[') continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    all.push_back({std::string(text.substr(open + 1, behind - open - 2)), behind});
  }
  return all;
}

std::vector<std::string> template_before(std::string_view text, size_t at) {
  size_t begin = text.find_last_of(";}", at);
  begin = begin == text.npos ? 0 : begin + 1;
  const size_t found = text.find("template", begin);
  if (found == text.npos || found > at) return {};
  const size_t open = text.find('<', found);
  if (open == text.npos || open > at) return {};
  const size_t behind = behind_bracket(text, open);
  if (behind == text.npos || behind > at) return {};
  return split_list(text.substr(open + 1, behind - open - 2));
}

std::string declared_name(std::string_view declaration) {
  const std::string_view text = declaration.substr(0, declaration.find('='));
  static const RE2 kPointer(R"(\(\s*[*&]\s*(\w+)\s*\)\s*\()");
  std::string name;
  if (RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kPointer, &name)) return name;
  const std::vector<std::string> words = qualified_names(text);
  return words.size() < 2 ? "" : words.back();
}

std::string Scopes::at(size_t at) {
  for (; next_ < at; ++next_) {
    if (text_[next_] == '{') open_.push_back(namespace_at(text_, next_));
    if (text_[next_] == '}' && !open_.empty()) open_.pop_back();
  }
  std::string all;
  for (const std::string& one : open_) all += one;
  return all;
}

}  // namespace gpuemu::cli
