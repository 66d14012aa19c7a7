// Evaluates sizes of an op at the ends of its dims, and finds the tensors that a shape needs.
#pragma once

#include <set>
#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// A scope in which every dim and attribute has its largest value (`high`) or its smallest, except
/// `other`, one of the op's dims, which has the opposite end.
Scope scope_at_end(const OpConfig& op, bool high, const DimSpec* other = nullptr);

/// Whether every choice of dims and integer attrs was tried and `require` holds for none. False
/// where there are too many of them to try.
bool never_holds(const OpConfig& op);

/// Names of the tensors that the shape of tensor `name` uses, directly or indirectly.
std::set<std::string> tensors_behind(const OpConfig& op, const std::string& name);

}  // namespace gpuemu
