// A case with everything that running it without gpuemu takes: kernel, launches, inputs, what is
// expected and how far an output may lie from it.
#pragma once

#include "daemon/case/case_report.h"

namespace gpuemu {

class Arena;
struct BuiltPlan;
struct CaseRequest;
struct Comparison;
struct ExecutionPlan;

LaunchedCode launched_code(const CaseRequest& request, const BuiltPlan& built);

/// PTX in which the variables of the plan are declared with what they hold in the first run, so
/// that programs that run it set nothing.
Result<std::string> with_variables(std::string ptx, const ExecutionPlan& plan, Arena& arena);

/// Kernel, sources, tensors and launches; the tensors' values are added while the case is judged.
ExportedCaseReply describe_case(const CaseRequest& request, const BuiltPlan& built);

/// Adds what is expected of one output, and its bounds. REQUIRES: output and reference of one
/// shape.
void add_expectation(const Comparison& comparison, ExportedCaseReply& to);

}  // namespace gpuemu
