// Relations and invariants that apply to an op without being declared.
#pragma once

#include <string>
#include <vector>

#include "common/config/kernel_config.h"
#include "common/config/op_config.h"

namespace gpuemu {

/// Returns the unique relations of an op and its kernel: the declared ones and, for an op without a
/// reference, those implied by its kind (a name such as "softmax", or a built-in kernel), unless
/// the configuration disables them.
std::vector<InvariantSpec> relations_of(const OpConfig& op, const KernelConfig& kernel);

/// Returns the invariants of an op and its kernel in the same way.
std::vector<InvariantSpec> invariants_of(const OpConfig& op, const KernelConfig& kernel);

/// Returns whether only some cases or devices can check the invariant. Reports count the cases that
/// did, as for relations.
bool is_rarely_conclusive(InvariantKind invariant);

/// Returns whether the invariant or relation of this name compares values. The others check that a
/// shape is right, that inputs matter, or that something was written.
bool sees_values(std::string_view name);

}  // namespace gpuemu
