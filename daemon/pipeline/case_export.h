// Exports a case with everything needed to run it without gpuemu: kernel, launches, inputs,
// expected outputs, and how far an output may differ from them.
#pragma once

#include "daemon/case/case_report.h"

namespace gpuemu {

class Arena;
struct BuiltPlan;
struct CaseRequest;
struct Comparison;
struct ExecutionPlan;

LaunchedCode launched_code(const CaseRequest& request, const BuiltPlan& built);

/// Returns PTX that declares the plan's variables with their contents of the first run, so that
/// programs that run it need not set any.
Result<std::string> with_variables(std::string ptx, const ExecutionPlan& plan, Arena& arena);

/// Returns kernel, sources, tensors and launches; the values of the tensors are added while the
/// case is judged.
ExportedCaseReply describe_case(const CaseRequest& request, const BuiltPlan& built);

/// Adds the expected values of one output, and their bounds. REQUIRES: output and reference have
/// the same shape.
void add_expectation(const Comparison& comparison, ExportedCaseReply& to);

}  // namespace gpuemu
