#include "daemon/campaign/unused_variants.h"

#include "daemon/plans/execution_plan.h"

namespace gpuemu {
namespace {

bool takes_some(const OpConfig& op, const KernelConfig& kernel, uint64_t seed,
                const CaseOptions& options) {
  for (uint64_t iteration = 0; iteration < kSupportTriesMax; ++iteration) {
    const auto plan = plan_case(op, seed, iteration, options);
    if (!plan) return true;
    const auto supported = supports_case(kernel, scope_of(op, *plan));
    if (!supported || *supported) return true;
  }
  return false;
}

/// Tries the sizes that the kernels compare with, which other cases hit only by chance.
bool takes_a_constant(const OpConfig& op, const KernelConfig& kernel, uint64_t seed,
                      const CaseOptions& options,
                      const std::function<Constants(DType)>& constants) {
  for (const DType dtype : op.dtypes) {
    CaseOptions of_dtype = options;
    of_dtype.dtypes = {dtype};
    of_dtype.constants = constants(dtype);
    if (!of_dtype.constants.all.empty() && takes_some(op, kernel, seed, of_dtype)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> unreachable_variants(const Config& config, const OpConfig& op,
                                              uint64_t seed, const LargeSizes& large,
                                              const std::function<Constants(DType)>& constants) {
  std::vector<std::string> names;
  if (op.mode != ExecutionMode::Kernel || op.kernels.size() < 2) return names;
  CaseOptions options;
  options.strategies = config.strategies;
  options.large = large;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config.find_kernel(name);
    if (kernel == nullptr || takes_some(op, *kernel, seed, options)) continue;
    if (!takes_a_constant(op, *kernel, seed, options, constants)) names.push_back(name);
  }
  return names;
}

}  // namespace gpuemu
