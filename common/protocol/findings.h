// What is known of each kind of finding, from findings.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocol/records.h"
#include "common/protocol/stages.h"

namespace gpuemu {

enum class FindingEffect : uint8_t {
  None,
  EndsLaunch,    ///< The kernel did not run to its end: its outputs mean nothing.
  TaintsValues,  ///< Wrong values of the case may follow from it.
};

struct FindingInfo {
  FindingKind kind;
  std::string_view what;  ///< What has been found, one sentence.
  CaseCheck check;
  FindingEffect effect;
  std::string_view help;  ///< What fixes it most often: an edit or a command.
};

const FindingInfo& finding_info(FindingKind kind);
inline constexpr size_t kFindingKindCount = static_cast<size_t>(kLastFindingKind) + 1;

/// Where docs/reference/findings.md explains the kind: the anchor of its heading.
std::string docs_anchor(FindingKind kind);

}  // namespace gpuemu
