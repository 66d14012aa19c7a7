// The stage Compare: compares outputs with the reference.
#pragma once

#include "daemon/case/compared_values.h"
#include "daemon/case/stage.h"

namespace gpuemu {

class Arena;
struct BuiltPlan;
struct CaseReport;
struct CaseRequest;
struct ReferenceReply;

/// Compares every output and adds what it finds to the report.
Result<Next> compare_outputs(CaseWork& work);

/// Returns the verdict and the findings for every output. `reply` is null without a reference. The
/// views in the result refer to `arena`.
Result<ComparedValues> compare_values(const CaseRequest& request, const BuiltPlan& built,
                                      Arena& arena, const ReferenceReply* reply);

/// Adds the findings, notes and numbers of all outputs to the report.
void add_values(const ComparedValues& values, CaseReport& report);

}  // namespace gpuemu
