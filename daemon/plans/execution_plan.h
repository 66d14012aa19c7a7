// From a generated case and a kernel's launch data to what a worker executes.
#pragma once

#include <string>
#include <vector>

#include "common/config/expression.h"
#include "daemon/worker/plan.h"

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
  uint64_t result_offset = 0;  ///< Arena offset behind all tensors, where references may write.
};

/// What names in the op's and the kernel's expressions mean for this case.
Scope scope_of(const OpConfig& op, const CasePlan& plan);

/// True when the variant says that it supports the case. InvalidArgument when `supports` does not
/// evaluate.
Result<bool> supports_case(const KernelConfig& kernel, const Scope& scope);

/// InvalidArgument naming kernel, launch and argument when an expression does not evaluate, a size
/// is negative or a tensor is unknown.
Result<BuiltPlan> build_plan(const Config& config, const KernelConfig& kernel,
                             const PreparedKernel& prepared, const OpConfig& op,
                             const CasePlan& plan);

/// Device memory that one run of the case needs: its tensors with their gaps, and the scratch of
/// the kernel, as the worker counts it for the limit of a case. InvalidArgument as for build_plan.
Result<uint64_t> device_bytes_of(const KernelConfig& kernel, const OpConfig& op,
                                 const CasePlan& plan);

/// Gives the inputs of the warmup (ExecutionPlan::warmup) places in the arena.
void add_warmup(BuiltPlan& built);

/// Gives the shadows of the outputs their place in the arena and makes the plan ask for them.
void plan_shadow(const ShadowOptions& options, BuiltPlan& built);

/// Other sizes for every launch of the plan: the texts or numbers `grid`, `block` and `shared` of
/// `sizes`. InvalidArgument as for build_plan.
Status change_launches(const InvariantSpec& sizes, const Scope& scope, ExecutionPlan& plan);

}  // namespace gpuemu
