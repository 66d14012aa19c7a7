// A census as text for people or as JSON for programs.
#pragma once

#include <string>

#include "tools/ptx_census/census.h"

namespace gpuemu::census {

/// `all`: every opcode, not only those that are missing.
std::string to_text(const Census& census, bool all);
std::string to_json(const Census& census);

}  // namespace gpuemu::census
