// Keys and tokens in files that only their owner can read.
#pragma once

#include <string>

#include "common/base/result.h"

namespace gpuemu {

/// Its text without blanks around it. InvalidArgument, beginning with `option`, for a file that the
/// group or others may use, that cannot be read or that is empty.
Result<std::string> read_secret(const std::string& option, const std::string& file);

/// Compares digests, all bytes of them: the time tells nothing about the secret.
bool is_same_secret(const std::string& secret, const std::string& given);

}  // namespace gpuemu
