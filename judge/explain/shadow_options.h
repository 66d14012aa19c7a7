// Options of a case that runs without rounding.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/shadow/shadow.h"

namespace gpuemu {

/// Requests shadow execution of a case, and optionally the history of one element.
struct ShadowOptions {
  std::string output;  ///< "": no history.
  int64_t element = 0;
  uint64_t block = 0;
  uint64_t timeout_ms = 0;  ///< Timeout of the launches; 0: the project's.
  ShadowErrors errors = ShadowErrors::All;
  uint64_t nudge = 0;  ///< See ShadowConfig::nudge.
};

}  // namespace gpuemu
