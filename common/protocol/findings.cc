// The table of findings.def, and the functions that read it.
#include "common/protocol/findings.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/base/check.h"

namespace gpuemu {
namespace {

constexpr std::array kRows = {
#define GPUEMU_FINDING(kind, also, what, check, effect, severity, phrase, help) \
  FindingInfo{FindingKind::kind, what, CaseCheck::check, FindingEffect::effect, help},
#include "common/protocol/tables/findings.def"
#undef GPUEMU_FINDING
};

constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  }
  return kRows.size() == kFindingKindCount;
}
static_assert(rows_follow_the_enumeration());

}  // namespace

const FindingInfo& finding_info(FindingKind kind) {
  GPUEMU_CHECK(static_cast<size_t>(kind) < kRows.size());
  return kRows[static_cast<size_t>(kind)];
}

std::string docs_anchor(FindingKind kind) {
  std::string anchor = name_of(kind);
  std::ranges::transform(anchor, anchor.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return anchor;
}

}  // namespace gpuemu
