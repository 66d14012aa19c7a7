// Base64 with one table look-up per 12 output bits when encoding and per character when decoding.
#include "common/codec/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace gpuemu {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kBad = 0x0100'0000;  // Above the 24 bits of a group.

struct CharPair {
  char first, second;
};

// Twelve bits give two characters at once.
constexpr std::array<CharPair, 4096> make_pairs() {
  std::array<CharPair, 4096> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kAlphabet[i >> 6], kAlphabet[i & 63]};
  return pairs;
}

// For each of the four places of a group: the character's bits, shifted into place, or kBad.
constexpr std::array<std::array<uint32_t, 256>, 4> make_places() {
  std::array<std::array<uint32_t, 256>, 4> places{};
  for (size_t place = 0; place < 4; ++place) {
    for (uint32_t& entry : places[place]) entry = kBad;
    for (size_t i = 0; i < kAlphabet.size(); ++i) {
      places[place][static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint32_t>(i)
                                                          << (18 - 6 * place);
    }
  }
  return places;
}

constexpr auto kPairs = make_pairs();
constexpr auto kPlaces = make_places();

uint32_t byte_at(const std::byte* from, size_t index) { return static_cast<uint32_t>(from[index]); }

uint32_t group_of(const char* text) {
  const auto* at = reinterpret_cast<const uint8_t*>(text);
  return kPlaces[0][at[0]] | kPlaces[1][at[1]] | kPlaces[2][at[2]] | kPlaces[3][at[3]];
}

void store_group(uint32_t group, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<std::byte>(group >> (16 - 8 * i));
}

Error bad_group(std::string_view text, size_t start) {
  for (size_t i = start; i < start + 4; ++i) {
    if (kPlaces[0][static_cast<uint8_t>(text[i])] == kBad) {
      return error(ErrorCode::InvalidArgument,
                   "byte 0x{:02x} at position {} of {} is not a base64 character",
                   static_cast<unsigned>(static_cast<uint8_t>(text[i])), i, text.size());
    }
  }
  GPUEMU_UNREACHABLE();
}

}  // namespace

void append_base64(std::span<const std::byte> bytes, std::string& to) {
  const size_t start = to.size();
  to.resize(start + (bytes.size() + 2) / 3 * 4);
  char* out = to.data() + start;
  const std::byte* in = bytes.data();
  const size_t whole = bytes.size() / 3;
  for (size_t i = 0; i < whole; ++i, in += 3, out += 4) {
    const uint32_t group = byte_at(in, 0) << 16 | byte_at(in, 1) << 8 | byte_at(in, 2);
    std::memcpy(out, &kPairs[group >> 12], 2);
    std::memcpy(out + 2, &kPairs[group & 4095], 2);
  }
  const size_t rest = bytes.size() - whole * 3;
  if (rest == 0) return;
  const uint32_t group = byte_at(in, 0) << 16 | (rest == 2 ? byte_at(in, 1) << 8 : 0);
  out[0] = kAlphabet[group >> 18];
  out[1] = kAlphabet[group >> 12 & 63];
  out[2] = rest == 2 ? kAlphabet[group >> 6 & 63] : '=';
  out[3] = '=';
}

std::string encode_base64(std::span<const std::byte> bytes) {
  std::string text;
  append_base64(bytes, text);
  return text;
}

Result<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return error(ErrorCode::InvalidArgument, "{} base64 characters, expected a multiple of 4",
                 text.size());
  }
  if (text.empty()) return std::vector<std::byte>();
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const size_t groups = text.size() / 4 - (padding > 0 ? 1 : 0);
  std::vector<std::byte> bytes(text.size() / 4 * 3 - padding);
  std::byte* out = bytes.data();
  for (size_t i = 0; i < groups; ++i, out += 3) {
    const uint32_t group = group_of(text.data() + i * 4);
    if (group >= kBad) return bad_group(text, i * 4);
    store_group(group, out, 3);
  }
  if (padding == 0) return bytes;
  // 'A' stands for the zero bits that padding omits.
  std::string last(text.substr(groups * 4, 4 - padding));
  last.append(padding, 'A');
  const uint32_t group = group_of(last.data());
  if (group >= kBad) return bad_group(text, groups * 4);
  if ((group & (padding == 2 ? 0xffffU : 0xffU)) != 0) {
    return error(ErrorCode::InvalidArgument, "the last base64 group has bits left over");
  }
  store_group(group, out, 3 - padding);
  return bytes;
}

}  // namespace gpuemu
