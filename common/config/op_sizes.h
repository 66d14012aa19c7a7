// What the sizes of an op come to where its dims end, and which tensors a size needs.
#pragma once

#include <set>
#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// Names and their values when every dim is the largest of its own, or the smallest, and `other`,
/// one of the op's dims, is at its other end.
Scope scope_at_end(const OpConfig& op, bool high, const DimSpec* other = nullptr);

/// The tensors that the shape of the tensor `name` needs, directly or through others.
std::set<std::string> tensors_behind(const OpConfig& op, const std::string& name);

}  // namespace gpuemu
