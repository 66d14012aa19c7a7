// The stages of a case and the checks in them, from stages.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuemu {

/// In the order of a case.
enum class StageKind : uint8_t {
#define GPUEMU_STAGE(kind, name, sentence) kind,
#include "common/protocol/tables/stages.def"
};

/// The check that a finding belongs to, in the order of the stages.
enum class CaseCheck : uint8_t {
#define GPUEMU_CASE_CHECK(check, stage, name, sentence) check,
#include "common/protocol/tables/stages.def"
};

struct StageInfo {
  StageKind kind;
  std::string_view name;
  std::string_view sentence;  ///< What the stage does.
};
/// Returns the stages in the order of StageKind.
std::span<const StageInfo> stage_infos();

struct CaseCheckInfo {
  CaseCheck check;
  StageKind stage;
  std::string_view name;
  std::string_view sentence;  ///< What must hold.
};
/// Returns the checks in the order of CaseCheck.
std::span<const CaseCheckInfo> case_check_infos();

}  // namespace gpuemu
