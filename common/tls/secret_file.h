// Keys and tokens in files that only their owner can read.
#pragma once

#include <string>

#include "common/base/result.h"

namespace gpuemu {

/// Returns the file's text without surrounding blanks. InvalidArgument, beginning with `option`, if
/// the group or others may access the file, it cannot be read, or it is empty.
Result<std::string> read_secret(const std::string& option, const std::string& file);

/// Compares digests in constant time, so that the timing reveals nothing about the secret.
bool is_same_secret(const std::string& secret, const std::string& given);

}  // namespace gpuemu
