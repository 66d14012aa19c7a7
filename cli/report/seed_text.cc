// Works on the text, so that order, numbers and line breaks of a document do not change.
#include "cli/report/seed_text.h"

#include <algorithm>

namespace gpuemu::cli {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the position of the first character from `at` on that does not fit.
template <typename Fits>
size_t past(std::string_view text, size_t at, Fits fits) {
  while (at < text.size() && fits(text[at])) ++at;
  return at;
}

/// Returns the position after the closing quote of the string that begins at `at`.
size_t string_end(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

}  // namespace

std::string with_seed_texts(std::string_view json) {
  std::string out;
  size_t copied = 0;
  for (size_t at = 0; at < json.size();) {
    if (json[at] != '"') {
      ++at;
      continue;
    }
    const size_t key = at, key_end = string_end(json, at);
    at = key_end;
    const std::string_view name = json.substr(key + 1, key_end - key - 2);
    if (name != "seed" && !name.ends_with("_seed")) continue;
    const size_t colon = past(json, key_end, is_blank);
    if (colon == json.size() || json[colon] != ':') continue;
    const size_t value = past(json, colon + 1, is_blank), value_end = past(json, value, is_digit);
    const bool is_whole = value_end > value &&
                          (value_end == json.size() ||
                           std::string_view(".eE").find(json[value_end]) == std::string_view::npos);
    if (!is_whole) continue;
    size_t indent = key;
    while (indent > 0 && is_blank(json[indent - 1])) --indent;
    out += json.substr(copied, value_end - copied);
    out += ',';
    out += json.substr(indent, key - indent);
    out += '"' + std::string(name) + "_text\"";
    out += json.substr(key_end, value - key_end);
    out += '"' + std::string(json.substr(value, value_end - value)) + '"';
    copied = at = value_end;
  }
  out += json.substr(copied);
  return out;
}

}  // namespace gpuemu::cli
