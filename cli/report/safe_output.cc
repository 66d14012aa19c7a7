#include "cli/report/safe_output.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

bool is_ascii(char letter) { return static_cast<unsigned char>(letter) < 0x80; }
bool continues(char letter) { return (static_cast<unsigned char>(letter) & 0xc0) == 0x80; }

/// Returns the length in bytes of a character that begins with `letter`; 0 if none does.
size_t length_from(char letter) {
  const auto first = static_cast<unsigned char>(letter);
  if (first < 0xc2 || first > 0xf4) return 0;
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

uint32_t point_of(std::string_view character) {
  uint32_t point = static_cast<unsigned char>(character[0]) & (0x7fU >> character.size());
  for (const char letter : character.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(letter) & 0x3fU);
  }
  return point;
}

bool is_deceiving(uint32_t point) {
  const bool turns = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  return turns || (point >= 0x80 && point <= 0x9f);
}

}  // namespace

SafeOutput::~SafeOutput() { give_up_begun(); }

bool SafeOutput::put(std::string_view text) {
  const auto count = static_cast<std::streamsize>(text.size());
  return to_.sputn(text.data(), count) == count;
}

/// Writes escapes for bytes that began like a character but are none.
bool SafeOutput::give_up_begun() {
  const std::string bytes = std::move(begun_);
  begun_.clear();
  return std::ranges::all_of(bytes, [&](char letter) {
    const uint32_t byte = static_cast<unsigned char>(letter);
    return is_deceiving(byte) ? put(fmt::format("\\x{:02x}", byte)) : put({&letter, 1});
  });
}

bool SafeOutput::take(char letter) {
  if (!begun_.empty() && !continues(letter) && !give_up_begun()) return false;
  if (begun_.empty() && is_ascii(letter)) return put({&letter, 1});
  begun_ += letter;
  const size_t length = length_from(begun_.front());
  if (length == 0) return give_up_begun();
  if (begun_.size() < length) return true;
  const std::string character = std::move(begun_);
  begun_.clear();
  const uint32_t point = point_of(character);
  return is_deceiving(point) ? put(fmt::format("\\u{:04x}", point)) : put(character);
}

SafeOutput::int_type SafeOutput::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  return take(traits_type::to_char_type(letter)) ? letter : traits_type::eof();
}

std::streamsize SafeOutput::xsputn(const char* text, std::streamsize count) {
  const std::string_view all(text, static_cast<size_t>(count));
  if (begun_.empty() && std::ranges::all_of(all, is_ascii)) return to_.sputn(text, count);
  for (size_t at = 0; at < all.size(); ++at) {
    if (!take(all[at])) return static_cast<std::streamsize>(at);
  }
  return count;
}

}  // namespace gpuemu::cli
