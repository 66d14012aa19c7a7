// The request for one case: its op and kernel, its plan, how it runs, and on which slot.
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
/// Returns the kernel for a case. Unsupported if no kernel takes it.
using KernelFinder = std::function<Result<ChosenKernel>(const OpConfig& op, const CasePlan& plan)>;

struct CaseRequest {
  const Config& config;
  const OpConfig& op;
  const KernelConfig& kernel;
  const PreparedKernel& prepared;
  const CasePlan& plan;
  CaseSettings settings = {};
  KernelFinder find_kernel = {};
  /// Returns a slot with shadows that runs code without fusing, for a device that has no shadows or
  /// may fuse. Empty: there is no such slot.
  std::function<Result<SlotLease>()> emulator_slot = {};
  /// The reference's answer for inputs with subnormal numbers set to zero, by output; may be empty.
  std::map<std::string, TensorView> of_flushed_inputs = {};
  /// The reference's answers for inputs with numbers in place of NaN and infinity, by output, one
  /// per draw; may be empty.
  std::map<std::string, std::vector<TensorView>> of_finite_inputs = {};
  std::map<std::string, std::vector<TensorView>> of_limits = {};  ///< For limit_draws() only.
  /// The reference's answer for numbers_for_infinity(), by output; may be empty.
  std::map<std::string, TensorView> of_numbers_for_infinity = {};
};

}  // namespace gpuemu
