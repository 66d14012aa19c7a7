// The tensors of a case: computes shapes and layouts from its dims, and lowers dims until the
// tensors fit.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "common/config/op_config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Adds the shapes and layouts that follow from the plan's dims, attrs, dtype and layout.
Status add_tensors(const OpConfig& op, CasePlan& plan);

/// Returns whether every size is legal and `require` holds.
bool go_together(const OpConfig& op, const CasePlan& plan);

enum class SizeLimit : uint8_t { None, Elements, Product, Bytes };

/// Calls add_tensors() with dims lowered until no limit is exceeded, as far as their ranges allow.
Status fit(const OpConfig& op, CasePlan& plan, const SizeLimits& limits);

/// Returns the limit that these dims exceed; None if they fit.
SizeLimit exceeded_limit(const OpConfig& op, const CasePlan& plan, const SizeLimits& limits);

/// Returns the range that gpuemu.toml declares for the input, evaluated for this case. Nothing if
/// there is none, or if it is empty like the tensor.
std::optional<std::pair<double, double>> declared_range(const OpConfig& op, const CasePlan& plan,
                                                        const std::string& input);

/// Returns an estimate of a kernel's work; a dim of 0 counts as 1.
double product_of_dims(const CasePlan& plan);
/// Sums over all tensors, counting each once.
double bytes_of(const CasePlan& plan);
/// In elements.
int64_t largest_tensor(const CasePlan& plan);

}  // namespace gpuemu
