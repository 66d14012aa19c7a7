// BLAKE2b (RFC 7693) with libb2. The digest length is a parameter of the hash, not a truncation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuemu {

/// Returns the unkeyed digest of the concatenated `parts`. Thread-safe.
std::array<uint8_t, 8> blake2b_8(std::initializer_list<std::string_view> parts);
std::array<uint8_t, 16> blake2b_16(std::initializer_list<std::string_view> parts);

/// Returns 32 lower-case hex digits that identify a content, for module caches and kernel hashes.
std::string content_hash(std::initializer_list<std::string_view> parts);

}  // namespace gpuemu
