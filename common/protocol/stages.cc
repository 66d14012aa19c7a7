#include "common/protocol/stages.h"

namespace gpuemu {
namespace {

constexpr StageInfo kStageInfos[] = {
#define GPUEMU_STAGE(kind, name, sentence) {StageKind::kind, name, sentence},
#include "common/protocol/tables/stages.def"
};

constexpr CaseCheckInfo kCaseCheckInfos[] = {
#define GPUEMU_CASE_CHECK(check, stage, name, sentence) \
  {CaseCheck::check, StageKind::stage, name, sentence},
#include "common/protocol/tables/stages.def"
};

}  // namespace

std::span<const StageInfo> stage_infos() { return kStageInfos; }

std::span<const CaseCheckInfo> case_check_infos() { return kCaseCheckInfos; }

}  // namespace gpuemu
