#include "common/config/pattern.h"

#include <re2/re2.h>

namespace gpuemu {

std::optional<std::string> pattern_problem(const std::string& pattern) {
  const RE2 compiled(pattern, RE2::Quiet);
  if (compiled.ok()) return std::nullopt;
  return compiled.error();
}

}  // namespace gpuemu
