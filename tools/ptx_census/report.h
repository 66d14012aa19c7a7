// Formats a census as text or as JSON.
#pragma once

#include <string>

#include "tools/ptx_census/census.h"

namespace gpuemu::census {

/// `all`: includes every opcode, not only missing ones.
std::string to_text(const Census& census, bool all);
std::string to_json(const Census& census);

}  // namespace gpuemu::census
