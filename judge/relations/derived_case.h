// A further run of a kernel that a relation needs, and its inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/config/op_config.h"
#include "common/tensor/tensor.h"
#include "judge/cases/case.h"
#include "runtime/device/thread_order.h"

namespace gpuemu {

/// The slices of one output that a wide-index run returns, and which of their elements it wrote.
struct WideIndexWindow {
  Tensor values;
  std::vector<bool> written;
};

/// A run in which every tensor with the dim consists of repetitions of a small one. The device runs
/// only some blocks: the first ones in order, then the last ones in reverse. Its results are the
/// first and the last copy of every output.
struct WideIndexRun {
  uint64_t repeats = 1;
  uint64_t launch_ms = 1;  ///< Each launch is stopped after this time, wherever its blocks are.
  struct Windows {
    std::map<std::string, WideIndexWindow> first, last;  ///< By output.
  };
  Windows in_order, reverse;
  bool blocks_apart = false;  ///< No block ran in both launches, so an element written by both was
                              ///< written by two blocks.
};

struct DerivedCase {
  CasePlan plan;        ///< Its dims may differ from the case's.
  NamedTensors inputs;  ///< All inputs of the plan.
  /// This output uses the memory of this input; "": each has memory of its own.
  std::string in_place_input, in_place_output;
  /// Replaces the kernel's `grid`, `block` and `shared`; null: keeps them.
  const InvariantSpec* launch = nullptr;
  /// The thread order and its seed, if the device supports it.
  ThreadOrder order = ThreadOrder::InOrder;
  uint64_t order_seed = 0;
  /// If set, its windows are filled in instead of outputs. `plan` then has the large sizes,
  /// `inputs` the small ones.
  WideIndexRun* wide_index = nullptr;
};

/// Runs the kernel of `derived.plan.op` and returns its outputs. Unsupported if no kernel accepts
/// such a case; Cancelled if the run failed and its finding is already recorded.
using DerivedCaseRunner = std::function<Result<NamedTensors>(const DerivedCase& derived)>;

/// Returns inputs on which arithmetic is exact or nearly so: small integers for floats, spread over
/// the tensor's declared range if there is one. Inputs of integer types are the case's own. `draw`
/// distinguishes several such sets of one case.
NamedTensors tame_inputs(const OpConfig& op, const CasePlan& plan, const NamedTensors& own,
                         uint64_t draw);

/// Returns a case of the same sizes with other values from the same domains.
CasePlan other_case(const CasePlan& plan);
/// Returns the inputs of other_case().
NamedTensors other_inputs(const OpConfig& op, const CasePlan& plan);

/// Returns whether every finite element is in the range that the op declares for the input.
bool is_in_range(const OpConfig& op, const CasePlan& plan, const std::string& input,
                 const Tensor& values);

}  // namespace gpuemu
