// Evaluates sizes of an op at the ends of its dims, and finds the tensors that a shape depends on.
#pragma once

#include <set>
#include <string>

#include "common/config/op_config.h"

namespace gpuemu {

/// Returns a scope in which every dim and attribute has its largest value (`high`) or its smallest,
/// except the dim `other`, which has the opposite end.
Scope scope_at_end(const OpConfig& op, bool high, const DimSpec* other = nullptr);

/// Returns whether `require` is violated by every choice of dims and integer attrs. False if there
/// are too many to try.
bool never_holds(const OpConfig& op);

/// Returns the names of the tensors that the shape of tensor `name` uses, directly or indirectly.
std::set<std::string> tensors_behind(const OpConfig& op, const std::string& name);

}  // namespace gpuemu
