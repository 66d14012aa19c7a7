// Implements the hashes with libb2; no other file calls it.
#include "common/base/blake2.h"

#include <blake2.h>

#include "common/base/check.h"

namespace gpuemu {
namespace {

template <size_t Bytes>
std::array<uint8_t, Bytes> digest(std::initializer_list<std::string_view> parts) {
  blake2b_state state;
  GPUEMU_CHECK(blake2b_init(&state, Bytes) == 0);
  for (const std::string_view part : parts) {
    blake2b_update(&state, reinterpret_cast<const uint8_t*>(part.data()), part.size());
  }
  std::array<uint8_t, Bytes> out{};
  GPUEMU_CHECK(blake2b_final(&state, out.data(), Bytes) == 0);
  return out;
}

}  // namespace

std::array<uint8_t, 8> blake2b_8(std::initializer_list<std::string_view> parts) {
  return digest<8>(parts);
}

std::array<uint8_t, 16> blake2b_16(std::initializer_list<std::string_view> parts) {
  return digest<16>(parts);
}

std::string content_hash(std::initializer_list<std::string_view> parts) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest<16>(parts)) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace gpuemu
