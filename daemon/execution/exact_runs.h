// Further runs of a case's kernel, without any rounding.
#pragma once

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

struct CaseRequest;
struct Slot;

/// The outputs of the case's kernel on these inputs as they would be without any rounding, float64
/// where they are floats. Cancelled when the run fails. The arena holds other tensors afterwards.
Result<NamedTensors> run_exactly(const CaseRequest& request, Slot& slot,
                                 const NamedTensors& inputs);

/// What run_exactly() gives with scalar parameters and what ShadowConfig::nudge names moved by a
/// unit in the last place, by chance of `draw`, which is not 0.
Result<NamedTensors> run_nudged(const CaseRequest& request, Slot& slot, const NamedTensors& inputs,
                                uint64_t draw);

/// What run_exactly() gives with scalar parameters and constants of the kernel that were rounded
/// moved by a unit in the last place, by chance of `draw`, which is not 0.
Result<NamedTensors> run_with_moved_constants(const CaseRequest& request, Slot& slot,
                                              const NamedTensors& inputs, uint64_t draw);

/// How many floats of the case lie so close between two whole numbers that rounding them to one is
/// a matter of their last digits (ShadowReport::close_roundings). Errors as run_exactly().
Result<uint64_t> close_roundings(const CaseRequest& request, Slot& slot);

/// The same of floats that another whole number may come of where a compiler fuses products with
/// sums, and what the case gives on the slot, which fuses none. Errors as run_exactly().
struct FusableRun {
  uint64_t roundings = 0;
  NamedTensors computed;
};
Result<FusableRun> fusable_roundings(const CaseRequest& request, Slot& slot);

/// How many floats of the case become another whole number because results before them are too
/// small for their type, by however much; UINT64_MAX where a comparison comes out otherwise because
/// of that, of which any may follow. Errors as run_exactly().
Result<uint64_t> underflown_roundings(const CaseRequest& request, Slot& slot);

/// How far a compiler that fuses products with sums may take the case's outputs from those of a
/// slot that does not: float64, of float outputs. Errors as run_exactly().
Result<NamedTensors> moves_by_fusing(const CaseRequest& request, Slot& slot);

/// What run_exactly() gives, and how far from it results too small for their type may have taken
/// the computed values; nothing of float outputs that no float instruction made.
struct ExactRun {
  NamedTensors values, underflow;  ///< Both float64.
  NamedTensors computed;           ///< What the slot gives with rounding.
};
Result<ExactRun> run_for_underflow(const CaseRequest& request, Slot& slot,
                                   const NamedTensors& inputs);

}  // namespace gpuemu
