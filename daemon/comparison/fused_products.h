// Judges cases that may have run on fused code. A compiler may fuse a product with the sum that
// uses it, which then rounds only once, and the kernel has no control over that: `a - a` of two
// equal products is 0, or the rounding error of one of them. In such a case, each value is judged
// by the code without fusing.
#pragma once

#include "common/base/result.h"
#include "common/tensor/tensor.h"
#include "daemon/case/compared_values.h"

namespace gpuemu {

struct CaseRequest;
struct CaseWork;
struct Config;
struct Slot;

/// Returns whether the code that a device executes may have been fused, on the emulator or a GPU.
bool may_be_fused(const Config& config, bool on_emulator);

/// Returns whether fusing alone can explain the integers that differ from the reference. Without
/// fusing, on `slot`, integers may differ from the reference only where floats lie between two
/// whole numbers (close_roundings()), and from the case's result only where fusing may choose.
/// `slot` does not fuse and is not the case's. Errors as for run_exactly().
Result<bool> are_fused_roundings(const CaseWork& work, Slot& slot);

/// Replaces computed elements by those of `unfused`, the result of a slot that does not fuse,
/// wherever possible fusing explains the difference. Errors as for run_exactly().
Status undo_fusing(const CaseRequest& request, Slot& slot, const NamedTensors& unfused,
                   std::vector<ExceedingElement>& elements);

}  // namespace gpuemu
