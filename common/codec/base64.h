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

/// InvalidArgument for anything encode_base64 could not have written: other characters, white
/// space, missing padding, bits left over. The message names the position.
Result<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace gpuemu
