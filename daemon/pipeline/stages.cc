#include "daemon/pipeline/stages.h"

#include <algorithm>

#include "daemon/comparison/compare_outputs.h"
#include "daemon/comparison/rounding_review.h"
#include "daemon/execution/device_findings.h"
#include "daemon/execution/execute_case.h"
#include "daemon/execution/plan_case.h"
#include "daemon/execution/stale_output_check.h"
#include "daemon/pipeline/case_record.h"
#include "daemon/pipeline/check_relations.h"
#include "daemon/pipeline/extras.h"

namespace gpuemu {
namespace {

constexpr Stage kStages[] = {
    {StageKind::Plan, Needs::Nothing, make_plan},
    {StageKind::Execute, Needs::Nothing, execute},
    {StageKind::DeviceFaults, Needs::Nothing, collect_faults},
    {StageKind::Compare, Needs::Values, compare_outputs},
    {StageKind::Extras, Needs::Nothing, collect_extras},
    {StageKind::Repeat, Needs::Nothing, check_repeatability},
    {StageKind::Rounding, Needs::Values, review_rounding},
    {StageKind::Relations, Needs::Values, check_relations},
    {StageKind::Record, Needs::Nothing, record_case},
};

constexpr StageKind kKinds[] = {
#define GPUEMU_STAGE(kind, name, sentence) StageKind::kind,
#include "common/protocol/tables/stages.def"
};
static_assert(std::ranges::equal(kStages, kKinds, {}, &Stage::kind));

}  // namespace

std::span<const Stage> stages() { return kStages; }

}  // namespace gpuemu
