// Compresses text as gzip (RFC 1952), so that `zcat` can read it.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu::cli {

Result<std::string> gzip(std::string_view text);
/// Corruption for data that is no gzip file, is damaged, ends early or continues after its end;
/// ResourceExhausted as soon as it grows beyond `bytes_max`.
Result<std::string> gunzip(std::string_view packed, size_t bytes_max);

}  // namespace gpuemu::cli
