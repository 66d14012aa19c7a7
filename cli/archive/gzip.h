// Text packed as gzip does it (RFC 1952), so that `zcat` reads it too.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu::cli {

Result<std::string> gzip(std::string_view text);
/// Corruption for what is no gzip file, is damaged, ends early or has something behind its end;
/// ResourceExhausted as soon as it grows above `bytes_max`.
Result<std::string> gunzip(std::string_view packed, size_t bytes_max);

}  // namespace gpuemu::cli
