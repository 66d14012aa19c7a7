// A compiler may fuse a product with the sum that uses it, which then rounds once, and a kernel has
// no say in that: `a - a` of two equal products is 0, or what rounding one of them leaves. Where
// a case ran on code that may have been fused, each value is judged as it is without.
#pragma once

#include "common/base/result.h"
#include "common/tensor/tensor.h"
#include "daemon/case/compared_values.h"

namespace gpuemu {

struct CaseRequest;
struct CaseWork;
struct Config;
struct Slot;

/// Whether the code that a device executes may have been fused, on the emulator or a GPU.
bool may_be_fused(const Config& config, bool on_emulator);

/// Whether integers that differ from the reference are such as no fusing would have made others:
/// those of `slot`, which fuses nothing, differ from the reference where floats lie between two
/// whole numbers (close_roundings()), and from the case's where fusing may choose. `slot` is not
/// the case's. Errors as run_exactly().
Result<bool> are_fused_roundings(const CaseWork& work, Slot& slot);

/// Puts `unfused`, what a slot that fuses nothing gives, in place of what was computed, element by
/// element, where that a compiler may fuse explains the difference. Errors as run_exactly().
Status undo_fusing(const CaseRequest& request, Slot& slot, const NamedTensors& unfused,
                   std::vector<ExceedingElement>& elements);

}  // namespace gpuemu
