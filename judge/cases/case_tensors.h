// The tensors of a case: shapes and layouts that follow from its dims, and dims lowered until the
// tensors fit.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Adds the shapes and layouts that follow from the plan's dims, attrs, dtype and layout.
Status add_tensors(const OpConfig& op, CasePlan& plan);

/// Whether every size is legal and `require` holds.
bool go_together(const OpConfig& op, const CasePlan& plan);

enum class SizeLimit : uint8_t { None, Elements, Product, Bytes };

/// add_tensors() with dims lowered until no limit is exceeded, as far as their ranges allow.
Status fit(const OpConfig& op, CasePlan& plan, const SizeLimits& limits);

/// What keeps these dims from being run; None where they fit.
SizeLimit exceeded_limit(const OpConfig& op, const CasePlan& plan, const SizeLimits& limits);

/// The range that gpuemu.toml gives the input, its ends as they are in this case. Nothing where it
/// gives none, or the range is empty as the tensor is.
std::optional<std::pair<double, double>> declared_range(const OpConfig& op, const CasePlan& plan,
                                                        const std::string& input);

/// About what a kernel computes with; a dim that is 0 counts as 1.
double product_of_dims(const CasePlan& plan);
/// Sums over all tensors, each once.
double bytes_of(const CasePlan& plan);
/// Elements.
int64_t largest_tensor(const CasePlan& plan);

}  // namespace gpuemu
