// What one case is asked for: its op and kernel, its plan, how it runs, and where.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor_view.h"
#include "daemon/case/case_settings.h"

namespace gpuemu {

class SlotLease;
struct CasePlan;
struct Config;
struct KernelConfig;
struct OpConfig;
struct PreparedKernel;

/// A kernel of another op, for a relation between two ops.
struct ChosenKernel {
  const KernelConfig* kernel = nullptr;
  std::shared_ptr<const PreparedKernel> prepared;
};
/// Unsupported when no kernel takes the case.
using KernelFinder = std::function<Result<ChosenKernel>(const OpConfig& op, const CasePlan& plan)>;

struct CaseRequest {
  const Config& config;
  const OpConfig& op;
  const KernelConfig& kernel;
  const PreparedKernel& prepared;
  const CasePlan& plan;
  CaseSettings settings = {};
  KernelFinder find_kernel = {};
  /// A slot with shadows whose code is not fused, for a device that has none or whose code may be.
  /// Empty: there is no such slot.
  std::function<Result<SlotLease>()> emulator_slot = {};
  /// What the reference says of inputs whose subnormal numbers are zero, by output; may be empty.
  std::map<std::string, TensorView> of_flushed_inputs = {};
  /// What it says of inputs with numbers for NaN and infinity, by output, a draw each; may be
  /// empty.
  std::map<std::string, std::vector<TensorView>> of_finite_inputs = {};
  std::map<std::string, std::vector<TensorView>> of_limits = {};  ///< Those of limit_draws() alone.
  /// What it says of numbers_for_infinity(), by output; may be empty.
  std::map<std::string, TensorView> of_numbers_for_infinity = {};
};

}  // namespace gpuemu
