// Decompresses what fat binaries hold. The input is untrusted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace gpuemu::libcuda {

/// One LZ4 block of exactly `bytes` when unpacked; nothing when it is damaged.
std::optional<std::string> unpack_lz4(std::span<const unsigned char> packed, size_t bytes);
/// One Zstandard frame; nothing when it is damaged, or where the host has no libzstd.so.1.
std::optional<std::string> unpack_zstd(std::span<const unsigned char> packed, size_t bytes);

}  // namespace gpuemu::libcuda
