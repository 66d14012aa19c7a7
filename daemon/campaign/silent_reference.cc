#include "daemon/campaign/silent_reference.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu {

std::string silence_of(const ValidationResult& result) {
  // A kernel's output has the shape and dtype that gpuemu.toml declares, so the mismatch is the
  // reference's.
  const auto is_of_reference = [](const ValidationFailure& one) {
    return one.kind == FindingKind::ReferenceError || one.kind == FindingKind::ShapeMismatch ||
           one.kind == FindingKind::DTypeMismatch;
  };
  if (result.failures.empty() || !std::ranges::all_of(result.failures, is_of_reference)) return "";
  const ValidationFailure& first = result.failures.front();
  if (first.kind == FindingKind::ReferenceError) return first.message;
  return fmt::format("{}; compare what it returns with `outputs` in gpuemu.toml", first.message);
}

}  // namespace gpuemu
