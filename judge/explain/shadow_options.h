// What a case that runs without rounding is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/shadow/shadow.h"

namespace gpuemu {

/// Shadow execution of a case, and the element whose history is wanted.
struct ShadowOptions {
  std::string output;  ///< "": no history.
  int64_t element = 0;
  uint64_t block = 0;
  uint64_t timeout_ms = 0;  ///< Limit of the launches; 0: the project's.
  ShadowErrors errors = ShadowErrors::All;
  uint64_t nudge = 0;  ///< ShadowConfig::nudge
};

}  // namespace gpuemu
