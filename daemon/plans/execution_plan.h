// Turns a generated case and a kernel's launch data into the plan that a worker executes.
#pragma once

#include <string>
#include <vector>

#include "common/config/expression.h"
#include "daemon/executor/plan.h"

namespace gpuemu {

struct CasePlan;
struct Config;
struct InvariantSpec;
struct KernelConfig;
struct OpConfig;
struct PreparedKernel;
struct ShadowOptions;

struct BuiltPlan {
  ExecutionPlan plan;
  uint64_t result_offset = 0;  ///< Arena offset after all tensors, where references may write.
};

/// Returns the values of names in the op's and the kernel's expressions for this case.
Scope scope_of(const OpConfig& op, const CasePlan& plan);

/// Returns whether the variant supports the case. InvalidArgument if `supports` does not evaluate.
Result<bool> supports_case(const KernelConfig& kernel, const Scope& scope);

/// Builds the plan. InvalidArgument naming kernel, launch and argument if an expression does not
/// evaluate, a size is negative or a tensor is unknown.
Result<BuiltPlan> build_plan(const Config& config, const KernelConfig& kernel,
                             const PreparedKernel& prepared, const OpConfig& op,
                             const CasePlan& plan);

/// Returns the device memory that one run of the case needs, as the worker counts it for the limit
/// of a case: its tensors with their gaps, and the scratch memory of the kernel. InvalidArgument as
/// for build_plan.
Result<uint64_t> device_bytes_of(const KernelConfig& kernel, const OpConfig& op,
                                 const CasePlan& plan);

/// Assigns places in the arena to the inputs of the warmup (ExecutionPlan::warmup).
void add_warmup(BuiltPlan& built);

/// Assigns places in the arena to the shadows of the outputs, and makes the plan request them.
void plan_shadow(const ShadowOptions& options, BuiltPlan& built);

/// Changes the sizes of every launch of the plan to `grid`, `block` and `shared` of `sizes`, which
/// are texts or numbers. InvalidArgument as for build_plan.
Status change_launches(const InvariantSpec& sizes, const Scope& scope, ExecutionPlan& plan);

}  // namespace gpuemu
