// A further run of a kernel that a relation asks for, and the inputs it starts from.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/tensor/tensor.h"
#include "judge/cases/case.h"
#include "runtime/device/thread_order.h"

namespace gpuemu {

/// The slices of one output that a wide-index run shows, and which elements it has written.
struct WideIndexWindow {
  Tensor values;
  std::vector<bool> written;
};

/// A run in which every tensor with the dim is its small self again and again, of which the device
/// runs some blocks: the first ones in order, then the last ones in reverse. Its outputs are the
/// first and the last copy of every output.
struct WideIndexRun {
  uint64_t repeats = 1;
  uint64_t launch_ms = 1;  ///< Each launch ends after it, wherever its blocks are.
  struct Windows {
    std::map<std::string, WideIndexWindow> first, last;  ///< By output.
  };
  Windows in_order, reverse;
  bool blocks_apart = false;  ///< No block ran in both, so what both wrote, two blocks write.
};

struct DerivedCase {
  CasePlan plan;        ///< Its dims may differ from those of the case.
  NamedTensors inputs;  ///< Every input of the plan.
  /// This output has the memory of this input; "": each its own.
  std::string in_place_input, in_place_output;
  /// Its `grid`, `block` and `shared` instead of the kernel's; null: the kernel's.
  const InvariantSpec* launch = nullptr;
  /// Order of the threads, and what it draws from, where the device can choose.
  ThreadOrder order = ThreadOrder::InOrder;
  uint64_t order_seed = 0;
  /// Not null: its windows are made instead of outputs. The sizes of `plan` are the large
  /// ones, those of `inputs` the small ones.
  WideIndexRun* wide_index = nullptr;
};

/// Runs the kernel of `derived.plan.op` and gives its outputs. Unsupported when no kernel takes
/// such a case, Cancelled when the run failed and its finding is kept already.
using DerivedCaseRunner = std::function<Result<NamedTensors>(const DerivedCase& derived)>;

/// Inputs on which arithmetic is exact or nearly so: small integers for floats, spread over the
/// tensor's range where it has one. Inputs of integer types are those of the case. `draw` tells
/// several such sets of one case apart.
NamedTensors tame_inputs(const OpConfig& op, const CasePlan& plan, const NamedTensors& own,
                         uint64_t draw);

/// A case of the same sizes with other values, drawn inside the domains.
CasePlan other_case(const CasePlan& plan);
/// Its inputs.
NamedTensors other_inputs(const OpConfig& op, const CasePlan& plan);

/// Whether every finite element lies in the range that the op declares for the input.
bool is_in_range(const OpConfig& op, const CasePlan& plan, const std::string& input,
                 const Tensor& values);

}  // namespace gpuemu
