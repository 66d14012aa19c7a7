#include "cli/report/escape.h"

#include <cstdint>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Decodes the character at `at` into `point` and returns its number of bytes, 0 if it is invalid.
size_t character(std::string_view text, size_t at, uint32_t& point) {
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return point = first, 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  point = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(at + i) & 0x3fU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < kSmallest[length] || surrogate || point > 0x10ffff ? 0 : length;
}

bool is_unwanted(uint32_t point) {
  if (point == '\n' || point == '\t') return false;
  const bool control = point < 0x20 || (point >= 0x7f && point <= 0x9f);
  const bool turns = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
                     point == 0x200e || point == 0x200f;
  const bool separates = point == 0x2028 || point == 0x2029;
  return control || turns || separates || (point & 0xfffe) == 0xfffe;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t point = 0;
    const size_t length = character(text, at, point);
    if (length == 0) {
      out += kReplacement;
      ++at;
      continue;
    }
    out += is_unwanted(point) ? std::string_view(" ") : text.substr(at, length);
    at += length;
  }
  return out;
}

std::string markup(std::string_view text) {
  std::string out;
  for (const char letter : clean(text)) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string markdown_cell(std::string_view text, size_t characters_max) {
  std::string out;
  for (const char letter : clean(clipped(text, characters_max))) {
    // Every punctuation mark can be escaped; references to users and issues must be broken up as
    // well.
    if (letter == '\n' || letter == '\t') {
      out += ' ';
    } else if (letter == '<') {
      out += "&lt;";
    } else if (letter == '&') {
      out += "&amp;";
    } else if (letter == '@') {
      out += "&#64;";
    } else if (letter == ':') {
      out += "&#58;";  // Prevents addresses from becoming links.
    } else if (std::string_view("\\`*_{}[]()#|!~>").find(letter) != std::string_view::npos) {
      out += '\\';
      out += letter;
    } else {
      out += letter;
    }
  }
  return out;
}

std::string clipped(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace gpuemu::cli
