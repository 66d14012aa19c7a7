// The stage Compare: outputs beside what the reference said.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/compared_values.h"
#include "daemon/pipeline/stages.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/reference/reference_process.h"

namespace gpuemu {

/// Compares every output and adds what it finds to the report.
Result<Next> compare_outputs(CaseWork& work);

/// Whether the kernel and the reference read the tensor's values.
bool is_read(const PlanTensor& tensor);

/// Packed elements in the shared memory. An error when it does not hold all of them.
Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset);

/// The verdict and the findings of every output. `reply` is null without a reference. The views in
/// the answer are of `arena`.
Result<ComparedValues> compare_values(const CaseRequest& request, const BuiltPlan& built,
                                      Arena& arena, const ReferenceReply* reply);

/// Adds the findings, notes and numbers of all outputs to the report.
void add_values(const ComparedValues& values, CaseReport& report);

}  // namespace gpuemu
