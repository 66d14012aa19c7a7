// From a generated case and a kernel's launch data to what a worker executes.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"
#include "daemon/fuzz/case.h"
#include "daemon/worker/plan.h"

namespace gpuemu {

/// A kernel compiled for one dtype: the text a device loads and the entry of each launch in it.
struct PreparedKernel {
  std::string key;  ///< Content hash of `ptx`.
  std::string name;
  std::string ptx;
  std::vector<std::string> entries;        ///< PTX names, one per KernelConfig::launches.
  std::vector<std::string> warnings = {};  ///< Of reading the PTX, with the kernel's name.
  Constants constants = {};                ///< See harvest.h.
};

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

/// Gives the inputs of the primer (ExecutionPlan::primer) places in the arena.
void add_primer(BuiltPlan& built);

/// Other sizes for every launch of the plan: the texts or numbers `grid`, `block` and `shared` of
/// `sizes`. InvalidArgument as for build_plan.
Status change_launches(const InvariantSpec& sizes, const Scope& scope, ExecutionPlan& plan);

/// Replaces {dtype} and {ctype}.
std::string with_dtype(std::string text, DType dtype);

}  // namespace gpuemu
