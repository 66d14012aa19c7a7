// Decompresses the entries of fat binaries. The input is untrusted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace gpuemu::libcuda {

/// Unpacks an LZ4 block to exactly `bytes` bytes; returns nothing when it is damaged.
std::optional<std::string> unpack_lz4(std::span<const unsigned char> packed, size_t bytes);
/// Returns true if the host has libzstd.so.1, which unpack_zstd() needs.
bool has_zstd();
/// Unpacks a Zstandard frame to exactly `bytes` bytes; returns nothing when it is damaged.
std::optional<std::string> unpack_zstd(std::span<const unsigned char> packed, size_t bytes);

}  // namespace gpuemu::libcuda
