// BLAKE2b (RFC 7693) through libb2. The digest length is a parameter of the hash, not a truncation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuemu {

/// Digest of the concatenation of `parts`, no key. Thread-safe.
std::array<uint8_t, 8> blake2b_8(std::initializer_list<std::string_view> parts);
std::array<uint8_t, 16> blake2b_16(std::initializer_list<std::string_view> parts);

/// 32 lower-case hex digits naming some content: module caches, kernel hashes.
std::string content_hash(std::initializer_list<std::string_view> parts);

}  // namespace gpuemu
