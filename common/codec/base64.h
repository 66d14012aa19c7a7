// Standard base64 (RFC 4648, with padding). Table-driven, above 1 GB/s each way.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

void append_base64(std::span<const std::byte> bytes, std::string& to);
std::string encode_base64(std::span<const std::byte> bytes);

/// InvalidArgument, naming the position, for anything that encode_base64 would not write: other
/// characters, white space, missing padding, nonzero leftover bits.
Result<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace gpuemu
