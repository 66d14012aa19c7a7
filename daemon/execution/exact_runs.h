// Runs a case's kernel again, without any rounding.
#pragma once

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

struct CaseRequest;
struct Slot;

/// Returns the outputs of the case's kernel for these inputs as they would be without any rounding;
/// floats as float64. Cancelled if the run fails. The arena holds other tensors afterwards.
Result<NamedTensors> run_exactly(const CaseRequest& request, Slot& slot,
                                 const NamedTensors& inputs);

/// Like run_exactly(), with the scalar parameters and the values that ShadowConfig::nudge names
/// moved by one unit in the last place. `draw`, which is not 0, seeds the random choice.
Result<NamedTensors> run_nudged(const CaseRequest& request, Slot& slot, const NamedTensors& inputs,
                                uint64_t draw);

/// Like run_exactly(), with the scalar parameters and the rounded constants of the kernel moved by
/// one unit in the last place. `draw`, which is not 0, seeds the random choice.
Result<NamedTensors> run_with_moved_constants(const CaseRequest& request, Slot& slot,
                                              const NamedTensors& inputs, uint64_t draw);

/// Returns how many floats of the case lie so close to the middle between two whole numbers that
/// their last digits decide the rounding (ShadowReport::close_roundings). Errors as for
/// run_exactly().
Result<uint64_t> close_roundings(const CaseRequest& request, Slot& slot);

/// The number of floats that may round to another whole number if a compiler fuses products with
/// sums, and the case's outputs on the slot, which does not fuse. Errors as for run_exactly().
struct FusableRun {
  uint64_t roundings = 0;
  NamedTensors computed;
};
Result<FusableRun> fusable_roundings(const CaseRequest& request, Slot& slot);

/// Returns how many floats of the case round to a different whole number because earlier results
/// are too small for their type, by whatever amount. UINT64_MAX if a comparison is decided
/// differently because of that, since any number of values may depend on it. Errors as for
/// run_exactly().
Result<uint64_t> underflown_roundings(const CaseRequest& request, Slot& slot);

/// Returns how far a compiler that fuses products with sums may move the case's float outputs from
/// those of a slot that does not, as float64. Errors as for run_exactly().
Result<NamedTensors> moves_by_fusing(const CaseRequest& request, Slot& slot);

/// The result of run_exactly(), and how far underflow may have moved the computed values from it;
/// the latter is missing for float outputs that no float instruction made.
struct ExactRun {
  NamedTensors values, underflow;  ///< Both float64.
  NamedTensors computed;           ///< The outputs of the slot with rounding.
  /// A comparison is decided differently because of underflow, so any value may depend on it.
  bool lost_comparison = false;
};
Result<ExactRun> run_for_underflow(const CaseRequest& request, Slot& slot,
                                   const NamedTensors& inputs);

}  // namespace gpuemu
