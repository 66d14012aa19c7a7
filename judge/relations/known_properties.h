// Relations and invariants that an op must have without declaring them.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu {

/// The relations of an op and its kernel, without repetitions: the declared ones, and for an op
/// without a reference those that its kind implies (a name such as "softmax", or a built-in
/// kernel) unless the configuration switches them off.
std::vector<InvariantSpec> relations_of(const OpConfig& op, const KernelConfig& kernel);

/// The invariants of an op and its kernel, found in the same way.
std::vector<InvariantSpec> invariants_of(const OpConfig& op, const KernelConfig& kernel);

/// Invariants that not every case or device can tell anything about: reports count the cases that
/// did, as those of relations.
bool is_rarely_conclusive(InvariantKind invariant);

/// Whether the invariant or relation of this name compares values. The others see that a shape is
/// right, that inputs matter, or that something was written.
bool sees_values(std::string_view name);

}  // namespace gpuemu
