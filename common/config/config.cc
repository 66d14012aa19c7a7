// Look-ups in a loaded configuration, and the text of its problems.
#include "common/config/config.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu {
namespace {

template <typename T>
const T* find_by_name(const std::vector<T>& rows, const std::string& name) {
  for (const T& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// The tolerances of ops of existing clients, if none are set.
Tolerance client_default(DType dtype) {
  Tolerance tolerance;
  if (dtype == DType::Float16 || dtype == DType::BFloat16) tolerance.atol = 1e-3;
  if (dtype == DType::Float32 || dtype == DType::Float64) tolerance.atol = 1e-5;
  return tolerance;
}

}  // namespace

std::string ConfigResult::text() const {
  std::string lines;
  for (const ConfigProblem& problem : problems) lines += problem.text() + "\n";
  return lines;
}

const OpConfig* Config::find_op(const std::string& op_name) const {
  return find_by_name(ops, op_name);
}

const KernelConfig* Config::find_kernel(const std::string& kernel_name) const {
  return find_by_name(kernels, kernel_name);
}

Tolerance Config::tolerance_for(const OpConfig& op, DType dtype, const std::string& output) const {
  const auto spec = std::ranges::find(op.outputs, output, &TensorSpec::name);
  if (spec != op.outputs.end() && spec->tolerance) return *spec->tolerance;
  if (const auto own = op.tolerances.find(dtype); own != op.tolerances.end()) return own->second;
  for (const std::string& kernel_name : op.kernels) {
    const KernelConfig* kernel = find_kernel(kernel_name);
    if (kernel == nullptr) continue;
    const auto found = kernel->tolerances.find(dtype);
    if (found != kernel->tolerances.end()) return found->second;
  }
  if (const auto all = tolerances.find(dtype); all != tolerances.end()) return all->second;
  Tolerance tolerance = client_default(dtype);
  tolerance.automatic = !op.kernels.empty();
  return tolerance;
}

}  // namespace gpuemu
