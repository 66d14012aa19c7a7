// Properties of each kind of finding, from findings.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocol/records.gen.h"
#include "common/protocol/stages.h"

namespace gpuemu {

enum class FindingEffect : uint8_t {
  None,
  EndsLaunch,    ///< The kernel did not complete: its outputs are invalid.
  TaintsValues,  ///< May cause wrong values in the case.
};

struct FindingInfo {
  FindingKind kind;
  std::string_view what;  ///< One sentence that says what was found.
  CaseCheck check;
  FindingEffect effect;
  std::string_view help;  ///< The most common fix: an edit or a command.
};

const FindingInfo& finding_info(FindingKind kind);
inline constexpr size_t kFindingKindCount = static_cast<size_t>(kLastFindingKind) + 1;

/// Returns the anchor of the kind's heading in docs/reference/findings.md.
std::string docs_anchor(FindingKind kind);

}  // namespace gpuemu
